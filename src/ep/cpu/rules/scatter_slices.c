/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/scatter_slices.c - ScatterND whose tuples of indices are the points of a grid, as exporters write an
 * assignment to a slice: Concat of an Expand for each axis, each of a list along its own axis => ai.onyx.ScatterGrid of
 * the lists. The tuples, 8 bytes for each index of each element, are not made any more. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { TUPLES, ROOT };
static const ox_pat scatter[] = {
    [TUPLES] = {.op = "Concat", .single_use = 1}, [ROOT] = {.op = "ScatterND", .in = {OX_ARG(0), OX_FROM(TUPLES)}}};

typedef struct grid {
  uint32_t k;
  ox_id list[OX_MAX_RANK]; /* an element for each position of its axis, in as many dimensions as it has */
} grid;

/* |v|, the indices of axis |axis| for all points of a grid of |k| axes: what it is expanded from, if that extends along
 * its own axis alone. */
static ox_id list_of(const ox_rewrite *g, ox_id v, int axis, int k) {
  ox_id expand = ox_up(g, v, "Expand"), from = expand == OX_NONE ? v : ox_in(g, expand, 0);
  const ox_shape *whole = ox_shape_at(g, v), *s = ox_shape_at(g, from);
  if (whole->rank != k || s->rank < 0 || s->rank > k) return OX_NONE;
  for (int i = 0; i < s->rank; i++)
    if (k - s->rank + i != axis && s->dim[i] != 1) return OX_NONE;
  return from;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  grid *found = OX_CAPTURE(m, grid);
  ox_id tuples = m->node[TUPLES];
  const ox_shape *s = ox_shape_at(g, ox_out(g, tuples, 0));
  int64_t axis = ox_attr_i(g, tuples, "axis", 0);
  found->k = ox_n_in(g, tuples);
  if (found->k < 2 || found->k > OX_MAX_RANK || s->rank != (int)found->k + 1) return 0;
  if (axis != -1 && axis != s->rank - 1) return 0;
  if (!ox_attr_is(g, m->node[ROOT], "reduction", "none", 1)) return 0;
  for (uint32_t i = 0; i < found->k; i++) {
    ox_id part = ox_up(g, ox_in(g, tuples, i), "Unsqueeze|Reshape");
    const ox_shape *p = ox_shape_at(g, ox_in(g, tuples, i));
    if (part == OX_NONE || p->rank != s->rank || p->dim[p->rank - 1] != 1) return 0;
    found->list[i] = list_of(g, ox_in(g, part, 0), (int)i, (int)found->k);
    if (found->list[i] == OX_NONE) return 0;
  }
  return ox_op_serves(g, "ai.onyx", "ScatterGrid", ox_dtype_of(g, ox_in(g, m->node[ROOT], 0)));
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const grid *found = OX_CAPTURED(m, grid);
  static const int64_t flat[1] = {-1};
  ox_id in[2 + OX_MAX_RANK] = {ox_in(g, m->node[ROOT], 0), ox_in(g, m->node[ROOT], 2)}, shape, node;
  OX_TRY(ox_i64_const(g, flat, 1, &shape));
  for (uint32_t i = 0; i < found->k; i++)
    OX_TRY(ox_emit(g, NULL, "Reshape", (ox_id[]){found->list[i], shape}, 2, &node, &in[2 + i]));
  return ox_remake(g, m->node[ROOT], "ai.onyx", "ScatterGrid", in, 2 + found->k);
}

static const ox_rule rules[] = {{OX_RULE("scatter-slices", OX_OPTIMIZE_EXTENDED, scatter, guard, apply)}};
const ox_rule_set ox_cpu_rules_scatter_slices = OX_OWNED_RULE_SET("cpu", rules);
