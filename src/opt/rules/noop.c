/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/noop.c - operators that change nothing for these inputs: reshapes to the same shape, empty padding, whole
 * slices, lists of one, and arithmetic with neutral elements. Each removes a node. */
#include <string.h>

#include "opt/match.h"

/* Type and shape are what they were, as far as can be known without running. */
static bool same_shape(const ox_graph *g, ox_id a, ox_id b) {
  const ox_shape *x = ox_shape_at(g, a), *y = ox_shape_at(g, b);
  if (x->rank < 0 || !ox_shape_equal(x, y) || ox_dtype_of(g, a) != ox_dtype_of(g, b) || !ox_dtype_of(g, a))
    return false;
  for (int i = 0; i < x->rank; i++)
    if (x->dim[i] == -1) return false;
  return true;
}

static bool unchanged(const ox_graph *g, const ox_match *m, uint32_t slot) {
  const ox_node *n = &g->nodes[m->node[0]];
  ox_id x = ox_in(g, m->node[0], slot);
  return x != OX_NONE && same_shape(g, x, n->out[0]) && ox_graph_can_replace(g, n->out[0], x);
}

static ox_status *bypass(ox_graph *g, const ox_match *m) { return ox_graph_bypass(g, m->node[0]); }

/* ---- the same shape ---- */

static const ox_pat view[] = {{.op = "Reshape|Flatten|Squeeze|Unsqueeze|Expand"}};
static bool view_guard(const ox_graph *g, const ox_match *m) { return unchanged(g, m, 0); }

static const ox_pat slice[] = {{.op = "Slice"}};
static bool slice_guard(const ox_graph *g, const ox_match *m) {
  ox_id steps = ox_in(g, m->node[0], 4);
  return unchanged(g, m, 0) && (steps == OX_NONE || ox_const_all(g, steps, 1, OX_MAX_RANK));
}

static const ox_pat pad[] = {{.op = "Pad"}};
static bool pad_guard(const ox_graph *g, const ox_match *m) {
  int64_t pads[2 * OX_MAX_RANK];
  int n;
  if (!unchanged(g, m, 0) || !ox_list_of(g, m->node[0], "pads", 1, pads, 2 * OX_MAX_RANK, &n) || n < 0) return false;
  for (int i = 0; i < n; i++)
    if (pads[i]) return false;
  return true;
}

static const ox_pat lists[] = {{.op = "Concat|Sum|Max|Min|Mean"}};
static bool lists_guard(const ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  return n->n_in == 1 && n->in[0] != OX_NONE && ox_graph_can_replace(g, n->out[0], n->in[0]);
}

/* ---- neutral elements ---- */

enum { NEUTRAL_LIMIT = 4096 };

static const ox_pat arith[] = {{.op = "Mul|Div|Add|Sub|Pow"}};

/* The slot whose value passes through, or OX_NONE. */
static uint32_t through(const ox_graph *g, ox_id node) {
  const ox_node *n = &g->nodes[node];
  double neutral = strcmp(n->op, "Add") == 0 || strcmp(n->op, "Sub") == 0 ? 0 : 1;
  bool either = strcmp(n->op, "Mul") == 0 || strcmp(n->op, "Add") == 0;
  if (n->n_in != 2) return OX_NONE;
  if (ox_const_all(g, n->in[1], neutral, NEUTRAL_LIMIT)) return 0;
  return either && ox_const_all(g, n->in[0], neutral, NEUTRAL_LIMIT) ? 1 : OX_NONE;
}

static bool arith_guard(const ox_graph *g, const ox_match *m) {
  uint32_t slot = through(g, m->node[0]);
  return slot != OX_NONE && unchanged(g, m, slot);
}

static ox_status *arith_apply(ox_graph *g, const ox_match *m) {
  ox_id n = m->node[0];
  OX_TRY(ox_graph_replace_uses(g, g->nodes[n].out[0], g->nodes[n].in[through(g, n)]));
  ox_graph_remove_node(g, n);
  return NULL;
}

/* ---- reshapes in a row: only the last one's shape counts ---- */

enum { FIRST, LAST };
static const ox_pat chain[] = {[FIRST] = {.op = "Reshape|Flatten|Squeeze|Unsqueeze", .single_use = true},
                               [LAST] = {.op = "Reshape", .in = {OX_FROM(FIRST)}}};

/* A 0 in the last shape copies a dimension of what goes away. */
static bool chain_guard(const ox_graph *g, const ox_match *m) {
  int64_t shape[OX_MAX_RANK];
  int n;
  if (!ox_list_of(g, m->node[LAST], "shape", 1, shape, OX_MAX_RANK, &n) || n < 0) return false;
  for (int i = 0; i < n; i++)
    if (shape[i] == 0) return false;
  return g->nodes[m->node[FIRST]].in[0] != OX_NONE;
}

static ox_status *chain_apply(ox_graph *g, const ox_match *m) {
  return ox_node_set_input(g, m->node[LAST], 0, g->nodes[m->node[FIRST]].in[0]);
}

/* ---- there and back again ---- */

static const ox_pat back[] = {[FIRST] = {.op = "Reshape|Flatten|Squeeze|Unsqueeze"},
                              [LAST] = {.op = "Reshape|Flatten|Squeeze|Unsqueeze", .in = {OX_FROM(FIRST)}}};

static bool back_guard(const ox_graph *g, const ox_match *m) {
  ox_id from = g->nodes[m->node[FIRST]].in[0], to = g->nodes[m->node[LAST]].out[0];
  return from != OX_NONE && same_shape(g, from, to) && ox_graph_can_replace(g, to, from);
}

static ox_status *back_apply(ox_graph *g, const ox_match *m) {
  ox_id from = g->nodes[m->node[FIRST]].in[0], to = g->nodes[m->node[LAST]].out[0];
  OX_TRY(ox_graph_replace_uses(g, to, from));
  ox_graph_remove_node(g, m->node[LAST]);
  return NULL;
}

static const ox_rule rules[] = {
    {"noop-view", OX_LEVEL_BASIC, OX_PATTERN(view), view_guard, bypass, false},
    {"noop-slice", OX_LEVEL_BASIC, OX_PATTERN(slice), slice_guard, bypass, false},
    {"noop-pad", OX_LEVEL_BASIC, OX_PATTERN(pad), pad_guard, bypass, false},
    {"noop-list", OX_LEVEL_BASIC, OX_PATTERN(lists), lists_guard, bypass, false},
    {"noop-arith", OX_LEVEL_BASIC, OX_PATTERN(arith), arith_guard, arith_apply, false},
    {"reshape-back", OX_LEVEL_BASIC, OX_PATTERN(back), back_guard, back_apply, false},
    {"reshape-reshape", OX_LEVEL_BASIC, OX_PATTERN(chain), chain_guard, chain_apply, false},
};
const ox_rule_set ox_rules_noop = {rules, OX_COUNT(rules)};
