/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/channel_shuffle.c - channels in another order: Reshape, Transpose and Reshape are one Gather, and what
 * reorders channels in blocks does so once (docs/blocks.md). */
#include "base/macros.h"
#include "base/status.h"
#include "onyx/rewrite.h"

/* ---- a Gather ---- */

enum { APART, TURN, TOGETHER };
static const ox_pat shuffle[] = {[APART] = {.op = "Reshape", .single_use = 1},
                                 [TURN] = {.op = "Transpose", .in = {OX_FROM(APART)}, .single_use = 1},
                                 [TOGETHER] = {.op = "Reshape", .in = {OX_FROM(TURN)}}};

/* [N, C, d...] as [N, g, C / g, d...], these two exchanged, and back. */
static int shuffle_guard(const ox_rewrite *g, ox_match *m) {
  ox_id x = ox_in(g, m->node[APART], 0);
  const ox_shape *s = ox_shape_at(g, x), *t = ox_shape_at(g, ox_out(g, m->node[APART], 0));
  const ox_attr_view *perm = ox_attr_ints(g, m->node[TURN], "perm");
  if (s->rank < 3 || s->rank >= OX_MAX_RANK || s->dim[1] < 1 || s->dim[1] > INT32_MAX || t->rank != s->rank + 1)
    return 0;
  if (!ox_shape_named(s) || !ox_same_shape(s, ox_shape_at(g, ox_out(g, m->node[TOGETHER], 0)))) return 0;
  if (!perm || perm->n != (size_t)t->rank || t->dim[1] < 1 || t->dim[2] < 1 || t->dim[0] != s->dim[0]) return 0;
  for (int i = 0; i < t->rank; i++)
    if (perm->ints[i] != (i == 1 ? 2 : i == 2 ? 1 : i) || (i > 2 && t->dim[i] != s->dim[i - 1])) return 0;
  return t->dim[1] * t->dim[2] == s->dim[1];
}

static ox_status *shuffle_apply(const ox_rewrite *g, const ox_match *m) {
  const ox_shape *t = ox_shape_at(g, ox_out(g, m->node[APART], 0));
  int64_t groups = t->dim[1], each = t->dim[2];
  int64_t *list = g->api->scratch(g, (size_t)(groups * each) * sizeof *list);
  ox_id in[2] = {ox_in(g, m->node[APART], 0)};
  if (!list) return ox_no_memory(g);
  for (int64_t i = 0; i < groups * each; i++) list[i] = i % groups * each + i / groups;
  OX_TRY(ox_i64_const(g, list, groups * each, &in[1]));
  OX_TRY(ox_remake(g, m->node[TOGETHER], NULL, "Gather", in, 2));
  return ox_set_int(g, m->node[TOGETHER], "axis", 1);
}

/* ---- BlockChannels of a BlockChannels ---- */

enum { MOST_IN = 16 };
static const ox_pat channels[] = {{.op = "BlockChannels", .domain = "ai.onyx"}};

typedef struct inner {
  ox_id node;
  uint32_t slot; /* that it feeds */
} inner;

/* An operand without other readers comes from another one. */
static int channels_guard(const ox_rewrite *g, ox_match *m) {
  inner *in = OX_CAPTURE(m, inner);
  uint32_t n = ox_n_in(g, m->node[0]);
  for (in->slot = 0; in->slot < n; in->slot++) {
    ox_id v = ox_in(g, m->node[0], in->slot);
    in->node = ox_producer(g, v);
    if (in->node == OX_NONE || !ox_is_of(g, in->node, "BlockChannels", "ai.onyx") || ox_uses(g, v) != 1) continue;
    if (ox_n_out(g, in->node) == 1 && n + ox_n_in(g, in->node) <= MOST_IN) return 1;
  }
  return 0;
}

/* The lists of both as one: the inputs of the inner one stand where it stood. */
static ox_status *channels_apply(const ox_rewrite *g, const ox_match *m) {
  const inner *it = OX_CAPTURED(m, inner);
  ox_id outer = m->node[0], in[MOST_IN];
  int64_t sizes[MOST_IN], before = 0, inside = 0, result;
  const ox_attr_view *size = ox_attr_ints(g, outer, "channels"), *size_in = ox_attr_ints(g, it->node, "channels");
  const ox_attr_view *from = ox_attr_ints(g, outer, "from"), *from_in = ox_attr_ints(g, it->node, "from");
  int64_t *list = g->api->scratch(g, from->n * sizeof *list);
  uint32_t n = 0, n_from = (uint32_t)from->n;
  if (!list) return ox_no_memory(g);
  for (uint32_t i = 0; i < it->slot; i++) before += size->ints[i];
  for (size_t i = 0; i < size_in->n; i++) inside += size_in->ints[i];
  result = size->ints[it->slot];
  for (uint32_t i = 0; i < n_from; i++) {
    int64_t at = from->ints[i] - before;
    list[i] = at < 0 ? from->ints[i] : at < result ? before + from_in->ints[at] : from->ints[i] + inside - result;
  }
  for (uint32_t i = 0; i < size->n; i++)
    if (i == it->slot)
      for (uint32_t k = 0; k < size_in->n; k++) in[n] = ox_in(g, it->node, k), sizes[n++] = size_in->ints[k];
    else
      in[n] = ox_in(g, outer, i), sizes[n++] = size->ints[i];
  OX_TRY(ox_set_ints(g, outer, "from", list, n_from));
  OX_TRY(ox_set_ints(g, outer, "channels", sizes, n));
  for (uint32_t i = 0; i < n; i++) OX_TRY(ox_set_in(g, outer, i, in[i]));
  return ox_remove_unused(g, it->node);
}

static const ox_rule rules[] = {
    {OX_RULE("channel-shuffle", OX_OPTIMIZE_ALL, shuffle, shuffle_guard, shuffle_apply)},
    {OX_RULE("blocks-channels", OX_OPTIMIZE_ALL, channels, channels_guard, channels_apply)},
};
const ox_rule_set ox_cpu_rules_channel_shuffle = OX_OWNED_RULE_SET("cpu", rules);
