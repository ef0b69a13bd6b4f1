/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/expand_idle.c - Expand in front of what broadcasts by itself: op(x, Expand(y)) => op(x, y) if x alone has the
 * dimensions that y is expanded to, as in x / norm.expand_as(x). The repeated y is not written any more. */
#include "base/status.h"
#include "onyx/rewrite.h"

static const ox_pat broadcasting[] = {
    {.op = "Add|Sub|Mul|Div|Pow|Mod|Min|Max|Sum|Mean|Where|Equal|Less|LessOrEqual|Greater|GreaterOrEqual|And|Or|Xor|"
           "BitwiseAnd|BitwiseOr|BitwiseXor"}};

/* |axis|: counted from the last one, which is 1. 1 where there is none. */
static int64_t dim_from_end(const ox_shape *s, int axis) { return axis <= s->rank ? s->dim[s->rank - axis] : 1; }

/* Another input than |slot| has |dim| on |axis|. */
static int others_have(const ox_rewrite *g, ox_id node, uint32_t slot, int axis, int64_t dim) {
  for (uint32_t i = 0; i < ox_n_in(g, node); i++) {
    const ox_shape *s = i == slot || ox_in(g, node, i) == OX_NONE ? NULL : ox_shape_at(g, ox_in(g, node, i));
    if (s && s->rank >= axis && dim_from_end(s, axis) == dim) return 1;
  }
  return 0;
}

static int is_idle(const ox_rewrite *g, ox_id node, uint32_t slot) {
  ox_id expand = ox_up(g, ox_in(g, node, slot), "Expand");
  if (expand == OX_NONE) return 0;
  const ox_shape *from = ox_shape_at(g, ox_in(g, expand, 0)), *to = ox_shape_at(g, ox_out(g, expand, 0));
  if (from->rank < 0 || to->rank < from->rank) return 0;
  for (int axis = 1; axis <= to->rank; axis++) {
    int64_t dim = dim_from_end(to, axis);
    if (dim == -1 || (dim != dim_from_end(from, axis) && !others_have(g, node, slot, axis, dim))) return 0;
    if (axis > from->rank && dim == 1 && !others_have(g, node, slot, axis, dim)) return 0; /* a rank of its own */
  }
  return 1;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  if (ox_opset_of(g, "") < 8) return 0;
  for (uint32_t i = 0; i < ox_n_in(g, m->node[0]); i++)
    if (is_idle(g, m->node[0], i)) return *OX_CAPTURE(m, uint32_t) = i, 1;
  return 0;
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  uint32_t slot = *OX_CAPTURED(m, uint32_t);
  return ox_set_in(g, m->node[0], slot, ox_in(g, ox_producer(g, ox_in(g, m->node[0], slot)), 0));
}

static const ox_rule rules[] = {{OX_RULE("expand-idle", OX_OPTIMIZE_BASIC, broadcasting, guard, apply)}};
const ox_rule_set ox_rules_expand_idle = OX_RULE_SET(rules);
