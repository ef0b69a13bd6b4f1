/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_session_allocator.c - what CreateAllocator gives for a device of the engine's: blocks are the
 * environment's, statistics and shrinking are also about the arena that the session has there itself. */
#include <stdlib.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/session/ort_session.h"
#include "ort/value/ort_own_memory.h"

typedef struct of_session {
  OrtAllocator table; /* first */
  const OrtSession *session;
  OrtAllocator *place;
  bool shared; /* the session takes its memory from the place, too */
} of_session;

static of_session *self(const OrtAllocator *allocator) { return (of_session *)(uintptr_t)allocator; }
static OrtAllocator *place_of(const OrtAllocator *allocator) { return self(allocator)->place; }

static void *alloc(OrtAllocator *allocator, size_t bytes) {
  return place_of(allocator)->Alloc(place_of(allocator), bytes);
}

static void *alloc_on_stream(OrtAllocator *allocator, size_t bytes, OrtSyncStream *stream) {
  (void)stream;
  return alloc(allocator, bytes);
}

static void give(OrtAllocator *allocator, void *data) { place_of(allocator)->Free(place_of(allocator), data); }
static const OrtMemoryInfo *info_of(const OrtAllocator *allocator) {
  return place_of(allocator)->Info(place_of(allocator));
}

static void add(ox_memory_stats *sum, const ox_memory_stats *s) {
  sum->in_use += s->in_use, sum->total += s->total, sum->max_in_use += s->max_in_use;
  if (s->max_alloc > sum->max_alloc) sum->max_alloc = s->max_alloc;
  sum->n_allocs += s->n_allocs, sum->n_reserves += s->n_reserves;
  sum->n_extensions += s->n_extensions, sum->n_shrinkages += s->n_shrinkages;
}

static OrtStatus *stats(const OrtAllocator *allocator, OrtKeyValuePairs **out) {
  ox_memory *m = ort_own_memory_of(allocator);
  ox_memory_stats sum = {0}, of_place = {0};
  if (m == NULL || self(allocator)->shared ||
      ox_session_memory_stats(self(allocator)->session->session, ox_memory_provider(m), ox_memory_name(m), &sum) == 0)
    return place_of(allocator)->GetStats(place_of(allocator), out);
  ox_memory_get_stats(m, &of_place);
  add(&sum, &of_place); /* the limit is the session's */
  return ort_own_memory_stats(&sum, out);
}

static OrtStatus *shrink(OrtAllocator *allocator) {
  ox_session_shrink(self(allocator)->session->session);
  return place_of(allocator)->Shrink(place_of(allocator));
}

OrtStatus *ort_session_allocator_create(const OrtSession *session, OrtAllocator *place, bool shared,
                                        OrtAllocator **out) {
  of_session *a = malloc(sizeof *a);
  *out = NULL;
  if (a == NULL) return ort_out_of_memory();
  *a = (of_session){.table = {.version = ORT_API_VERSION,
                              .Alloc = alloc,
                              .Free = give,
                              .Info = info_of,
                              .Reserve = alloc,
                              .GetStats = stats,
                              .AllocOnStream = alloc_on_stream,
                              .Shrink = shrink},
                    .session = session,
                    .place = place,
                    .shared = shared};
  *out = &a->table;
  return NULL;
}

OrtAllocator *ort_session_allocator_place(const OrtAllocator *allocator) {
  return allocator->Alloc == alloc ? place_of(allocator) : NULL;
}

void ort_session_allocator_release(OrtAllocator *allocator) {
  if (allocator->Alloc == alloc) free(self(allocator));
}
