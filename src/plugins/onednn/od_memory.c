/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_memory.c - memory from the host's allocator, and the library's error codes as statuses. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onednn.h"

enum { ALIGN = 64, HEAD = 64 }; /* HEAD: room before each block for its size */

void *od_alloc(ox_ep *ep, size_t bytes) {
  if (bytes > SIZE_MAX - HEAD) return NULL;
  char *p = ep->host.alloc.alloc(ep->host.alloc.ctx, bytes + HEAD, ALIGN);
  if (!p) return NULL;
  memset(p, 0, bytes + HEAD);
  memcpy(p, &bytes, sizeof bytes);
  return p + HEAD;
}

void od_free(ox_ep *ep, void *p) {
  if (!p) return;
  size_t bytes;
  char *block = (char *)p - HEAD;
  memcpy(&bytes, block, sizeof bytes);
  ep->host.alloc.free(ep->host.alloc.ctx, block, bytes + HEAD);
}

bool od_grow(ox_ep *ep, void **p, size_t *capacity, size_t n, size_t size) {
  if (n <= *capacity) return true;
  size_t want = OD_MAX(n, 2 * *capacity);
  if (want > SIZE_MAX / 2 / size) return false;
  void *more = od_alloc(ep, want * size);
  if (!more) return false;
  if (*p) memcpy(more, *p, *capacity * size);
  od_free(ep, *p);
  *p = more, *capacity = want;
  return true;
}

ox_status *od_fail(const ox_ep *ep, ox_code code, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return ep->host.status_make(code, text);
}

ox_status *od_no_memory(const ox_ep *ep) { return ep->host.status_make(OX_OUT_OF_MEMORY, "oneDNN: out of memory"); }

const char *od_status_text(dnnl_status_t s) {
  switch (s) {
    case dnnl_success:
      return "success";
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments";
    case dnnl_unimplemented:
      return "not implemented by the library";
    case dnnl_runtime_error:
      return "a run-time error of the library";
    case dnnl_not_required:
      return "not required";
    default:
      return "an unknown status of the library";
  }
}

ox_code od_status_code(dnnl_status_t s) {
  switch (s) {
    case dnnl_out_of_memory:
      return OX_OUT_OF_MEMORY;
    case dnnl_invalid_arguments:
      return OX_INVALID_ARGUMENT;
    case dnnl_unimplemented:
      return OX_NOT_IMPLEMENTED;
    default:
      return OX_FAIL;
  }
}
