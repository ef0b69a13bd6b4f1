/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_arena.h - an arena: memory in large regions, of which chunks are handed out and taken back. Any thread.
 */
#ifndef OX_ORT_ARENA_H
#define OX_ORT_ARENA_H

#include "onyx/ort_abi.h"
#include "onyx/status.h"

enum { ORT_ARENA_DOUBLE = 0, ORT_ARENA_AS_REQUESTED = 1 };

/* How an arena grows. */
struct OrtArenaCfg {
  size_t max_mem;              /* of all regions; SIZE_MAX: no limit */
  int strategy;                /* ORT_ARENA_*: a region is twice as large as the one before, or what is asked for */
  size_t initial_chunk;        /* the first region, if they double */
  size_t max_dead_bytes;       /* more than that is split off a chunk that is larger than asked for */
  size_t initial_growth_chunk; /* the next region after Shrink, if they double */
  size_t max_extend;           /* where doubling ends */
};

/* The defaults. */
OrtArenaCfg ort_arena_config(void);

typedef struct ort_arena ort_arena; /* counted */

/* |config| may be NULL. */
OX_NODISCARD OrtStatus *ort_arena_create(const OrtArenaCfg *config, ort_arena **out);
ort_arena *ort_arena_retain(ort_arena *arena);
void ort_arena_release(ort_arena *arena); /* NULL is fine */

/* NULL: the memory has ended, or the arena's limit; no bytes are NULL, too. */
void *ort_arena_alloc(ort_arena *arena, size_t bytes);
/* Past the regions, for what stays: it makes no holes in them. Not limited. */
void *ort_arena_reserve(ort_arena *arena, size_t bytes);
/* NULL is fine; what the arena has not is left alone. */
void ort_arena_free(ort_arena *arena, void *p);
/* Gives back the regions that nobody uses; if they double, the first stays. */
void ort_arena_shrink(ort_arena *arena);
OX_NODISCARD OrtStatus *ort_arena_stats(ort_arena *arena, OrtKeyValuePairs **out);
/* Why there are no |bytes|. */
OX_NODISCARD OrtStatus *ort_arena_refusal(ort_arena *arena, size_t bytes);

#endif
