/* SPDX-License-Identifier: Apache-2.0
 * device/made.c - see dev_emit_made: results of constants are computed once, on a queue of their own, and kept with the
 * part. */
#include "plugins/device/plan.h"

static bool is_constant(const dev_plan *p, dev_ref r) {
  if (r.kind == DEV_REF_NONE || r.kind == DEV_REF_MADE) return true;
  return r.kind == DEV_REF_VALUE && p->values[r.id].kind == DEV_PLACE_CONSTANT;
}

static ox_status *run_now(dev_plan *p, const dev_call *c, dev_launch *launch) {
  dev_queue *q;
  for (uint32_t i = 0; i < c->n_buffers; i++) {
    dev_ref r = c->buffers[i];
    if (r.kind == DEV_REF_VALUE) {
      DEV_TRY(dev_part_constant(p->part, r.id, &launch->buffers[i]));
      launch->buffers[i] = (char *)launch->buffers[i] + r.offset;
    }
    if (r.kind == DEV_REF_MADE) launch->buffers[i] = p->part->made[r.id].address;
  }
  DEV_TRY(dev_kernel_find(&p->part->ep->modules, c->source, c->kernel, c->dtype == OX_F16, &launch->kernel));
  DEV_TRY(dev_the_driver.queue_create(p->part->ep->device, &q));
  ox_status *st = dev_the_driver.launch(q, launch), *sync = dev_the_driver.queue_sync(q);
  if (st) p->part->ep->host.status_free(sync), sync = NULL;
  dev_the_driver.queue_release(q);
  return st ? st : sync;
}

static ox_status *make(dev_plan *p, const dev_call *c, uint32_t to, size_t bytes, dev_made *out) {
  dev_launch launch = {.items = c->items, .n_buffers = c->n_buffers, .params = c->params};
  dev_call filled = *c;
  void *address = NULL;
  launch.params_bytes = c->params_bytes;
  for (int i = 0; i < 3; i++) launch.groups[i] = c->groups[i] ? c->groups[i] : 1;
  DEV_TRY(dev_take(p->part->ep, bytes, &address));
  filled.buffers[to] = (dev_ref){DEV_REF_NONE, 0, 0}, launch.buffers[to] = address;
  ox_status *st = run_now(p, &filled, &launch);
  if (st)
    dev_give(p->part->ep, address, bytes);
  else
    out->address = address, out->bytes = bytes;
  return st;
}

ox_status *dev_emit_made(dev_plan *p, const dev_call *c, uint32_t to, size_t bytes, int slot, dev_ref *out) {
  bool constant = true;
  for (uint32_t i = 0; i < c->n_buffers; i++) constant &= i == to || is_constant(p, c->buffers[i]);
  if (!constant) {
    dev_call call = *c;
    call.buffers[to] = *out = dev_temp(p, bytes);
    return dev_emit(p, &call);
  }
  uint32_t id = (uint32_t)(DEV_MADE * p->node + (size_t)slot);
  *out = (dev_ref){DEV_REF_MADE, id, 0};
  return p->part->made[id].address ? NULL : make(p, c, to, bytes, &p->part->made[id]);
}
