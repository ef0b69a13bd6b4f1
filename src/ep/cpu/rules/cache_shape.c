/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/cache_shape.c - the shape of a key/value cache with its new rows comes from the shapes of both:
 * Shape(Concat(past, rows)). Decoders make positions and masks from it (T5, Whisper), and the attention that appends
 * the rows itself could not run before its own mask. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { CONCAT, SHAPE };
static const ox_pat shape_of[] = {
    [CONCAT] = {.op = "Concat", .types = OX_BIT(OX_F32)}, [SHAPE] = {.op = "Shape", .in = {OX_FROM(CONCAT)}}};

enum { RANK = 4, ROWS = 2 }; /* [batch, heads, rows, width] */

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id concat = m->node[CONCAT], shape = m->node[SHAPE], past = ox_in(g, concat, 0);
  int64_t axis = ox_attr_i(g, concat, "axis", 0);
  if (ox_n_in(g, concat) != 2 || (axis != ROWS && axis != ROWS - RANK)) return 0;
  if (ox_producer(g, past) != OX_NONE || ox_const_type(g, past)) return 0;
  if (ox_shape_at(g, ox_out(g, concat, 0))->rank != RANK || ox_uses(g, ox_out(g, concat, 0)) < 2) return 0;
  return !ox_attr_of(g, shape, "start") && !ox_attr_of(g, shape, "end");
}

/* How many rows there are in |v|, as a list of one: before heads were split off, if they were, because that is not
 * needed otherwise once the attention has taken it over. */
static ox_status *count_rows(const ox_rewrite *g, ox_id v, ox_id *out) {
  ox_id turn = ox_up(g, v, "Transpose"), node, shape, at;
  const ox_attr_view *perm = ox_attr_ints(g, turn, "perm");
  int64_t axis = perm && perm->n == RANK ? perm->ints[ROWS] : ROWS;
  if (perm) v = ox_in(g, turn, 0);
  OX_TRY(ox_emit(g, NULL, "Shape", &v, 1, &node, &shape));
  OX_TRY(ox_i64_const(g, &axis, 1, &at));
  return ox_emit(g, NULL, "Gather", (ox_id[]){shape, at}, 2, &node, out);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  static const int64_t rows_only[RANK] = {[ROWS] = 1};
  ox_id concat = m->node[CONCAT], past = ox_in(g, concat, 0), node, old, rows, unit, more;
  OX_TRY(ox_emit(g, NULL, "Shape", &past, 1, &node, &old));
  OX_TRY(count_rows(g, ox_in(g, concat, 1), &rows));
  OX_TRY(ox_i64_const(g, rows_only, RANK, &unit));
  OX_TRY(ox_emit(g, NULL, "Mul", (ox_id[]){rows, unit}, 2, &node, &more));
  return ox_remake(g, m->node[SHAPE], NULL, "Add", (ox_id[]){old, more}, 2);
}

static const ox_rule rules[] = {{OX_RULE("cache-shape", OX_OPTIMIZE_EXTENDED, shape_of, guard, apply)}};
const ox_rule_set ox_cpu_rules_cache_shape = OX_OWNED_RULE_SET("cpu", rules);
