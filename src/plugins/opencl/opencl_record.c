/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_record.c - records: launches and copies for repeated enqueuing. Each launch has a kernel object of its
 * own, whose addresses are resolved and arguments set once. (OpenCL's own command buffers are a provisional extension
 * whose functions have changed between versions.) */
#include <string.h>

#include "plugins/opencl/opencl.h"

typedef struct step {
  cl_kernel kernel; /* NULL: a copy */
  size_t global[3], local[3];
  opencl_place to, from;
  size_t bytes;
} step;

struct dev_record {
  dev_device *device;
  step *steps;
  size_t n, room;
};

ox_status *opencl_record_begin(dev_queue *q) {
  const ox_ep_host *host = &q->device->host;
  if (q->recording) return dev_fail(host, OX_INVALID_ARGUMENT, "OpenCL: the queue is recording already");
  q->recording = dev_new(host, sizeof *q->recording);
  if (!q->recording) return dev_no_memory(host);
  q->recording->device = q->device;
  return NULL;
}

static step *append(dev_record *r) {
  const ox_ep_host *host = &r->device->host;
  if (r->n == r->room) {
    size_t room = r->room ? 2 * r->room : 64;
    step *more = dev_new(host, room * sizeof *more);
    if (!more) return NULL;
    if (r->n) memcpy(more, r->steps, r->n * sizeof *more);
    dev_drop(host, r->steps, r->room * sizeof *more);
    r->steps = more;
    r->room = room;
  }
  r->steps[r->n] = (step){NULL};
  return &r->steps[r->n];
}

ox_status *opencl_record_add(dev_queue *q, const dev_launch *l, const opencl_place *places) {
  const ox_ep_host *host = &q->device->host;
  step *s = append(q->recording);
  cl_int code;
  if (!s) return dev_no_memory(host);
  cl_kernel kernel = clCreateKernel(l->kernel->module->program, l->kernel->name, &code);
  if (code != CL_SUCCESS) return opencl_fail(host, "clCreateKernel", code);
  code = opencl_set_arguments(kernel, places, NULL, l);
  if (code != CL_SUCCESS) {
    clReleaseKernel(kernel);
    return opencl_fail(host, "clSetKernelArg", code);
  }
  s->kernel = kernel;
  for (int i = 0; i < 3; i++) s->local[i] = i ? 1 : l->items, s->global[i] = l->groups[i] * s->local[i];
  q->recording->n++;
  return NULL;
}

ox_status *opencl_record_add_copy(dev_queue *q, const opencl_place *to, const opencl_place *from, size_t bytes) {
  step *s = append(q->recording);
  if (!s) return dev_no_memory(&q->device->host);
  s->to = *to;
  s->from = *from;
  s->bytes = bytes;
  q->recording->n++;
  return NULL;
}

ox_status *opencl_record_end(dev_queue *q, dev_record **out_record) {
  *out_record = q->recording;
  q->recording = NULL;
  if (!*out_record) return dev_fail(&q->device->host, OX_INVALID_ARGUMENT, "OpenCL: the queue is not recording");
  return NULL;
}

ox_status *opencl_record_launch(dev_queue *q, dev_record *r) {
  const ox_ep_host *host = &q->device->host;
  for (size_t i = 0; i < r->n; i++) {
    const step *s = &r->steps[i];
    if (s->kernel)
      CL_TRY(host, clEnqueueNDRangeKernel, q->queue, s->kernel, 3, NULL, s->global, s->local, 0, NULL, NULL);
    else
      CL_TRY(host, clEnqueueCopyBuffer, q->queue, s->from.mem, s->to.mem, s->from.offset, s->to.offset, s->bytes, 0,
             NULL, NULL);
  }
  q->not_flushed = 0;
  CL_TRY(host, clFlush, q->queue);
  return NULL;
}

void opencl_record_release(dev_record *r) {
  if (!r) return;
  const ox_ep_host *host = &r->device->host;
  for (size_t i = 0; i < r->n; i++)
    if (r->steps[i].kernel) clReleaseKernel(r->steps[i].kernel);
  dev_drop(host, r->steps, r->room * sizeof *r->steps);
  dev_drop(host, r, sizeof *r);
}
