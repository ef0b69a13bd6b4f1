/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_memory.c - buffers with addresses, which OpenCL itself does not have, and copies. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <string.h>
#include <sys/mman.h>

#include "plugins/opencl/opencl.h"

ox_status *opencl_alloc(dev_device *d, size_t bytes, void **out_address) {
  cl_int code;
  *out_address = NULL;
  if (!bytes) bytes = 1;
  opencl_block block = {.bytes = bytes, .mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &code)};
  if (code != CL_SUCCESS) return opencl_fail(&d->host, "clCreateBuffer", code);
  void *reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  block.begin = reserved;
  if (reserved != MAP_FAILED && opencl_space_add(d->space, block)) {
    *out_address = reserved;
    return NULL;
  }
  if (reserved != MAP_FAILED) munmap(reserved, bytes);
  clReleaseMemObject(block.mem);
  return dev_no_memory(&d->host);
}

void opencl_free(dev_device *d, void *address, size_t bytes) {
  if (!address) return;
  if (!bytes) bytes = 1;
  cl_mem mem = opencl_space_remove(d->space, address);
  if (!mem) return; /* not ours */
  clReleaseMemObject(mem);
  munmap(address, bytes);
}

static bool is_in(const opencl_block *b, const void *address, opencl_place *out) {
  uintptr_t offset = (uintptr_t)address - (uintptr_t)b->begin;
  if (offset >= b->bytes) return false;
  *out = (opencl_place){b->mem, offset, b->serial};
  return true;
}

static bool find_hit(dev_device *d, dev_queue *q, const void *address, opencl_place *out) {
  uint64_t version = atomic_load_explicit(&d->space->version, memory_order_acquire);
  if (q->version != version) q->n_hits = 0;
  q->version = version;
  for (uint32_t i = 0; i < q->n_hits; i++)
    if (is_in(&q->hits[i], address, out)) return true;
  return false;
}

ox_status *opencl_find(dev_device *d, dev_queue *q, const void *address, opencl_place *out) {
  if (q && find_hit(d, q, address, out)) return NULL;
  opencl_block block;
  if (!opencl_space_find(d->space, address, &block))
    return dev_fail(&d->host, OX_INVALID_ARGUMENT, "OpenCL: %p is no address of this device",
                    (void *)(uintptr_t)address);
  (void)is_in(&block, address, out);
  if (!q) return NULL;
  q->hits[q->next_hit] = block; /* may be of a later version than q->version, but then the cache is cleared next time */
  q->next_hit = (q->next_hit + 1) % OPENCL_HITS;
  if (q->n_hits < OPENCL_HITS) q->n_hits++;
  return NULL;
}

static ox_status *copy_within(dev_device *d, dev_queue *q, const opencl_place *to, const opencl_place *from,
                              size_t bytes) {
  if (q && q->recording) return opencl_record_add_copy(q, to, from, bytes);
  cl_command_queue queue = q ? q->queue : d->copies;
  cl_event done;
  CL_TRY(&d->host, clEnqueueCopyBuffer, queue, from->mem, to->mem, from->offset, to->offset, bytes, 0, NULL,
         q ? NULL : &done);
  if (q) return NULL;
  cl_int code = clWaitForEvents(1, &done);
  clReleaseEvent(done);
  return code == CL_SUCCESS ? NULL : opencl_fail(&d->host, "clWaitForEvents", code);
}

ox_status *opencl_copy(dev_device *d, dev_queue *q, void *to, const void *from, size_t bytes, dev_direction way) {
  opencl_place there = {0}, here = {0};
  ox_status *st = NULL;
  if (!bytes) return NULL;
  if (way != DEV_TO_HOST) st = opencl_find(d, q, to, &there);
  if (!st && way != DEV_TO_DEVICE) st = opencl_find(d, q, from, &here);
  if (st) return st;
  if (way == DEV_WITHIN) return copy_within(d, q, &there, &here, bytes);
  if (q && q->recording)
    return dev_fail(&d->host, OX_INVALID_ARGUMENT, "OpenCL: a record cannot hold copies of the host");
  cl_command_queue queue = q ? q->queue : d->copies;
  if (way == DEV_TO_DEVICE)
    CL_TRY(&d->host, clEnqueueWriteBuffer, queue, there.mem, q ? CL_FALSE : CL_TRUE, there.offset, bytes, from, 0, NULL,
           NULL);
  else
    CL_TRY(&d->host, clEnqueueReadBuffer, queue, here.mem, q ? CL_FALSE : CL_TRUE, here.offset, bytes, to, 0, NULL,
           NULL);
  if (q) CL_TRY(&d->host, clFlush, queue);
  return NULL;
}
