/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_memory.c - allocations and copies. */
#include "plugins/cuda/cuda.h"

static ox_status *alloc_within(dev_device *d, size_t bytes, void **out_address) {
  cu_address address = 0;
  CU_TRY(d, cuMemAlloc_v2, &address, bytes ? bytes : 1);
  *out_address = (void *)(uintptr_t)address;
  return NULL;
}

ox_status *cuda_alloc(dev_device *d, size_t bytes, void **out_address) {
  *out_address = NULL;
  CUDA_WITHIN(d, alloc_within(d, bytes, out_address));
}

void cuda_free(dev_device *d, void *address, size_t bytes) {
  (void)bytes;
  if (!address) return;
  bool pushed = cuda_enter_anyway(d);
  cu.cuMemFree_v2((cu_address)(uintptr_t)address);
  cuda_leave(pushed);
}

/* A large transfer from pageable memory makes the API wait for the stream, so bytes to the device go through pinned
 * staging buffers. Bytes to the host are copied directly: the caller waits for them anyway, and a host function in the
 * stream would cost more than it saves. */
static ox_status *copy_within(dev_device *d, dev_queue *q, void *to, const void *from, size_t bytes,
                              dev_direction way) {
  cu_stream stream = q ? q->stream : d->copies;
  if (q) cuda_record_recover(q);
  if (q && way == DEV_TO_DEVICE) return cuda_stage(q, to, from, bytes);
  if (way == DEV_TO_DEVICE)
    CU_TRY(d, cuMemcpyHtoDAsync_v2, (cu_address)(uintptr_t)to, from, bytes, stream);
  else if (way == DEV_TO_HOST)
    CU_TRY(d, cuMemcpyDtoHAsync_v2, to, (cu_address)(uintptr_t)from, bytes, stream);
  else
    CU_TRY(d, cuMemcpyDtoDAsync_v2, (cu_address)(uintptr_t)to, (cu_address)(uintptr_t)from, bytes, stream);
  if (!q) CU_TRY(d, cuStreamSynchronize, stream);
  return NULL;
}

ox_status *cuda_copy(dev_device *d, dev_queue *q, void *to, const void *from, size_t bytes, dev_direction way) {
  if (!bytes) return NULL;
  if (q && q->capturing && way != DEV_WITHIN)
    return dev_fail(&d->host, OX_INVALID_ARGUMENT, "CUDA: a record cannot hold copies of the host");
  CUDA_WITHIN(d, copy_within(d, q, to, from, bytes, way));
}
