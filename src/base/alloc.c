/* SPDX-License-Identifier: Apache-2.0
 * base/alloc.c - the heap allocator. */
#if defined(__linux__)
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#elif defined(_WIN32)
#include <malloc.h>
#endif

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

/* The first write to a page costs a page fault. Huge pages mean 512 times fewer of them, which counts when hundreds of
 * megabytes of weights are packed. What is left behind the last whole one gets small pages: a huge page that is touched
 * takes 2 MiB, and 72 weights of 2.3 MiB took 110 MB more. */
enum { HUGE_BYTES = 2 << 20 };

static void *heap_alloc(void *ctx, size_t bytes, size_t align) {
  (void)ctx;
  if (bytes >= HUGE_BYTES) align = HUGE_BYTES;
  size_t rounded;
  if (!ox_add_ok(bytes ? bytes : 1, align - 1, &rounded)) return NULL;
  rounded &= ~(align - 1);
#if defined(_WIN32) /* has a heap of its own for aligned blocks, and huge pages need a privilege */
  return _aligned_malloc(rounded, align);
#else
  if (align <= 16) return malloc(rounded);
  void *p = aligned_alloc(align, rounded);
#if defined(__linux__)
  if (p && bytes >= HUGE_BYTES) (void)madvise(p, bytes & ~(size_t)(HUGE_BYTES - 1), MADV_HUGEPAGE);
#endif
  return p;
#endif
}

static void heap_free(void *ctx, void *p, size_t bytes) {
  (void)ctx, (void)bytes;
#if defined(_WIN32)
  _aligned_free(p);
#else
  free(p);
#endif
}

ox_alloc ox_alloc_heap(void) { return (ox_alloc){heap_alloc, heap_free, NULL}; }

void *ox_new_zeroed(ox_alloc a, size_t bytes) {
  void *p = ox_new(a, bytes);
  if (p) memset(p, 0, bytes);
  return p;
}

bool ox_grow(ox_alloc a, void **items, size_t *capacity, size_t count, size_t item_bytes) {
  if (count < *capacity) return true;
  size_t want = OX_MAX(count + 1, *capacity * 2), bytes;
  if (want < 8) want = 8;
  if (!ox_mul_ok(want, item_bytes, &bytes)) return false;
  void *grown = ox_new(a, bytes);
  if (!grown) return false;
  if (*capacity) memcpy(grown, *items, *capacity * item_bytes);
  ox_delete(a, *items, *capacity * item_bytes);
  *items = grown, *capacity = want;
  return true;
}
