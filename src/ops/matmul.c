/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul.c - MatMul, its fused forms with transposes, scale, bias and activation, and ai.onnx.Linear: a product
 * with bias, residual and activation, which the optimizer makes. One description serves all: inputs A, B, terms. */
#include <string.h>

#include "graph/tape.h"
#include "ops/matmul/product.h"

typedef struct matmul_attrs {
  float alpha;
  int64_t transA, transB, transBatchA, transBatchB;
  const char *activation;
  ox_floats activation_params;
  float activation_alpha, activation_beta; /* FusedMatMulActivation */
  bool has_activation_alpha, has_activation_beta;
} matmul_attrs;

#define PRODUCT_ROWS                                                                   \
  OX_ATTR_FLOAT(matmul_attrs, alpha, 1.0f), OX_ATTR_INT(matmul_attrs, transA, 0),      \
      OX_ATTR_INT(matmul_attrs, transB, 0), OX_ATTR_INT(matmul_attrs, transBatchA, 0), \
      OX_ATTR_INT(matmul_attrs, transBatchB, 0), OX_ATTR_STR(matmul_attrs, activation, "")
static const ox_attr_def fused_attrs[] = {PRODUCT_ROWS, OX_ATTR_FLOATS(matmul_attrs, activation_params)};
static const ox_attr_def activation_attrs[] = {PRODUCT_ROWS, OX_ATTR_FLOAT_HAS(matmul_attrs, activation_alpha, 0),
                                               OX_ATTR_FLOAT_HAS(matmul_attrs, activation_beta, 0)};

static void flags(const matmul_attrs *a, bool out[4]) {
  out[0] = a && a->transA, out[1] = a && a->transB, out[2] = a && a->transBatchA, out[3] = a && a->transBatchB;
}

static ox_status *infer(ox_infer_ctx *c) {
  bool trans[4];
  ox_shape out;
  flags(c->attrs, trans);
  for (int i = 0; i < 2; i++) /* as in ONNX Runtime, a flag for a 1-D operand is ignored */
    if (c->in[i]->shape.rank == 1)
      trans[i] = trans[i + 2] = false;
    else if (trans[i + 2] && c->in[i]->shape.rank == 2)
      trans[i + 2] = false;
  OX_TRY(ox_product_infer(c->op, &c->in[0]->shape, &c->in[1]->shape, trans, &out));
  ox_infer_out(c, 0, c->in[0]->dtype, &out);
  return NULL;
}

typedef struct matmul_state {
  ox_product_b *b;
  ox_act act;
} matmul_state;

/* The activation: part of GemmFastGelu's name, else attributes. */
static ox_status *read_act(const ox_load_ctx *c, ox_act *act) {
  const matmul_attrs *a = c->attrs;
  const char *name = strcmp(c->op, "GemmFastGelu") == 0 ? "FastGelu" : a ? a->activation : "";
  ox_floats params = a ? a->activation_params : (ox_floats){0, NULL};
  float two[2];
  if (!ox_act_parse(name, params.v, params.n, act))
    return ox_fail(OX_INVALID_MODEL, "%s: no activation is called '%s'", c->op, name);
  if (!a || (!a->has_activation_alpha && !a->has_activation_beta)) return NULL;
  two[0] = a->has_activation_alpha ? a->activation_alpha : act->a;
  two[1] = a->has_activation_beta ? a->activation_beta : act->b;
  ox_act_parse(name, two, OX_COUNT(two), act);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  const matmul_attrs *a = c->attrs;
  matmul_state *s = OX_LOAD_NEW(c, matmul_state);
  if (!s) return ox_oom();
  OX_TRY(read_act(c, &s->act));
  if (!a || !a->transBatchB) OX_TRY(ox_product_const(c, c->in_const[1], a && a->transB, &s->b));
  c->state = s;
  if (s->b) c->consumed |= 2;
  for (uint32_t i = 0; i < 2; i++)
    if (c->in_const[i] && !ox_product_is_fast(c->in_const[i]->dtype)) c->unaligned_in |= 1u << i;
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const matmul_attrs *a = c->attrs;
  const matmul_state *s = c->state;
  bool trans[4];
  ox_product *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  flags(a, trans);
  for (int i = 0; i < 2; i++)
    if (c->in[i]->shape.rank < 3) trans[i + 2] = false, trans[i] = trans[i] && c->in[i]->shape.rank == 2;
  p->type = c->in[0]->dtype, p->in_a = 0, p->in_b = 1;
  if (c->in[1]->dtype != p->type && !(p->type == OX_F32 && s && s->b) && ox_shape_count(&c->in[1]->shape))
    return ox_fail(OX_NOT_IMPLEMENTED, "a product of %s by %s: only float32 has constant weights of another type",
                   ox_dtype_name(p->type), ox_dtype_name(c->in[1]->dtype));
  p->epi.alpha = a ? a->alpha : 1, p->epi.beta = 1;
  OX_TRY(ox_product_shape(p, &c->in[0]->shape, &c->in[1]->shape, trans));
  for (uint32_t i = 2; i < 4; i++)
    if (ox_ctx_has(c, i)) OX_TRY(ox_product_term(p, (int)i - 2, (int)i, &c->in[i]->shape, &c->out[0]->shape));
  if (s) p->epi.act = s->act;
  return ox_product_plan(c, p, s ? s->b : NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  return ox_product_run(c, c->prep, stage, tiles, scratch);
}

static double flops(const ox_kernel_ctx *c) {
  const ox_product *p = c->prep;
  return 2.0 * (double)ox_shape_count(&c->out[0]->shape) * (double)p->k;
}

static ox_status *transposed(ox_tape *t, ox_id v, ox_id *out) {
  const ox_shape s = t->g->values[v].type.shape;
  int64_t perm[OX_MAX_RANK];
  if (s.rank < 2) return ox_fail(OX_NOT_IMPLEMENTED, "the gradient of a product with a vector");
  for (int i = 0; i < s.rank; i++) perm[i] = i < s.rank - 2 ? i : 2 * s.rank - 3 - i;
  OX_TRY(ox_tape_emit(t, "Transpose", v, OX_NONE, out));
  ox_id node = t->g->values[*out].producer;
  OX_TRY(ox_node_set_ints(t->g, node, "perm", perm, (size_t)s.rank));
  return t->infer(t->g, node);
}

/* d (A B) / d A = G B', d (A B) / d B = A' G */
static ox_status *gradient(ox_tape *t, const ox_node *n, ox_id g) {
  ox_id at, bt;
  OX_TRY(transposed(t, n->in[0], &at));
  OX_TRY(transposed(t, n->in[1], &bt));
  OX_TRY(ox_tape_credit_op(t, n->in[0], "MatMul", g, bt));
  return ox_tape_credit_op(t, n->in[1], "MatMul", at, g);
}

enum { WIDE = OX_BIT(OX_I32) | OX_BIT(OX_I64) | OX_BIT(OX_U32) | OX_BIT(OX_U64) };
#define COMMON .types = {OX_T_FLOAT | WIDE}, .min_in = 2, .infer = infer
#define COMMON_KERNEL .load = load, .prepare = prepare, .run = run, .flops = flops, .packs_in = 1u << 1
#define FUSED COMMON, OX_ATTRS(fused_attrs), .attrs_bytes = sizeof(matmul_attrs)
#define FUSED_KERNEL COMMON_KERNEL

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMul", .since = 1, .max_in = 2, .vars = "TT", .gradient = gradient, COMMON),
     OX_KERNEL(COMMON_KERNEL)},
    {OX_SCHEMA(.name = "FusedMatMul", .domain = "com.microsoft", .since = 1, .max_in = 2, .vars = "TT", FUSED),
     OX_KERNEL(FUSED_KERNEL)},
    {OX_SCHEMA(.name = "TransposeMatMul", .domain = "com.microsoft", .since = 1, .max_in = 2, .vars = "TT", FUSED),
     OX_KERNEL(FUSED_KERNEL)},
    {OX_SCHEMA(.name = "FusedMatMulActivation", .domain = "com.microsoft", .since = 1, .max_in = 2, .vars = "TT",
               .types = {OX_T_FLOAT}, .min_in = 2, .infer = infer, OX_ATTRS(activation_attrs),
               .attrs_bytes = sizeof(matmul_attrs)),
     OX_KERNEL(FUSED_KERNEL)},
    {OX_SCHEMA(.name = "GemmFastGelu", .domain = "com.microsoft", .since = 1, .max_in = 3, .vars = "TTT",
               .types = {OX_BIT(OX_F32) | OX_T_FLOAT16S}, .min_in = 2, .infer = infer),
     OX_KERNEL(COMMON_KERNEL)},
    /* of float32, it may have constant weights of 16 bits */
    {OX_SCHEMA(.name = "Linear", .domain = "ai.onyx", .since = 1, .max_in = 4, .vars = "TUTT",
               .types = {OX_T_FLOAT | WIDE, OX_T_FLOAT | WIDE, OX_T_FLOAT | WIDE, OX_T_FLOAT | WIDE}, .min_in = 2,
               .infer = infer, OX_ATTRS(fused_attrs), .attrs_bytes = sizeof(matmul_attrs)),
     OX_KERNEL(FUSED_KERNEL)},
};
const ox_op_set ox_ops_matmul = {ops, OX_COUNT(ops)};
