/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_run.h - what runs of programs and of kernels share. */
#ifndef OX_ORT_EP_RUN_H
#define OX_ORT_EP_RUN_H

#include "ort/plugin/ort_ep_instance.h"

enum { ORT_FEW_VALUES = 16 };

/* One call of a library's kernel, and room for what it sees. */
typedef struct ort_ep_call {
  OrtKernelContext context;
  const ox_tensor **in;
  OrtValue *values;
  void *block; /* of malloc, where there are many */
  const ox_tensor *few_in[ORT_FEW_VALUES];
  OrtValue few[ORT_FEW_VALUES];
} ort_ep_call;

OX_NODISCARD OrtStatus *ort_ep_call_open(ort_ep_call *call, size_t n_in, size_t n_out);
void ort_ep_call_close(ort_ep_call *call);

/* As ort_kernel_host.parallel_for: on the threads that run already. */
OrtStatus *ort_ep_parallel_for(const void *data, void (*fn)(void *ctx, size_t i), size_t total, size_t batches,
                               void *ctx);

/* The provider's allocator for |memory|, which is no CPU's; NULL: it has none. */
OrtAllocator *ort_ep_kernel_allocator(const OrtKernelContext *context, const OrtMemoryInfo *memory);

/* Copies between memories of the engine: 0, the host's, or 1, the provider's. */
OX_NODISCARD OrtStatus *ort_ep_copy_bytes(ox_ep *ep, void *to, uint32_t to_memory, const void *from,
                                          uint32_t from_memory, size_t bytes, OrtSyncStream *stream);

#define ORT_CALL_TRY(ep, expr)                                          \
  do {                                                                  \
    OrtStatus *st_ = (expr);                                            \
    if (st_ != NULL) return ort_status_to(st_, (ep)->host.status_make); \
  } while (0)

#endif
