/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/qdq_wise.c - DequantizeLinear -> element-wise operator or Concat -> QuantizeLinear runs in integers:
 * QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu, QLinearConcat. Each removes two nodes or more. */
#include "base/status.h"
#include "ep/cpu/quantized.h"

static const char ms[] = "com.microsoft";
static const ox_pat root[] = {{.op = "QuantizeLinear"}};

/* Input |i| of the float operator is dequantized from the type of the result. */
static int operand(const ox_rewrite *g, const ox_integer_op *o, uint32_t i, ox_quant *x) {
  return ox_dequantized(g, ox_in(g, o->old, i), 0, 0, x) && x->dtype == o->y.dtype;
}

/* Whether |op| is served, once all inputs are there. */
static int make(const ox_rewrite *g, ox_integer_op *o, const char *op, uint32_t dtype) {
  o->domain = ms, o->op = op;
  return ox_op_serves(g, ms, op, dtype);
}

static int binary_guard(const ox_rewrite *g, ox_match *m) {
  ox_integer_op *o = OX_CAPTURE(m, ox_integer_op);
  ox_quant a, b;
  if (!ox_integer_op_find(g, m->node[0], "Add|Mul", 1, o) || !operand(g, o, 0, &a) || !operand(g, o, 1, &b)) return 0;
  ox_integer_op_put(o, &a), ox_integer_op_put(o, &b);
  o->in[6] = o->y.scale, o->in[7] = o->y.zero, o->n_in = 8;
  return make(g, o, ox_is(g, o->old, "Add") ? "QLinearAdd" : "QLinearMul", o->y.dtype);
}

static int unary_guard(const ox_rewrite *g, ox_match *m) {
  ox_integer_op *o = OX_CAPTURE(m, ox_integer_op);
  ox_quant x;
  if (!ox_integer_op_find(g, m->node[0], "Sigmoid|LeakyRelu", 0, o) || !operand(g, o, 0, &x)) return 0;
  ox_integer_op_put(o, &x);
  o->in[3] = o->y.scale, o->in[4] = o->y.zero, o->n_in = 5;
  return make(g, o, ox_is(g, o->old, "Sigmoid") ? "QLinearSigmoid" : "QLinearLeakyRelu", o->y.dtype);
}

static int concat_guard(const ox_rewrite *g, ox_match *m) {
  ox_integer_op *o = OX_CAPTURE(m, ox_integer_op);
  ox_quant x;
  if (!ox_integer_op_find(g, m->node[0], "Concat", 0, o)) return 0;
  if (2 + 3 * (uint64_t)ox_n_in(g, o->old) > OX_INTEGER_OP_IN) return 0;
  o->in[0] = o->y.scale, o->in[1] = o->y.zero, o->n_in = 2;
  for (uint32_t i = 0; i < ox_n_in(g, o->old); i++) {
    if (!operand(g, o, i, &x)) return 0;
    ox_integer_op_put(o, &x);
  }
  return make(g, o, "QLinearConcat", OX_F32); /* whose first input is a scale */
}

/* ---- quantized again by the same scale: nothing changes ---- */

static int again_guard(const ox_rewrite *g, ox_match *m) {
  ox_quant x, y;
  return ox_quantizes(g, m->node[0], &y) && ox_dequantized(g, ox_in(g, m->node[0], 0), 0, 0, &x) &&
         x.dtype == y.dtype && ox_at(g, ox_const(g, x.scale), 0) == ox_at(g, ox_const(g, y.scale), 0) &&
         ox_at(g, ox_const(g, x.zero), 0) == ox_at(g, ox_const(g, y.zero), 0) && ox_can_replace(g, y.q, x.q);
}

static ox_status *again_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id dq = ox_producer(g, ox_in(g, m->node[0], 0));
  OX_TRY(ox_give_way(g, m->node[0], ox_in(g, dq, 0)));
  return ox_remove_unused(g, dq);
}

static const ox_rule rules[] = {
    {OX_RULE("qdq-add", OX_OPTIMIZE_EXTENDED, root, binary_guard, ox_integer_op_apply)},
    {OX_RULE("qdq-unary", OX_OPTIMIZE_EXTENDED, root, unary_guard, ox_integer_op_apply)},
    {OX_RULE("qdq-concat", OX_OPTIMIZE_EXTENDED, root, concat_guard, ox_integer_op_apply)},
    {OX_RULE("qdq-again", OX_OPTIMIZE_EXTENDED, root, again_guard, again_apply)},
};
const ox_rule_set ox_cpu_rules_qdq_wise = OX_OWNED_RULE_SET("cpu", rules);
