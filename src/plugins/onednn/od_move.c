/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_move.c - Concat, Split and integer upscaling by Resize of images, so that images keep the library's
 * layout between convolutions. Tensors of fewer dimensions are left to the CPU provider. */
#include <string.h>

#include "od_eltwise.h"

enum { MOST_INPUTS = OD_MOST_ARGS - 2 };

static const char *refuse_image(const od_node *n) {
  const char *why = od_refuse_type(n, 0);
  return why ? why
         : od_in_rank(n, 0) < 4
             ? REASON("an image, that is, 4 or more axes (only between convolutions does it pay)", "{0}")
             : NULL;
}

static const char *refuse_axis(const od_node *n, int64_t axis) {
  int rank = od_in_rank(n, 0);
  return axis < -rank || axis >= rank ? REASON("an axis of the input", "{axis}, {0}") : NULL;
}

static int axis_of(const od_node *n, int rank, int64_t otherwise) {
  int64_t axis = od_int(n, "axis", otherwise);
  return (int)(axis < 0 ? axis + rank : axis);
}

/* ---- Concat ---- */

static const char *refuse_concat(const od_node *n) {
  const char *why = refuse_image(n);
  if (!why) why = refuse_axis(n, od_int(n, "axis", 1));
  if (why) return why;
  if (od_n_in(n) > MOST_INPUTS) return REASON("at most 22 inputs", "{inputs}");
  for (size_t i = 1; i < od_n_in(n); i++)
    if (od_in_type(n, i, NULL) != od_in_type(n, 0, NULL) || od_in_rank(n, i) != od_in_rank(n, 0))
      return REASON("inputs of one type and rank", "{inputs}");
  return NULL;
}

static ox_status *find_sum(od_builder *b, const od_node *n, int axis, ox_shape *y) {
  *y = *od_in_shape(b, n, 0);
  for (size_t i = 1; i < od_n_in(n); i++) {
    const ox_shape *x = od_in_shape(b, n, i);
    for (int d = 0; d < y->rank; d++)
      if (x->rank != y->rank || (d != axis && x->dim[d] != y->dim[d])) return od_bad_shape(b, "its inputs do not fit");
    y->dim[axis] += x->dim[axis];
  }
  return NULL;
}

/* Reads all inputs but the empty ones. */
static ox_status *read_inputs(od_builder *b, const od_node *n, dnnl_memory_desc_t *mds, od_args *args) {
  for (size_t i = 0; i < od_n_in(n); i++) {
    uint32_t mem;
    if (od_count(od_in_shape(b, n, i)) == 0) continue;
    OD_TRY(od_read(b, od_in(n, i), &mem));
    mds[args->n] = *od_md(b, mem);
    od_arg_add(args, DNNL_ARG_MULTIPLE_SRC + (int)args->n, mem);
  }
  return NULL;
}

static ox_status *build_concat(od_builder *b, const od_node *n) {
  dnnl_memory_desc_t mds[MOST_INPUTS];
  dnnl_primitive_desc_t pd;
  dnnl_primitive_attr_t attr;
  od_args args = {0};
  ox_shape y;
  uint32_t mem, dtype = od_val(b, od_in(n, 0))->dtype;
  int axis = axis_of(n, od_in_shape(b, n, 0)->rank, 1);
  OD_TRY(find_sum(b, n, axis, &y));
  if (od_count(&y) == 0) {
    dnnl_memory_desc_t md = od_md_plain(y.rank, y.dim, od_type(dtype));
    return od_write(b, od_out(n, 0), &y, dtype, &md, &mem);
  }
  OD_TRY(read_inputs(b, n, mds, &args));
  OD_TRY(od_attr_create(b, &attr));
  dnnl_status_t s = dnnl_concat_primitive_desc_create(&pd, NULL, (int)args.n, axis, mds, attr, b->ep->engine);
  dnnl_primitive_attr_destroy(attr);
  OD_TRY(od_check(b, s, "describing a concatenation"));
  dnnl_memory_desc_t md = od_md_wanted(pd, dnnl_query_dst_md, 0);
  ox_status *st = od_write(b, od_out(n, 0), &y, dtype, &md, &mem);
  if (st) {
    dnnl_primitive_desc_destroy(pd);
    return st;
  }
  od_arg_add(&args, DNNL_ARG_DST, mem);
  return od_emit(b, pd, &args);
}

/* ---- Split ---- */

static const char *refuse_split(const od_node *n) {
  int64_t sizes[MOST_INPUTS];
  const char *why = refuse_image(n);
  if (!why) why = refuse_axis(n, od_int(n, "axis", 0));
  if (why) return why;
  if (od_n_out(n) > MOST_INPUTS) return REASON("at most 22 outputs", "more than that");
  int n_sizes = od_axes(n, "split", 1, sizes, MOST_INPUTS);
  return n_sizes == 0 || n_sizes == (int)od_n_out(n) ? NULL
                                                     : REASON("constant sizes, one for each output", "{split}, {1}");
}

static ox_status *find_sizes(od_builder *b, const od_node *n, int64_t all, int64_t *sizes) {
  int64_t left = all, parts = (int64_t)od_n_out(n), each = (all + parts - 1) / parts;
  if (od_axes(n, "split", 1, sizes, MOST_INPUTS) == 0)
    for (int64_t i = 0; i < parts; i++) sizes[i] = OD_MIN(each, left), left -= sizes[i];
  left = all;
  for (int64_t i = 0; i < parts; i++) {
    if (sizes[i] < 0 || sizes[i] > left) return od_bad_shape(b, "its sizes do not fit");
    left -= sizes[i];
  }
  return left ? od_bad_shape(b, "its sizes do not fit") : NULL;
}

/* A dense descriptor of shape |s| with |like|'s order of dimensions. */
static dnnl_memory_desc_t dense_like(const dnnl_memory_desc_t *like, const ox_shape *s) {
  int64_t strides[OX_MAX_RANK], step = 1;
  bool done[OX_MAX_RANK] = {false};
  for (int k = 0; k < s->rank; k++) {
    int next = -1;
    for (int d = s->rank - 1; d >= 0; d--)
      if (!done[d] && (next < 0 || like->format_desc.blocking.strides[d] < like->format_desc.blocking.strides[next]))
        next = d;
    done[next] = true, strides[next] = step, step *= OD_MAX(s->dim[next], 1);
  }
  return od_md_strided(s->rank, s->dim, strides, like->data_type);
}

static ox_status *build_split(od_builder *b, const od_node *n) {
  int64_t sizes[MOST_INPUTS];
  dnnl_dims_t from = {0}, dims;
  uint32_t x, dtype = od_val(b, od_in(n, 0))->dtype;
  ox_shape y = *od_in_shape(b, n, 0);
  int axis = axis_of(n, y.rank, 0);
  OD_TRY(find_sizes(b, n, y.dim[axis], sizes));
  OD_TRY(od_read(b, od_in(n, 0), &x));
  /* A split may cut through the blocks of a blocked layout. */
  if (od_md(b, x)->format_desc.blocking.inner_nblks) OD_TRY(od_read_plain(b, od_in(n, 0), &x));
  for (size_t i = 0; i < od_n_out(n); from[axis] += sizes[i], i++) {
    dnnl_memory_desc_t part, whole = *od_md(b, x);
    uint32_t seen, to;
    y.dim[axis] = sizes[i];
    if (od_out(n, i) == OD_NO_VALUE) continue;
    dnnl_memory_desc_t md = dense_like(&whole, &y);
    OD_TRY(od_write(b, od_out(n, i), &y, dtype, &md, &to));
    if (od_count(&y) == 0) continue;
    memcpy(dims, y.dim, sizeof dims);
    OD_TRY(od_check(b, dnnl_memory_desc_init_submemory(&part, &whole, dims, from), "describing a part"));
    OD_TRY(od_view(b, x, &part, &seen));
    OD_TRY(od_copy(b, seen, to));
  }
  return NULL;
}

/* ---- Resize ---- */

/* Takes those of the standard's modes that come down to repeating each pixel. */
static const char *refuse_resize(const od_node *n) {
  const char *why = refuse_image(n);
  const ox_tensor *t = od_in_const(n, 2);
  int rank = od_in_rank(n, 0);
  if (why) return why;
  if (od_n_in(n) != 3 || !t || t->dtype != OX_F32 || od_count(&t->shape) != rank)
    return REASON("constant scales of float32 for all axes", "{inputs}");
  if (od_in(n, 1) != OD_NO_VALUE && od_is(n, "coordinate_transformation_mode", "tf_crop_and_resize", "half_pixel"))
    return REASON("a whole image", "{coordinate_transformation_mode}");
  if (!od_is(n, "mode", "nearest", "nearest")) return REASON("the nearest pixel", "{mode=nearest}");
  bool floor = od_is(n, "coordinate_transformation_mode", "asymmetric", "half_pixel") &&
               od_is(n, "nearest_mode", "floor", "round_prefer_floor");
  bool centre = od_is(n, "coordinate_transformation_mode", "half_pixel", "half_pixel") &&
                od_is(n, "nearest_mode", "round_prefer_floor", "round_prefer_floor");
  ox_attr_view a;
  if ((!floor && !centre) || n->ep->host.node_attr(n->g, n->index, "axes", &a))
    return REASON("all axes, asymmetric with floor or half_pixel with round_prefer_floor",
                  "{axes}, {coordinate_transformation_mode=half_pixel}, {nearest_mode=round_prefer_floor}");
  for (int i = 0; i < rank; i++) {
    float scale;
    memcpy(&scale, (const char *)t->data + (size_t)i * sizeof scale, sizeof scale);
    if (i < 2 ? scale != 1 : scale < 1 || scale > 64 || scale != (float)(int)scale)
      return REASON("whole scales from 1 to 64 of the image alone", "{2}");
  }
  return NULL;
}

static ox_status *build_resize(od_builder *b, const od_node *n) {
  dnnl_resampling_desc_t desc;
  dnnl_primitive_desc_t pd;
  dnnl_primitive_attr_t attr;
  od_args args = {0};
  uint32_t x, mem, dtype = od_val(b, od_in(n, 0))->dtype;
  OD_TRY(od_read(b, od_in(n, 0), &x));
  ox_shape y = *od_in_shape(b, n, 0);
  for (int i = 2; i < y.rank; i++) {
    float scale;
    memcpy(&scale, (const char *)od_in_const(n, 2)->data + (size_t)i * sizeof scale, sizeof scale);
    y.dim[i] *= (int64_t)scale;
  }
  dnnl_memory_desc_t md = od_md_plain(y.rank, y.dim, od_type(dtype)), any = od_md_any(y.rank, y.dim, od_type(dtype));
  if (od_count(&y) == 0) return od_write(b, od_out(n, 0), &y, dtype, &md, &mem);
  OD_TRY(od_attr_create(b, &attr));
  dnnl_status_t s = dnnl_resampling_forward_desc_init(&desc, dnnl_forward_inference, dnnl_resampling_nearest, NULL,
                                                      od_md(b, x), &any);
  if (s == dnnl_success) s = dnnl_primitive_desc_create(&pd, &desc, attr, b->ep->engine, NULL);
  dnnl_primitive_attr_destroy(attr);
  OD_TRY(od_check(b, s, "describing a resampling"));
  md = od_md_wanted(pd, dnnl_query_dst_md, 0);
  ox_status *st = od_write(b, od_out(n, 0), &y, dtype, &md, &mem);
  if (st) {
    dnnl_primitive_desc_destroy(pd);
    return st;
  }
  od_arg_add(&args, DNNL_ARG_SRC, x);
  od_arg_add(&args, DNNL_ARG_DST, mem);
  return od_emit(b, pd, &args);
}

const od_op od_move_ops[] = {{"Concat", refuse_concat, build_concat},
                             {"Split", refuse_split, build_split},
                             {"Resize", refuse_resize, build_resize},
                             {NULL, NULL, NULL}};
