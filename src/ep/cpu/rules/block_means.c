/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/block_means.c - a depthwise convolution in blocks makes the means of its channels, too, where squeeze
 * and excite asks for them: it has each row in L1 when it is done with it. */
#include "base/status.h"
#include "onyx/rewrite.h"

static const char own[] = "ai.onyx";
enum { X, W, PROJECT = 5 /* W2 of BlockBottleneck */ };
enum { CONV, MEAN };
static const ox_pat conv_mean[] = {[CONV] = {.op = "BlockConv|BlockBottleneck", .domain = own, .types = OX_BIT(OX_F32)},
                                   [MEAN] = {.op = "ReduceMean", .in = {OX_FROM(CONV)}, .types = OX_BIT(OX_F32)}};

/* Means over all pixels: whatever the axes are called, only those of more than one element matter. */
static int is_per_channel(const ox_shape *mean, const ox_shape *y) {
  if (mean->rank != y->rank || y->rank < 4 || ox_elements(y) <= 0) return 0;
  for (int i = 0; i < y->rank; i++)
    if (mean->dim[i] != (i < 2 || i == y->rank - 1 ? y->dim[i] : 1)) return 0;
  return 1;
}

static int is_depthwise(const ox_rewrite *g, ox_id node) {
  const ox_shape *w = ox_shape_at(g, ox_in(g, node, W));
  return w->rank >= 3 && w->dim[0] > 1 && w->dim[1] == 1 && ox_attr_i(g, node, "group", 1) == w->dim[0];
}

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id conv = m->node[CONV], mean = m->node[MEAN];
  if (!is_per_channel(ox_shape_at(g, ox_out(g, mean, 0)), ox_shape_at(g, ox_out(g, conv, 0)))) return 0;
  if (!ox_one_output(g, conv)) return 0;
  return ox_is_of(g, conv, "BlockConv", own) ? is_depthwise(g, conv) : ox_in(g, conv, PROJECT) == OX_NONE;
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  enum { MOST = 8 };
  ox_id conv = m->node[CONV], mean = m->node[MEAN], in[MOST], out[2], made;
  const char *op = ox_is_of(g, conv, "BlockConv", own) ? "BlockConv" : "BlockBottleneck";
  for (uint32_t i = 0; i < MOST; i++) in[i] = ox_in(g, conv, i);
  OX_TRY(g->api->add_tensor(g, NULL, OX_F32, ox_shape_at(g, ox_out(g, conv, 0)), &out[0]));
  OX_TRY(g->api->add_tensor(g, NULL, OX_F32, ox_shape_at(g, ox_out(g, mean, 0)), &out[1]));
  OX_TRY(g->api->add_node(g, own, op, ox_name_of(g, conv), in, ox_n_in(g, conv), out, 2, &made));
  OX_TRY(ox_copy_attrs(g, made, conv));
  OX_TRY(ox_give_way(g, mean, out[1]));
  return ox_give_way(g, conv, out[0]);
}

static const ox_rule rules[] = {{OX_RULE("means", OX_OPTIMIZE_ALL, conv_mean, guard, apply), .late = 1}};
const ox_rule_set ox_cpu_rules_block_means = OX_OWNED_RULE_SET("cpu", rules);
