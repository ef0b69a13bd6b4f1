/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_trial.c - measures the time of a library's call, on temporary memory. */
#include <string.h>

#include "plugins/cuda/cuda.h"

enum { WARM_RUNS = 1, TIMED_RUNS = 5, ALIGN = 256 };

static size_t round_up(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

bool cuda_trial_begin(dev_device *d, const size_t *bytes, int n, cuda_trial *out) {
  size_t total = 0;
  memset(out, 0, sizeof *out);
  out->device = d;
  for (int i = 0; i < n; i++) total += round_up(bytes[i]);
  if (cu.cuMemAlloc_v2(&out->memory, total + ALIGN)) return out->memory = 0, false;
  cu_address at = out->memory;
  for (int i = 0; i < n; i++) {
    out->buffers[i] = bytes[i] ? (void *)(uintptr_t)at : NULL;
    at += round_up(bytes[i]);
  }
  return !cu.cuEventCreate(&out->start, 0) && !cu.cuEventCreate(&out->end, 0);
}

void cuda_trial_end(cuda_trial *t) {
  if (t->start) cu.cuEventDestroy_v2(t->start);
  if (t->end) cu.cuEventDestroy_v2(t->end);
  if (t->memory) cu.cuMemFree_v2(t->memory);
}

float cuda_trial_run(const cuda_trial *t, int (*call)(const cuda_trial *t, const void *what), const void *what) {
  const cu_stream stream = t->device->copies;
  float ms = 0;
  int code = 0;
  for (int i = 0; i < WARM_RUNS && !code; i++) code = call(t, what);
  if (!code) code = cu.cuEventRecord(t->start, stream);
  for (int i = 0; i < TIMED_RUNS && !code; i++) code = call(t, what);
  if (!code) code = cu.cuEventRecord(t->end, stream);
  int ended = cu.cuStreamSynchronize(stream); /* also after a failure, for what was enqueued before it */
  if (!code && !ended) code = cu.cuEventElapsedTime(&ms, t->start, t->end);
  return code || ended ? -1 : ms / TIMED_RUNS;
}
