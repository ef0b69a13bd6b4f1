/* SPDX-License-Identifier: Apache-2.0
 * support/counting_alloc.h - an allocator that counts, and fails the Nth time on request. Thread-safe. */
#ifndef OX_TESTS_COUNTING_ALLOC_H
#define OX_TESTS_COUNTING_ALLOC_H

#include <stdatomic.h>

#include "base/alloc.h"

typedef struct counting_alloc {
  atomic_long calls;  /* allocations asked for */
  atomic_long live;   /* not yet freed: must be 0 in the end */
  atomic_long live_bytes;
  atomic_long peak_bytes; /* the most that were live at once */
  long fail_at;       /* the allocation with this number (from 0) and all later ones fail; -1: none */
} counting_alloc;

static inline void *counting_alloc_fn(void *ctx, size_t bytes, size_t align) {
  counting_alloc *c = ctx;
  long n = atomic_fetch_add(&c->calls, 1);
  if (c->fail_at >= 0 && n >= c->fail_at) return NULL;
  ox_alloc heap = ox_alloc_heap();
  void *p = heap.alloc(heap.ctx, bytes, align);
  if (!p) return NULL;
  long live = atomic_fetch_add(&c->live_bytes, (long)bytes) + (long)bytes, peak = atomic_load(&c->peak_bytes);
  atomic_fetch_add(&c->live, 1);
  while (live > peak && !atomic_compare_exchange_weak(&c->peak_bytes, &peak, live)) {}
  return p;
}

static inline void counting_free_fn(void *ctx, void *p, size_t bytes) {
  counting_alloc *c = ctx;
  ox_alloc heap = ox_alloc_heap();
  atomic_fetch_sub(&c->live, 1), atomic_fetch_sub(&c->live_bytes, (long)bytes);
  heap.free(heap.ctx, p, bytes);
}

static inline ox_alloc counting_alloc_of(counting_alloc *c) { return (ox_alloc){counting_alloc_fn, counting_free_fn, c}; }

#endif
