/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_memory.c - addresses for buffers, which OpenCL has none for, and copies. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <string.h>
#include <sys/mman.h>

#include "plugins/opencl/opencl.h"

/* The first block that begins after |address|. */
static size_t after(const dev_device *d, const void *address) {
  size_t low = 0, high = d->n_blocks;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((uintptr_t)d->blocks[middle].begin <= (uintptr_t)address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Room for one more block. */
static bool grow(dev_device *d) {
  if (d->n_blocks < d->room) return true;
  size_t room = d->room ? 2 * d->room : 16;
  opencl_block *more = dev_new(&d->host, room * sizeof *more);
  if (!more) return false;
  if (d->n_blocks) memcpy(more, d->blocks, d->n_blocks * sizeof *more);
  dev_drop(&d->host, d->blocks, d->room * sizeof *more);
  d->blocks = more;
  d->room = room;
  return true;
}

static bool insert(dev_device *d, opencl_block block) {
  pthread_mutex_lock(&d->lock);
  bool done = grow(d);
  if (done) {
    size_t at = after(d, block.begin);
    memmove(d->blocks + at + 1, d->blocks + at, (d->n_blocks - at) * sizeof block);
    block.serial = ++d->serial;
    d->blocks[at] = block;
    d->n_blocks++;
    atomic_fetch_add_explicit(&d->version, 1, memory_order_release);
  }
  pthread_mutex_unlock(&d->lock);
  return done;
}

ox_status *opencl_alloc(dev_device *d, size_t bytes, void **out_address) {
  cl_int code;
  *out_address = NULL;
  if (!bytes) bytes = 1;
  opencl_block block = {.bytes = bytes, .mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &code)};
  if (code != CL_SUCCESS) return opencl_fail(&d->host, "clCreateBuffer", code);
  void *reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  block.begin = reserved;
  if (reserved != MAP_FAILED && insert(d, block)) {
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
  cl_mem mem = NULL;
  pthread_mutex_lock(&d->lock);
  size_t at = after(d, address);
  if (at && d->blocks[at - 1].begin == address) {
    mem = d->blocks[at - 1].mem;
    memmove(d->blocks + at - 1, d->blocks + at, (d->n_blocks - at) * sizeof *d->blocks);
    d->n_blocks--;
    atomic_fetch_add_explicit(&d->version, 1, memory_order_release);
  }
  pthread_mutex_unlock(&d->lock);
  if (!mem) return; /* not ours */
  clReleaseMemObject(mem);
  munmap(address, bytes);
}

/* |address| in |b|: the end of a block is no place in it. */
static bool is_in(const opencl_block *b, const void *address, opencl_place *out) {
  uintptr_t offset = (uintptr_t)address - (uintptr_t)b->begin;
  if (offset >= b->bytes) return false;
  *out = (opencl_place){b->mem, offset, b->serial};
  return true;
}

static bool find_hit(dev_device *d, dev_queue *q, const void *address, opencl_place *out) {
  uint64_t version = atomic_load_explicit(&d->version, memory_order_acquire);
  if (q->version != version) q->n_hits = 0;
  q->version = version;
  for (uint32_t i = 0; i < q->n_hits; i++)
    if (is_in(&q->hits[i], address, out)) return true;
  return false;
}

ox_status *opencl_find(dev_device *d, dev_queue *q, const void *address, opencl_place *out) {
  if (q && find_hit(d, q, address, out)) return NULL;
  pthread_mutex_lock(&d->lock);
  size_t at = after(d, address);
  bool found = at && is_in(&d->blocks[at - 1], address, out);
  if (found && q) { /* of this version or a later one: the next change empties the hits either way */
    q->hits[q->next_hit] = d->blocks[at - 1];
    q->next_hit = (q->next_hit + 1) % OPENCL_HITS;
    if (q->n_hits < OPENCL_HITS) q->n_hits++;
  }
  pthread_mutex_unlock(&d->lock);
  if (found) return NULL;
  return dev_fail(&d->host, OX_INVALID_ARGUMENT, "OpenCL: %p is no address of this device", (void *)(uintptr_t)address);
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
