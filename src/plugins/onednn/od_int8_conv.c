/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_int8_conv.c - convolutions of integers: Conv between DequantizeLinears, and QLinearConv. */
#include "od_int8.h"

enum { CHANNELS = 1 << 1 }; /* mask of the dimension along which scales vary */

/* Describes the primitive with the longest part of the chain for which there is fast code; |*out_pd| is NULL if there
 * is none even without the chain. */
static ox_status *describe(od_builder *b, const od_conv *c, const od_int8 *q, bool reference, od_chain *chain,
                           dnnl_primitive_desc_t *out_pd) {
  od_conv_types t = {od_type(od_val(b, q->x.from)->dtype), dnnl_s8, q->has_bias ? dnnl_f32 : dnnl_data_type_undef,
                     dnnl_f32};
  do {
    dnnl_primitive_attr_t attr;
    t.y = od_type(od_chain_type(chain));
    OD_TRY(od_attr_create(b, &attr));
    dnnl_status_t s = od_int8_attr(b, q, chain, CHANNELS, attr);
    if (s == dnnl_success) s = od_conv_describe(b, c, &t, attr, out_pd);
    dnnl_primitive_attr_destroy(attr);
    if (s == dnnl_success && (reference || !od_is_reference(*out_pd)) && od_can_create(*out_pd)) return NULL;
    if (s == dnnl_success) dnnl_primitive_desc_destroy(*out_pd);
    if (s != dnnl_success && s != dnnl_unimplemented) return od_check(b, s, "describing a convolution of integers");
  } while (od_chain_shorten(chain));
  *out_pd = NULL;
  return NULL;
}

static ox_status *emit(od_builder *b, const od_conv *c, const od_int8 *q, uint32_t bias_value, const od_chain *chain,
                       dnnl_primitive_desc_t pd) {
  od_args args = {0};
  uint32_t x, w, bias;
  dnnl_memory_desc_t plain = od_md_plain(c->w_rank, c->w_dims, dnnl_s8), x_md = od_md_wanted(pd, dnnl_query_src_md, 0),
                     w_md = od_md_wanted(pd, dnnl_query_weights_md, 0),
                     b_md = od_md_wanted(pd, dnnl_query_weights_md, 1);
  ox_status *st = od_read_as(b, q->x.from, &x_md, &x);
  if (!st) st = od_int8_weights(b, q, &plain, &w_md, &w);
  if (!st) st = od_int8_bias(b, q, bias_value, chain->quantized && od_chain_only_cuts(chain), &b_md, &bias);
  if (st) {
    dnnl_primitive_desc_destroy(pd);
    return st;
  }
  od_arg_add(&args, DNNL_ARG_SRC, x);
  od_arg_add(&args, DNNL_ARG_WEIGHTS, w);
  od_arg_add(&args, DNNL_ARG_BIAS, bias);
  return od_chain_emit(b, chain, pd, &args);
}

ox_status *od_int8_conv_build(od_builder *b, const od_node *n, const od_conv *c, const od_int8 *q, bool *out_done) {
  od_chain chain;
  dnnl_primitive_desc_t pd;
  od_chain_begin(od_out(n, 0), &c->y, OX_F32, c->rank, c->y.dim, &chain);
  chain.of_integers = true;
  od_chain_find(b, &chain);
  OD_TRY(describe(b, c, q, false, &chain, &pd));
  *out_done = pd != NULL;
  return pd ? emit(b, c, q, od_in(n, 2), &chain, pd) : NULL;
}

/* Where groups of one channel over three spatial axes make 8 outputs in all, the library's sums are wrong if the input
 * has a zero point: it blocks those weights by eight groups, and compensates for others. */
const char *od_int8_conv_refuse(const od_node *n, size_t w_at) {
  ox_shape w;
  od_in_type(n, w_at, &w);
  return w.rank == 5 && od_int(n, "group", 1) > 1 && w.dim[1] == 1
             ? REASON("at most two spatial axes for groups of one channel of integers (the library is wrong else)",
                      "{group}, {inputs}")
             : NULL;
}

/* ---- QLinearConv ---- */

static const char *read_quants(const od_node *n, od_quant *x, od_quant *w, od_quant *y) {
  const char *why = od_quant_read(n, 1, x);
  if (!why) why = od_quant_read(n, 4, w);
  if (!why) why = od_quant_read(n, 6, y);
  if (why) return why;
  return od_quant_is_one(x) && od_quant_is_one(y) ? NULL
                                                  : REASON("one scale of the input and one of the output", "{1}, {6}");
}

static const char *refuse(const od_node *n) {
  od_quant x, w, y;
  const char *why = read_quants(n, &x, &w, &y);
  const ox_tensor *weights = od_in_const(n, 3), *bias = od_in_const(n, 8);
  if (why) return why;
  if (!weights || weights->shape.rank < 3 || weights->shape.rank != od_in_rank(n, 0))
    return REASON("constant weights of the input's rank, 3 or more", "{0}, {3}");
  if (!od_int8_weights_fit(weights, &w, 0, weights->shape.dim[0]))
    return REASON("weights with zero points of 0 (of 128 where they are uint8)", "{3}, {5}");
  if (od_in(n, 8) != OD_NO_VALUE &&
      (!bias || bias->dtype != OX_I32 || bias->shape.rank != 1 || bias->shape.dim[0] != weights->shape.dim[0]))
    return REASON("a constant bias of int32, one for each output channel", "{8}");
  why = od_int8_conv_refuse(n, 3);
  return why ? why : od_window_refuse(n, od_in_rank(n, 0) - 2);
}

static ox_status *build(od_builder *b, const od_node *n) {
  od_conv c;
  od_quant y;
  od_chain chain;
  dnnl_primitive_desc_t pd;
  od_int8 q = {.has_bias = od_in(n, 8) != OD_NO_VALUE, .bias = od_in_const(n, 8), .bias_is_exact = true};
  OD_TRY(od_conv_shape(b, n, 0, 3, &c));
  read_quants(n, &q.x, &q.w, &y);
  q.x.from = od_in(n, 0), q.w.from = od_in(n, 3), q.channels = c.y.dim[1];
  od_chain_begin(od_out(n, 0), &c.y, OX_F32, c.rank, c.y.dim, &chain);
  chain.of_integers = true;
  od_chain_quantize(&chain, od_scale_at(&y, 0), od_zero_at(&y, 0), y.zero ? y.zero->dtype : OX_U8);
  if (od_count(&c.y) == 0) {
    dnnl_memory_desc_t md = od_md_plain(c.rank, c.y.dim, od_type(chain.q_type));
    uint32_t mem;
    return od_write(b, od_out(n, 0), &c.y, chain.q_type, &md, &mem);
  }
  OD_TRY(describe(b, &c, &q, true, &chain, &pd));
  return pd ? emit(b, &c, &q, od_in(n, 8), &chain, pd) : od_check(b, dnnl_unimplemented, "describing a convolution");
}

const od_op od_qconv_ops[] = {{"QLinearConv", refuse, build}, {NULL, NULL, NULL}};
