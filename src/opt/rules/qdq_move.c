/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/qdq_move.c - DequantizeLinear moves behind operators that only pick or place elements, so that they move a
 * quarter of the bytes and the next operator finds its dequantized input; exact. A Relu whose cut is that of the
 * quantization behind it goes. Each operator is passed once, downwards. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { DEQUANT, OP };
enum { MAX_IN = 8 };

static const ox_pat pick[] = {
    [DEQUANT] = {.op = "DequantizeLinear", .single_use = 1},
    [OP] = {.op = "MaxPool|Reshape|Transpose|Flatten|Squeeze|Unsqueeze|Slice|Gather", .in = {OX_FROM(DEQUANT)}}};

/* One scale for all elements; not a constant, which folding takes care of. */
static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id d = m->node[DEQUANT], op = m->node[OP], q = ox_in(g, d, 0);
  double s;
  if (!ox_const_scalar(g, ox_in(g, d, 1), &s) || !(s > 0) || ox_const(g, q)) return 0;
  return ox_one_output(g, op) && ox_n_in(g, op) <= MAX_IN && !ox_is_output(g, ox_out(g, op, 0)) &&
         ox_op_serves(g, NULL, ox_op_of(g, op), ox_dtype_of(g, q));
}

/* op(dequant(x)) => dequant(op(x)): the root becomes the DequantizeLinear, so that its output keeps its value. */
static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  ox_id d = m->node[DEQUANT], op = m->node[OP], moved, node;
  ox_id in[MAX_IN], dq[3] = {OX_NONE, ox_in(g, d, 1), ox_in(g, d, 2)};
  uint32_t n_in = ox_n_in(g, op);
  in[0] = ox_in(g, d, 0);
  for (uint32_t i = 1; i < n_in; i++) in[i] = ox_in(g, op, i);
  OX_TRY(g->api->add_tensor(g, NULL, ox_dtype_of(g, in[0]), ox_shape_at(g, ox_out(g, op, 0)), &moved));
  OX_TRY(g->api->add_node(g, NULL, ox_op_of(g, op), ox_name_of(g, op), in, n_in, &moved, 1, &node));
  OX_TRY(ox_copy_attrs(g, node, op));
  dq[0] = moved;
  OX_TRY(g->api->set_counts(g, op, n_in, 1));
  return ox_remake(g, op, NULL, "DequantizeLinear", dq, dq[2] == OX_NONE ? 2 : 3);
}

/* ---- Relu in front of a quantization that cuts at zero itself ---- */

enum { RELU, QUANT };
static const ox_pat relu[] = {
    [RELU] = {.op = "Relu", .single_use = 1}, [QUANT] = {.op = "QuantizeLinear", .in = {OX_FROM(RELU)}}};

static int relu_guard(const ox_rewrite *g, ox_match *m) {
  ox_id z = ox_in(g, m->node[QUANT], 2);
  const ox_tensor *t = ox_const(g, z);
  double least = t && t->dtype == OX_I8 ? -128 : t && t->dtype == OX_I16 ? -32768 : 0;
  double s;
  if (!t || !ox_const_scalar(g, ox_in(g, m->node[QUANT], 1), &s) || !(s > 0)) return 0;
  return (t->dtype == OX_U8 || t->dtype == OX_I8 || t->dtype == OX_U16 || t->dtype == OX_I16) &&
         ox_const_all(g, z, least, 1);
}

static ox_status *relu_apply(const ox_rewrite *g, const ox_match *m) {
  return ox_set_in(g, m->node[QUANT], 0, ox_in(g, m->node[RELU], 0));
}

static const ox_rule rules[] = {
    {OX_RULE("qdq-move", OX_OPTIMIZE_EXTENDED, pick, guard, apply)},
    {OX_RULE("qdq-relu", OX_OPTIMIZE_EXTENDED, relu, relu_guard, relu_apply)},
};
const ox_rule_set ox_rules_qdq_move = OX_RULE_SET(rules);
