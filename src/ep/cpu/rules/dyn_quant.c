/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/dyn_quant.c - dynamically quantized products: MatMulInteger -> Cast -> Mul by both scales [-> Add bias]
 * => com.microsoft.MatMulIntegerToFloat. The arithmetic is the same; only the steps between vanish. The quantization
 * stays a node of its own, also where it serves one product only: DynamicQuantizeMatMul, which does both, took 1.4
 * times as long (BERT-base, one thread). Each removes two nodes or more. */
#include "base/status.h"
#include "onyx/rewrite.h"

static const char ms[] = "com.microsoft";
enum { PRODUCT, CAST, SCALES, ROOT };

/* Mul(Cast(MatMulInteger), Mul(scale of A, scale of B)) */
static const ox_pat scaled[] = {
    [PRODUCT] = {.op = "MatMulInteger", .in = {OX_ARG(0), OX_CONST(1)}, .single_use = 1},
    [CAST] = {.op = "Cast", .in = {OX_FROM(PRODUCT)}, .single_use = 1, .types = OX_BIT(OX_F32)},
    [SCALES] = {.op = "Mul", .in = {OX_ARG(2), OX_CONST(3)}, .commutative = 1},
    [ROOT] = {.op = "Mul", .in = {OX_FROM(CAST), OX_FROM(SCALES)}, .commutative = 1, .types = OX_BIT(OX_F32)},
};

/* One number of float, or one per column of B. */
static int scale_ok(const ox_rewrite *g, ox_id scale, ox_id b) {
  const ox_tensor *s = ox_const(g, scale), *w = ox_const(g, b);
  int64_t n = ox_elements(&s->shape);
  return w->shape.rank == 2 && s->dtype == OX_F32 && s->shape.rank <= 1 && (n == 1 || n == w->shape.dim[1]);
}

/* A, its scale and its zero point come from one DynamicQuantizeLinear. */
static int quantized_together(const ox_rewrite *g, const ox_match *m) {
  ox_id q = ox_producer(g, m->arg[0]), zero = ox_in(g, m->node[PRODUCT], 2);
  return ox_is(g, q, "DynamicQuantizeLinear") && ox_n_out(g, q) == 3 && ox_out(g, q, 0) == m->arg[0] &&
         ox_out(g, q, 1) == m->arg[2] && ox_out(g, q, 2) == zero;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  return quantized_together(g, m) && scale_ok(g, m->arg[3], m->arg[1]) &&
         ox_op_serves(g, ms, "MatMulIntegerToFloat", ox_dtype_of(g, m->arg[0]));
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  ox_id a_zero = ox_in(g, m->node[PRODUCT], 2), b_zero = ox_in(g, m->node[PRODUCT], 3);
  ox_id in[] = {m->arg[0], m->arg[1], m->arg[2], m->arg[3], a_zero, b_zero};
  return ox_remake(g, m->node[ROOT], ms, "MatMulIntegerToFloat", in, 6);
}

/* ---- bias ---- */

enum { FUSED, ADD };
static const ox_pat bias[] = {
    [FUSED] = {.op = "DynamicQuantizeMatMul|MatMulIntegerToFloat|MatMulNBits", .domain = ms, .single_use = 1},
    [ADD] = {.op = "Add", .in = {OX_FROM(FUSED), OX_CONST(0)}, .commutative = 1, .types = OX_BIT(OX_F32)}};

static uint32_t bias_slot(const ox_rewrite *g, ox_id node) {
  return ox_is_of(g, node, "DynamicQuantizeMatMul", ms) ? 4 : ox_is_of(g, node, "MatMulNBits", ms) ? 5 : 6;
}

/* Of the constant B; -1: there is none. */
static int64_t columns_of(const ox_rewrite *g, ox_id node) {
  const ox_tensor *b = ox_const_type(g, ox_in(g, node, 1));
  if (b && ox_is_of(g, node, "MatMulNBits", ms)) return ox_attr_i(g, node, "N", -1);
  return b && b->shape.rank == 2 ? b->shape.dim[1] : -1;
}

static int bias_guard(const ox_rewrite *g, ox_match *m) {
  const ox_tensor *t = ox_const(g, m->arg[0]);
  return ox_in(g, m->node[FUSED], bias_slot(g, m->node[FUSED])) == OX_NONE && t->dtype == OX_F32 &&
         t->shape.rank == 1 && t->shape.dim[0] == columns_of(g, m->node[FUSED]);
}

static ox_status *bias_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id n = m->node[FUSED];
  OX_TRY(ox_set_in(g, n, bias_slot(g, n), m->arg[0]));
  return ox_give_way(g, m->node[ADD], ox_out(g, n, 0));
}

static const ox_rule rules[] = {
    {OX_RULE("dynamic-matmul", OX_OPTIMIZE_EXTENDED, scaled, guard, apply)},
    {OX_RULE("dynamic-bias", OX_OPTIMIZE_EXTENDED, bias, bias_guard, bias_apply)},
};
const ox_rule_set ox_cpu_rules_dyn_quant = OX_OWNED_RULE_SET("cpu", rules);
