/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_axis.c - operators with axes: where the channels stay, or move by whole blocks, they do on
 * blocks what they do outside. Their lists gain an entry for the lanes. */
#include "base/status.h"
#include "ep/cpu/blocks/blocks_pass.h"

enum { L = OX_BLOCKS_LANES, MOST = OX_MAX_RANK };

/* |axis| counted from the front; outside of the rank: -1. */
static int64_t axis_of(int64_t axis, int rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? axis : -1;
}

/* X and Y of one operand and one result. */
static bool in_and_out(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id x = ox_in(g, node, 0), y = ox_out(g, node, 0);
  u->in = u->out = 1, u->gain = (float)-(ox_blocks_waste(g, x) + ox_blocks_waste(g, y)) / 2;
  return ox_blocks_channels(g, x) && ox_blocks_channels(g, y) && ox_one_output(g, node);
}

/* ---- lists ---- */

/* The list in attribute |name|, or from operator set |since| on in input |slot|. */
static ox_status *set_list(const ox_rewrite *g, ox_id node, const char *name, uint32_t slot, int64_t since,
                           const int64_t *list, int n) {
  ox_id v;
  if (ox_opset_of(g, "") < since) return ox_set_ints(g, node, name, list, (size_t)n);
  OX_TRY(ox_i64_const(g, list, n, &v));
  return ox_set_in(g, node, slot, v);
}

/* Axes count from the front, which blocks do not change. */
static bool from_the_front(int64_t *axes, int n, int rank) {
  for (int i = 0; i < n; i++)
    if ((axes[i] = axis_of(axes[i], rank)) < 0) return false;
  return true;
}

/* ---- Slice ---- */

typedef struct slice_lists {
  int n;
  int64_t start[MOST], end[MOST], axis[MOST], step[MOST];
} slice_lists;

/* Channels [*start, *end) of |channels| as blocks; false: not whole ones. */
static bool slice_blocks(int64_t channels, int64_t *start, int64_t *end, int64_t step) {
  int64_t a = *start < 0 ? OX_MAX(*start, -channels) + channels : OX_MIN(*start, channels);
  int64_t b = *end < 0 ? OX_MAX(*end, -channels) + channels : OX_MIN(*end, channels);
  *start = a / L, *end = OX_CEIL_DIV(b, L);
  return step == 1 && a % L == 0 && (b % L == 0 || b == channels) && a < b;
}

/* What the lists become. */
static bool slice_lists_of(const ox_rewrite *g, ox_id node, slice_lists *s) {
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, 0));
  int n_end, n_axis, n_step;
  if (!ox_list_of(g, node, "starts", 1, s->start, MOST, &s->n) || s->n < 1) return false;
  if (!ox_list_of(g, node, "ends", 2, s->end, MOST, &n_end) || n_end != s->n) return false;
  if (!ox_list_of(g, node, "axes", 3, s->axis, MOST, &n_axis) || (n_axis >= 0 && n_axis != s->n)) return false;
  if (!ox_list_of(g, node, "steps", 4, s->step, MOST, &n_step) || (n_step >= 0 && n_step != s->n)) return false;
  for (int i = 0; i < s->n; i++) {
    if (n_axis < 0) s->axis[i] = i;
    if (n_step < 0) s->step[i] = 1;
  }
  if (!from_the_front(s->axis, s->n, x->rank)) return false;
  for (int i = 0; i < s->n; i++)
    if (s->axis[i] == 1 && !slice_blocks(x->dim[1], &s->start[i], &s->end[i], s->step[i])) return false;
  return true;
}

static bool slice_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  slice_lists s;
  return in_and_out(g, node, u) && slice_lists_of(g, node, &s);
}

static ox_status *slice_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  enum { AS_INPUTS = 10 };
  slice_lists s;
  (void)u;
  if (!slice_lists_of(g, node, &s)) return NULL;
  OX_TRY(set_list(g, node, "starts", 1, AS_INPUTS, s.start, s.n));
  OX_TRY(set_list(g, node, "ends", 2, AS_INPUTS, s.end, s.n));
  OX_TRY(set_list(g, node, "axes", 3, AS_INPUTS, s.axis, s.n));
  return ox_opset_of(g, "") < AS_INPUTS ? NULL : set_list(g, node, "steps", 4, AS_INPUTS, s.step, s.n);
}

/* ---- Pad ---- */

static bool pads_of(const ox_rewrite *g, ox_id node, int64_t *pads, int *rank) {
  int n;
  *rank = ox_shape_at(g, ox_in(g, node, 0))->rank;
  if (ox_in(g, node, 3) != OX_NONE || !ox_list_of(g, node, "pads", 1, pads, 2 * MOST, &n)) return false;
  return n == 2 * *rank && pads[1] == 0 && pads[*rank + 1] == 0;
}

static bool pad_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  int64_t pads[2 * MOST];
  int rank;
  return in_and_out(g, node, u) && pads_of(g, node, pads, &rank);
}

static ox_status *pad_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  int64_t pads[2 * MOST], more[2 * MOST + 2] = {0};
  int rank;
  (void)u;
  if (!pads_of(g, node, pads, &rank)) return NULL;
  for (int i = 0; i < rank; i++) more[i] = pads[i], more[rank + 1 + i] = pads[rank + i];
  return set_list(g, node, "pads", 1, 11, more, 2 * rank + 2);
}

const ox_blocks_op ox_blocks_axis_ops[] = {
    {.ops = "Slice", .can = slice_can, .edit = slice_edit},
    {.ops = "Pad", .can = pad_can, .edit = pad_edit},
    {.ops = NULL},
};
