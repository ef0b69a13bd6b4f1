/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_norm.c - normalizations per channel in blocks: operators of their own, which take in an
 * activation (ep/cpu/rules/blocks.c). */
#include "base/status.h"
#include "ep/cpu/blocks/blocks_pass.h"

static const char own[] = "ai.onyx";

static bool norm_can(const ox_rewrite *g, ox_id node, const char *op, ox_blocks_use *u) {
  ox_id x = ox_in(g, node, 0), y = ox_out(g, node, 0);
  u->in = u->out = 1, u->gain = (float)-ox_blocks_waste(g, y);
  for (uint32_t i = 1; i < ox_n_in(g, node); i++)
    if (ox_dtype_of(g, ox_in(g, node, i)) != OX_F32) return false;
  return ox_blocks_channels(g, x) && ox_blocks_channels(g, y) && ox_op_serves(g, own, op, OX_F32);
}

static bool batch_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  if (ox_attr_i(g, node, "training_mode", 0) || !ox_attr_i(g, node, "spatial", 1) || !ox_one_output(g, node))
    return false;
  if (g->api->node_version(g, node) < 14 && ox_n_out(g, node) > 1) return false; /* it would train */
  for (uint32_t i = 1; i < ox_n_in(g, node); i++)
    if (!ox_const(g, ox_in(g, node, i))) return false;
  return norm_can(g, node, "BlockBatchNormalization", u);
}

static ox_status *batch_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  (void)u;
  OX_TRY(g->api->set_counts(g, node, ox_n_in(g, node), 1));
  return ox_become(g, node, own, "BlockBatchNormalization");
}

static bool instance_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  return norm_can(g, node, "BlockInstanceNormalization", u);
}

static ox_status *instance_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  (void)u;
  return ox_become(g, node, own, "BlockInstanceNormalization");
}

const ox_blocks_op ox_blocks_norm_ops[] = {
    {.ops = "BatchNormalization", .can = batch_can, .edit = batch_edit},
    {.ops = "InstanceNormalization", .can = instance_can, .edit = instance_edit},
    {.ops = NULL},
};
