/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_conv_transpose.c - ConvTranspose. */
#include <string.h>

#include "od_convolution.h"
#include "od_shares.h"

const char *od_conv_transpose_refuse(const od_node *n) {
  ox_shape x, w;
  const char *why = od_refuse_type(n, 0);
  if (why) return why;
  if (od_in_type(n, 1, &w) != od_in_type(n, 0, &x)) return REASON("weights of the input's type", "{0}, {1}");
  if (w.rank != x.rank) return REASON("weights of the input's rank, which is known", "{0}, {1}");
  why = od_window_refuse(n, x.rank - 2);
  if (why) return why;
  int64_t step[3];
  od_ints(n, "strides", step, (size_t)x.rank - 2, 1);
  for (int i = 0; i < x.rank - 2; i++)
    if (step[i] > 1 && w.dim[2 + i] < step[i])
      return REASON("windows as large as their stride (the library writes out of bounds else)", "{strides}, {1}");
  return NULL;
}

/* Computes the output's size and the padding cropped from it: from output_shape if given, else from auto_pad or pads.
 */
static bool size_output(const od_node *n, const ox_shape *x, const ox_shape *w, od_conv *c) {
  int spatial = x->rank - 2;
  int64_t pads[6], extra[3], shape[3];
  od_window *v = &c->window;
  ox_attr_view a;
  bool given = n->ep->host.node_attr(n->g, n->index, "output_shape", &a) && a.n > 0;
  bool same = od_is(n, "auto_pad", "SAME_UPPER", "NOTSET") || od_is(n, "auto_pad", "SAME_LOWER", "NOTSET");
  bool padded = od_is(n, "auto_pad", "NOTSET", "NOTSET");
  if (!od_ints(n, "output_padding", extra, (size_t)spatial, 0) ||
      !od_ints(n, "output_shape", shape, (size_t)spatial, 0))
    return false;
  od_ints(n, "pads", pads, 2 * (size_t)spatial, 0);
  od_ints(n, "strides", v->step, (size_t)spatial, 1);
  od_ints(n, "dilations", v->dilate, (size_t)spatial, 1);
  for (int i = 0; i < spatial; i++) {
    int64_t range = (w->dim[2 + i] - 1) * v->dilate[i] + 1, all = (x->dim[2 + i] - 1) * v->step[i] + range;
    v->dilate[i]--;
    v->before[i] = padded && !given ? pads[i] : 0;
    v->out[i] = all + extra[i] - (padded ? pads[i] + pads[spatial + i] : 0);
    if (given || same) {
      v->out[i] = given ? shape[i] : x->dim[2 + i] * v->step[i];
      int64_t cut = OD_MAX(all + extra[i] - v->out[i], 0);
      v->before[i] = od_is(n, "auto_pad", "SAME_UPPER", "NOTSET") ? cut / 2 : cut - cut / 2;
    }
    v->after[i] = all - v->out[i] - v->before[i]; /* negative: output rows that no window reaches */
    if (v->out[i] < 1) return false;
  }
  return true;
}

static ox_status *shape_of(od_builder *b, const od_node *n, od_conv *c) {
  const ox_shape *x = od_in_shape(b, n, 0), *w = od_in_shape(b, n, 1);
  c->group = od_int(n, "group", 1), c->rank = x->rank;
  if (x->rank != w->rank || x->rank < 3 || x->rank > 5)
    return od_bad_shape(b, "input and weights are of different ranks");
  if (c->group < 1 || x->dim[1] != w->dim[0] || w->dim[0] % c->group || w->dim[0] < 1 || w->dim[1] < 1)
    return od_bad_shape(b, "the channels of input, weights and groups do not fit");
  if (!size_output(n, x, w, c)) return od_bad_shape(b, "there is no output");
  c->x = *x, c->y = *x, c->y.dim[1] = w->dim[1] * c->group;
  for (int i = 0; i < x->rank - 2; i++) c->y.dim[2 + i] = c->window.out[i];
  return NULL;
}

/* A view of the model's [I, O / groups, ...] as [O, I, ...] or [groups, O, I, ...]. */
static dnnl_memory_desc_t see_weights(const ox_shape *w, od_conv *c, dnnl_data_type_t type) {
  int g = c->group > 1;
  int64_t strides[6], inner = 1;
  c->w_rank = w->rank + g;
  for (int i = w->rank - 1; i >= 2; i--) c->w_dims[g + i] = w->dim[i], strides[g + i] = inner, inner *= w->dim[i];
  c->w_dims[g] = w->dim[1], strides[g] = inner;
  c->w_dims[g + 1] = w->dim[0] / c->group, strides[g + 1] = inner * w->dim[1];
  if (g) c->w_dims[0] = c->group, strides[0] = strides[g + 1] * c->w_dims[g + 1];
  return od_md_strided(c->w_rank, c->w_dims, strides, type);
}

static dnnl_status_t describe_with(od_builder *b, const od_conv *c, dnnl_data_type_t type, bool has_bias,
                                   dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out_pd) {
  dnnl_deconvolution_desc_t desc;
  const od_window *w = &c->window;
  dnnl_memory_desc_t x = od_md_any(c->rank, c->x.dim, type), y = od_md_any(c->rank, c->y.dim, type);
  dnnl_memory_desc_t weights = od_md_any(c->w_rank, c->w_dims, type), bias = od_md_plain(1, &c->y.dim[1], type);
  dnnl_status_t s = dnnl_dilated_deconvolution_forward_desc_init(
      &desc, dnnl_forward_inference, dnnl_deconvolution_direct, &x, &weights, has_bias ? &bias : NULL, &y, w->step,
      w->dilate, w->before, w->after);
  return s == dnnl_success ? od_primitive_desc_create(out_pd, &desc, attr, b->ep->engine) : s;
}

static ox_status *describe(od_builder *b, const od_conv *c, dnnl_data_type_t type, bool has_bias, od_chain *chain,
                           dnnl_primitive_desc_t *out_pd) {
  for (;;) {
    dnnl_primitive_attr_t attr;
    OD_TRY(od_attr_create(b, &attr));
    dnnl_status_t s = od_chain_attr(b, chain, attr);
    if (s == dnnl_success) s = describe_with(b, c, type, has_bias, attr, out_pd);
    dnnl_primitive_attr_destroy(attr);
    if (s == dnnl_success) return NULL;
    if (!od_chain_shorten(chain)) return od_check(b, s, "describing a transposed convolution");
  }
}

ox_status *od_conv_transpose_build(od_builder *b, const od_node *n) {
  od_conv c = {0};
  od_chain chain;
  dnnl_primitive_desc_t pd;
  od_args args = {0};
  uint32_t x, w, bias = OD_NO_VALUE, dtype = od_val(b, od_in(n, 0))->dtype;
  dnnl_data_type_t type = od_type(dtype);
  OD_TRY(shape_of(b, n, &c));
  if (od_count(&c.y) == 0) {
    dnnl_memory_desc_t md = od_md_plain(c.rank, c.y.dim, type);
    return od_write(b, od_out(n, 0), &c.y, dtype, &md, &x);
  }
  dnnl_memory_desc_t seen = see_weights(od_in_shape(b, n, 1), &c, type);
  od_chain_begin(od_out(n, 0), &c.y, dtype, c.rank, c.y.dim, &chain);
  od_chain_find(b, &chain);
  OD_TRY(describe(b, &c, type, od_in(n, 2) != OD_NO_VALUE, &chain, &pd));
  dnnl_memory_desc_t x_md = od_md_wanted(pd, dnnl_query_src_md, 0), w_md = od_md_wanted(pd, dnnl_query_weights_md, 0),
                     b_md = od_md_wanted(pd, dnnl_query_weights_md, 1);
  ox_status *st = od_read_as(b, od_in(n, 0), &x_md, &x);
  if (!st) st = od_weights(b, od_in(n, 1), &seen, &w_md, &w);
  if (!st && od_in(n, 2) != OD_NO_VALUE) st = od_weights(b, od_in(n, 2), &b_md, &b_md, &bias);
  if (st) {
    dnnl_primitive_desc_destroy(pd);
    return st;
  }
  od_arg_add(&args, DNNL_ARG_SRC, x);
  od_arg_add(&args, DNNL_ARG_WEIGHTS, w);
  od_arg_add(&args, DNNL_ARG_BIAS, bias);
  return od_chain_emit(b, &chain, pd, &args);
}
