/* SPDX-License-Identifier: Apache-2.0
 * ops/if.c - If (ONNX 1..25): runs one of two bodies; its outputs become the node's. */
#include "base/macros.h"
#include "graph/control.h"
#include "ops/move/sequence_values.h"

typedef struct {
  ox_graph *then_branch, *else_branch;
} if_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_GRAPH(if_attrs, then_branch), OX_ATTR_GRAPH(if_attrs, else_branch)};

/* What both branches agree on. */
static ox_status *infer(ox_infer_ctx *c) {
  const if_attrs *a = c->attrs;
  if (a->then_branch->n_outputs < c->n_out || a->else_branch->n_outputs < c->n_out)
    return ox_fail(OX_INVALID_MODEL, "If: branches give %u and %u outputs, wanted %u", a->then_branch->n_outputs,
                   a->else_branch->n_outputs, c->n_out);
  if (a->then_branch->n_inputs || a->else_branch->n_inputs)
    return ox_fail(OX_INVALID_MODEL, "If: a branch has inputs of its own");
  for (uint32_t i = 0; i < c->n_out; i++)
    c->out[i] = ox_type_common(c, ox_body_type(a->then_branch, i), ox_body_type(a->else_branch, i));
  return NULL;
}

static ox_status *run(const ox_control_ctx *c) {
  const if_attrs *a = c->node->attrs;
  const ox_tensor *cond = ox_control_in(c, 0);
  if (!cond || cond->dtype != OX_BOOL || cond->bytes != 1)
    return ox_fail(OX_INVALID_MODEL, "If needs one bool as its condition");
  ox_body *b = ox_control_body(c, *(const uint8_t *)cond->data ? a->then_branch : a->else_branch);
  if (!b) return ox_fail(OX_INVALID_MODEL, "If lacks a branch");
  OX_TRY(ox_body_run(c, b));
  for (uint32_t i = 0; i < c->node->n_out && i < b->graph->n_outputs; i++) {
    ox_tensor *out = ox_control_out(c, i);
    if (!out) continue;
    /* the body does not run again before the node's next run: no copy, unless the bytes are not its own */
    bool done = c->host->body_owns(b, i);
    if (done)
      *out = *ox_body_output(c, b, i);
    else
      OX_TRY(c->host->copy_there(c->control, b, i, out, &done));
    if (!done) OX_TRY(ox_control_copy(c, ox_body_output(c, b, i), out));
  }
  return NULL;
}

static const ox_control_def control = {.branches = true, .passes_on = true, .run = run};

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "If", .since = 1, .types = {OX_BIT(OX_BOOL)}, .min_in = 1, .max_in = 1, .min_out = 1,
               .max_out = OX_VARIADIC, .traits = OX_CONTROL | OX_ANY_KIND, OX_ATTRS(attr_defs),
               .attrs_bytes = sizeof(if_attrs), .infer = infer, .control = &control),
     NULL},
};
const ox_op_set ox_ops_if = {ops, OX_COUNT(ops)};
