/* SPDX-License-Identifier: Apache-2.0
 * ops/sequence_map.c - SequenceMap (ONNX 17): the body for each item of the first sequence. */
#include <string.h>

#include "base/macros.h"
#include "graph/control.h"
#include "ops/move/sequence_values.h"

typedef struct {
  ox_graph *body;
} map_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_GRAPH(map_attrs, body)};

static ox_status *infer(ox_infer_ctx *c) {
  const map_attrs *a = c->attrs;
  if (a->body->n_inputs != c->n_in || a->body->n_outputs < c->n_out)
    return ox_fail(OX_INVALID_MODEL, "SequenceMap: body has %u inputs and %u outputs; the node %u and %u",
                   a->body->n_inputs, a->body->n_outputs, c->n_in, c->n_out);
  for (uint32_t i = 0; i < c->n_out; i++) c->out[i] = ox_type_sequence(c, ox_body_type(a->body, i));
  return NULL;
}

/* Items must stay valid after the body's next run, so they are moved to the run's memory. */
static ox_status *keep_item(const ox_control_ctx *c, const ox_tensor *from, const ox_tensor **out_item) {
  ox_tensor *t = ox_value_copy(c->node, from);
  *out_item = t;
  return t ? NULL : ox_oom();
}

static ox_status *set_args(const ox_control_ctx *c, ox_body *b, int64_t i, int64_t n) {
  for (uint32_t k = 0; k < c->node->n_in; k++) {
    const ox_tensor *in = ox_control_in(c, k);
    if (!in) return ox_fail(OX_INVALID_MODEL, "SequenceMap: input %u is missing", k);
    if (in->kind == OX_SEQUENCE && in->shape.dim[0] != n)
      return ox_fail(OX_SHAPE_MISMATCH, "SequenceMap: sequence %u has %lld items, the first has %lld", k,
                     (long long)in->shape.dim[0], (long long)n);
    b->args[k] = in->kind == OX_SEQUENCE ? ((const ox_tensor *const *)in->data)[i] : in;
  }
  return NULL;
}

static ox_status *run(const ox_control_ctx *c) {
  ox_body *b = ox_control_body(c, ((const map_attrs *)c->node->attrs)->body);
  const ox_tensor *first = ox_control_in(c, 0);
  if (!b || !first || first->kind != OX_SEQUENCE)
    return ox_fail(OX_INVALID_MODEL, "SequenceMap needs a sequence and a body");
  int64_t n = first->shape.dim[0];
  uint32_t n_out = c->node->n_out;
  if (b->n_inputs != c->node->n_in || b->graph->n_outputs < n_out)
    return ox_fail(OX_INVALID_MODEL, "SequenceMap has %u inputs and %u outputs, its body %u and %u", c->node->n_in,
                   n_out, b->n_inputs, b->graph->n_outputs);
  const ox_tensor ***items = ox_control_array(c, n_out, sizeof *items);
  if (!items) return ox_oom();
  for (uint32_t k = 0; k < n_out; k++)
    if (!(items[k] = ox_control_array(c, (size_t)n, sizeof **items))) return ox_oom();
  for (int64_t i = 0; i < n; i++) {
    OX_TRY(set_args(c, b, i, n));
    OX_TRY(ox_body_run(c, b));
    for (uint32_t k = 0; k < n_out; k++) OX_TRY(keep_item(c, ox_body_output(c, b, k), &items[k][i]));
  }
  for (uint32_t k = 0; k < n_out; k++) {
    uint32_t dtype = n ? items[k][0]->dtype : ox_body_type(b->graph, k)->dtype;
    if (ox_control_out(c, k)) ox_output_set_sequence(c->node, k, dtype, items[k], n);
  }
  return NULL;
}

static const ox_control_def control = {.run = run};

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "SequenceMap", .since = 17, .min_in = 1, .max_in = OX_VARIADIC, .min_out = 1,
               .max_out = OX_VARIADIC, .traits = OX_CONTROL | OX_ANY_KIND, OX_ATTRS(attr_defs),
               .attrs_bytes = sizeof(map_attrs), .infer = infer, .control = &control),
     NULL},
};
const ox_op_set ox_ops_sequence_map = {ops, OX_COUNT(ops)};
