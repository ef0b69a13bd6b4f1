/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_control.c - kernels for If, Loop and Scan that a library asks the host for. The engine runs
 * operators with bodies itself, whoever's their nodes are, so it never creates such a kernel; a library that makes one
 * by itself gets one that says so. Weights that sessions share are packed by each kernel for itself. */
#include <stdlib.h>

#include "onyx/ort_ep.h"
#include "ort/ort_api.h"
#include "ort/custom/ort_kernel.h"
#include "ort/ort_status.h"

typedef struct control_kernel {
  OrtKernelImpl impl;
  OrtLoopKernelHelper *loop; /* owned, as |scan| is; NULL: none */
  OrtScanKernelHelper *scan;
} control_kernel;

static OrtStatus *compute(OrtKernelImpl *impl, OrtKernelContext *context) {
  (void)impl;
  return ort_fail(ORT_NOT_IMPLEMENTED, "node '%s' (%s): the host runs operators with bodies", context->info->node,
                  context->info->op);
}

static void release(OrtKernelImpl *impl) {
  control_kernel *k = (control_kernel *)impl;
  if (k->loop != NULL && k->loop->Release != NULL) k->loop->Release(k->loop);
  if (k->scan != NULL && k->scan->Release != NULL) k->scan->Release(k->scan);
  free(k);
}

static OrtStatus *make(OrtLoopKernelHelper *loop, OrtScanKernelHelper *scan, OrtKernelImpl **out) {
  control_kernel *k = malloc(sizeof *k);
  *out = NULL;
  if (k == NULL) return ort_out_of_memory();
  *k = (control_kernel){.impl = {.ort_version_supported = ORT_API_VERSION, .Compute = compute, .Release = release},
                        .loop = loop,
                        .scan = scan};
  *out = &k->impl;
  return NULL;
}

OrtStatus *ort_ep_CreateIfKernel(const OrtKernelInfo *kernel_info, OrtKernelImpl **kernel_out) {
  ORT_NEED(kernel_info);
  ORT_NEED(kernel_out);
  return make(NULL, NULL, kernel_out);
}

OrtStatus *ort_ep_CreateLoopKernel(const OrtKernelInfo *kernel_info, OrtLoopKernelHelper *helper,
                                   OrtKernelImpl **kernel_out) {
  ORT_NEED(kernel_info);
  ORT_NEED(helper);
  ORT_NEED(kernel_out);
  return make(helper, NULL, kernel_out);
}

OrtStatus *ort_ep_CreateScanKernel(const OrtKernelInfo *kernel_info, OrtScanKernelHelper *helper,
                                   OrtKernelImpl **kernel_out) {
  ORT_NEED(kernel_info);
  ORT_NEED(helper);
  ORT_NEED(kernel_out);
  return make(NULL, helper, kernel_out);
}

/* Kernels never get a cache, so they pack for themselves. */
OrtStatus *ort_ep_SharedPrePackedWeightCache_StoreWeightData(OrtSharedPrePackedWeightCache *prepacked_weight_cache,
                                                             void **buffer_data_ptrs, size_t *buffer_sizes,
                                                             size_t num_buffers) {
  ORT_NEED(prepacked_weight_cache);
  (void)buffer_data_ptrs, (void)buffer_sizes, (void)num_buffers;
  return ort_fail(ORT_NOT_IMPLEMENTED, "OrtEpApi.SharedPrePackedWeightCache_StoreWeightData: there is no cache");
}
