/* SPDX-License-Identifier: Apache-2.0
 * base/alloc.h - allocators are passed by value; none is global. */
#ifndef OX_BASE_ALLOC_H
#define OX_BASE_ALLOC_H

#include <stdbool.h>

#include "onyx/ep.h"

/* The heap: aligned_alloc and free. Blocks of 2 MiB and more ask for huge pages. */
ox_alloc ox_alloc_heap(void);
/* Frees what came from ox_alloc_heap(), which needs no size; NULL is fine. */
void ox_heap_free(void *p);

static inline void *ox_new_aligned(ox_alloc a, size_t bytes, size_t align) { return a.alloc(a.ctx, bytes, align); }
/* 16-byte aligned, not zeroed. */
static inline void *ox_new(ox_alloc a, size_t bytes) { return a.alloc(a.ctx, bytes, 16); }
void *ox_new_zeroed(ox_alloc a, size_t bytes);
/* Frees |p|, with the |bytes| given to alloc; NULL is fine. */
static inline void ox_delete(ox_alloc a, void *p, size_t bytes) {
  if (p) a.free(a.ctx, p, bytes);
}

/* As ox_delete; if |a| is the heap, the system gets the block's pages back at once, which a heap may keep. */
void ox_delete_pages(ox_alloc a, void *p, size_t bytes);

/* Grows |*items| (of |item_bytes| each), by doubling, until index |count| fits. False if out of memory: nothing has
 * changed. */
bool ox_grow(ox_alloc a, void **items, size_t *capacity, size_t count, size_t item_bytes);

#endif
