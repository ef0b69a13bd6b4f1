/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_own_memory.c - see ort_own_memory.h. */
#include "ort/value/ort_own_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ort/ort_api.h"
#include "ort/ort_list.h"
#include "ort/value/ort_allocators.h"

/* A block that a client has, with the size that the engine wants back. */
typedef struct block {
  void *data;
  size_t bytes;
} block;

/* A place. Values point to |info|, and clients to |base|, so that it stays; |memory| goes with the environment. */
typedef struct own_memory {
  OrtAllocator base; /* first: the allocator is the place */
  struct own_memory *next;
  OrtMemoryInfo info;
  ox_memory *memory;
  pthread_mutex_t lock; /* guards the list below */
  block *blocks;
  size_t n_blocks;
} own_memory;

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list, and what changes in it */
static own_memory *places;

/* ---- the allocator ---- */

static own_memory *place_of(const OrtAllocator *allocator) { return (own_memory *)(uintptr_t)allocator; }

static void *alloc(OrtAllocator *allocator, size_t bytes) {
  own_memory *p = place_of(allocator);
  void *data = NULL;
  if (p->memory == NULL) return NULL;
  ox_status_free(ox_memory_take(p->memory, bytes, &data));
  if (data == NULL) return NULL;
  pthread_mutex_lock(&p->lock);
  OrtStatus *full = ort_list_grow(&p->blocks, p->n_blocks, sizeof *p->blocks);
  if (full == NULL) p->blocks[p->n_blocks++] = (block){data, bytes};
  pthread_mutex_unlock(&p->lock);
  if (full == NULL) return data;
  ort_ReleaseStatus(full);
  ox_memory_give(p->memory, data, bytes);
  return NULL;
}

static void give(OrtAllocator *allocator, void *data) {
  own_memory *p = place_of(allocator);
  size_t bytes = 0;
  pthread_mutex_lock(&p->lock);
  for (size_t i = p->n_blocks; data != NULL && i-- > 0;) {
    if (p->blocks[i].data != data) continue;
    bytes = p->blocks[i].bytes;
    p->blocks[i] = p->blocks[--p->n_blocks];
    break;
  }
  pthread_mutex_unlock(&p->lock);
  if (bytes > 0 && p->memory != NULL) ox_memory_give(p->memory, data, bytes); /* else it went with its environment */
}

static const OrtMemoryInfo *info_of(const OrtAllocator *allocator) { return &place_of(allocator)->info; }

OrtStatus *ort_own_memory_stats(const ox_memory_stats *s, OrtKeyValuePairs **out) {
  const struct {
    const char *key;
    uint64_t value;
  } rows[] = {{"Limit", s->limit},
              {"InUse", s->in_use},
              {"TotalAllocated", s->total},
              {"MaxInUse", s->max_in_use},
              {"NumAllocs", s->n_allocs},
              {"NumReserves", s->n_reserves},
              {"NumArenaExtensions", s->n_extensions},
              {"NumArenaShrinkages", s->n_shrinkages},
              {"MaxAllocSize", s->max_alloc}};
  ORT_TRY(ort_pairs_create(out));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)rows[i].value);
    OrtStatus *st = ort_pairs_set(*out, rows[i].key, text);
    if (st == NULL) continue;
    ort_ReleaseKeyValuePairs(*out);
    *out = NULL;
    return st;
  }
  return NULL;
}

static OrtStatus *stats(const OrtAllocator *allocator, OrtKeyValuePairs **out) {
  const own_memory *p = place_of(allocator);
  ox_memory_stats s = {0};
  if (p->memory != NULL) ox_memory_get_stats(p->memory, &s);
  return ort_own_memory_stats(&s, out);
}

static void *alloc_on_stream(OrtAllocator *allocator, size_t bytes, OrtSyncStream *stream) {
  (void)stream;
  return alloc(allocator, bytes);
}

static OrtStatus *shrink(OrtAllocator *allocator) {
  const own_memory *p = place_of(allocator);
  if (p->memory != NULL) ox_memory_shrink(p->memory);
  return NULL;
}

/* ---- places ---- */

/* The provider that |info| is about: named by it, or one for GPUs. */
static ox_status *open_memory(OrtEnv *env, const OrtMemoryInfo *info, ox_memory **out) {
  static const char *const gpus[] = {"cuda", "opencl"};
  char device[16];
  const char *key = "device_id", *value = device;
  ox_option_def def;
  bool knows = false;
  snprintf(device, sizeof device, "%d", info->id);
  for (size_t i = 0; ox_env_provider_option(env->env, info->name, i, &def) != 0; i++)
    knows |= strcmp(def.key, key) == 0;
  ox_provider_spec spec = {info->name, {knows ? 1 : 0, &key, &value}};
  ox_status *st = ox_memory_open(env->env, &spec, NULL, out);
  bool any = info->device == OrtMemoryInfoDeviceType_GPU && strcasecmp(info->name, "gpu") == 0;
  for (size_t i = 0; st != NULL && any && i < sizeof gpus / sizeof *gpus; i++) {
    ox_status_free(st);
    spec.name = gpus[i], spec.options.n = info->id != 0;
    st = ox_memory_open(env->env, &spec, NULL, out);
  }
  return st;
}

static own_memory *find_place(const OrtMemoryInfo *info) {
  for (own_memory *p = places; p != NULL; p = p->next)
    if (ort_memory_same_place(&p->info, info) && strcmp(p->info.name, info->name) == 0) return p;
  return NULL;
}

static own_memory *make_place(const OrtMemoryInfo *info) {
  own_memory *p = calloc(1, sizeof *p);
  if (p == NULL) return NULL;
  p->base = (OrtAllocator){.version = ORT_API_VERSION,
                           .Alloc = alloc,
                           .Free = give,
                           .Info = info_of,
                           .Reserve = alloc,
                           .GetStats = stats,
                           .AllocOnStream = alloc_on_stream,
                           .Shrink = shrink};
  p->info = *info;
  pthread_mutex_init(&p->lock, NULL);
  p->next = places, places = p;
  return p;
}

static own_memory *find(OrtEnv *env, const OrtMemoryInfo *info) {
  ox_memory *m = NULL;
  if (env == NULL || ort_memory_is_cpu(info)) return NULL;
  pthread_mutex_lock(&the_lock);
  own_memory *p = find_place(info);
  if (p == NULL || p->memory == NULL) {
    ox_status_free(open_memory(env, info, &m));
    if (m != NULL && p == NULL) p = make_place(info);
    if (p != NULL) p->memory = m;
    if (p == NULL) ox_memory_release(m);
  }
  if (p != NULL && p->memory == NULL) p = NULL;
  pthread_mutex_unlock(&the_lock);
  return p;
}

ox_memory *ort_own_memory_find(OrtEnv *env, const OrtMemoryInfo *info) {
  own_memory *p = find(env, info);
  return p != NULL ? p->memory : NULL;
}

OrtAllocator *ort_own_allocator_find(OrtEnv *env, const OrtMemoryInfo *info) {
  own_memory *p = find(env, info);
  return p != NULL ? &p->base : NULL;
}

ox_memory *ort_own_memory_of(const OrtAllocator *allocator) {
  const OrtAllocator *place = ort_session_allocator_place(allocator);
  if (place != NULL) allocator = place;
  return allocator->Alloc == alloc ? place_of(allocator)->memory : NULL;
}

const OrtMemoryInfo *ort_own_memory_info(const ox_memory *m) {
  const OrtMemoryInfo *info = NULL;
  pthread_mutex_lock(&the_lock);
  for (const own_memory *p = places; p != NULL && info == NULL; p = p->next)
    if (p->memory == m) info = &p->info;
  pthread_mutex_unlock(&the_lock);
  return info;
}

size_t ort_own_memories(ox_memory **out, size_t most) {
  size_t n = 0;
  pthread_mutex_lock(&the_lock);
  for (const own_memory *p = places; p != NULL && n < most; p = p->next)
    if (p->memory != NULL) out[n++] = p->memory;
  pthread_mutex_unlock(&the_lock);
  return n;
}

void ort_own_memories_shrink(void) {
  pthread_mutex_lock(&the_lock);
  for (const own_memory *p = places; p != NULL; p = p->next)
    if (p->memory != NULL) ox_memory_shrink(p->memory);
  pthread_mutex_unlock(&the_lock);
}

static OrtStatus *put_place(const OrtMemoryInfo *info, ox_memory *m) {
  OrtStatus *st = NULL;
  pthread_mutex_lock(&the_lock);
  own_memory *p = find_place(info);
  if (p != NULL && p->memory != NULL)
    st = ort_fail(ORT_INVALID_ARGUMENT, "memory '%s' is in use already: it has an allocator", info->name);
  else if (p == NULL && (p = make_place(info)) == NULL)
    st = ort_out_of_memory();
  if (st == NULL) p->memory = m;
  pthread_mutex_unlock(&the_lock);
  if (st != NULL) ox_memory_release(m);
  return st;
}

OrtStatus *ort_own_memory_register(OrtEnv *env, const char *name, const OrtMemoryInfo *info, const OrtArenaCfg *config,
                                   const char *const *keys, const char *const *values, size_t n) {
  char limit[24];
  ox_memory *m = NULL;
  OrtArenaCfg c = config != NULL ? *config : ort_arena_config();
  const char **texts = malloc((2 * n + 4) * sizeof *texts);
  if (texts == NULL) return ort_out_of_memory();
  const char **of_values = texts + n + 2;
  for (size_t i = 0; i < n; i++) texts[i] = keys[i], of_values[i] = values[i];
  snprintf(limit, sizeof limit, "%zu", c.max_mem);
  texts[n] = "gpu_mem_limit", of_values[n] = limit;
  texts[n + 1] = "arena_extend_strategy";
  of_values[n + 1] = c.strategy == ORT_ARENA_AS_REQUESTED ? "kSameAsRequested" : "kNextPowerOfTwo";
  ox_provider_spec spec = {name, {(uint32_t)n + 2, texts, of_values}};
  OrtStatus *st = ort_status_from(ox_memory_open(env->env, &spec, NULL, &m));
  free(texts);
  return st != NULL ? st : put_place(info, m);
}

void ort_own_memories_release(OrtEnv *env) {
  (void)env; /* there is one at a time */
  pthread_mutex_lock(&the_lock);
  for (own_memory *p = places; p != NULL; p = p->next) {
    ox_memory_release(p->memory);
    p->memory = NULL;
  }
  pthread_mutex_unlock(&the_lock);
}
