/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_conv.c - Conv, with a constant BatchNormalization folded into its weights and the nodes after it as
 * post-operations. */
#include <math.h>
#include <string.h>

#include "od_int8.h"
#include "od_shares.h"

/* ---- claims ---- */

/* Input and weights have the same rank, so it is enough if one of them is known. */
static const char *refuse(const od_node *n) {
  ox_shape x, w;
  if (od_in_type(n, 1, &w) != od_in_type(n, 0, &x)) return REASON("weights of the input's type", "{0}, {1}");
  const char *why = od_refuse_type(n, x.rank < 0);
  if (why) return why;
  if (x.rank >= 0 && w.rank >= 0 && w.rank != x.rank) return REASON("weights of the input's rank", "{0}, {1}");
  if (od_is_dequantized(n, 0) && (why = od_int8_conv_refuse(n, 1)) != NULL) return why;
  return od_window_refuse(n, OD_MAX(x.rank, w.rank) - 2);
}

/* ---- shapes ---- */

ox_status *od_conv_shape(od_builder *b, const od_node *n, size_t x_at, size_t w_at, od_conv *c) {
  const ox_shape *x = od_in_shape(b, n, x_at), *w = od_in_shape(b, n, w_at);
  int64_t kernel[3];
  if (x->rank != w->rank || x->rank < 3 || x->rank > 5)
    return od_bad_shape(b, "input and weights are of different ranks");
  c->rank = x->rank, c->group = od_int(n, "group", 1);
  if (c->group < 1 || w->dim[0] % c->group || x->dim[1] != w->dim[1] * c->group || w->dim[0] < 1 || w->dim[1] < 1)
    return od_bad_shape(b, "the channels of input, weights and groups do not fit");
  if (!od_ints(n, "kernel_shape", kernel, (size_t)x->rank - 2, -1)) return od_bad_shape(b, "kernel_shape");
  for (int i = 0; i < x->rank - 2; i++) {
    if (kernel[i] != -1 && kernel[i] != w->dim[2 + i])
      return od_bad_shape(b, "kernel_shape is not that of the weights");
    kernel[i] = w->dim[2 + i];
  }
  if (!od_window_read(n, x->rank - 2, x->dim + 2, kernel, false, false, &c->window))
    return od_bad_shape(b, "the window is larger than the input");
  c->x = *x, c->y = *x;
  c->y.dim[1] = w->dim[0];
  for (int i = 0; i < x->rank - 2; i++) c->y.dim[2 + i] = c->window.out[i];
  /* [O, I, ...] or [groups, O, I, ...]: the same memory in both cases */
  int g = c->group > 1;
  c->w_rank = x->rank + g;
  if (g) c->w_dims[0] = c->group;
  c->w_dims[g] = w->dim[0] / c->group;
  for (int i = 1; i < w->rank; i++) c->w_dims[g + i] = w->dim[i];
  return NULL;
}

/* ---- BatchNormalization ---- */

static const float *floats(const od_node *n, size_t i, int64_t count) {
  const ox_tensor *t = od_in_const(n, i);
  return t && t->dtype == OX_F32 && t->bytes == (size_t)count * sizeof(float) ? t->data : NULL;
}

static float at(const float *p, int64_t i) { /* constants may be unaligned */
  float x;
  memcpy(&x, p + i, sizeof x);
  return x;
}

/* The BatchNormalization after |n|, if it and the weights are constant; else SIZE_MAX. */
static size_t find_norm(od_builder *b, const od_node *n, int64_t channels) {
  size_t k = od_only_reader(b, od_out(n, 0));
  const ox_tensor *w = od_in_const(n, 1);
  if (k == SIZE_MAX || !w || w->dtype != OX_F32) return SIZE_MAX;
  if (od_in(n, 2) != OD_NO_VALUE && !floats(n, 2, channels)) return SIZE_MAX;
  od_node norm = od_node_of(b, k);
  if (strcmp(od_op_name(&norm), "BatchNormalization") != 0 || od_int(&norm, "training_mode", 0)) return SIZE_MAX;
  if (od_in(&norm, 0) != od_out(n, 0) || od_version(&norm) < 7) return SIZE_MAX;
  for (size_t i = 1; i < 5; i++)
    if (!floats(&norm, i, channels)) return SIZE_MAX;
  return k;
}

/* y = (w x + b - mean) s + beta with s = scale / sqrt(var + epsilon), so the weights become w s and the bias
 * (b - mean) s + beta. */
static void fold(const od_node *n, const od_node *norm, const ox_tensor *w, float *weights, float *bias) {
  int64_t channels = w->shape.dim[0], each = (int64_t)(w->bytes / sizeof(float)) / channels;
  const float *scale = floats(norm, 1, channels), *beta = floats(norm, 2, channels), *mean = floats(norm, 3, channels),
              *var = floats(norm, 4, channels), *b = floats(n, 2, channels);
  double epsilon = od_float(norm, "epsilon", 1e-5f);
  for (int64_t o = 0; o < channels; o++) {
    double s = at(scale, o) / sqrt(at(var, o) + epsilon);
    bias[o] = (float)(((b ? at(b, o) : 0.0) - at(mean, o)) * s + at(beta, o));
    for (int64_t i = 0; i < each; i++) weights[o * each + i] = (float)(at(w->data, o * each + i) * s);
  }
}

static ox_status *fold_into(od_builder *b, const od_node *n, size_t norm_at, const dnnl_memory_desc_t *w_plain,
                            const dnnl_memory_desc_t *w_md, const dnnl_memory_desc_t *b_md, uint32_t *out_w,
                            uint32_t *out_b) {
  uint64_t tag = 2 * (norm_at + 1);
  uint32_t w = od_in(n, 1);
  const ox_tensor *t = od_in_const(n, 1);
  od_node norm = od_node_of(b, norm_at);
  OD_TRY(od_fixed_find(b, w, tag, w_md, out_w));
  OD_TRY(od_fixed_find(b, od_in(&norm, 1), tag, b_md, out_b));
  if (*out_w != OD_NO_VALUE && *out_b != OD_NO_VALUE) return NULL;
  float *both = od_alloc(b->ep, t->bytes + (size_t)t->shape.dim[0] * sizeof(float));
  if (!both) return od_no_memory(b->ep);
  float *bias = both + t->bytes / sizeof(float);
  fold(n, &norm, t, both, bias);
  ox_status *st = od_fixed_make(b, w, tag, both, w_plain, w_md, out_w);
  if (!st) st = od_fixed_make(b, od_in(&norm, 1), tag, bias, b_md, b_md, out_b);
  od_free(b->ep, both);
  return st;
}

/* ---- the primitive ---- */

dnnl_status_t od_conv_describe(od_builder *b, const od_conv *c, const od_conv_types *t, dnnl_primitive_attr_t attr,
                               dnnl_primitive_desc_t *out_pd) {
  dnnl_convolution_desc_t desc;
  const od_window *w = &c->window;
  dnnl_memory_desc_t x = od_md_any(c->rank, c->x.dim, t->x), y = od_md_any(c->rank, c->y.dim, t->y);
  dnnl_memory_desc_t weights = od_md_any(c->w_rank, c->w_dims, t->w), bias = od_md_plain(1, &c->y.dim[1], t->bias);
  dnnl_status_t s = dnnl_dilated_convolution_forward_desc_init(
      &desc, dnnl_forward_inference, dnnl_convolution_direct, &x, &weights,
      t->bias == dnnl_data_type_undef ? NULL : &bias, &y, w->step, w->dilate, w->before, w->after);
  return s == dnnl_success ? od_primitive_desc_create(out_pd, &desc, attr, b->ep->engine) : s;
}

/* Describes the primitive with the longest part of the chain for which there is fast code; without a chain any
 * implementation will do. */
static ox_status *describe(od_builder *b, const od_conv *c, const od_conv_types *t, od_chain *chain,
                           dnnl_primitive_desc_t *out_pd) {
  for (;;) {
    dnnl_primitive_attr_t attr;
    OD_TRY(od_attr_create(b, &attr));
    dnnl_status_t s = od_chain_attr(b, chain, attr);
    if (s == dnnl_success) s = od_conv_describe(b, c, t, attr, out_pd);
    dnnl_primitive_attr_destroy(attr);
    if (s == dnnl_success && (!chain->n_nodes || (!od_is_reference(*out_pd) && od_can_create(*out_pd)))) return NULL;
    if (s == dnnl_success) dnnl_primitive_desc_destroy(*out_pd);
    if (!od_chain_shorten(chain)) return od_check(b, s, "describing a convolution");
  }
}

static ox_status *add_weights(od_builder *b, const od_node *n, const od_conv *c, size_t norm, dnnl_data_type_t type,
                              const_dnnl_primitive_desc_t pd, od_args *args) {
  dnnl_memory_desc_t plain = od_md_plain(c->w_rank, c->w_dims, type), w_md = od_md_wanted(pd, dnnl_query_weights_md, 0);
  dnnl_memory_desc_t b_md = od_md_wanted(pd, dnnl_query_weights_md, 1);
  uint32_t w, bias = OD_NO_VALUE;
  if (norm != SIZE_MAX) {
    OD_TRY(fold_into(b, n, norm, &plain, &w_md, &b_md, &w, &bias));
  } else {
    OD_TRY(od_weights(b, od_in(n, 1), &plain, &w_md, &w));
    if (od_in(n, 2) != OD_NO_VALUE) OD_TRY(od_weights(b, od_in(n, 2), &b_md, &b_md, &bias));
  }
  od_arg_add(args, DNNL_ARG_WEIGHTS, w);
  od_arg_add(args, DNNL_ARG_BIAS, bias);
  return NULL;
}

static ox_status *emit(od_builder *b, const od_node *n, const od_conv *c, size_t norm, const od_chain *chain,
                       dnnl_primitive_desc_t pd, dnnl_data_type_t type) {
  od_args args = {0};
  uint32_t x;
  dnnl_memory_desc_t x_md = od_md_wanted(pd, dnnl_query_src_md, 0);
  ox_status *st = od_read_as(b, od_in(n, 0), &x_md, &x);
  if (!st) od_arg_add(&args, DNNL_ARG_SRC, x);
  if (!st) st = add_weights(b, n, c, norm, type, pd, &args);
  if (!st) return od_chain_emit(b, chain, pd, &args);
  dnnl_primitive_desc_destroy(pd);
  return st;
}

static ox_status *build(od_builder *b, const od_node *n) {
  od_conv c;
  od_chain chain;
  dnnl_primitive_desc_t pd;
  OD_TRY(od_conv_shape(b, n, 0, 1, &c));
  uint32_t dtype = od_val(b, od_in(n, 0))->dtype, out = od_out(n, 0);
  dnnl_data_type_t type = od_type(dtype);
  if (od_in(n, 2) != OD_NO_VALUE && (od_in_shape(b, n, 2)->rank != 1 || od_in_shape(b, n, 2)->dim[0] != c.y.dim[1]))
    return od_bad_shape(b, "the bias is not one number for each channel");
  if (od_count(&c.y) == 0) {
    dnnl_memory_desc_t md = od_md_plain(c.rank, c.y.dim, type);
    uint32_t mem;
    return od_write(b, out, &c.y, dtype, &md, &mem);
  }
  od_int8 q;
  bool done = false;
  if (od_int8_read(b, n, 0, c.y.dim[1], &q)) OD_TRY(od_int8_conv_build(b, n, &c, &q, &done));
  if (done) return NULL;
  size_t norm = find_norm(b, n, c.y.dim[1]);
  if (norm != SIZE_MAX) { /* folded into the weights, whatever becomes of the chain */
    od_node k = od_node_of(b, norm);
    out = od_out(&k, 0);
    od_node_done(b, norm);
  }
  od_chain_begin(out, &c.y, dtype, c.rank, c.y.dim, &chain);
  od_chain_find(b, &chain);
  od_conv_types t = {type, type, type, type};
  if (norm == SIZE_MAX && od_in(n, 2) == OD_NO_VALUE) t.bias = dnnl_data_type_undef;
  OD_TRY(describe(b, &c, &t, &chain, &pd));
  return emit(b, n, &c, norm, &chain, pd, type);
}

const od_op od_conv_ops[] = {
    {"Conv", refuse, build}, {"ConvTranspose", od_conv_transpose_refuse, od_conv_transpose_build}, {NULL, NULL, NULL}};
