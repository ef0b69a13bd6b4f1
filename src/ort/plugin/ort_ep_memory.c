/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_memory.c - memory of a library's provider: allocators, and copies by its factory's data transfer.
 */
#include <stdint.h>
#include <stdlib.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_run.h"
#include "ort/plugin/ort_memory_device.h"

/* ---- allocators of factories ---- */

OrtStatus *ort_ep_allocator_create(const OrtEpDevice *device, const OrtMemoryInfo *memory,
                                   const OrtKeyValuePairs *options, OrtAllocator **out) {
  OrtEpFactory *f = device->factory;
  *out = NULL;
  if (f == NULL || !ORT_HAS(f, 23, CreateAllocator) || !ORT_HAS(f, 23, ReleaseAllocator))
    return ort_fail(ORT_INVALID_ARGUMENT, "provider %s makes no allocators", device->name);
  ORT_TRY(f->CreateAllocator(f, memory, options, out));
  return *out != NULL ? NULL : ort_fail(ORT_EP_FAIL, "provider %s returned no allocator", device->name);
}

void ort_ep_allocator_release(const OrtEpDevice *device, OrtAllocator *allocator) {
  if (allocator != NULL) device->factory->ReleaseAllocator(device->factory, allocator);
}

/* ---- a session's memory ---- */

const OrtMemoryInfo *ort_ep_memory_info(const ox_ep *ep, uint32_t memory) {
  return memory == 0 || ep->allocator == NULL ? ort_cpu_memory() : ep->slot->device->memory;
}

ox_status *ort_ep_memory_alloc(ox_ep *ep, uint32_t memory, size_t bytes, void **out) {
  (void)memory; /* there is one */
  *out = ep->allocator->Alloc(ep->allocator, bytes > 0 ? bytes : 1);
  if (*out != NULL) return NULL;
  return ep->host.status_make(OX_OUT_OF_MEMORY, "the provider's allocator has no more memory");
}

void ort_ep_memory_free(ox_ep *ep, uint32_t memory, void *data, size_t bytes) {
  (void)memory, (void)bytes;
  ep->allocator->Free(ep->allocator, data);
}

/* ---- copies ---- */

static ox_tensor bytes_at(const void *data, size_t bytes) {
  return (ox_tensor){.kind = OX_TENSOR,
                     .dtype = OX_U8,
                     .data = (void *)(uintptr_t)data,
                     .bytes = bytes,
                     .shape = {.rank = 1, .dim = {(int64_t)bytes}}};
}

OrtStatus *ort_ep_copy_bytes(ox_ep *ep, void *to, uint32_t to_memory, const void *from, uint32_t from_memory,
                             size_t bytes, OrtSyncStream *stream) {
  OrtDataTransferImpl *t = ep->slot->transfer;
  const ox_tensor source = bytes_at(from, bytes), target = bytes_at(to, bytes);
  OrtValue in = {.tensor = &source, .memory = ort_ep_memory_info(ep, from_memory)};
  OrtValue out = {.tensor = &target, .memory = ort_ep_memory_info(ep, to_memory)};
  const OrtValue *ins[] = {&in};
  OrtValue *outs[] = {&out};
  if (t == NULL || t->CanCopy == NULL || t->CopyTensors == NULL ||
      !t->CanCopy(t, ort_memory_device(in.memory), ort_memory_device(out.memory)))
    return ort_fail(ORT_NOT_IMPLEMENTED, "provider %s does not copy from memory '%s' to memory '%s'",
                    ep->slot->request->name, in.memory->name, out.memory->name);
  return t->CopyTensors(t, ins, outs, stream != NULL ? &stream : NULL, 1);
}

ox_status *ort_ep_copy(ox_ep *ep, void *to, uint32_t to_memory, const void *from, uint32_t from_memory, size_t bytes,
                       void *stream) {
  if (bytes == 0) return NULL;
  OrtStatus *st = ort_ep_copy_bytes(ep, to, to_memory, from, from_memory, bytes, stream);
  return st != NULL ? ort_status_to(st, ep->host.status_make) : NULL;
}

/* ---- tensors of clients ---- */

/* The data transfer of a registered library that copies from |from| to |to|; NULL: none. */
static OrtDataTransferImpl *find_transfer(OrtEnv *env, const OrtMemoryInfo *from, const OrtMemoryInfo *to) {
  OrtDataTransferImpl *found = NULL;
  pthread_mutex_lock(&env->lock);
  for (const ort_ep_library *l = env->libraries; l != NULL; l = l->next)
    for (size_t i = 0; i < l->n_factories && found == NULL; i++) {
      OrtDataTransferImpl *t = l->factories[i].transfer;
      if (t != NULL && t->CanCopy != NULL && t->CopyTensors != NULL &&
          t->CanCopy(t, ort_memory_device(from), ort_memory_device(to)))
        found = t;
    }
  pthread_mutex_unlock(&env->lock);
  return found;
}

static const OrtMemoryInfo *memory_of(const OrtValue *v) { return v->memory != NULL ? v->memory : ort_cpu_memory(); }

OrtStatus *ort_ep_copy_tensors(OrtEnv *env, const OrtValue *const *from, OrtValue *const *to, OrtSyncStream *stream,
                               size_t n) {
  for (size_t i = 0; i < n; i++) {
    const OrtValue *ins[] = {from[i]};
    OrtValue *outs[] = {to[i]};
    if ((ort_value_is_placed(from[i]) || ort_value_is_placed(to[i])) && from[i]->value != NULL &&
        to[i]->value != NULL) {
      ORT_TRY(ort_status_from(ox_value_copy_to(from[i]->value, to[i]->value)));
      continue;
    }
    OrtDataTransferImpl *t = find_transfer(env, memory_of(from[i]), memory_of(to[i]));
    if (t == NULL)
      return ort_fail(ORT_NOT_IMPLEMENTED, "no provider copies tensor %zu from memory '%s' to memory '%s'", i,
                      memory_of(from[i])->name, memory_of(to[i])->name);
    ORT_TRY(t->CopyTensors(t, ins, outs, stream != NULL ? &stream : NULL, 1));
  }
  return NULL;
}
