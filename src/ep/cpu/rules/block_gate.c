/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/block_gate.c - a BlockConv takes in the gate of its input: squeeze and excite multiplies a whole map by
 * a factor for each channel, which the weights can take instead. */
#include "base/status.h"
#include "onyx/rewrite.h"

static const char own[] = "ai.onyx";
enum { X, W, B, Z, G };
enum { GATE, CONV };
static const ox_pat gated[] = {
    [GATE] = {.op = "Mul", .single_use = 1, .types = OX_BIT(OX_F32)},
    [CONV] = {.op = "BlockConv", .domain = own, .in = {OX_FROM(GATE)}, .types = OX_BIT(OX_F32)}};

/* Between 0 and 1: no weight times it overflows. */
static int is_fraction(const ox_rewrite *g, ox_id v) {
  ox_id node = ox_producer(g, v);
  if (node == OX_NONE) return 0;
  return ox_is(g, node, "Sigmoid|HardSigmoid") || ox_attr_is(g, node, "activation", "Sigmoid", 0) ||
         ox_attr_is(g, node, "activation", "HardSigmoid", 0);
}

/* |s|: one element for each channel of |x|. */
static int is_gate_of(const ox_shape *s, const ox_shape *x) {
  if (s->rank != x->rank || x->rank < 4) return 0;
  for (int i = 0; i < x->rank; i++)
    if (s->dim[i] != (i < 2 || i == x->rank - 1 ? x->dim[i] : 1)) return 0;
  return s->dim[0] == 1;
}

/* Which operand of |mul| is the gate: 0, 1, or -1: none. */
static int gate_at(const ox_rewrite *g, ox_id mul) {
  for (int i = 1; i >= 0; i--)
    if (is_fraction(g, ox_in(g, mul, (uint32_t)i)) &&
        is_gate_of(ox_shape_at(g, ox_in(g, mul, (uint32_t)i)), ox_shape_at(g, ox_in(g, mul, (uint32_t)(1 - i)))))
      return i;
  return -1;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id conv = m->node[CONV];
  return gate_at(g, m->node[GATE]) >= 0 && ox_in(g, conv, G) == OX_NONE && ox_attr_i(g, conv, "group", 1) == 1 &&
         !ox_attr_i(g, conv, "plain_input", 0) && ox_const_type(g, ox_in(g, conv, W)) != NULL;
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  ox_id mul = m->node[GATE], conv = m->node[CONV];
  uint32_t at = (uint32_t)gate_at(g, mul);
  ox_id gate = ox_in(g, mul, at), x = ox_in(g, mul, 1 - at);
  OX_TRY(ox_set_in(g, conv, G, gate));
  OX_TRY(ox_set_in(g, conv, X, x));
  return ox_remove_unused(g, mul);
}

static const ox_rule rules[] = {{OX_RULE("block-gate", OX_OPTIMIZE_ALL, gated, guard, apply), .late = 1}};
const ox_rule_set ox_cpu_rules_block_gate = OX_OWNED_RULE_SET("cpu", rules);
