/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/blocks.c - float32 feature maps stay in blocks of 16 channels from convolution to convolution
 * (docs/blocks.md). One pass decides for the whole graph, as what one node gains depends on its neighbours. */
#include "base/status.h"
#include "ep/cpu/activation.h"
#include "ep/cpu/blocks/blocks_pass.h"

static const char own[] = "ai.onyx";

static const ox_blocks_op *row_of(const ox_rewrite *g, ox_id node) {
  static const ox_blocks_op *const tables[] = {ox_blocks_conv_ops,  ox_blocks_wise_ops, ox_blocks_axis_ops,
                                               ox_blocks_space_ops, ox_blocks_norm_ops, ox_blocks_concat_ops};
  for (size_t t = 0; t < OX_COUNT(tables); t++)
    for (const ox_blocks_op *op = tables[t]; op->ops; op++)
      if (ox_is_of(g, node, op->ops, op->domain)) return op;
  return NULL;
}

/* Finds out what each node could do. False: there is no convolution that would gain anything. */
static bool ask_all(ox_blocks_work *w) {
  bool wanted = false;
  for (uint32_t i = 0; i < w->n_order; i++)
    wanted |=
        ox_is(w->g, w->order[i], "Conv|ConvTranspose") || ox_is_of(w->g, w->order[i], "FusedConv", "com.microsoft");
  if (!wanted) return false;
  wanted = false;
  for (uint32_t i = 0; i < w->n_order; i++) {
    ox_id node = w->order[i];
    ox_blocks_use u = {
        .op = w->g->api->node_alive(w->g, node) && ox_n_in(w->g, node) <= OX_BLOCKS_MAX_IN ? row_of(w->g, node) : NULL};
    if (!u.op || !u.op->can(w->g, node, &u) || (!u.in && !u.out)) continue;
    w->use[node] = u, wanted |= u.wants;
  }
  return wanted;
}

static ox_status *run(const ox_rewrite *g, uint32_t *out_changes) {
  ox_blocks_work w = {.g = g, .n_nodes = g->api->node_count(g), .n_values = g->api->value_count(g)};
  *out_changes = 0;
  if (!ox_op_serves(g, own, "ToBlocks", OX_F32) || !ox_op_serves(g, own, "FromBlocks", OX_F32)) return NULL;
  OX_TRY(g->api->order(g, &w.order, &w.n_order));
  w.use = g->api->scratch(g, (size_t)w.n_nodes * sizeof *w.use + 1);
  w.blocked = g->api->scratch(g, (size_t)w.n_values * sizeof *w.blocked + 1);
  if (!w.use || !w.blocked) return ox_no_memory(g);
  if (!ask_all(&w)) return NULL;
  OX_TRY(ox_blocks_choose(&w, out_changes));
  return *out_changes ? ox_blocks_edit(&w) : NULL;
}

/* ---- what was turned out of blocks and is turned into them again ---- */

enum { FROM, TO };
static const ox_pat there_and_back[] = {[FROM] = {.op = "FromBlocks", .domain = "ai.onyx"},
                                        [TO] = {.op = "ToBlocks", .domain = "ai.onyx", .in = {OX_FROM(FROM)}}};

static int cancel_guard(const ox_rewrite *g, ox_match *m) {
  return ox_can_replace(g, ox_out(g, m->node[TO], 0), ox_in(g, m->node[FROM], 0));
}
static ox_status *cancel_apply(const ox_rewrite *g, const ox_match *m) {
  return ox_give_way(g, m->node[TO], ox_in(g, m->node[FROM], 0));
}

/* ---- normalizations take in an activation ---- */

enum { NORM, AFTER };
static const ox_pat norm_then[] = {
    [NORM] = {.op = "BlockBatchNormalization|BlockInstanceNormalization", .domain = "ai.onyx", .single_use = 1},
    [AFTER] = {.activation = 1, .in = {OX_FROM(NORM)}}};

static int act_guard(const ox_rewrite *g, ox_match *m) {
  return ox_activation_of(g, m->node[AFTER], OX_CAPTURE(m, ox_activation)) && ox_activation_free(g, m->node[NORM]);
}
static ox_status *act_apply(const ox_rewrite *g, const ox_match *m) {
  OX_TRY(ox_activation_set(g, m->node[NORM], OX_CAPTURED(m, ox_activation)));
  return ox_give_way(g, m->node[AFTER], ox_out(g, m->node[NORM], 0));
}

static const ox_rule rules[] = {
    {OX_RULE("blocks-activation", OX_OPTIMIZE_ALL, norm_then, act_guard, act_apply)},
    {OX_RULE("blocks-cancel", OX_OPTIMIZE_ALL, there_and_back, cancel_guard, cancel_apply)},
};
static const ox_pass passes[] = {
    {.struct_size = sizeof(ox_pass), .level = OX_OPTIMIZE_ALL, .name = "blocks", .run = run, .late = 1}};
const ox_rule_set ox_cpu_rules_blocks = {.struct_size = sizeof(ox_rule_set),
                                         .place = OX_RULES_OWNED,
                                         .owner = "cpu",
                                         .rules = rules,
                                         .n_rules = OX_COUNT(rules),
                                         .passes = passes,
                                         .n_passes = OX_COUNT(passes)};
