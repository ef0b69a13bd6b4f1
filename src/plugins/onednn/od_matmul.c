/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_matmul.c - MatMul and Gemm as the library's matmul, with as few dimensions as possible. */
#include <string.h>

#include "od_int8.h"
#include "od_shares.h"

/* ---- claims ---- */

static const char *refuse(const od_node *n) {
  ox_shape a, w;
  const char *why = od_refuse_type(n, 0);
  if (why) return why;
  if (od_in_type(n, 1, &w) != od_in_type(n, 0, &a)) return REASON("inputs of one type", "{inputs}");
  if (w.rank < 1 || a.rank < 1 || w.rank > 5) return REASON("inputs of 1 to 5 axes", "{inputs}");
  return NULL;
}

static bool is_row(const ox_shape *s) { return s->rank < 2 || (s->rank == 2 && s->dim[0] == 1); }

static const char *refuse_gemm(const od_node *n) {
  ox_shape c;
  const char *why = refuse(n);
  if (why) return why;
  if (od_in_rank(n, 0) != 2 || od_in_rank(n, 1) != 2) return REASON("matrices", "{0}, {1}");
  if (od_in(n, 2) == OD_NO_VALUE) return NULL;
  if (od_in_type(n, 2, &c) != od_in_type(n, 0, NULL)) return REASON("inputs of one type", "{inputs}");
  if (c.rank < 0 || c.rank > 2) return REASON("a C of known rank, at most 2", "{2}");
  bool is_bias = od_in_const(n, 2) && is_row(&c) && od_in_type(n, 2, NULL) == OX_F32;
  if (!is_bias && od_float(n, "beta", 1) != 1)
    return REASON("a constant row of float32 as C, or a beta of 1", "{2}, {beta}");
  return NULL;
}

/* ---- shapes ---- */

ox_status *od_product_shape(od_builder *b, const ox_shape *a, const ox_shape *w, od_product *p) {
  int rank = OD_MAX(OD_MAX(a->rank, w->rank), 2);
  int64_t ad[OD_MOST_DIMS], wd[OD_MOST_DIMS], batch = 1;
  if (a->rank < 1 || w->rank < 1 || rank > OD_MOST_DIMS) return od_bad_shape(b, "the ranks of its inputs");
  for (int i = 0; i < rank; i++) {
    int ai = i - (rank - a->rank), wi = i - (rank - w->rank);
    ad[i] = ai < 0 ? 1 : a->dim[ai], wd[i] = wi < 0 ? 1 : w->dim[wi];
  }
  if (w->rank == 1) wd[rank - 2] = w->dim[0], wd[rank - 1] = 1;
  if (ad[rank - 1] != wd[rank - 2]) return od_bad_shape(b, "the inner dimensions of the product differ");
  *p = (od_product){.rank = rank, .k = ad[rank - 1]};
  for (int i = 0; i < rank; i++) {
    p->a[i] = ad[i], p->w[i] = wd[i];
    p->y[i] = i == rank - 2 ? ad[i] : i == rank - 1 ? wd[i] : ad[i] == 1 ? wd[i] : ad[i];
    if (i < rank - 2 && ad[i] != p->y[i] && ad[i] != 1) return od_bad_shape(b, "the batches of its inputs differ");
    if (i < rank - 2 && wd[i] != p->y[i] && wd[i] != 1) return od_bad_shape(b, "the batches of its inputs differ");
  }
  for (int i = 0; i < rank; i++) /* skips the dimension that a vector operand does not have */
    if (!(i == rank - 2 && a->rank == 1) && !(i == rank - 1 && w->rank == 1)) p->shape.dim[p->shape.rank++] = p->y[i];
  for (int i = 0; i < rank - 2; i++) batch *= p->y[i];
  if (w->rank > 2) return NULL;
  /* All batches share one right-hand matrix: merge them into the rows. */
  p->rank = 2, p->a[0] = batch * ad[rank - 2], p->a[1] = p->k, p->w[0] = wd[rank - 2], p->w[1] = wd[rank - 1];
  p->y[0] = p->a[0], p->y[1] = p->w[1];
  return NULL;
}

/* ---- the primitive ---- */

dnnl_status_t od_product_describe(od_builder *b, const od_product_types *t, dnnl_primitive_attr_t attr,
                                  dnnl_primitive_desc_t *out_pd) {
  dnnl_matmul_desc_t desc;
  dnnl_status_t s = dnnl_matmul_desc_init(&desc, &t->a, &t->w, t->bias.ndims ? &t->bias : NULL, &t->y);
  return s == dnnl_success ? od_primitive_desc_create(out_pd, &desc, attr, b->ep->engine) : s;
}

static ox_status *describe(od_builder *b, const od_product_types *t, od_chain *chain, dnnl_primitive_desc_t *out_pd) {
  for (;;) {
    dnnl_primitive_attr_t attr;
    OD_TRY(od_attr_create(b, &attr));
    dnnl_status_t s = od_chain_attr(b, chain, attr);
    if (s == dnnl_success) s = od_product_describe(b, t, attr, out_pd);
    dnnl_primitive_attr_destroy(attr);
    if (s == dnnl_success && (!chain->n_nodes || !od_is_reference(*out_pd))) return NULL;
    if (s == dnnl_success) dnnl_primitive_desc_destroy(*out_pd);
    if (!od_chain_shorten(chain)) return od_check(b, s, "describing a product");
  }
}

/* |a| and |w| are values, to be read in the layouts of |t|; |bias| is a mem, or OD_NO_VALUE. */
static ox_status *emit(od_builder *b, uint32_t a, uint32_t w, uint32_t bias, const od_product_types *t,
                       od_chain *chain) {
  dnnl_primitive_desc_t pd;
  od_args args = {0};
  uint32_t a_mem, w_mem;
  OD_TRY(describe(b, t, chain, &pd));
  dnnl_memory_desc_t w_md = od_md_wanted(pd, dnnl_query_weights_md, 0);
  ox_status *st = od_read_plain(b, a, &a_mem);
  if (!st) st = od_view(b, a_mem, &t->a, &a_mem);
  if (!st) st = od_weights(b, w, &t->w_plain, &w_md, &w_mem);
  if (st) {
    dnnl_primitive_desc_destroy(pd);
    return st;
  }
  od_arg_add(&args, DNNL_ARG_SRC, a_mem);
  od_arg_add(&args, DNNL_ARG_WEIGHTS, w_mem);
  od_arg_add(&args, DNNL_ARG_BIAS, bias);
  return od_chain_emit(b, chain, pd, &args);
}

/* With an empty inner dimension the result is 0. */
static ox_status *write_zeros(od_builder *b, const od_node *n, const od_product *p, uint32_t dtype) {
  dnnl_memory_desc_t md = od_md_plain(p->shape.rank, p->shape.dim, od_type(dtype));
  uint32_t mem;
  OD_TRY(od_write(b, od_out(n, 0), &p->shape, dtype, &md, &mem));
  return od_count(&p->shape) ? od_emit_fill(b, mem, 0) : NULL;
}

static ox_status *build(od_builder *b, const od_node *n) {
  od_product p;
  od_chain chain;
  uint32_t a = od_in(n, 0), w = od_in(n, 1), dtype = od_val(b, a)->dtype;
  OD_TRY(od_product_shape(b, od_in_shape(b, n, 0), od_in_shape(b, n, 1), &p));
  if (!p.k || !od_count(&p.shape)) return write_zeros(b, n, &p, dtype);
  dnnl_data_type_t type = od_type(dtype);
  od_product_types t = {.a = od_md_plain(p.rank, p.a, type), .y = od_md_plain(p.rank, p.y, type)};
  t.w = t.w_plain = od_md_plain(p.rank, p.w, type);
  if (od_val(b, w)->constant) t.w = od_md_any(p.rank, p.w, type);
  od_int8 q;
  bool done = false;
  int w_rank = od_in_shape(b, n, 1)->rank;
  if (w_rank == 2 && od_int8_read(b, n, w_rank - 1, p.y[p.rank - 1], &q))
    OD_TRY(od_int8_product_build(b, n, &p, &q, &t.a, &t.w_plain, &done));
  if (done) return NULL;
  od_chain_begin(od_out(n, 0), &p.shape, dtype, p.rank, p.y, &chain);
  od_chain_find(b, &chain);
  return emit(b, a, w, OD_NO_VALUE, &t, &chain);
}

/* ---- Gemm ---- */

/* Makes the row factor * C of |n_columns|. */
static ox_status *make_bias(od_builder *b, uint32_t value, float factor, int64_t n_columns,
                            const dnnl_memory_desc_t *md, uint32_t *out_mem) {
  const ox_tensor *t = od_val(b, value)->constant;
  uint64_t tag;
  uint32_t bits;
  int64_t count = od_count(&t->shape);
  memcpy(&bits, &factor, sizeof bits);
  tag = (uint64_t)bits << 1;
  if (count != 1 && count != n_columns) return od_bad_shape(b, "what is added does not fit");
  OD_TRY(od_fixed_find(b, value, tag, md, out_mem));
  if (*out_mem != OD_NO_VALUE) return NULL;
  float *row = od_alloc(b->ep, (size_t)n_columns * sizeof *row);
  if (!row) return od_no_memory(b->ep);
  for (int64_t i = 0; i < n_columns; i++) {
    memcpy(&row[i], (const float *)t->data + (count == 1 ? 0 : i), sizeof *row);
    row[i] *= factor;
  }
  ox_status *st = od_fixed_make(b, value, tag, row, md, md, out_mem);
  od_free(b->ep, row);
  return st;
}

static ox_status *add_c(od_builder *b, const od_node *n, const od_product *p, od_product_types *t, od_chain *chain,
                        uint32_t *out_bias) {
  float alpha = od_float(n, "alpha", 1), beta = od_float(n, "beta", 1);
  uint32_t c = od_in(n, 2);
  *out_bias = OD_NO_VALUE;
  bool is_bias = c != OD_NO_VALUE && od_val(b, c)->constant && is_row(&od_val(b, c)->shape) && chain->dtype == OX_F32;
  if (is_bias && alpha != 0) {
    int64_t dims[] = {1, p->y[1]};
    t->bias = od_md_plain(2, dims, dnnl_f32);
    OD_TRY(make_bias(b, c, beta / alpha, p->y[1], &t->bias, out_bias));
  }
  if (alpha != 1) od_chain_own(chain, (od_post){.f = {dnnl_eltwise_linear, alpha, 0}, .operand = OD_NO_VALUE});
  if (c == OD_NO_VALUE || *out_bias != OD_NO_VALUE || beta == 0) return NULL;
  od_post post = {.f.alg = dnnl_binary_add, .operand = c};
  if (beta != 1 || !od_chain_see(chain, &od_val(b, c)->shape, &post))
    return od_bad_shape(b, "what is added does not fit");
  od_chain_own(chain, post);
  return NULL;
}

static ox_status *build_gemm(od_builder *b, const od_node *n) {
  od_product p;
  od_chain chain;
  uint32_t a = od_in(n, 0), w = od_in(n, 1), dtype = od_val(b, a)->dtype, bias;
  bool ta = od_int(n, "transA", 0), tw = od_int(n, "transB", 0);
  ox_shape as = *od_in_shape(b, n, 0), ws = *od_in_shape(b, n, 1);
  if (as.rank != 2 || ws.rank != 2) return od_bad_shape(b, "its inputs are not matrices");
  if (ta) as.dim[0] = od_in_shape(b, n, 0)->dim[1], as.dim[1] = od_in_shape(b, n, 0)->dim[0];
  if (tw) ws.dim[0] = od_in_shape(b, n, 1)->dim[1], ws.dim[1] = od_in_shape(b, n, 1)->dim[0];
  OD_TRY(od_product_shape(b, &as, &ws, &p));
  if (!od_count(&p.shape)) return write_zeros(b, n, &p, dtype);
  if (!p.k)
    return od_fail(b->ep, OX_NOT_IMPLEMENTED, "oneDNN: node '%s' (Gemm): an inner dimension of 0",
                   b->ep->host.node_name(b->g, b->node));
  dnnl_data_type_t type = od_type(dtype);
  const int64_t a_step[] = {ta ? 1 : p.k, ta ? p.a[0] : 1}, w_step[] = {tw ? 1 : p.w[1], tw ? p.k : 1};
  od_product_types t = {.a = od_md_strided(2, p.a, a_step, type), .y = od_md_plain(2, p.y, type)};
  t.w = t.w_plain = od_md_strided(2, p.w, w_step, type);
  if (od_val(b, w)->constant) t.w = od_md_any(2, p.w, type);
  od_int8 q;
  bool done = false,
       unscaled = od_float(n, "alpha", 1) == 1 && (od_in(n, 2) == OD_NO_VALUE || od_float(n, "beta", 1) == 1);
  if (unscaled && od_int8_read(b, n, tw ? 0 : 1, p.y[1], &q))
    OD_TRY(od_int8_product_build(b, n, &p, &q, &t.a, &t.w_plain, &done));
  if (done) return NULL;
  od_chain_begin(od_out(n, 0), &p.shape, dtype, 2, p.y, &chain);
  OD_TRY(add_c(b, n, &p, &t, &chain, &bias));
  od_chain_find(b, &chain);
  return emit(b, a, w, bias, &t, &chain);
}

const od_op od_matmul_ops[] = {{"MatMul", refuse, build}, {"Gemm", refuse_gemm, build_gemm}, {NULL, NULL, NULL}};
