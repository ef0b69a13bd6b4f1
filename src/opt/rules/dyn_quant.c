/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/dyn_quant.c - dynamically quantized products: MatMulInteger -> Cast -> Mul by both scales [-> Add bias]
 * => com.microsoft.MatMulIntegerToFloat. The arithmetic is the same; only the steps between vanish. The quantization
 * stays a node of its own, also where it serves one product only: DynamicQuantizeMatMul, which does both, took 1.4
 * times as long (BERT-base, one thread). Each removes two nodes or more. */
#include "opt/match.h"

static const char ms[] = "com.microsoft";
enum { PRODUCT, CAST, SCALES, ROOT };

/* Mul(Cast(MatMulInteger), Mul(scale of A, scale of B)) */
static const ox_pat scaled[] = {
    [PRODUCT] = {.op = "MatMulInteger", .in = {OX_ARG(0), OX_CONST(1)}, .single_use = true},
    [CAST] = {.op = "Cast", .in = {OX_FROM(PRODUCT)}, .single_use = true, .types = OX_BIT(OX_F32)},
    [SCALES] = {.op = "Mul", .in = {OX_ARG(2), OX_CONST(3)}, .commutative = true},
    [ROOT] = {.op = "Mul", .in = {OX_FROM(CAST), OX_FROM(SCALES)}, .commutative = true, .types = OX_BIT(OX_F32)},
};

/* One number of float, or one per column of B. */
static bool scale_ok(const ox_graph *g, ox_id scale, ox_id b) {
  const ox_tensor *s = ox_graph_const(g, scale), *w = ox_graph_const(g, b);
  int64_t n = ox_shape_count(&s->shape);
  return w->shape.rank == 2 && s->dtype == OX_F32 && s->shape.rank <= 1 && (n == 1 || n == w->shape.dim[1]);
}

/* The DynamicQuantizeLinear whose outputs are A, its scale and its zero point, or OX_NONE. */
static ox_id quantizer(const ox_graph *g, const ox_match *m) {
  ox_id q = g->values[m->arg[0]].producer, zero = ox_in(g, m->node[PRODUCT], 2);
  if (q == OX_NONE || !ox_node_is(&g->nodes[q], "DynamicQuantizeLinear", NULL) || g->nodes[q].n_out < 3) return OX_NONE;
  const ox_node *n = &g->nodes[q];
  return n->out[0] == m->arg[0] && n->out[1] == m->arg[2] && n->out[2] == zero ? q : OX_NONE;
}

static bool guard(const ox_graph *g, const ox_match *m) {
  return quantizer(g, m) != OX_NONE && scale_ok(g, m->arg[3], m->arg[1]) &&
         ox_op_serves(g, ms, "MatMulIntegerToFloat", ox_dtype_of(g, m->arg[0]));
}

static ox_status *apply(ox_graph *g, const ox_match *m) {
  ox_id a_zero = ox_in(g, m->node[PRODUCT], 2), b_zero = ox_in(g, m->node[PRODUCT], 3);
  ox_id in[] = {m->arg[0], m->arg[1], m->arg[2], m->arg[3], a_zero, b_zero};
  return ox_node_remake(g, m->node[ROOT], ms, "MatMulIntegerToFloat", in, 6);
}

/* ---- bias ---- */

enum { FUSED, ADD };
static const ox_pat bias[] = {
    [FUSED] = {.op = "DynamicQuantizeMatMul|MatMulIntegerToFloat", .domain = ms, .single_use = true},
    [ADD] = {.op = "Add", .in = {OX_FROM(FUSED), OX_CONST(0)}, .commutative = true, .types = OX_BIT(OX_F32)}};

static uint32_t bias_slot(const ox_node *n) { return ox_node_is(n, "DynamicQuantizeMatMul", ms) ? 4 : 6; }

static bool bias_guard(const ox_graph *g, const ox_match *m) {
  const ox_tensor *t = ox_graph_const(g, m->arg[0]), *b = ox_graph_const(g, ox_in(g, m->node[FUSED], 1));
  return ox_in(g, m->node[FUSED], bias_slot(&g->nodes[m->node[FUSED]])) == OX_NONE && b && b->shape.rank == 2 &&
         t->dtype == OX_F32 && t->shape.rank == 1 && t->shape.dim[0] == b->shape.dim[1];
}

static ox_status *bias_apply(ox_graph *g, const ox_match *m) {
  ox_id n = m->node[FUSED];
  OX_TRY(ox_node_set_input(g, n, bias_slot(&g->nodes[n]), m->arg[0]));
  OX_TRY(ox_graph_replace_uses(g, g->nodes[m->node[ADD]].out[0], g->nodes[n].out[0]));
  ox_graph_remove_node(g, m->node[ADD]);
  return NULL;
}

static const ox_rule rules[] = {
    {"dynamic-matmul", OX_LEVEL_EXTENDED, OX_PATTERN(scaled), guard, apply, false},
    {"dynamic-bias", OX_LEVEL_EXTENDED, OX_PATTERN(bias), bias_guard, bias_apply, false},
};
const ox_rule_set ox_rules_dyn_quant = {rules, OX_COUNT(rules)};
