/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/identity.c - operators that hand their input on: Identity, Dropout at inference, Cast to the same type. */
#include "opt/match.h"

/* The output may be read as the input, unless that would need a new Identity. */
static bool can_bypass(const ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  return n->n_in && n->in[0] != OX_NONE && ox_graph_can_replace(g, n->out[0], n->in[0]);
}

static ox_status *bypass(ox_graph *g, const ox_match *m) { return ox_graph_bypass(g, m->node[0]); }

static const ox_pat identity[] = {{.op = "Identity"}};

static const ox_pat dropout[] = {{.op = "Dropout"}};

static bool dropout_off(const ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  if (n->n_out > 1 && n->out[1] != OX_NONE && ox_graph_use_count(g, n->out[1])) return false; /* the mask is read */
  int64_t opset = ox_model_opset(g->model, "");
  if (opset < 7 && !ox_attr_i(n, "is_test", 0)) return false;
  ox_id training = ox_in(g, m->node[0], 2);
  return (training == OX_NONE || ox_const_all(g, training, 0, 1)) && can_bypass(g, m);
}

static const ox_pat cast[] = {{.op = "Cast|CastLike"}};

static bool same_type(const ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  uint32_t from = ox_dtype_of(g, n->in[0]), to = ox_dtype_of(g, n->out[0]);
  return from && from == to && can_bypass(g, m);
}

static const ox_rule rules[] = {
    {.name = "identity", .level = OX_LEVEL_BASIC, OX_PATTERN_OF(identity), .guard = can_bypass, .apply = bypass},
    {.name = "dropout", .level = OX_LEVEL_BASIC, OX_PATTERN_OF(dropout), .guard = dropout_off, .apply = bypass},
    {.name = "cast-same-type", .level = OX_LEVEL_BASIC, OX_PATTERN_OF(cast), .guard = same_type, .apply = bypass},
};
const ox_rule_set ox_rules_identity = {rules, OX_COUNT(rules)};
