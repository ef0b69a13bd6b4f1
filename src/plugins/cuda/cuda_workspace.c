/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_workspace.c - workspace for libraries: one per queue, as large as the largest plan needs. */
#include "plugins/cuda/cuda.h"

ox_status *cuda_workspace(dev_queue *q, void **out, size_t *out_bytes) {
  cuda_libraries *l = &q->device->libraries;
  pthread_mutex_lock(&l->lock);
  size_t need = l->workspace_bytes;
  pthread_mutex_unlock(&l->lock);
  if (need > q->workspace_bytes && !q->capturing) {
    cu_address old = q->workspace;
    q->workspace = 0, q->workspace_bytes = 0;
    if (old) cu.cuMemFree_v2(old); /* waits for those who use it */
    CU_TRY(q->device, cuMemAlloc_v2, &q->workspace, need);
    q->workspace_bytes = need;
  }
  q->workspace_captured |= q->capturing && q->workspace;
  *out = (void *)(uintptr_t)q->workspace;
  *out_bytes = q->workspace_bytes;
  return NULL;
}

uint32_t cuda_bucket(const void *shape, size_t bytes) {
  const unsigned char *p = shape;
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * 16777619u;
  return h % CUDA_BUCKETS;
}
