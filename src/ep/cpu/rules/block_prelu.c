/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/block_prelu.c - a BlockConv takes in the PRelu behind it that has a constant slope for each channel.
 * (One slope for all channels is a LeakyRelu.) */
#include "base/status.h"
#include "ep/cpu/activation.h"

static const char own[] = "ai.onyx";
enum { SLOPE = 1, S = 5 };
enum { CONV, PRELU };
static const ox_pat sloped[] = {
    [CONV] = {.op = "BlockConv", .domain = "ai.onyx", .single_use = 1, .types = OX_BIT(OX_F32)},
    [PRELU] = {.op = "PRelu", .in = {OX_FROM(CONV)}}};

/* Of |y| in blocks: [1, C / 16, 1..., 16]. */
static int is_per_channel(const ox_shape *slope, const ox_shape *y) {
  if (slope->rank != y->rank || y->rank < 4) return 0;
  for (int i = 0; i < y->rank; i++)
    if (slope->dim[i] != (i == 1 || i == y->rank - 1 ? y->dim[i] : 1)) return 0;
  return 1;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id conv = m->node[CONV], slope = ox_in(g, m->node[PRELU], SLOPE);
  return ox_const_type(g, slope) != NULL && ox_one_output(g, conv) && ox_dtype_of(g, slope) == OX_F32 && ox_in(g, conv, S) == OX_NONE &&
         ox_activation_free(g, conv) && is_per_channel(ox_shape_at(g, slope), ox_shape_at(g, ox_out(g, conv, 0))) &&
         ox_op_serves(g, own, "BlockConv", OX_F32);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  OX_TRY(ox_set_in(g, m->node[CONV], S, ox_in(g, m->node[PRELU], SLOPE)));
  return ox_give_way(g, m->node[PRELU], ox_out(g, m->node[CONV], 0));
}

static const ox_rule rules[] = {{OX_RULE("block-prelu", OX_OPTIMIZE_ALL, sloped, guard, apply), .late = 1}};
const ox_rule_set ox_cpu_rules_block_prelu = OX_OWNED_RULE_SET("cpu", rules);
