/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_status.c - codes of CUDA as statuses, and the host's memory. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugins/cuda/cuda.h"

ox_status *cuda_fail(const ox_ep_host *host, const char *call, int code) {
  const char *name = NULL, *text = NULL;
  cu.cuGetErrorName(code, &name);
  cu.cuGetErrorString(code, &text);
  return cuda_say(host, code == CU_OUT_OF_MEMORY ? OX_OUT_OF_MEMORY : OX_FAIL, "CUDA: %s: %s (%d): %s", call,
                  name ? name : "unknown code", code, text ? text : "");
}

ox_status *cuda_say(const ox_ep_host *host, ox_code code, const char *fmt, ...) {
  char text[4096]; /* with room for a compiler's messages */
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return host->status_make(code, text);
}

ox_status *cuda_no_memory(const ox_ep_host *host) { return host->status_make(OX_OUT_OF_MEMORY, "out of memory"); }

void *cuda_new(const ox_ep_host *host, size_t bytes) {
  void *p = host->alloc.alloc(host->alloc.ctx, bytes, 16);
  if (p) memset(p, 0, bytes);
  return p;
}

void cuda_drop(const ox_ep_host *host, void *p, size_t bytes) {
  if (p) host->alloc.free(host->alloc.ctx, p, bytes);
}
