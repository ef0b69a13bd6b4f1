/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_staging.c - asynchronous copies to the device: bytes are copied into pinned memory, which the device reads
 * later. */
#include <string.h>

#include "plugins/cuda/cuda.h"

static ox_status *make_piece(dev_queue *q, uint32_t i) {
  cuda_staging *s = &q->staging;
  void *p = NULL;
  if (!s->read[i]) CU_TRY(q->device, cuEventCreate, &s->read[i], CU_EVENT_DISABLE_TIMING);
  if (s->piece[i]) return NULL;
  CU_TRY(q->device, cuMemHostAlloc, &p, CUDA_PIECE_BYTES, 0);
  s->piece[i] = p;
  return NULL;
}

/* Switches to the next piece, after the device has read what it held. */
static ox_status *turn(dev_queue *q) {
  cuda_staging *s = &q->staging;
  CU_TRY(q->device, cuEventRecord, s->read[s->now], q->stream);
  s->waiting[s->now] = true;
  s->now = (s->now + 1) % CUDA_PIECES;
  s->at = 0;
  if (s->waiting[s->now]) CU_TRY(q->device, cuEventSynchronize, s->read[s->now]);
  s->waiting[s->now] = false;
  return NULL;
}

ox_status *cuda_stage(dev_queue *q, void *to, const void *from, size_t bytes) {
  cuda_staging *s = &q->staging;
  cu_address address = (cu_address)(uintptr_t)to;
  const char *at = from;
  while (bytes) {
    ox_status *st = s->at == CUDA_PIECE_BYTES ? turn(q) : NULL;
    if (!st) st = make_piece(q, s->now);
    if (st) return st;
    size_t n = CUDA_PIECE_BYTES - s->at;
    if (n > bytes) n = bytes;
    memcpy(s->piece[s->now] + s->at, at, n);
    CU_TRY(q->device, cuMemcpyHtoDAsync_v2, address, s->piece[s->now] + s->at, n, q->stream);
    s->at += n, address += n, at += n, bytes -= n;
  }
  return NULL;
}

void cuda_staging_idle(cuda_staging *s) {
  for (int i = 0; i < CUDA_PIECES; i++) s->waiting[i] = false;
  s->at = 0;
}

void cuda_staging_release(cuda_staging *s) {
  for (int i = 0; i < CUDA_PIECES; i++) {
    if (s->piece[i]) cu.cuMemFreeHost(s->piece[i]);
    if (s->read[i]) cu.cuEventDestroy_v2(s->read[i]);
  }
}
