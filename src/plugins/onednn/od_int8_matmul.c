/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_int8_matmul.c - integer products: MatMul and Gemm between DequantizeLinears, and QLinearMatMul. */
#include <string.h>

#include "od_int8.h"

static ox_status *describe(od_builder *b, const od_product *p, const od_int8 *q, od_product_types *t, bool reference,
                           od_chain *chain, dnnl_primitive_desc_t *out_pd) {
  do {
    dnnl_primitive_attr_t attr;
    t->y = od_md_plain(p->rank, p->y, od_type(od_chain_type(chain)));
    OD_TRY(od_attr_create(b, &attr));
    dnnl_status_t s = od_int8_attr(b, q, chain, 1 << (p->rank - 1), attr);
    if (s == dnnl_success) s = od_product_describe(b, t, attr, out_pd);
    dnnl_primitive_attr_destroy(attr);
    if (s == dnnl_success && (reference || !od_is_reference(*out_pd))) return NULL;
    if (s == dnnl_success) dnnl_primitive_desc_destroy(*out_pd);
    if (s != dnnl_success && s != dnnl_unimplemented) return od_check(b, s, "describing a product of integers");
  } while (od_chain_shorten(chain));
  *out_pd = NULL;
  return NULL;
}

static ox_status *emit(od_builder *b, const od_product_types *t, const od_int8 *q, uint32_t bias_value,
                       const od_chain *chain, dnnl_primitive_desc_t pd) {
  od_args args = {0};
  uint32_t a, w, bias;
  dnnl_memory_desc_t w_md = od_md_wanted(pd, dnnl_query_weights_md, 0);
  ox_status *st = od_read_plain(b, q->x.from, &a);
  if (!st) st = od_view(b, a, &t->a, &a);
  if (!st) st = od_int8_weights(b, q, &t->w_plain, &w_md, &w);
  if (!st) st = od_int8_bias(b, q, bias_value, !chain->quantized || od_chain_only_cuts(chain), &t->bias, &bias);
  if (st) {
    dnnl_primitive_desc_destroy(pd);
    return st;
  }
  od_arg_add(&args, DNNL_ARG_SRC, a);
  od_arg_add(&args, DNNL_ARG_WEIGHTS, w);
  od_arg_add(&args, DNNL_ARG_BIAS, bias);
  return od_chain_emit(b, chain, pd, &args);
}

/* |a| and |w_plain| give dimensions and layout of the matrices; their data types are ignored. */
static od_product_types types_of(od_builder *b, const od_product *p, const od_int8 *q, const dnnl_memory_desc_t *a,
                                 const dnnl_memory_desc_t *w_plain) {
  od_product_types t = {.a = *a, .w = od_md_any(p->rank, p->w, dnnl_s8), .w_plain = *w_plain};
  int64_t row[OD_MOST_DIMS];
  t.a.data_type = od_type(od_val(b, q->x.from)->dtype), t.w_plain.data_type = dnnl_s8;
  for (int i = 0; i < p->rank; i++) row[i] = i == p->rank - 1 ? p->y[i] : 1;
  if (q->has_bias) t.bias = od_md_plain(p->rank, row, dnnl_f32);
  return t;
}

ox_status *od_int8_product_build(od_builder *b, const od_node *n, const od_product *p, const od_int8 *q,
                                 const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *w_plain, bool *out_done) {
  od_chain chain;
  dnnl_primitive_desc_t pd;
  od_product_types t = types_of(b, p, q, a, w_plain);
  od_chain_begin(od_out(n, 0), &p->shape, OX_F32, p->rank, p->y, &chain);
  chain.of_integers = true;
  od_chain_find(b, &chain);
  OD_TRY(describe(b, p, q, &t, false, &chain, &pd));
  *out_done = pd != NULL;
  return pd ? emit(b, &t, q, od_in(n, 2), &chain, pd) : NULL;
}

/* ---- QLinearMatMul ---- */

static const char *read_quants(const od_node *n, od_quant *a, od_quant *w, od_quant *y) {
  const char *why = od_quant_read(n, 1, a);
  if (!why) why = od_quant_read(n, 4, w);
  if (!why) why = od_quant_read(n, 6, y);
  if (why) return why;
  return od_quant_is_one(a) && od_quant_is_one(y) ? NULL
                                                  : REASON("one scale of the input and one of the output", "{1}, {6}");
}

static const char *refuse(const od_node *n) {
  od_quant a, w, y;
  const char *why = read_quants(n, &a, &w, &y);
  const ox_tensor *weights = od_in_const(n, 3);
  if (why) return why;
  if (!weights || weights->shape.rank != 2 || od_in_rank(n, 0) < 2)
    return REASON("a constant matrix on the right, and 2 or more axes on the left", "{0}, {3}");
  w.axis = 1;
  return od_int8_weights_fit(weights, &w, 1, weights->shape.dim[1])
             ? NULL
             : REASON("weights with zero points of 0 (of 128 where they are uint8)", "{3}, {5}");
}

static ox_status *build(od_builder *b, const od_node *n) {
  od_product p;
  od_quant y;
  od_chain chain;
  dnnl_primitive_desc_t pd;
  od_int8 q = {0};
  OD_TRY(od_product_shape(b, od_in_shape(b, n, 0), od_in_shape(b, n, 3), &p));
  read_quants(n, &q.x, &q.w, &y);
  q.x.from = od_in(n, 0), q.w.from = od_in(n, 3), q.w.axis = 1, q.channels = p.y[1];
  dnnl_memory_desc_t a = od_md_plain(p.rank, p.a, dnnl_u8), w = od_md_plain(p.rank, p.w, dnnl_s8);
  od_product_types t = types_of(b, &p, &q, &a, &w);
  od_chain_begin(od_out(n, 0), &p.shape, OX_F32, p.rank, p.y, &chain);
  chain.of_integers = true;
  od_chain_quantize(&chain, od_scale_at(&y, 0), od_zero_at(&y, 0), y.zero ? y.zero->dtype : OX_U8);
  if (od_count(&p.shape) == 0) {
    dnnl_memory_desc_t md = od_md_plain(p.shape.rank, p.shape.dim, od_type(chain.q_type));
    uint32_t mem;
    return od_write(b, od_out(n, 0), &p.shape, chain.q_type, &md, &mem);
  }
  if (!p.k) return od_bad_shape(b, "an inner dimension of 0");
  OD_TRY(describe(b, &p, &q, &t, true, &chain, &pd));
  return pd ? emit(b, &t, &q, OD_NO_VALUE, &chain, pd) : od_check(b, dnnl_unimplemented, "describing a product");
}

const od_op od_qmatmul_ops[] = {{"QLinearMatMul", refuse, build}, {NULL, NULL, NULL}};
