/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_allocator.c - the default allocator, and the calls on any allocator. */
#include <stdlib.h>
#include <string.h>

#include "ort/value/ort_allocators.h"
#include "ort/ort_api.h"
#include "ort/value/ort_memory.h"
#include "ort/ort_pairs.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"

/* ---- the default one ---- */

enum { ALIGN = 64 }; /* a cache line, and the widest vector */

static void *heap_alloc(OrtAllocator *allocator, size_t bytes) {
  (void)allocator;
  size_t rounded;
  if (bytes == 0 || !ort_add_ok(bytes, ALIGN - 1, &rounded)) return NULL;
  return aligned_alloc(ALIGN, rounded & ~(size_t)(ALIGN - 1));
}

static void heap_free(OrtAllocator *allocator, void *p) {
  (void)allocator;
  free(p);
}

static const OrtMemoryInfo *heap_info(const OrtAllocator *allocator) {
  (void)allocator;
  return ort_heap_memory();
}

static OrtStatus *heap_stats(const OrtAllocator *allocator, OrtKeyValuePairs **out) {
  (void)allocator;
  return ort_pairs_create(out); /* the heap's own business */
}

static void *heap_alloc_on_stream(OrtAllocator *allocator, size_t bytes, OrtSyncStream *stream) {
  (void)stream;
  return heap_alloc(allocator, bytes);
}

static OrtStatus *heap_shrink(OrtAllocator *allocator) {
  (void)allocator;
  return NULL;
}

OrtAllocator *ort_default_allocator(void) {
  static OrtAllocator heap = {.version = ORT_API_VERSION,
                              .Alloc = heap_alloc,
                              .Free = heap_free,
                              .Info = heap_info,
                              .Reserve = heap_alloc,
                              .GetStats = heap_stats,
                              .AllocOnStream = heap_alloc_on_stream,
                              .Shrink = heap_shrink};
  return &heap;
}

OrtStatus *ort_GetAllocatorWithDefaultOptions(OrtAllocator **out) {
  ORT_NEED(out);
  *out = ort_default_allocator();
  return NULL;
}

/* ---- calls on any ---- */

OrtStatus *ort_allocate(OrtAllocator *allocator, size_t bytes, void **out) {
  *out = allocator->Alloc(allocator, bytes);
  if (*out != NULL || bytes == 0) return NULL;
  ort_arena *arena = ort_arena_of(allocator);
  if (arena != NULL) return ort_arena_refusal(arena, bytes);
  return ort_fail(ORT_RUNTIME_EXCEPTION, "out of memory: the allocator has no %zu bytes", bytes);
}

OrtStatus *ort_copy_text(OrtAllocator *allocator, const char *text, char **out) {
  void *p;
  *out = NULL;
  size_t n = strlen(text) + 1;
  ORT_TRY(ort_allocate(allocator, n, &p));
  *out = memcpy(p, text, n);
  return NULL;
}

OrtStatus *ort_AllocatorAlloc(OrtAllocator *allocator, size_t size, void **out) {
  ORT_NEED(allocator);
  ORT_NEED(out);
  return ort_allocate(allocator, size, out);
}

OrtStatus *ort_AllocatorFree(OrtAllocator *allocator, void *p) {
  ORT_NEED(allocator);
  allocator->Free(allocator, p);
  return NULL;
}

OrtStatus *ort_AllocatorGetInfo(const OrtAllocator *allocator, const OrtMemoryInfo **out) {
  ORT_NEED(allocator);
  ORT_NEED(out);
  *out = allocator->Info(allocator);
  return NULL;
}

OrtStatus *ort_AllocatorGetStats(const OrtAllocator *allocator, OrtKeyValuePairs **out) {
  ORT_NEED(allocator);
  ORT_NEED(out);
  *out = NULL;
  if (allocator->version < 23 || allocator->GetStats == NULL) return ort_pairs_create(out);
  return allocator->GetStats(allocator, out);
}
