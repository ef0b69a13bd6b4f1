/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/add_chain.c - sums with constants in a row: (x + a) + b => x + (a + b), as where a mask is added twice. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { FIRST, LAST };
static const ox_pat sums[] = {
    [FIRST] = {.op = "Add",
               .single_use = 1,
               .in = {OX_ARG(0), OX_CONST(1)},
               .commutative = 1,
               .types = OX_BIT(OX_F32) | OX_BIT(OX_F64)},
    [LAST] = {.op = "Add", .in = {OX_FROM(FIRST), OX_CONST(2)}, .commutative = 1}};

/* The sum of both constants is no larger than one of them. */
static int guard(const ox_rewrite *g, ox_match *m) {
  const ox_shape *a = ox_shape_at(g, m->arg[1]), *b = ox_shape_at(g, m->arg[2]);
  return ox_same_shape(a, b) || ox_elements(a) == 1 || ox_elements(b) == 1;
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  ox_id node, sum, first = m->node[FIRST];
  OX_TRY(ox_emit(g, NULL, "Add", (ox_id[]){m->arg[1], m->arg[2]}, 2, &node, &sum));
  OX_TRY(ox_set_in(g, m->node[LAST], 0, m->arg[0]));
  OX_TRY(ox_set_in(g, m->node[LAST], 1, sum));
  return ox_remove_unused(g, first);
}

static const ox_rule rules[] = {{OX_RULE("add-chain", OX_OPTIMIZE_BASIC, sums, guard, apply)}};
const ox_rule_set ox_rules_add_chain = OX_RULE_SET(rules);
