/* SPDX-License-Identifier: Apache-2.0
 * device/fail.c - see fail.h. */
#include "plugins/device/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ox_status *dev_fail(const ox_ep_host *h, ox_code code, const char *fmt, ...) {
  char text[4096]; /* may hold a compiler's messages */
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return h->status_make(code, text);
}

ox_status *dev_no_memory(const ox_ep_host *h) { return h->status_make(OX_OUT_OF_MEMORY, "out of memory"); }

void *dev_new(const ox_ep_host *h, size_t bytes) {
  void *p = h->alloc.alloc(h->alloc.ctx, bytes, 16);
  if (p) memset(p, 0, bytes);
  return p;
}

void dev_drop(const ox_ep_host *h, void *p, size_t bytes) {
  if (p) h->alloc.free(h->alloc.ctx, p, bytes);
}
