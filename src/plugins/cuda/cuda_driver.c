/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_driver.c - opening and closing a device, its context, and the driver's table. */
#include "plugins/cuda/cuda.h"

/* If the context is current already, as on threads that also use another library on the primary context, this costs one
 * query. */
ox_status *cuda_enter(const dev_device *d, bool *out_pushed) {
  cu_context current = NULL;
  *out_pushed = false;
  CU_TRY(d, cuCtxGetCurrent, &current);
  if (current == d->context) return NULL;
  CU_TRY(d, cuCtxPushCurrent_v2, d->context);
  *out_pushed = true;
  return NULL;
}

bool cuda_enter_anyway(const dev_device *d) {
  cu_context current = NULL;
  if (!cu.cuCtxGetCurrent(&current) && current == d->context) return false;
  return !cu.cuCtxPushCurrent_v2(d->context);
}

void cuda_leave(bool pushed) {
  cu_context popped;
  if (pushed) cu.cuCtxPopCurrent_v2(&popped);
}

static void close_device(dev_device *d) {
  if (!d) return;
  if (d->context) {
    bool pushed = cuda_enter_anyway(d);
    cuda_gemm_release(d);
    cuda_conv_release(d);
    if (d->copies) cu.cuStreamDestroy_v2(d->copies);
    cuda_leave(pushed);
    cu.cuDevicePrimaryCtxRelease_v2(d->id);
  }
  pthread_mutex_destroy(&d->libraries.lock);
  ox_ep_host host = d->host;
  dev_drop(&host, d, sizeof *d);
}

static ox_status *make_copies(dev_device *d) {
  CU_TRY(d, cuStreamCreate, &d->copies, CU_STREAM_NON_BLOCKING);
  return NULL;
}

static ox_status *fill_context(dev_device *d) { CUDA_WITHIN(d, make_copies(d)); }

static ox_status *open_contents(dev_device *d, const ox_options *options) {
  ox_status *st = cuda_load(&d->host);
  if (!st) st = cuda_choose(&d->host, options, &d->choice);
  if (!st) st = cuda_describe(d);
  if (st) return st;
  CU_TRY(d, cuDevicePrimaryCtxRetain, &d->context, d->id);
  return fill_context(d);
}

static ox_status *open_device(const ox_ep_host *host, const ox_options *options, dev_device **out_device) {
  *out_device = NULL;
  dev_device *d = dev_new(host, sizeof *d);
  if (!d) return dev_no_memory(host);
  d->host = *host;
  pthread_mutex_init(&d->libraries.lock, NULL);
  ox_status *st = open_contents(d, options);
  if (st)
    close_device(d);
  else
    *out_device = d;
  return st;
}

static const dev_info *info(const dev_device *d) { return &d->info; }

const dev_driver dev_the_driver = {
    .name = "cuda",
    .options = cuda_options,
    .n_options = CUDA_OPTIONS,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .build = cuda_build,
    .module_release = cuda_module_release,
    .module_binary = cuda_module_binary,
    .kernel = cuda_kernel,
    .queue_create = cuda_queue_create,
    .queue_release = cuda_queue_release,
    .queue_sync = cuda_queue_sync,
    .launch = cuda_launch,
    .copy = cuda_copy,
    .event_create = cuda_event_create,
    .event_release = cuda_event_release,
    .event_record = cuda_event_record,
    .event_sync = cuda_event_sync,
    .record_begin = cuda_record_begin,
    .record_end = cuda_record_end,
    .record_launch = cuda_record_launch,
    .record_release = cuda_record_release,
    .gemm_takes = cuda_gemm_takes,
    .conv_takes = cuda_conv_takes,
    .gemm = cuda_gemm,
    .conv = cuda_conv,
    .libraries_record = true,
};
