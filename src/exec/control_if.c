/* SPDX-License-Identifier: Apache-2.0
 * exec/control_if.c - If (ONNX 1..25): runs one of two bodies; its outputs become the node's. */
#include "exec/bodies.h"

ox_status *ox_if_run(ox_context *c, ox_step *s) {
  const ox_tensor *cond = ox_control_input(c, s, 0);
  if (!cond || cond->dtype != OX_BOOL || cond->bytes != 1)
    return ox_fail(OX_INVALID_MODEL, "If wants one bool as its condition");
  bool taken = *(const uint8_t *)cond->data != 0;
  ox_body *b = ox_control_body(c, s, taken ? "then_branch" : "else_branch");
  if (!b) return ox_fail(OX_INVALID_MODEL, "If lacks a branch");
  OX_TRY(ox_body_run(c, b));
  for (uint32_t i = 0; i < s->c.n_out && i < b->plan->graph->n_outputs; i++) {
    ox_tensor *out = ox_control_output(c, s, i);
    if (!out) continue;
    /* the body's context does not run again before this context's next run: no copy, unless the bytes are not its own */
    if (ox_body_owns_output(b, i)) *out = *ox_body_output(b, i);
    else OX_TRY(ox_control_copy(c, ox_body_output(b, i), out));
  }
  return NULL;
}
