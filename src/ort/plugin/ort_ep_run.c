/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_run.c - see ort_ep_run.h. */
#include "ort/plugin/ort_ep_run.h"

#include <stdlib.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_memory_device.h"

OrtStatus *ort_ep_call_open(ort_ep_call *call, size_t n_in, size_t n_out) {
  size_t n = n_in + n_out;
  call->block = NULL, call->in = call->few_in, call->values = call->few;
  if (n <= ORT_FEW_VALUES) return NULL;
  call->block = malloc(n * (sizeof *call->values + sizeof *call->in));
  if (call->block == NULL) return ort_out_of_memory();
  call->values = call->block, call->in = (const ox_tensor **)(call->values + n);
  return NULL;
}

void ort_ep_call_close(ort_ep_call *call) { free(call->block); }

/* A library's kernel has threads of its own or none: what it asks for in a run is done by the thread that asks. */
OrtStatus *ort_ep_parallel_for(const void *data, void (*fn)(void *ctx, size_t i), size_t total, size_t batches,
                               void *ctx) {
  (void)data, (void)batches;
  for (size_t i = 0; i < total; i++) fn(ctx, i);
  return NULL;
}

OrtAllocator *ort_ep_kernel_allocator(const OrtKernelContext *context, const OrtMemoryInfo *memory) {
  struct ort_session_eps *eps = context->info->eps;
  OrtAllocator *found = NULL;
  pthread_mutex_lock(&eps->lock);
  for (const ox_ep *e = eps->first; e != NULL && found == NULL; e = e->next)
    if (e->ep == context->info->ep && e->allocator != NULL &&
        ort_ep_MemoryDevice_AreEqual(ort_memory_device(e->slot->device->memory), ort_memory_device(memory)))
      found = e->allocator;
  pthread_mutex_unlock(&eps->lock);
  return found;
}
