/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/noop.c - operators that change nothing for these inputs: reshapes to the same shape, empty padding, whole
 * slices, lists of one, and arithmetic with neutral elements. Each removes a node. */
#include "base/status.h"
#include "onyx/rewrite.h"

/* Type and shape are what they were, as far as can be known without running. */
static int same_shape(const ox_rewrite *g, ox_id a, ox_id b) {
  const ox_shape *x = ox_shape_at(g, a), *y = ox_shape_at(g, b);
  return ox_shape_named(x) && ox_same_shape(x, y) && ox_dtype_of(g, a) && ox_dtype_of(g, a) == ox_dtype_of(g, b);
}

static int unchanged(const ox_rewrite *g, ox_id node, uint32_t slot) {
  ox_id x = ox_in(g, node, slot), y = ox_out(g, node, 0);
  return x != OX_NONE && same_shape(g, x, y) && ox_can_replace(g, y, x);
}

static ox_status *bypass(const ox_rewrite *g, const ox_match *m) { return ox_bypass(g, m->node[0]); }

/* ---- the same shape ---- */

static const ox_pat view[] = {{.op = "Reshape|Flatten|Squeeze|Unsqueeze|Expand"}};
static int view_guard(const ox_rewrite *g, ox_match *m) { return unchanged(g, m->node[0], 0); }

static const ox_pat slice[] = {{.op = "Slice"}};
static int slice_guard(const ox_rewrite *g, ox_match *m) {
  ox_id steps = ox_in(g, m->node[0], 4);
  return unchanged(g, m->node[0], 0) && (steps == OX_NONE || ox_const_all(g, steps, 1, OX_MAX_RANK));
}

static const ox_pat pad[] = {{.op = "Pad"}};
static int pad_guard(const ox_rewrite *g, ox_match *m) {
  int64_t pads[2 * OX_MAX_RANK];
  int n;
  if (!unchanged(g, m->node[0], 0)) return 0;
  if (!ox_list_of(g, m->node[0], "pads", 1, pads, 2 * OX_MAX_RANK, &n) || n < 0) return 0;
  for (int i = 0; i < n; i++)
    if (pads[i]) return 0;
  return 1;
}

static const ox_pat lists[] = {{.op = "Concat|Sum|Max|Min|Mean"}};
static int lists_guard(const ox_rewrite *g, ox_match *m) {
  ox_id x = ox_in(g, m->node[0], 0);
  return ox_n_in(g, m->node[0]) == 1 && x != OX_NONE && ox_can_replace(g, ox_out(g, m->node[0], 0), x);
}

/* ---- neutral elements ---- */

enum { NEUTRAL_LIMIT = 4096 };

static const ox_pat arith[] = {{.op = "Mul|Div|Add|Sub|Pow"}};

/* The slot whose value passes through, or OX_NONE. */
static uint32_t through(const ox_rewrite *g, ox_id node) {
  double neutral = ox_is(g, node, "Add|Sub") ? 0 : 1;
  if (ox_n_in(g, node) != 2) return OX_NONE;
  if (ox_const_all(g, ox_in(g, node, 1), neutral, NEUTRAL_LIMIT)) return 0;
  return ox_is(g, node, "Mul|Add") && ox_const_all(g, ox_in(g, node, 0), neutral, NEUTRAL_LIMIT) ? 1 : OX_NONE;
}

static int arith_guard(const ox_rewrite *g, ox_match *m) {
  uint32_t slot = through(g, m->node[0]);
  *OX_CAPTURE(m, uint32_t) = slot;
  return slot != OX_NONE && unchanged(g, m->node[0], slot);
}

static ox_status *arith_apply(const ox_rewrite *g, const ox_match *m) {
  return ox_give_way(g, m->node[0], ox_in(g, m->node[0], *OX_CAPTURED(m, uint32_t)));
}

/* ---- reshapes in a row: only the last one's shape counts ---- */

enum { FIRST, LAST };
static const ox_pat chain[] = {[FIRST] = {.op = "Reshape|Flatten|Squeeze|Unsqueeze", .single_use = 1},
                               [LAST] = {.op = "Reshape", .in = {OX_FROM(FIRST)}}};

/* A 0 in the last shape copies a dimension of what goes away. */
static int chain_guard(const ox_rewrite *g, ox_match *m) {
  int64_t shape[OX_MAX_RANK];
  int n;
  if (!ox_list_of(g, m->node[LAST], "shape", 1, shape, OX_MAX_RANK, &n) || n < 0) return 0;
  for (int i = 0; i < n; i++)
    if (shape[i] == 0) return 0;
  return ox_in(g, m->node[FIRST], 0) != OX_NONE;
}

static ox_status *chain_apply(const ox_rewrite *g, const ox_match *m) {
  return ox_set_in(g, m->node[LAST], 0, ox_in(g, m->node[FIRST], 0));
}

/* ---- there and back again ---- */

static const ox_pat back[] = {[FIRST] = {.op = "Reshape|Flatten|Squeeze|Unsqueeze"},
                              [LAST] = {.op = "Reshape|Flatten|Squeeze|Unsqueeze", .in = {OX_FROM(FIRST)}}};

static int back_guard(const ox_rewrite *g, ox_match *m) {
  ox_id from = ox_in(g, m->node[FIRST], 0), to = ox_out(g, m->node[LAST], 0);
  return from != OX_NONE && same_shape(g, from, to) && ox_can_replace(g, to, from);
}

static ox_status *back_apply(const ox_rewrite *g, const ox_match *m) {
  return ox_give_way(g, m->node[LAST], ox_in(g, m->node[FIRST], 0));
}

static const ox_rule rules[] = {
    {OX_RULE("noop-view", OX_OPTIMIZE_BASIC, view, view_guard, bypass)},
    {OX_RULE("noop-slice", OX_OPTIMIZE_BASIC, slice, slice_guard, bypass)},
    {OX_RULE("noop-pad", OX_OPTIMIZE_BASIC, pad, pad_guard, bypass)},
    {OX_RULE("noop-list", OX_OPTIMIZE_BASIC, lists, lists_guard, bypass)},
    {OX_RULE("noop-arith", OX_OPTIMIZE_BASIC, arith, arith_guard, arith_apply)},
    {OX_RULE("reshape-back", OX_OPTIMIZE_BASIC, back, back_guard, back_apply)},
    {OX_RULE("reshape-reshape", OX_OPTIMIZE_BASIC, chain, chain_guard, chain_apply)},
};
const ox_rule_set ox_rules_noop = OX_RULE_SET(rules);
