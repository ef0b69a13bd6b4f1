/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/blocks_last.c - from blocks of channels to channels last and back: whole blocks move, no channel is
 * turned (ConvNeXt's depthwise convolutions before a LayerNormalization, a Conformer's between Linears). */
#include "base/status.h"
#include "ep/cpu/blocks/blocks_pass.h"

/* Axis |from| goes to |to|, past the others; the last one, a block, stays where it is. */
static ox_status *move_axis(const ox_rewrite *g, ox_id node, int rank, int from, int to) {
  int64_t perm[OX_MAX_RANK];
  for (int i = 0, axis = 0; i < rank; i++) {
    if (i == to) {
      perm[i] = from;
      continue;
    }
    axis += axis == from;
    perm[i] = axis++;
  }
  perm[rank] = rank;
  return ox_set_ints(g, node, "perm", perm, (size_t)rank + 1);
}

/* ---- out of blocks ---- */

enum { FROM, TURN };
static const ox_pat from_blocks[] = {[FROM] = {.op = "FromBlocks", .domain = "ai.onyx", .single_use = 1},
                                     [TURN] = {.op = "Transpose", .in = {OX_FROM(FROM)}}};

static int from_guard(const ox_rewrite *g, ox_match *m) { return ox_blocks_to_last(g, m->node[TURN]); }

/* Whole blocks: how they move is a Transpose, or, of one block a pixel, nothing. */
static ox_status *move_blocks(const ox_rewrite *g, const ox_match *m) {
  ox_id x = ox_in(g, m->node[FROM], 0), node, in[2] = {x};
  const ox_shape *s = ox_shape_at(g, x);
  ox_shape moved = *s;
  int rank = s->rank - 1, unknown = 0;
  int64_t shape[OX_MAX_RANK] = {0}; /* as they are */
  for (int i = 1; i + 1 < rank; i++) moved.dim[i] = s->dim[i + 1], unknown += s->dim[i + 1] < 0;
  moved.dim[rank - 1] = s->dim[1], shape[rank - 1] = ox_attr_i(g, m->node[FROM], "channels", 1);
  if (s->dim[1] == 1 && unknown <= 1) {
    for (int i = 1; i + 1 < rank; i++) shape[i] = OX_MAX(moved.dim[i], -1);
  } else {
    OX_TRY(g->api->add_tensor(g, NULL, OX_F32, &moved, &in[0]));
    OX_TRY(g->api->add_node(g, NULL, "Transpose", "", &x, 1, &in[0], 1, &node));
    OX_TRY(move_axis(g, node, rank, 1, rank - 1));
  }
  OX_TRY(ox_i64_const(g, shape, rank, &in[1]));
  return ox_remake(g, m->node[TURN], NULL, "Reshape", in, 2);
}

static ox_status *from_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id from = m->node[FROM], x = ox_in(g, from, 0);
  int64_t channels = ox_attr_i(g, from, "channels", 1);
  if (ox_blocks_are_whole(g, channels)) return move_blocks(g, m);
  OX_TRY(ox_remake(g, m->node[TURN], "ai.onyx", "FromBlocks", &x, 1));
  OX_TRY(ox_set_int(g, m->node[TURN], "channels", channels));
  return ox_set_int(g, m->node[TURN], "last", 1);
}

/* ---- into blocks ---- */

enum { BACK, TO };
static const ox_pat to_blocks[] = {[BACK] = {.op = "Transpose", .single_use = 1},
                                   [TO] = {.op = "ToBlocks", .domain = "ai.onyx", .in = {OX_FROM(BACK)}}};

static int to_guard(const ox_rewrite *g, ox_match *m) { return ox_blocks_from_last(g, m->node[BACK]); }

static ox_status *to_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id in[2] = {ox_in(g, m->node[BACK], 0)}, v, node;
  ox_shape split = *ox_shape_at(g, in[0]);
  int rank = split.rank;
  int64_t shape[OX_MAX_RANK] = {0}; /* as they are */
  shape[rank - 1] = split.dim[rank - 1] /= OX_BLOCKS_LANES;
  shape[rank] = split.dim[rank] = OX_BLOCKS_LANES, split.rank++;
  OX_TRY(ox_i64_const(g, shape, rank + 1, &in[1]));
  OX_TRY(g->api->add_tensor(g, NULL, OX_F32, &split, &v));
  OX_TRY(g->api->add_node(g, NULL, "Reshape", "", in, 2, &v, 1, &node));
  OX_TRY(ox_remake(g, m->node[TO], NULL, "Transpose", &v, 1));
  return move_axis(g, m->node[TO], rank, rank - 1, 1);
}

static const ox_rule rules[] = {
    {OX_RULE("blocks-to-last", OX_OPTIMIZE_ALL, from_blocks, from_guard, from_apply)},
    {OX_RULE("last-to-blocks", OX_OPTIMIZE_ALL, to_blocks, to_guard, to_apply)},
};
const ox_rule_set ox_cpu_rules_blocks_last = {.struct_size = sizeof(ox_rule_set),
                                              .place = OX_RULES_OWNED,
                                              .owner = "cpu",
                                              .rules = rules,
                                              .n_rules = OX_COUNT(rules)};
