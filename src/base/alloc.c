/* SPDX-License-Identifier: Apache-2.0
 * base/alloc.c - the heap allocator. */
#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cksize.h"
#include "base/huge_pages.h"
#include "base/macros.h"

static void *heap_alloc(void *ctx, size_t bytes, size_t align) {
  (void)ctx;
  if (bytes >= OX_HUGE_PAGE_BYTES) align = OX_HUGE_PAGE_BYTES;
  size_t rounded;
  if (!ox_add_ok(bytes ? bytes : 1, align - 1, &rounded)) return NULL;
  rounded &= ~(align - 1);
#if defined(_WIN32) /* has a heap of its own for aligned blocks, and huge pages need a privilege */
  return _aligned_malloc(rounded, align);
#else
  if (align <= 16) return malloc(rounded);
  void *p = aligned_alloc(align, rounded);
  /* What is left behind the last whole huge page gets small ones: 72 weights of 2.3 MiB took 110 MB more. */
  if (p && bytes >= OX_HUGE_PAGE_BYTES) ox_huge_pages_advise(p, bytes);
  return p;
#endif
}

void ox_heap_free(void *p) {
#if defined(_WIN32)
  _aligned_free(p);
#else
  free(p);
#endif
}

static void heap_free(void *ctx, void *p, size_t bytes) {
  (void)ctx, (void)bytes;
  ox_heap_free(p);
}

ox_alloc ox_alloc_heap(void) { return (ox_alloc){heap_alloc, heap_free, NULL}; }

void *ox_new_zeroed(ox_alloc a, size_t bytes) {
  void *p = ox_new(a, bytes);
  if (p) memset(p, 0, bytes);
  return p;
}

void ox_delete_pages(ox_alloc a, void *p, size_t bytes) {
#if defined(__linux__)
  enum { WORTH_A_CALL = 64 << 10 };
  if (p && bytes >= WORTH_A_CALL && a.alloc == heap_alloc) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = OX_ROUND_UP((uintptr_t)p, page), to = ((uintptr_t)p + bytes) & ~(page - 1);
    if (to > from) (void)madvise((void *)from, to - from, MADV_DONTNEED);
    if (bytes >= OX_HUGE_PAGE_BYTES) ox_huge_pages_unadvise(p, bytes);
  }
#endif
  ox_delete(a, p, bytes);
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
