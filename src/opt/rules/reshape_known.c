/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/reshape_known.c - Reshape to a computed shape that inference has seen through (Shape, Gather, Concat ...)
 * => a constant: numbers, 0 for a dimension that stays where it is, -1 if there is no more than one that is not a
 * number. What computed it is then unused, and a provider that runs Reshape with constants alone keeps it. */
#include "base/status.h"
#include "onyx/rewrite.h"

typedef struct target {
  int64_t n, dim[OX_MAX_RANK];
} target;

/* 0 and -1 together are ambiguous where nothing is left: not made. */
static int find(const ox_shape *x, const ox_shape *y, target *t) {
  int unknown = 0, moved = 0;
  t->n = y->rank;
  for (int i = 0; i < y->rank; i++) {
    if (y->dim[i] == 0) return 0;
    t->dim[i] = y->dim[i] > 0 ? y->dim[i] : -1;
    if (y->dim[i] > 0) continue;
    unknown++;
    if (i < x->rank && y->dim[i] < -1 && x->dim[i] == y->dim[i])
      t->dim[i] = 0;
    else
      moved++;
  }
  return !moved || unknown == 1;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id node = m->node[0];
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, 0)), *y = ox_shape_at(g, ox_out(g, node, 0));
  if (ox_n_in(g, node) != 2 || g->api->value_const_type(g, ox_in(g, node, 1)) || ox_attr_i(g, node, "allowzero", 0))
    return 0;
  return x->rank >= 0 && y->rank >= 0 && find(x, y, OX_CAPTURE(m, target));
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const target *t = OX_CAPTURED(m, target);
  ox_id shape;
  OX_TRY(ox_i64_const(g, t->dim, t->n, &shape));
  return ox_set_in(g, m->node[0], 1, shape);
}

static const ox_pat reshape[] = {{.op = "Reshape"}};
static const ox_rule rules[] = {{OX_RULE("reshape-known", OX_OPTIMIZE_BASIC, reshape, guard, apply)}};
const ox_rule_set ox_rules_reshape_known = OX_RULE_SET(rules);
