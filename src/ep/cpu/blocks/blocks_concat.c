/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_concat.c - Concat, Split and Gather of channels. Whole blocks move as they are; others are put
 * together anew, channel by channel (BlockChannels). */
#include "base/status.h"
#include "ep/cpu/blocks/blocks_pass.h"

static const char own[] = "ai.onyx";
enum { L = OX_BLOCKS_LANES, MOST_OUT = OX_BLOCKS_MAX_IN };

static int64_t axis_of(const ox_rewrite *g, ox_id node, int64_t absent, ox_id like) {
  int64_t axis = ox_attr_i(g, node, "axis", absent);
  int rank = ox_shape_at(g, like)->rank;
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? axis : -1;
}

static int64_t channels_of(const ox_rewrite *g, ox_id v) { return ox_shape_at(g, v)->dim[1]; }

static ox_id operand(const ox_rewrite *g, ox_id node, bool out, uint32_t i) {
  return out ? ox_out(g, node, i) : ox_in(g, node, i);
}

/* All of |n| values but the last fill their blocks. */
static bool fill_blocks(const ox_rewrite *g, ox_id node, bool out, uint32_t n) {
  for (uint32_t i = 0; i + 1 < n; i++)
    if (channels_of(g, operand(g, node, out, i)) % L) return false;
  return true;
}

/* Values of float32 whose channels are known, of rank |rank|. */
static bool all_known(const ox_rewrite *g, ox_id node, bool out, uint32_t n, int rank) {
  for (uint32_t i = 0; i < n; i++) {
    ox_id v = operand(g, node, out, i);
    if (v == OX_NONE || ox_dtype_of(g, v) != OX_F32 || ox_shape_at(g, v)->rank != rank || channels_of(g, v) < 1)
      return false;
  }
  return true;
}

static uint64_t bits(uint32_t n) { return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX; }

/* Channels of the values, as attribute |name|. */
static ox_status *set_channels(const ox_rewrite *g, ox_id node, const char *name, bool out, uint32_t n) {
  int64_t list[MOST_OUT];
  for (uint32_t i = 0; i < n; i++) list[i] = channels_of(g, operand(g, node, out, i));
  return ox_set_ints(g, node, name, list, n);
}

/* |node| becomes a BlockChannels of its first |n_in| inputs; from[i] NULL: the order stays. */
static ox_status *become_channels(const ox_rewrite *g, ox_id node, uint32_t n_in, const int64_t *from) {
  int64_t n = 0;
  uint32_t n_out = ox_n_out(g, node);
  for (uint32_t i = 0; i < n_out; i++) n += channels_of(g, ox_out(g, node, i));
  int64_t *list = g->api->scratch(g, (size_t)n * sizeof *list);
  if (!list) return ox_no_memory(g);
  for (int64_t i = 0; i < n; i++) list[i] = from ? from[i] : i;
  OX_TRY(ox_drop_attr(g, node, NULL));
  OX_TRY(set_channels(g, node, "channels", false, n_in));
  OX_TRY(set_channels(g, node, "split", true, n_out));
  OX_TRY(ox_set_ints(g, node, "from", list, (size_t)n));
  OX_TRY(g->api->set_counts(g, node, n_in, n_out));
  return ox_become(g, node, own, "BlockChannels");
}

/* ---- Concat ---- */

static bool concat_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id y = ox_out(g, node, 0);
  uint32_t n = ox_n_in(g, node);
  int64_t axis = axis_of(g, node, 1, y);
  if (!ox_blocks_channels(g, y) || axis < 0 || !all_known(g, node, false, n, ox_shape_at(g, y)->rank)) return false;
  u->in = bits(n), u->out = 1, u->gain = (float)-ox_blocks_waste(g, y);
  return axis != 1 || fill_blocks(g, node, false, n) || ox_op_serves(g, own, "BlockChannels", OX_F32);
}

static ox_status *concat_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  int64_t axis = axis_of(g, node, 1, ox_out(g, node, 0));
  (void)u;
  if (axis == 1 && !fill_blocks(g, node, false, ox_n_in(g, node)))
    return become_channels(g, node, ox_n_in(g, node), NULL);
  return ox_set_int(g, node, "axis", axis);
}

/* ---- Split ---- */

static bool split_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id x = ox_in(g, node, 0);
  uint32_t n = ox_n_out(g, node);
  int64_t axis = axis_of(g, node, 0, x);
  if (!ox_blocks_channels(g, x) || axis < 0 || n > MOST_OUT) return false;
  if (!all_known(g, node, true, n, ox_shape_at(g, x)->rank)) return false;
  u->in = 1, u->out = bits(n), u->gain = (float)-ox_blocks_waste(g, x);
  return axis != 1 || fill_blocks(g, node, true, n) || ox_op_serves(g, own, "BlockChannels", OX_F32);
}

static ox_status *split_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  int64_t size[MOST_OUT], axis = axis_of(g, node, 0, ox_in(g, node, 0));
  uint32_t n = ox_n_out(g, node);
  (void)u;
  if (axis == 1 && !fill_blocks(g, node, true, n)) return become_channels(g, node, 1, NULL);
  OX_TRY(ox_set_int(g, node, "axis", axis));
  if (axis != 1) return NULL;
  for (uint32_t i = 0; i < n; i++) size[i] = OX_CEIL_DIV(channels_of(g, ox_out(g, node, i)), L);
  if (ox_opset_of(g, "") < 13) return ox_set_ints(g, node, "split", size, n);
  ox_id sizes;
  OX_TRY(ox_drop_attr(g, node, "num_outputs"));
  OX_TRY(ox_i64_const(g, size, n, &sizes));
  return ox_set_in(g, node, 1, sizes);
}

/* ---- Gather ---- */

/* The channels that |node| takes; NULL: it does not, or memory ran out. */
static int64_t *gathered(const ox_rewrite *g, ox_id node) {
  ox_id x = ox_in(g, node, 0), indices = ox_in(g, node, 1);
  int64_t channels = channels_of(g, x), n = ox_elements(ox_shape_at(g, indices));
  int count;
  if (ox_shape_at(g, indices)->rank != 1 || n < 1 || n > INT32_MAX || axis_of(g, node, 0, x) != 1) return NULL;
  int64_t *list = g->api->scratch(g, (size_t)n * sizeof *list);
  if (!list || !ox_const_ints(g, indices, list, (int)n, &count)) return NULL;
  for (int64_t i = 0; i < n; i++) {
    if (list[i] < 0) list[i] += channels;
    if (list[i] < 0 || list[i] >= channels) return NULL;
  }
  return list;
}

static bool gather_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id x = ox_in(g, node, 0), y = ox_out(g, node, 0);
  u->in = u->out = 1, u->gain = (float)-ox_blocks_waste(g, y);
  return ox_blocks_channels(g, x) && ox_blocks_channels(g, y) && ox_op_serves(g, own, "BlockChannels", OX_F32) &&
         gathered(g, node);
}

static ox_status *gather_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  int64_t *list = gathered(g, node);
  (void)u;
  return list ? become_channels(g, node, 1, list) : ox_no_memory(g);
}

const ox_blocks_op ox_blocks_concat_ops[] = {
    {.ops = "Concat", .can = concat_can, .edit = concat_edit},
    {.ops = "Split", .can = split_can, .edit = split_edit},
    {.ops = "Gather", .can = gather_can, .edit = gather_edit},
    {.ops = NULL},
};
