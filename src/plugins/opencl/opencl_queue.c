/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_queue.c - in-order queues, launches, events. */
#include <stdio.h>
#include <string.h>

#include "plugins/opencl/opencl.h"

enum { FLUSH_EVERY = 16 }; /* launches per clFlush: enough to keep the device busy, and too few flushes to cost time */

ox_status *opencl_queue_create(dev_device *d, dev_queue **out_queue) {
  cl_int code;
  *out_queue = NULL;
  dev_queue *q = dev_new(&d->host, sizeof *q);
  if (!q) return dev_no_memory(&d->host);
  q->device = d;
  q->queue = clCreateCommandQueue(d->context, d->id, 0, &code);
  if (code != CL_SUCCESS) {
    dev_drop(&d->host, q, sizeof *q);
    return opencl_fail(&d->host, "clCreateCommandQueue", code);
  }
  *out_queue = q;
  return NULL;
}

void opencl_queue_release(dev_queue *q) {
  if (!q) return;
  opencl_record_release(q->recording);
  clFinish(q->queue);
  clReleaseCommandQueue(q->queue);
  dev_drop(&q->device->host, q, sizeof *q);
}

ox_status *opencl_queue_sync(dev_queue *q) {
  q->not_flushed = 0;
  CL_TRY(&q->device->host, clFinish, q->queue);
  return NULL;
}

cl_int opencl_set_arguments(cl_kernel k, const opencl_place *places, const opencl_place *set, const dev_launch *l) {
  cl_int code = CL_SUCCESS;
  for (cl_uint i = 0; i < DEV_MAX_BUFFERS && code == CL_SUCCESS; i++) {
    const opencl_place *p = &places[i];
    if (!set || set[i].serial != p->serial) code = clSetKernelArg(k, 2 * i, sizeof p->mem, p->mem ? &p->mem : NULL);
    if (code == CL_SUCCESS && (!set || set[i].offset != p->offset))
      code = clSetKernelArg(k, 2 * i + 1, sizeof p->offset, &p->offset);
  }
  return code == CL_SUCCESS ? clSetKernelArg(k, 2 * DEV_MAX_BUFFERS, l->params_bytes, l->params) : code;
}

static ox_status *launch(dev_queue *q, const dev_launch *l, const opencl_place *places) {
  dev_kernel *k = l->kernel;
  const size_t local[3] = {l->items, 1, 1};
  const size_t global[3] = {(size_t)l->groups[0] * l->items, l->groups[1], l->groups[2]};
  const char *call = "clSetKernelArg";
  pthread_mutex_lock(&k->lock);
  cl_int code = opencl_set_arguments(k->kernel, places, k->is_set ? k->set : NULL, l);
  k->is_set = code == CL_SUCCESS;
  if (code == CL_SUCCESS) {
    memcpy(k->set, places, sizeof k->set);
    call = "clEnqueueNDRangeKernel";
    code = clEnqueueNDRangeKernel(q->queue, k->kernel, 3, NULL, global, local, 0, NULL, NULL);
  }
  pthread_mutex_unlock(&k->lock);
  if (code != CL_SUCCESS) {
    char text[160];
    snprintf(text, sizeof text, "%.100s: %s", k->name, call);
    return opencl_fail(&q->device->host, text, code);
  }
  if (++q->not_flushed < FLUSH_EVERY) return NULL;
  q->not_flushed = 0;
  CL_TRY(&q->device->host, clFlush, q->queue);
  return NULL;
}

ox_status *opencl_launch(dev_queue *q, const dev_launch *l) {
  opencl_place places[DEV_MAX_BUFFERS] = {{0}};
  for (uint32_t i = 0; i < l->n_buffers; i++) {
    ox_status *st = l->buffers[i] ? opencl_find(q->device, q, l->buffers[i], &places[i]) : NULL;
    if (st) return st;
  }
  return q->recording ? opencl_record_add(q, l, places) : launch(q, l, places);
}

/* ---- events ---- */

struct dev_event {
  dev_device *device;
  pthread_mutex_t lock;
  cl_event event; /* NULL: nothing to wait for */
};

ox_status *opencl_event_create(dev_device *d, dev_event **out_event) {
  dev_event *e = *out_event = dev_new(&d->host, sizeof *e);
  if (!e) return dev_no_memory(&d->host);
  e->device = d;
  pthread_mutex_init(&e->lock, NULL);
  return NULL;
}

static void replace(dev_event *e, cl_event event) {
  pthread_mutex_lock(&e->lock);
  cl_event old = e->event;
  e->event = event;
  pthread_mutex_unlock(&e->lock);
  if (old) clReleaseEvent(old);
}

void opencl_event_release(dev_event *e) {
  if (!e) return;
  replace(e, NULL);
  pthread_mutex_destroy(&e->lock);
  dev_drop(&e->device->host, e, sizeof *e);
}

ox_status *opencl_event_record(dev_event *e, dev_queue *q) {
  cl_event event;
  q->not_flushed = 0;
  CL_TRY(&e->device->host, clEnqueueMarkerWithWaitList, q->queue, 0, NULL, &event);
  replace(e, event);
  CL_TRY(&e->device->host, clFlush, q->queue);
  return NULL;
}

ox_status *opencl_event_sync(dev_event *e) {
  cl_int code = CL_SUCCESS;
  pthread_mutex_lock(&e->lock);
  cl_event event = e->event;
  if (event) code = clRetainEvent(event); /* another thread may record |e| again while we wait */
  pthread_mutex_unlock(&e->lock);
  if (code != CL_SUCCESS) return opencl_fail(&e->device->host, "clRetainEvent", code);
  if (!event) return NULL;
  code = clWaitForEvents(1, &event);
  clReleaseEvent(event);
  return code == CL_SUCCESS ? NULL : opencl_fail(&e->device->host, "clWaitForEvents", code);
}
