/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_shared_allocators.c - allocators that an environment keeps for all sessions, one for each place: the
 * client's own, arenas, and those of devices of providers. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/value/ort_allocators.h"
#include "ort/ort_api.h"
#include "ort/env/ort_env.h"
#include "ort/plugin/ort_ep_library.h"
#include "ort/value/ort_own_memory.h"

typedef struct ort_shared_allocator {
  struct ort_shared_allocator *next;
  OrtMemoryInfo info;
  OrtAllocator *allocator;
  const OrtEpDevice *device; /* whose factory made it; NULL: an arena of ours, or the client's */
} shared_allocator;

bool ort_memory_same_place(const OrtMemoryInfo *a, const OrtMemoryInfo *b) {
  return a->device == b->device && a->device_mem == b->device_mem && a->vendor_id == b->vendor_id && a->id == b->id;
}

/* ---- the list, under the environment's lock ---- */

static void release(shared_allocator *s) {
  if (s == NULL) return;
  if (s->device != NULL)
    ort_ep_allocator_release(s->device, s->allocator);
  else
    ort_arena_allocator_release(s->allocator);
  free(s);
}

/* Takes the one at this place out of the list. */
static shared_allocator *remove_at(OrtEnv *env, const OrtMemoryInfo *info, const OrtEpDevice *device) {
  for (shared_allocator **at = &env->allocators; *at != NULL; at = &(*at)->next) {
    shared_allocator *s = *at;
    if (s->device != device || !ort_memory_same_place(&s->info, info)) continue;
    *at = s->next;
    return s;
  }
  return NULL;
}

/* Adds |allocator|, in place of the one that is there. On failure it is still the caller's. */
static OrtStatus *add(OrtEnv *env, OrtAllocator *allocator, const OrtMemoryInfo *info, const OrtEpDevice *device) {
  shared_allocator *s = malloc(sizeof *s);
  if (s == NULL) return ort_out_of_memory();
  *s = (shared_allocator){.info = *info, .allocator = allocator, .device = device};
  pthread_mutex_lock(&env->lock);
  shared_allocator *old = remove_at(env, info, device);
  s->next = env->allocators, env->allocators = s;
  pthread_mutex_unlock(&env->lock);
  release(old);
  return NULL;
}

OrtAllocator *ort_shared_allocator_find(const OrtEnv *env, const OrtMemoryInfo *info) {
  OrtEnv *e = (OrtEnv *)(uintptr_t)env;
  OrtAllocator *found = NULL;
  pthread_mutex_lock(&e->lock);
  for (const shared_allocator *s = e->allocators; s != NULL && found == NULL; s = s->next)
    if (ort_memory_same_place(&s->info, info)) found = s->allocator;
  pthread_mutex_unlock(&e->lock);
  return found != NULL ? found : ort_own_allocator_find(e, info);
}

void ort_shared_allocators_drop(OrtEnv *env, const struct ort_ep_library *library) {
  shared_allocator *dropped = NULL;
  pthread_mutex_lock(&env->lock);
  for (shared_allocator **at = &env->allocators; *at != NULL;) {
    shared_allocator *s = *at;
    if (s->device == NULL || s->device->library != library) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    s->next = dropped, dropped = s;
  }
  pthread_mutex_unlock(&env->lock);
  while (dropped != NULL) {
    shared_allocator *s = dropped;
    dropped = s->next;
    release(s);
  }
}

void ort_shared_allocators_release(OrtEnv *env) {
  while (env->allocators != NULL) {
    shared_allocator *s = env->allocators;
    env->allocators = s->next;
    release(s);
  }
}

/* ---- of the client, and arenas ---- */

OrtStatus *ort_RegisterAllocator(OrtEnv *env, OrtAllocator *allocator) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(allocator);
  const OrtMemoryInfo *info = allocator->Info != NULL ? allocator->Info(allocator) : NULL;
  if (allocator->Alloc == NULL || allocator->Free == NULL || info == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "RegisterAllocator: 'allocator' has no Alloc, Free or Info");
  if (info->allocator == OrtArenaAllocator)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "RegisterAllocator: 'allocator' is of type OrtArenaAllocator, which is for arenas of the library");
  return add(env, allocator, info, NULL);
}

OrtStatus *ort_UnregisterAllocator(OrtEnv *env, const OrtMemoryInfo *mem_info) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(mem_info);
  pthread_mutex_lock(&env->lock);
  shared_allocator *s = remove_at(env, mem_info, NULL);
  pthread_mutex_unlock(&env->lock);
  if (s == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "UnregisterAllocator: 'mem_info' is '%s': No allocator for this device has been registered",
                    mem_info->name);
  release(s);
  return NULL;
}

/* The kind of allocator that |info| says: an arena, or the heap. */
static OrtStatus *create_and_register(OrtEnv *env, const OrtMemoryInfo *info, const OrtArenaCfg *config) {
  if (info->allocator != OrtArenaAllocator) return add(env, ort_default_allocator(), info, NULL);
  ort_arena *arena;
  OrtAllocator *allocator;
  ORT_TRY(ort_arena_create(config, &arena));
  OrtStatus *st = ort_arena_allocator_create(arena, info, &allocator);
  ort_arena_release(arena); /* the allocator has it */
  if (st != NULL) return st;
  if ((st = add(env, allocator, info, NULL)) != NULL) ort_arena_allocator_release(allocator);
  return st;
}

OrtStatus *ort_CreateAndRegisterAllocator(OrtEnv *env, const OrtMemoryInfo *mem_info, const OrtArenaCfg *arena_cfg) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(mem_info);
  if (mem_info->device != OrtMemoryInfoDeviceType_CPU)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "CreateAndRegisterAllocator: 'mem_info' is '%s': Only CPU devices are supported", mem_info->name);
  return create_and_register(env, mem_info, arena_cfg);
}

OrtStatus *ort_CreateAndRegisterAllocatorV2(OrtEnv *env, const char *provider_type, const OrtMemoryInfo *mem_info,
                                            const OrtArenaCfg *arena_cfg, const char *const *keys,
                                            const char *const *values, size_t n) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(provider_type);
  ORT_NEED(mem_info);
  if (n > 0) ORT_NEED(keys);
  if (n > 0) ORT_NEED(values);
  if (strcmp(provider_type, "CPUExecutionProvider") != 0)
    return ort_own_memory_register(env, provider_type, mem_info, arena_cfg, keys, values, n);
  return ort_CreateAndRegisterAllocator(env, mem_info, arena_cfg);
}

/* ---- of devices ---- */

/* What |device| says of its memory of this kind. */
static OrtStatus *memory_of(const char *function, const OrtEpDevice *device, OrtDeviceMemoryType type,
                            const OrtMemoryInfo **out) {
  *out = ort_api()->EpDevice_MemoryInfo(device, type);
  if (*out != NULL) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "%s: 'mem_type' is %d: Invalid memory type for OrtEpDevice", function,
                  (int)type);
}

OrtStatus *ort_CreateSharedAllocator(OrtEnv *env, const OrtEpDevice *ep_device, OrtDeviceMemoryType mem_type,
                                     OrtAllocatorType allocator_type, const OrtKeyValuePairs *allocator_options,
                                     OrtAllocator **allocator) {
  const OrtMemoryInfo *info;
  OrtAllocator *made;
  if (allocator != NULL) *allocator = NULL;
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(ep_device);
  if (allocator_type != OrtDeviceAllocator && allocator_type != OrtArenaAllocator)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "CreateSharedAllocator: 'allocator_type' is %d, wanted a device's or an arena",
                    (int)allocator_type);
  ORT_TRY(memory_of("CreateSharedAllocator", ep_device, mem_type, &info));
  ORT_TRY(ort_ep_allocator_create(ep_device, info, allocator_options, &made));
  OrtStatus *st = add(env, made, info, ep_device);
  if (st != NULL)
    ort_ep_allocator_release(ep_device, made);
  else if (allocator != NULL)
    *allocator = made;
  return st;
}

/* The CPU has one without anybody's asking. */
OrtStatus *ort_GetSharedAllocator(OrtEnv *env, const OrtMemoryInfo *mem_info, OrtAllocator **allocator) {
  ORT_NEED(allocator);
  *allocator = NULL;
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(mem_info);
  *allocator = ort_shared_allocator_find(env, mem_info);
  if (*allocator == NULL && ort_memory_same_place(mem_info, ort_cpu_memory())) *allocator = ort_default_allocator();
  return NULL;
}

OrtStatus *ort_ReleaseSharedAllocator(OrtEnv *env, const OrtEpDevice *ep_device, OrtDeviceMemoryType mem_type) {
  const OrtMemoryInfo *info;
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(ep_device);
  ORT_TRY(memory_of("ReleaseSharedAllocator", ep_device, mem_type, &info));
  pthread_mutex_lock(&env->lock);
  shared_allocator *s = remove_at(env, info, ep_device);
  pthread_mutex_unlock(&env->lock);
  if (s == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "ReleaseSharedAllocator: 'ep_device' has no shared allocator");
  release(s);
  return NULL;
}
