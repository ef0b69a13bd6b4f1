/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_allocators.h - allocators that the library makes or keeps: on arenas, of sessions, shared by an
 * environment.
 */
#ifndef OX_ORT_ALLOCATORS_H
#define OX_ORT_ALLOCATORS_H

#include "ort/value/ort_arena.h"
#include "ort/value/ort_memory.h"

struct ort_ep_library; /* ort/plugin/ort_ep_library.h */

/* The same place, whatever it is called and however it is allocated. */
bool ort_memory_same_place(const OrtMemoryInfo *a, const OrtMemoryInfo *b);

/* An allocator on |arena|, of which it holds a count; ReleaseAllocator frees it. */
OX_NODISCARD OrtStatus *ort_arena_allocator_create(ort_arena *arena, const OrtMemoryInfo *info, OrtAllocator **out);
void ort_arena_allocator_release(OrtAllocator *allocator);
/* The arena of such an allocator; NULL: it is another. */
ort_arena *ort_arena_of(const OrtAllocator *allocator);

/* What |env| has for this place: registered by the client, on an arena, or of a provider's device. NULL: nothing. */
OrtAllocator *ort_shared_allocator_find(const OrtEnv *env, const OrtMemoryInfo *info);
/* Releases those of |library|'s devices. */
void ort_shared_allocators_drop(OrtEnv *env, const struct ort_ep_library *library);
/* At the end of |env|, before its libraries of providers go. */
void ort_shared_allocators_release(OrtEnv *env);

#endif
