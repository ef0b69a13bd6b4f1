/* SPDX-License-Identifier: Apache-2.0
 * base/arena.h - an allocator for things that are all freed together. Not thread-safe. */
#ifndef OX_BASE_ARENA_H
#define OX_BASE_ARENA_H

#include "base/alloc.h"

typedef struct ox_arena_block ox_arena_block;
typedef struct ox_arena {
  ox_alloc alloc;
  ox_arena_block *first, *current; /* blocks are kept by reset and reused in order */
  size_t used;                     /* bytes used of |current| */
  size_t total;                    /* bytes of all blocks */
} ox_arena;

void ox_arena_init(ox_arena *a, ox_alloc alloc);
void ox_arena_deinit(ox_arena *a); /* also fine on a zeroed arena */
/* Frees everything but keeps the blocks: repeating the same allocations takes no new memory. */
void ox_arena_reset(ox_arena *a);
/* A place in the arena: what is allocated after it can be released by itself, in last-in, first-out order. */
typedef struct ox_arena_place {
  ox_arena_block *block; /* NULL: before everything */
  size_t used;
} ox_arena_place;
ox_arena_place ox_arena_here(const ox_arena *a);
void ox_arena_release(ox_arena *a, ox_arena_place place);
/* Whether |p| lies in what was allocated since |place|. */
bool ox_arena_holds(const ox_arena *a, ox_arena_place place, const void *p);
/* Frees the blocks that are kept but not in use. */
void ox_arena_trim(ox_arena *a);
/* Zeroed, aligned to 16 (64 from 64 bytes on), with OX_PAD_BYTES readable after it. NULL on out of memory. */
void *ox_arena_alloc(ox_arena *a, size_t bytes);
/* The same, not zeroed. */
void *ox_arena_take(ox_arena *a, size_t bytes);
/* NUL-terminated copy of n bytes. */
char *ox_arena_str(ox_arena *a, const char *s, size_t n);
/* Copy of |bytes| bytes; NULL on out of memory. */
void *ox_arena_copy(ox_arena *a, const void *src, size_t bytes);
#define OX_ARENA_NEW(a, type) ((type *)ox_arena_alloc((a), sizeof(type)))
#define OX_ARENA_ARRAY(a, type, n) ((type *)ox_arena_array((a), (n), sizeof(type)))
void *ox_arena_array(ox_arena *a, size_t n, size_t item_bytes);

#endif
