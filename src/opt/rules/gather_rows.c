/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/gather_rows.c - GatherND of constants by tuples of one index, as exporters write weights[i], is a Gather
 * along the first axis, which more rules know. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { PICK };
static const ox_pat pattern[] = {[PICK] = {.op = "GatherND"}};

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id pick = m->node[PICK];
  const ox_shape *tuples = ox_shape_at(g, ox_in(g, pick, 1));
  if (!ox_const_type(g, ox_in(g, pick, 0)) || tuples->rank != 2 || tuples->dim[1] != 1 ||
      ox_attr_i(g, pick, "batch_dims", 0) != 0)
    return 0;
  return ox_op_serves(g, NULL, "Gather", ox_dtype_of(g, ox_in(g, pick, 0)));
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  ox_id pick = m->node[PICK], in[2] = {ox_in(g, pick, 0)}, node, list[2] = {ox_in(g, pick, 1)};
  OX_TRY(ox_i64_const(g, (const int64_t[]){-1}, 1, &list[1]));
  OX_TRY(ox_emit(g, NULL, "Reshape", list, 2, &node, &in[1]));
  return ox_remake(g, pick, NULL, "Gather", in, 2);
}

static const ox_rule rules[] = {{OX_RULE("gather-rows", OX_OPTIMIZE_EXTENDED, pattern, guard, apply)}};
const ox_rule_set ox_rules_gather_rows = OX_RULE_SET(rules);
