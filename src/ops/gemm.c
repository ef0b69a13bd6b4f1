/* SPDX-License-Identifier: Apache-2.0
 * ops/gemm.c - Gemm: act(alpha A' B' + beta C) of matrices, and com.microsoft.FusedGemm. */
#include "ops/matmul/product.h"

typedef struct gemm_attrs {
  float alpha, beta, activation_alpha, activation_beta, activation_gamma;
  bool has_activation_alpha, has_activation_beta;
  int64_t transA, transB, broadcast;
  const char *activation;
} gemm_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_FLOAT(gemm_attrs, alpha, 1.0f),
    OX_ATTR_FLOAT(gemm_attrs, beta, 1.0f),
    OX_ATTR_INT(gemm_attrs, transA, 0),
    OX_ATTR_INT(gemm_attrs, transB, 0),
    OX_ATTR_INT(gemm_attrs, broadcast, 0),
    OX_ATTR_STR(gemm_attrs, activation, ""),
    OX_ATTR_FLOAT_HAS(gemm_attrs, activation_alpha, 0),
    OX_ATTR_FLOAT_HAS(gemm_attrs, activation_beta, 0),
    OX_ATTR_FLOAT(gemm_attrs, activation_gamma, 0),
};

static ox_status *activation(const gemm_attrs *a, ox_act *out) {
  float params[2] = {a->activation_alpha, a->activation_beta};
  size_t n = a->has_activation_beta ? 2 : a->has_activation_alpha;
  if (ox_act_parse(a->activation, params, n, out)) return NULL;
  return ox_fail(OX_INVALID_MODEL, "no activation is called '%s'", a->activation);
}

static ox_status *infer(ox_infer_ctx *c) {
  const gemm_attrs *a = c->attrs;
  const ox_shape *sa = &c->in[0]->shape, *sb = &c->in[1]->shape;
  ox_shape out = ox_shape_of(2, (int64_t[]){-1, -1});
  const bool trans[4] = {a->transA, a->transB};
  if ((sa->rank >= 0 && sa->rank != 2) || (sb->rank >= 0 && sb->rank != 2))
    return ox_fail(OX_INVALID_MODEL, "Gemm: A and B must be matrices, got ranks %d and %d", sa->rank, sb->rank);
  if (sa->rank == 2 && sb->rank == 2)
    OX_TRY(ox_product_infer("Gemm", sa, sb, trans, &out));
  else if (sa->rank == 2)
    out.dim[0] = sa->dim[a->transA ? 1 : 0];
  else if (sb->rank == 2)
    out.dim[1] = sb->dim[a->transB ? 0 : 1];
  ox_infer_out(c, 0, c->in[0]->dtype, &out);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  const gemm_attrs *a = c->attrs;
  ox_product_b *b = NULL;
  ox_act act;
  OX_TRY(activation(a, &act));
  OX_TRY(ox_product_const(c, c->in_const[1], a->transB, &b));
  c->state = b;
  if (b) c->consumed |= 2;
  return NULL;
}

/* The oldest versions broadcast C as if it had been aligned at the front of the result (axis 0), but only a scalar or
 * the whole shape differ from today's rule there, and a vector of the row length is what exporters wrote: same rule. */
static ox_status *prepare(ox_kernel_ctx *c) {
  const gemm_attrs *a = c->attrs;
  const bool trans[4] = {a->transA, a->transB};
  ox_product *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  p->type = c->in[0]->dtype, p->in_a = 0, p->in_b = 1;
  p->epi.alpha = a->alpha, p->epi.beta = a->beta;
  OX_TRY(ox_product_shape(p, &c->in[0]->shape, &c->in[1]->shape, trans));
  if (ox_ctx_has(c, 2) && a->beta != 0) OX_TRY(ox_product_term(p, 0, 2, &c->in[2]->shape, &c->out[0]->shape));
  OX_TRY(activation(a, &p->epi.act));
  return ox_product_plan(c, p, c->state);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  return ox_product_run(c, c->prep, stage, tiles, scratch);
}

static double flops(const ox_kernel_ctx *c) {
  return 2.0 * (double)ox_shape_count(&c->out[0]->shape) * (double)((const ox_product *)c->prep)->k;
}

enum { WIDE = OX_BIT(OX_I32) | OX_BIT(OX_I64) | OX_BIT(OX_U32) | OX_BIT(OX_U64) };
#define COMMON                                                                                        \
  .since = 1, .types = {OX_T_FLOAT | WIDE}, .vars = "TTT", .min_in = 2, .max_in = 3, OX_ATTRS(attrs), \
  .attrs_bytes = sizeof(gemm_attrs), .infer = infer
#define COMMON_KERNEL .load = load, .prepare = prepare, .run = run, .flops = flops, .packs_in = 1u << 1

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Gemm", COMMON), OX_KERNEL(COMMON_KERNEL)},
    {OX_SCHEMA(.name = "FusedGemm", .domain = "com.microsoft", COMMON), OX_KERNEL(COMMON_KERNEL)},
};
const ox_op_set ox_ops_gemm = {ops, OX_COUNT(ops)};
