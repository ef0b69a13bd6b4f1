/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_own_memory.h - memories of the engine's own providers as the ABI shows them: an OrtMemoryInfo that
 * names a provider ("Cuda", "OpenCL") and a device, an allocator, values that lie there. */
#ifndef OX_ORT_OWN_MEMORY_H
#define OX_ORT_OWN_MEMORY_H

#include "ort/env/ort_env.h"
#include "ort/value/ort_arena.h"
#include "ort/value/ort_memory.h"

/* The memory that |info| names, opened when it is first asked for and kept until |env| ends; NULL: none of the engine's
 * providers has it, or it cannot be had here. */
ox_memory *ort_own_memory_find(OrtEnv *env, const OrtMemoryInfo *info);
/* Its allocator; NULL: as above. */
OrtAllocator *ort_own_allocator_find(OrtEnv *env, const OrtMemoryInfo *info);
/* The memory of such an allocator, or of one for a session; NULL: it is another. */
ox_memory *ort_own_memory_of(const OrtAllocator *allocator);
/* |s| by the keys of ONNX Runtime's arenas. */
OX_NODISCARD OrtStatus *ort_own_memory_stats(const ox_memory_stats *s, OrtKeyValuePairs **out);

/* ---- ort_session_allocator.c ---- */

/* |place|, such an allocator, as |session| sees it; |shared|: the session takes its memory there, too. */
OX_NODISCARD OrtStatus *ort_session_allocator_create(const OrtSession *session, OrtAllocator *place, bool shared,
                                                     OrtAllocator **out);
OrtAllocator *ort_session_allocator_place(const OrtAllocator *allocator); /* NULL: it is another */
void ort_session_allocator_release(OrtAllocator *allocator);              /* others are left alone */

/* ---- ort_own_memory.c, again ---- */

/* What the ABI calls |m|; NULL: a memory that nobody asked for by its info. Lives as long as the process. */
const OrtMemoryInfo *ort_own_memory_info(const ox_memory *m);

/* Opens the memory that |info| names with these options of provider |name|, for all who ask for it later. */
OX_NODISCARD OrtStatus *ort_own_memory_register(OrtEnv *env, const char *name, const OrtMemoryInfo *info,
                                                const OrtArenaCfg *config, const char *const *keys,
                                                const char *const *values, size_t n);
/* Those that are open, at most |most|; returns how many. */
size_t ort_own_memories(ox_memory **out, size_t most);
void ort_own_memories_shrink(void);

#endif
