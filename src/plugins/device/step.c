/* SPDX-License-Identifier: Apache-2.0
 * device/step.c - enqueues the steps of a plan. */
#include "plugins/device/plan.h"

char *dev_address(const dev_plan *p, dev_ref r, const ox_io *io, char *work) {
  if (r.kind == DEV_REF_NONE) return NULL;
  if (r.kind == DEV_REF_MADE) return (char *)p->part->made[r.id].address + r.offset;
  const dev_place *at = r.kind == DEV_REF_TEMP ? &p->temps[r.id] : &p->values[r.id];
  switch (at->kind) {
    case DEV_PLACE_WORK:
      return work + at->offset + r.offset;
    case DEV_PLACE_INPUT:
      return (char *)io->in[at->index]->data + r.offset;
    case DEV_PLACE_OUTPUT:
      return (char *)io->out[at->index]->data + r.offset;
    case DEV_PLACE_CONSTANT:
      return (char *)p->part->constants[r.id] + r.offset;
    case DEV_PLACE_HOST:
      return (char *)at->copy + r.offset;
  }
  return NULL;
}

static ox_status *put(const dev_plan *p, const dev_step *s, dev_queue *q, void *const *at) {
  dev_launch launch;
  dev_gemm gemm;
  dev_conv conv;
  switch (s->kind) {
    case DEV_STEP_LAUNCH:
      launch = s->launch;
      for (uint32_t i = 0; i < s->n_buffers; i++) launch.buffers[i] = at[i];
      return dev_the_driver.launch(q, &launch);
    case DEV_STEP_COPY:
      return dev_the_driver.copy(p->part->ep->device, q, at[0], at[1], s->copy_bytes, DEV_WITHIN);
    case DEV_STEP_GEMM:
      gemm = s->gemm, gemm.a = at[0], gemm.b = at[1], gemm.c = at[2];
      gemm.after.bias = at[DEV_CALL_BIAS], gemm.after.add = at[DEV_CALL_ADD];
      return dev_the_driver.gemm(q, &gemm);
    case DEV_STEP_CONV:
      conv = s->conv, conv.x = at[0], conv.weights = at[1], conv.y = at[2];
      conv.after.bias = at[DEV_CALL_BIAS], conv.after.add = at[DEV_CALL_ADD];
      return dev_the_driver.conv(q, &conv);
  }
  return NULL;
}

ox_status *dev_plan_put(const dev_plan *p, dev_queue *q, const ox_io *io, char *work) {
  for (const dev_step *s = p->steps; s; s = s->next) {
    void *at[DEV_MAX_BUFFERS];
    for (uint32_t i = 0; i < s->n_buffers; i++) at[i] = dev_address(p, s->buffers[i], io, work);
    DEV_TRY(dev_plan_note(p, s->node, put(p, s, q, at)));
  }
  return NULL;
}
