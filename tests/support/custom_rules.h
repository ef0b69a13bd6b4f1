/* SPDX-License-Identifier: Apache-2.0
 * support/custom_rules.h - rules and passes of somebody's, for tests of how the optimizer treats them. */
#ifndef OX_TESTS_CUSTOM_RULES_H
#define OX_TESTS_CUSTOM_RULES_H

#include "base/macros.h"
#include "onnx/text.h"
#include "onyx/rewrite.h"
#include "support/build_graph.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "

/* Optimizes |text| with |set| (NULL: none) beside all others; the operators afterwards in |ops|. */
static inline ox_status *cr_optimize(const char *text, const ox_rule_set *set, ox_opt_options *more, char *ops) {
  const ox_rule_set *sets[] = {set};
  ox_opt_options o = more ? *more : rg_options(OX_OPTIMIZE_ALL);
  ox_rule_list lists[3];
  memcpy(lists, o.rules, 2 * sizeof *lists);
  lists[2] = (ox_rule_list){sets, set != NULL};
  o.rules = lists, o.n_rules = 3;
  ox_model *m = rg_read(text);
  ox_status *st = rg_optimize(m, &o);
  if (!st) bg_ops(m->graph, ops);
  if (more) more->n_counts = o.n_counts;
  ox_model_destroy(m);
  return st;
}

/* Neg(Neg(x)) => Ceil(x): wrong, so that nothing else does it. */
enum { CR_INNER, CR_OUTER };
static const ox_pat cr_two_negs[] = {
    [CR_INNER] = {.op = "Neg", .single_use = 1}, [CR_OUTER] = {.op = "Neg", .in = {OX_FROM(CR_INNER)}}};

static inline ox_status *cr_to_ceil(const ox_rewrite *g, const ox_match *m) {
  ox_id x = ox_in(g, m->node[CR_INNER], 0);
  return ox_remake(g, m->node[CR_OUTER], NULL, "Ceil", &x, 1);
}

#endif
