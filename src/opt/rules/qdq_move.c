/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/qdq_move.c - DequantizeLinear moves behind operators that only pick or place elements, so that they move a
 * quarter of the bytes and the next operator finds its dequantized input; exact. A Relu whose cut is that of the
 * quantization behind it goes. Each operator is passed once, downwards. */
#include <string.h>

#include "opt/match.h"

enum { DEQUANT, OP };

static const ox_pat pick[] = {
    [DEQUANT] = {.op = "DequantizeLinear", .single_use = true},
    [OP] = {.op = "MaxPool|Reshape|Transpose|Flatten|Squeeze|Unsqueeze|Slice|Gather", .in = {OX_FROM(DEQUANT)}}};

/* One scale for all elements; not a constant, which folding takes care of. */
static bool guard(const ox_graph *g, const ox_match *m) {
  const ox_node *d = &g->nodes[m->node[DEQUANT]], *n = &g->nodes[m->node[OP]];
  double s;
  if (!ox_const_scalar(g, ox_in(g, m->node[DEQUANT], 1), &s) || !(s > 0) || ox_graph_const(g, d->in[0])) return false;
  for (uint32_t i = 1; i < n->n_out; i++)
    if (n->out[i] != OX_NONE && ox_graph_use_count(g, n->out[i])) return false;
  return !g->values[n->out[0]].is_output && ox_op_serves(g, "", n->op, ox_dtype_of(g, d->in[0]));
}

/* op(dequant(x)) => dequant(op(x)): the root becomes the DequantizeLinear, so that its output keeps its value. */
static ox_status *apply(ox_graph *g, const ox_match *m) {
  ox_id d = m->node[DEQUANT], n = m->node[OP], moved, node;
  ox_id in[8], dq[3] = {OX_NONE, ox_in(g, d, 1), ox_in(g, d, 2)};
  uint32_t n_in = OX_MIN(g->nodes[n].n_in, OX_COUNT(in));
  for (uint32_t i = 0; i < n_in; i++) in[i] = g->nodes[n].in[i];
  in[0] = g->nodes[d].in[0];
  OX_TRY(ox_graph_add_value(g, NULL, &moved));
  g->values[moved].type = ox_type_tensor(ox_dtype_of(g, in[0]), ox_shape_at(g, g->nodes[n].out[0]));
  OX_TRY(ox_graph_add_node(g, g->nodes[n].op, "", g->nodes[n].name, in, n_in, &moved, 1, &node));
  for (uint32_t i = 0; i < g->nodes[n].n_attrs; i++) OX_TRY(ox_node_set_attr(g, node, &g->nodes[n].attrs[i]));
  dq[0] = moved;
  for (uint32_t i = 1; i < g->nodes[n].n_out; i++) OX_TRY(ox_node_set_output(g, n, i, OX_NONE));
  g->nodes[n].n_out = 1;
  return ox_node_remake(g, n, "", "DequantizeLinear", dq, dq[2] == OX_NONE ? 2 : 3);
}

/* ---- Relu in front of a quantization that cuts at zero itself ---- */

enum { RELU, QUANT };
static const ox_pat relu[] = {
    [RELU] = {.op = "Relu", .single_use = true}, [QUANT] = {.op = "QuantizeLinear", .in = {OX_FROM(RELU)}}};

static bool relu_guard(const ox_graph *g, const ox_match *m) {
  ox_id z = ox_in(g, m->node[QUANT], 2);
  const ox_tensor *t = z == OX_NONE ? NULL : ox_graph_const(g, z);
  double least = t && t->dtype == OX_I8 ? -128 : t && t->dtype == OX_I16 ? -32768 : 0;
  double s;
  if (!t || !ox_const_scalar(g, ox_in(g, m->node[QUANT], 1), &s) || !(s > 0)) return false;
  return (t->dtype == OX_U8 || t->dtype == OX_I8 || t->dtype == OX_U16 || t->dtype == OX_I16) &&
         ox_const_all(g, z, least, 1);
}

static ox_status *relu_apply(ox_graph *g, const ox_match *m) {
  return ox_node_set_input(g, m->node[QUANT], 0, g->nodes[m->node[RELU]].in[0]);
}

static const ox_rule rules[] = {
    {"qdq-move", OX_LEVEL_EXTENDED, OX_PATTERN(pick), guard, apply, false},
    {"qdq-relu", OX_LEVEL_EXTENDED, OX_PATTERN(relu), relu_guard, relu_apply, false},
};
const ox_rule_set ox_rules_qdq_move = {rules, OX_COUNT(rules)};
