/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_queue.c - streams, launches, events. */
#include <stdio.h>

#include "plugins/cuda/cuda.h"

static ox_status *create_within(dev_queue *q) {
  q->stream = q->device->choice.stream;
  if (!q->stream) CU_TRY(q->device, cuStreamCreate, &q->stream, CU_STREAM_NON_BLOCKING);
  return NULL;
}

static ox_status *create_stream(dev_queue *q) { CUDA_WITHIN(q->device, create_within(q)); }

ox_status *cuda_queue_create(dev_device *d, dev_queue **out_queue) {
  *out_queue = NULL;
  dev_queue *q = dev_new(&d->host, sizeof *q);
  if (!q) return dev_no_memory(&d->host);
  q->device = d;
  ox_status *st = create_stream(q);
  if (st)
    dev_drop(&d->host, q, sizeof *q);
  else
    *out_queue = q;
  return st;
}

void cuda_queue_release(dev_queue *q) {
  if (!q) return;
  const dev_device *d = q->device;
  bool pushed = cuda_enter_anyway(d);
  if (q->capturing || q->stuck) cuda_record_abandon(q);
  cu.cuStreamSynchronize(q->stream); /* until then staging buffers and the user's memory may be in use */
  if (!d->choice.stream) cu.cuStreamDestroy_v2(q->stream);
  cuda_staging_release(&q->staging);
  if (q->workspace) cu.cuMemFree_v2(q->workspace);
  cuda_leave(pushed);
  dev_drop(&d->host, q, sizeof *q);
}

static ox_status *sync_within(dev_queue *q) {
  cuda_record_recover(q);
  CU_TRY(q->device, cuStreamSynchronize, q->stream);
  cuda_staging_idle(&q->staging);
  return NULL;
}

ox_status *cuda_queue_sync(dev_queue *q) { CUDA_WITHIN(q->device, sync_within(q)); }

static ox_status *launch_within(dev_queue *q, const dev_launch *l) {
  void *buffers[DEV_MAX_BUFFERS] = {0}, *arguments[DEV_MAX_BUFFERS + 1];
  for (uint32_t i = 0; i < l->n_buffers; i++) buffers[i] = l->buffers[i];
  for (uint32_t i = 0; i < DEV_MAX_BUFFERS; i++) arguments[i] = &buffers[i];
  arguments[DEV_MAX_BUFFERS] = (void *)(uintptr_t)l->params;
  cuda_record_recover(q);
  int code = cu.cuLaunchKernel(l->kernel->function, l->groups[0], l->groups[1], l->groups[2], l->items, 1, 1, 0,
                               q->stream, arguments, NULL);
  if (!code) return NULL;
  char call[160];
  snprintf(call, sizeof call, "%.100s: cuLaunchKernel", l->kernel->name);
  return cuda_fail(&q->device->host, call, code);
}

ox_status *cuda_launch(dev_queue *q, const dev_launch *l) { CUDA_WITHIN(q->device, launch_within(q, l)); }

/* ---- events ---- */

struct dev_event {
  dev_device *device;
  cu_event event;
};

static ox_status *create_event(dev_event *e) {
  CU_TRY(e->device, cuEventCreate, &e->event, CU_EVENT_DISABLE_TIMING);
  return NULL;
}

static ox_status *make_event(dev_event *e) { CUDA_WITHIN(e->device, create_event(e)); }

ox_status *cuda_event_create(dev_device *d, dev_event **out_event) {
  *out_event = NULL;
  dev_event *e = dev_new(&d->host, sizeof *e);
  if (!e) return dev_no_memory(&d->host);
  e->device = d;
  ox_status *st = make_event(e);
  if (st)
    dev_drop(&d->host, e, sizeof *e);
  else
    *out_event = e;
  return st;
}

void cuda_event_release(dev_event *e) {
  if (!e) return;
  const dev_device *d = e->device;
  bool pushed = cuda_enter_anyway(d);
  cu.cuEventDestroy_v2(e->event);
  cuda_leave(pushed);
  dev_drop(&d->host, e, sizeof *e);
}

static ox_status *record_within(dev_event *e, dev_queue *q) {
  cuda_record_recover(q);
  CU_TRY(e->device, cuEventRecord, e->event, q->stream);
  return NULL;
}

ox_status *cuda_event_record(dev_event *e, dev_queue *q) { CUDA_WITHIN(e->device, record_within(e, q)); }

static ox_status *wait_within(dev_event *e) {
  CU_TRY(e->device, cuEventSynchronize, e->event); /* returns at once if it was never recorded */
  return NULL;
}

ox_status *cuda_event_sync(dev_event *e) { CUDA_WITHIN(e->device, wait_within(e)); }
