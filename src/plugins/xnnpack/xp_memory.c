/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_memory.c - the library's allocator. Large blocks, which are packed weights, get huge pages, as each run
 * reads all of them once. The plug-in stays loaded (-z nodelete) because the library keeps pointers to these functions.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "xp.h"

enum { LARGE = 1 << 20, HUGE_PAGE = 1 << 21 };

static void *get(void *ctx, size_t size) {
  (void)ctx;
  return malloc(size);
}
static void *change(void *ctx, void *p, size_t size) {
  (void)ctx;
  return realloc(p, size);
}
static void give(void *ctx, void *p) {
  (void)ctx;
  free(p);
}
static void *get_aligned(void *ctx, size_t alignment, size_t size) {
  void *p;
  (void)ctx;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (size >= LARGE && alignment < HUGE_PAGE) alignment = HUGE_PAGE;
  if (posix_memalign(&p, alignment, size)) return NULL;
  if (size >= LARGE) (void)madvise(p, size, MADV_HUGEPAGE); /* if that fails, small pages will do */
  return p;
}

const struct xnn_allocator xp_allocator = {NULL, get, change, give, get_aligned, give};
