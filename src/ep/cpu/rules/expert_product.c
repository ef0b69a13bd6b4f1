/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/expert_product.c - a vector by the matrix that an index picks, as exporters write the experts of
 * language models: W[i] x or x W[i] => ai.onyx.ExpertMatMul, which does not copy the matrix of each vector first. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { PICK, ROOT };
enum { FLOATS = OX_BIT(OX_F32) | OX_BIT(OX_F16) | OX_BIT(OX_BF16) };
static const ox_pat columns[] = {[PICK] = {.op = "Gather", .single_use = 1, .types = FLOATS},
                                 [ROOT] = {.op = "MatMul", .in = {OX_FROM(PICK), OX_ARG(0)}}};
static const ox_pat rows[] = {[PICK] = {.op = "Gather", .single_use = 1, .types = FLOATS},
                              [ROOT] = {.op = "MatMul", .in = {OX_ARG(0), OX_FROM(PICK)}}};

static int guard(const ox_rewrite *g, const ox_match *m, int one) {
  ox_id pick = m->node[PICK];
  const ox_tensor *w = ox_const_type(g, ox_in(g, pick, 0));
  const ox_shape *index = ox_shape_at(g, ox_in(g, pick, 1)), *x = ox_shape_at(g, m->arg[0]);
  int64_t axis = ox_attr_i(g, pick, "axis", 0);
  if (!w || w->shape.rank != 3 || (axis != 0 && axis != -3) || ox_elements(&w->shape) < 1) return 0;
  if (index->rank != 1 || x->rank != 3 || x->dim[one] != 1) return 0;
  return ox_op_serves(g, "ai.onyx", "ExpertMatMul", w->dtype);
}
static int guard_columns(const ox_rewrite *g, ox_match *m) { return guard(g, m, 2); }
static int guard_rows(const ox_rewrite *g, ox_match *m) { return guard(g, m, 1); }

static ox_status *apply(const ox_rewrite *g, const ox_match *m, int column) {
  ox_id pick = m->node[PICK], in[3] = {m->arg[0], ox_in(g, pick, 0), ox_in(g, pick, 1)};
  OX_TRY(ox_remake(g, m->node[ROOT], "ai.onyx", "ExpertMatMul", in, 3));
  return ox_set_int(g, m->node[ROOT], "column", column);
}
static ox_status *apply_columns(const ox_rewrite *g, const ox_match *m) { return apply(g, m, 1); }
static ox_status *apply_rows(const ox_rewrite *g, const ox_match *m) { return apply(g, m, 0); }

static const ox_rule rules[] = {
    {OX_RULE("expert-columns", OX_OPTIMIZE_EXTENDED, columns, guard_columns, apply_columns)},
    {OX_RULE("expert-rows", OX_OPTIMIZE_EXTENDED, rows, guard_rows, apply_rows)}};
const ox_rule_set ox_cpu_rules_expert_product = OX_OWNED_RULE_SET("cpu", rules);
