/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_arena_allocator.c - an arena under the ABI's table; and the allocators of sessions, which are such. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/value/ort_allocators.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session.h"
#include "ort/value/ort_own_memory.h"

typedef struct on_arena {
  OrtAllocator table; /* first */
  ort_arena *arena;
  OrtMemoryInfo info;
} on_arena;

static on_arena *self(const OrtAllocator *allocator) { return (on_arena *)(uintptr_t)allocator; }

static void *alloc(OrtAllocator *allocator, size_t bytes) { return ort_arena_alloc(self(allocator)->arena, bytes); }

static void *alloc_on_stream(OrtAllocator *allocator, size_t bytes, OrtSyncStream *stream) {
  (void)stream; /* there are none on the CPU */
  return alloc(allocator, bytes);
}

static void *reserve(OrtAllocator *allocator, size_t bytes) { return ort_arena_reserve(self(allocator)->arena, bytes); }
static void give_back(OrtAllocator *allocator, void *p) { ort_arena_free(self(allocator)->arena, p); }
static const OrtMemoryInfo *get_info(const OrtAllocator *allocator) { return &self(allocator)->info; }

static OrtStatus *get_stats(const OrtAllocator *allocator, OrtKeyValuePairs **out) {
  return ort_arena_stats(self(allocator)->arena, out);
}

static OrtStatus *shrink(OrtAllocator *allocator) {
  ort_arena_shrink(self(allocator)->arena);
  return NULL;
}

OrtStatus *ort_arena_allocator_create(ort_arena *arena, const OrtMemoryInfo *info, OrtAllocator **out) {
  on_arena *a = malloc(sizeof *a);
  *out = NULL;
  if (a == NULL) return ort_out_of_memory();
  *a = (on_arena){.table = {.version = ORT_API_VERSION,
                            .Alloc = alloc,
                            .Free = give_back,
                            .Info = get_info,
                            .Reserve = reserve,
                            .GetStats = get_stats,
                            .AllocOnStream = alloc_on_stream,
                            .Shrink = shrink},
                  .arena = ort_arena_retain(arena),
                  .info = *info};
  *out = &a->table;
  return NULL;
}

ort_arena *ort_arena_of(const OrtAllocator *allocator) {
  return allocator->Alloc == alloc ? self(allocator)->arena : NULL;
}

void ort_arena_allocator_release(OrtAllocator *allocator) {
  ort_arena *arena = ort_arena_of(allocator);
  if (arena == NULL) return;
  free(self(allocator));
  ort_arena_release(arena);
}

/* ---- of sessions ---- */

/* The session's own arena, made when a client asks for it: runs take their memory elsewhere. */
static OrtStatus *arena_of_session(OrtSession *s, ort_arena **out) {
  pthread_mutex_lock(&s->env->lock);
  OrtStatus *st = s->arena == NULL ? ort_arena_create(NULL, &s->arena) : NULL;
  *out = s->arena;
  pthread_mutex_unlock(&s->env->lock);
  return st;
}

static bool uses_those_of_env(const OrtSession *s) {
  const char *value = ort_pairs_get(&s->options->config, "session.use_env_allocators");
  return value != NULL && strcmp(value, "1") == 0;
}

OrtStatus *ort_CreateAllocator(const OrtSession *session, const OrtMemoryInfo *mem_info, OrtAllocator **out) {
  ORT_NEED(out);
  *out = NULL;
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(mem_info);
  bool cpu = ort_memory_same_place(mem_info, ort_cpu_memory());
  OrtAllocator *shared = ort_shared_allocator_find(session->env, mem_info);
  if (shared != NULL && (!cpu || uses_those_of_env(session))) {
    ort_arena *arena = ort_arena_of(shared);
    if (arena != NULL) return ort_arena_allocator_create(arena, shared->Info(shared), out);
    if (ort_own_memory_of(shared) != NULL)
      return ort_session_allocator_create(session, shared, uses_those_of_env(session), out);
    *out = shared;
    return NULL;
  }
  if (!cpu)
    return ort_fail(ORT_INVALID_ARGUMENT, "CreateAllocator: 'mem_info' is '%s': No requested allocator available",
                    mem_info->name);
  *out = ort_default_allocator();
  if (!session->options->cpu_arena) return NULL;
  ort_arena *arena;
  ORT_TRY(arena_of_session((OrtSession *)(uintptr_t)session, &arena));
  return ort_arena_allocator_create(arena, ort_cpu_memory(), out);
}

/* What CreateAllocator lends without making it stays. */
void ort_ReleaseAllocator(OrtAllocator *allocator) {
  if (allocator == NULL) return;
  if (ort_arena_of(allocator) != NULL)
    ort_arena_allocator_release(allocator);
  else
    ort_session_allocator_release(allocator);
}
