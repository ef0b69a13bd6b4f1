/* SPDX-License-Identifier: Apache-2.0
 * exec/control_sequence_map.c - SequenceMap (ONNX 17): the body for each item of the first sequence. */
#include <string.h>

#include "exec/bodies.h"

/* Items outlive the body's context: they move to the run's memory. */
static ox_status *keep_item(ox_context *c, const ox_tensor *from, const ox_tensor **out_item) {
  ox_tensor *t = ox_arena_copy(c->env->run_arena, from, sizeof *from);
  if (!t) return ox_oom();
  if (t->kind == OX_TENSOR) t->data = ox_arena_copy(c->env->run_arena, from->data, from->bytes);
  if (t->kind == OX_TENSOR && !t->data) return ox_oom();
  *out_item = t;
  return NULL;
}

ox_status *ox_sequence_map_run(ox_context *c, ox_step *s) {
  ox_body *b = ox_control_body(c, s, "body");
  const ox_tensor *first = ox_control_input(c, s, 0);
  if (!b || !first || first->kind != OX_SEQUENCE) return ox_fail(OX_INVALID_MODEL, "SequenceMap wants a sequence and a body");
  int64_t n = first->shape.dim[0];
  uint32_t n_out = s->c.n_out;
  if (b->n_inputs != s->c.n_in || b->plan->graph->n_outputs < n_out)
    return ox_fail(OX_INVALID_MODEL, "SequenceMap has %u inputs and %u outputs, its body %u and %u", s->c.n_in, n_out,
                   b->n_inputs, b->plan->graph->n_outputs);
  const ox_tensor ***items = ox_arena_array(c->env->run_arena, n_out, sizeof *items);
  if (!items) return ox_oom();
  for (uint32_t k = 0; k < n_out; k++)
    if (!(items[k] = ox_arena_array(c->env->run_arena, (size_t)n, sizeof **items))) return ox_oom();
  for (int64_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < s->c.n_in; k++) {
      const ox_tensor *in = ox_control_input(c, s, k);
      if (!in) return ox_fail(OX_INVALID_MODEL, "SequenceMap: input %u is missing", k);
      if (in->kind == OX_SEQUENCE && in->shape.dim[0] != n)
        return ox_fail(OX_SHAPE_MISMATCH, "SequenceMap: sequence %u has %lld items, the first has %lld", k,
                       (long long)in->shape.dim[0], (long long)n);
      b->args[k] = in->kind == OX_SEQUENCE ? ((const ox_tensor *const *)in->data)[i] : in;
    }
    OX_TRY(ox_body_run(c, b));
    for (uint32_t k = 0; k < n_out; k++) OX_TRY(keep_item(c, ox_body_output(b, k), &items[k][i]));
  }
  for (uint32_t k = 0; k < n_out; k++) {
    ox_tensor *out = ox_control_output(c, s, k);
    if (!out) continue;
    const ox_type *t = &b->plan->graph->values[b->plan->graph->outputs[k]].type;
    *out = (ox_tensor){.kind = OX_SEQUENCE, .dtype = n ? items[k][0]->dtype : t->dtype, .data = (void *)items[k],
                       .shape = {.rank = 1, .dim = {n}}};
  }
  return NULL;
}
