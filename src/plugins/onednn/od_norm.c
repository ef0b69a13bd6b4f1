/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_norm.c - BatchNormalization not folded into a convolution, LayerNormalization, LRN, Softmax. */
#include <math.h>

#include "od_chain.h"

/* ---- BatchNormalization ---- */

static const char *refuse_batch(const od_node *n) {
  const char *why = od_refuse_type(n, 0);
  if (why) return why;
  if (od_version(n) < 7) return REASON("opset 7 or later", "{op}");
  if (od_int(n, "training_mode", 0) || od_out(n, 1) != OD_NO_VALUE)
    return REASON("inference", "{training_mode=0}, {>1}");
  if (od_in_rank(n, 0) < 2) return REASON("channels, that is, 2 or more axes", "{0}");
  for (size_t i = 1; i < 5; i++)
    if (od_in_type(n, i, NULL) != OX_F32 || od_in_rank(n, i) != 1)
      return REASON("parameters that are vectors of float32", "{inputs}");
  return NULL;
}

static dnnl_status_t describe_batch(od_builder *b, const od_node *n, const dnnl_memory_desc_t *md,
                                    const od_chain *chain, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out_pd) {
  dnnl_batch_normalization_desc_t desc;
  dnnl_status_t s =
      dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_inference, md, od_float(n, "epsilon", 1e-5f),
                                                 dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift);
  if (s == dnnl_success) s = od_chain_attr(b, chain, attr);
  return s == dnnl_success ? dnnl_primitive_desc_create(out_pd, &desc, attr, b->ep->engine, NULL) : s;
}

static ox_status *build_batch(od_builder *b, const od_node *n) {
  static const int ids[] = {0, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
  od_chain chain;
  od_args args = {0};
  dnnl_primitive_desc_t pd;
  dnnl_status_t s;
  uint32_t x;
  OD_TRY(od_read(b, od_in(n, 0), &x));
  ox_shape shape = *od_in_shape(b, n, 0);
  uint32_t dtype = od_val(b, od_in(n, 0))->dtype;
  dnnl_memory_desc_t md = *od_md(b, x);
  for (size_t i = 1; i < 5; i++)
    if (od_in_shape(b, n, i)->dim[0] != shape.dim[1])
      return od_bad_shape(b, "a parameter is not one number for each channel");
  if (od_count(&shape) == 0) return od_write(b, od_out(n, 0), &shape, dtype, &md, &x);
  od_arg_add(&args, DNNL_ARG_SRC, x);
  for (size_t i = 1; i < 5; i++) {
    OD_TRY(od_read_plain(b, od_in(n, i), &x));
    od_arg_add(&args, ids[i], x);
  }
  od_chain_begin(od_out(n, 0), &shape, dtype, shape.rank, shape.dim, &chain);
  od_chain_find(b, &chain);
  do { /* the only post that the library fuses here is a Relu */
    dnnl_primitive_attr_t attr;
    OD_TRY(od_attr_create(b, &attr));
    s = describe_batch(b, n, &md, &chain, attr, &pd);
    dnnl_primitive_attr_destroy(attr);
    if (s == dnnl_success && chain.n_nodes && od_is_reference(pd)) {
      dnnl_primitive_desc_destroy(pd);
      s = dnnl_unimplemented;
    }
  } while (s != dnnl_success && od_chain_shorten(&chain));
  OD_TRY(od_check(b, s, "describing a normalization"));
  return od_chain_emit(b, &chain, pd, &args);
}

/* ---- row-major views [outer, inner] ---- */

static int64_t count_from(const ox_shape *s, int axis, int end) {
  int64_t n = 1;
  for (int i = axis; i < end; i++) n *= s->dim[i];
  return n;
}

static ox_status *emit_unary(od_builder *b, const void *desc, dnnl_status_t s, od_args *args) {
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t pd;
  OD_TRY(od_check(b, s, "describing a normalization"));
  OD_TRY(od_attr_create(b, &attr));
  s = dnnl_primitive_desc_create(&pd, desc, attr, b->ep->engine, NULL);
  dnnl_primitive_attr_destroy(attr);
  OD_TRY(od_check(b, s, "describing a normalization"));
  return od_emit(b, pd, args);
}

/* Adds input and output as arguments, row-major and reshaped to |dims|. |*out_any| is false if there are no elements.
 */
static ox_status *see(od_builder *b, const od_node *n, int rank, const int64_t *dims, od_args *args, bool *out_any) {
  uint32_t x, y;
  uint32_t dtype = od_val(b, od_in(n, 0))->dtype;
  ox_shape shape = *od_in_shape(b, n, 0);
  OD_TRY(od_read_dims(b, od_in(n, 0), rank, dims, &x));
  dnnl_memory_desc_t md = *od_md(b, x);
  OD_TRY(od_write(b, od_out(n, 0), &shape, dtype, &md, &y));
  od_arg_add(args, DNNL_ARG_SRC, x);
  od_arg_add(args, DNNL_ARG_DST, y);
  *out_any = od_count(&shape) > 0;
  return NULL;
}

/* ---- LayerNormalization ---- */

/* Does a parameter certainly have the shape of X from |axis| on? Size 1 against an unknown size may be a broadcast. */
static bool is_not_broadcast(const od_node *n, size_t i, int axis) {
  ox_shape x, p;
  od_in_type(n, 0, &x), od_in_type(n, i, &p);
  if (p.rank != x.rank - axis) return false;
  for (int d = 0; d < p.rank; d++)
    if (p.dim[d] < 0 || (p.dim[d] == 1 && x.dim[axis + d] != 1)) return false;
  return true;
}

static const char *refuse_layer(const od_node *n) {
  const char *why = od_refuse_type(n, 0);
  int rank = od_in_rank(n, 0);
  int64_t axis = od_int(n, "axis", -1);
  if (why) return why;
  if (axis < -rank || axis >= rank) return REASON("an axis of the input", "{axis=-1}, {0}");
  if (od_out(n, 1) != OD_NO_VALUE || od_out(n, 2) != OD_NO_VALUE)
    return REASON("neither mean nor deviation as outputs", "{>1}, {>2}");
  for (size_t i = 1; i < 3; i++) {
    if (od_in(n, i) == OD_NO_VALUE) continue;
    if (od_in_type(n, i, NULL) != OX_F32) return REASON("a scale and a bias of float32", "{1}, {2}");
    if (!is_not_broadcast(n, i, (int)(axis < 0 ? axis + rank : axis)))
      return REASON("a scale and a bias of the shape that is normalized", "{inputs}, {axis=-1}");
  }
  return od_int(n, "stash_type", 1) == 1 ? NULL : REASON("sums in float32", "{stash_type}");
}

static ox_status *build_layer(od_builder *b, const od_node *n) {
  dnnl_layer_normalization_desc_t desc;
  const ox_shape *s = od_in_shape(b, n, 0);
  int64_t axis = od_int(n, "axis", -1);
  int at = (int)(axis < 0 ? axis + s->rank : axis);
  int64_t dims[] = {count_from(s, 0, at), count_from(s, at, s->rank)};
  unsigned flags = 0;
  od_args args = {0};
  bool any;
  OD_TRY(see(b, n, 2, dims, &args, &any));
  if (!any) return NULL;
  for (size_t i = 1; i < 3; i++) {
    uint32_t mem;
    if (od_in(n, i) == OD_NO_VALUE) continue;
    if (od_count(od_in_shape(b, n, i)) != dims[1]) /* the actual X has another size */
      return od_bad_shape(b, "a parameter has not the shape of what it is for");
    OD_TRY(od_read_dims(b, od_in(n, i), 1, &dims[1], &mem));
    od_arg_add(&args, i == 1 ? DNNL_ARG_SCALE : DNNL_ARG_SHIFT, mem);
    flags |= i == 1 ? dnnl_use_scale : dnnl_use_shift;
  }
  dnnl_status_t st = dnnl_layer_normalization_forward_desc_init(&desc, dnnl_forward_inference, od_md(b, args.a[0].mem),
                                                                NULL, od_float(n, "epsilon", 1e-5f), flags);
  return emit_unary(b, &desc, st, &args);
}

/* ---- Softmax ---- */

static const char *refuse_softmax(const od_node *n) {
  const char *why = od_refuse_type(n, 0);
  int rank = od_in_rank(n, 0);
  int64_t axis = od_int(n, "axis", od_version(n) < 13 ? 1 : -1);
  if (why) return why;
  return axis < -rank || axis >= rank ? REASON("an axis of the input", "{axis=of the standard}, {0}") : NULL;
}

static ox_status *build_softmax(od_builder *b, const od_node *n) {
  dnnl_softmax_v2_desc_t desc;
  const ox_shape *s = od_in_shape(b, n, 0);
  int64_t axis = od_int(n, "axis", od_version(n) < 13 ? 1 : -1);
  int at = (int)(axis < 0 ? axis + s->rank : axis);
  /* Before opset 13, Softmax runs over all axes from |axis| on. */
  int end = od_version(n) < 13 ? s->rank : at + 1;
  int64_t dims[] = {count_from(s, 0, at), count_from(s, at, end), count_from(s, end, s->rank)};
  int rank = dims[2] == 1 ? 2 : 3;
  const int64_t dense[] = {dims[1] * dims[2], 1, dims[1]}; /* the library is fast only along a contiguous axis */
  od_args args = {0};
  bool any;
  OD_TRY(see(b, n, rank, dims, &args, &any));
  if (!any) return NULL;
  uint32_t y = args.a[1].mem;
  if (rank == 3) {
    dnnl_memory_desc_t md = od_md_strided(rank, dims, dense, od_md(b, y)->data_type);
    OD_TRY(od_reorder(b, args.a[0].mem, &md, &args.a[0].mem));
    OD_TRY(od_temporary(b, &md, &args.a[1].mem));
  }
  uint32_t made = args.a[1].mem;
  dnnl_status_t st = dnnl_softmax_v2_forward_desc_init(&desc, dnnl_forward_inference, dnnl_softmax_accurate,
                                                       od_md(b, args.a[0].mem), od_md(b, args.a[1].mem), 1);
  OD_TRY(emit_unary(b, &desc, st, &args));
  return made == y ? NULL : od_copy(b, made, y);
}

/* ---- LRN ---- */

static const char *refuse_lrn(const od_node *n) {
  const char *why = od_refuse_type(n, 0);
  int64_t size = od_int(n, "size", 0);
  if (why) return why;
  if (od_in_rank(n, 0) != 4) return REASON("4 axes", "{0}");
  return size < 1 || size % 2 == 0 || size > INT32_MAX ? REASON("an odd size", "{size}") : NULL;
}

static ox_status *build_lrn(od_builder *b, const od_node *n) {
  dnnl_lrn_desc_t desc;
  od_args args = {0};
  uint32_t x, y;
  OD_TRY(od_read(b, od_in(n, 0), &x));
  ox_shape shape = *od_in_shape(b, n, 0);
  dnnl_memory_desc_t md = *od_md(b, x);
  OD_TRY(od_write(b, od_out(n, 0), &shape, od_val(b, od_in(n, 0))->dtype, &md, &y));
  if (od_count(&shape) == 0) return NULL;
  od_arg_add(&args, DNNL_ARG_SRC, x);
  od_arg_add(&args, DNNL_ARG_DST, y);
  dnnl_status_t s =
      dnnl_lrn_forward_desc_init(&desc, dnnl_forward_inference, dnnl_lrn_across_channels, &md, od_int(n, "size", 1),
                                 od_float(n, "alpha", 1e-4f), od_float(n, "beta", 0.75f), od_float(n, "bias", 1));
  return emit_unary(b, &desc, s, &args);
}

const od_op od_norm_ops[] = {{"BatchNormalization", refuse_batch, build_batch},
                             {"LayerNormalization", refuse_layer, build_layer},
                             {"Softmax", refuse_softmax, build_softmax},
                             {"LRN", refuse_lrn, build_lrn},
                             {NULL, NULL, NULL}};
