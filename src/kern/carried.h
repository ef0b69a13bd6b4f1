/* SPDX-License-Identifier: Apache-2.0
 * kern/carried.h - what each worker's scratch still holds of the tiles it ran before. A worker gets its tiles of a
 * stage in several calls; between them its scratch stays as it was, so that what neighbouring tiles share need not be
 * made again. */
#ifndef OX_KERN_CARRIED_H
#define OX_KERN_CARRIED_H

#include <stdatomic.h>
#include <stdint.h>

enum { OX_CARRIED_WORKERS = 64 /* further ones carry nothing */ };

typedef struct ox_carried {
  struct {
    atomic_uintptr_t scratch; /* the thread whose entry this is; 0: it is free */
    int64_t what;
  } of[OX_CARRIED_WORKERS];
} ox_carried;

/* Before the tiles of a run, by one thread. */
static inline void ox_carried_begin(ox_carried *c) {
  for (int i = 0; i < OX_CARRIED_WORKERS; i++) atomic_init(&c->of[i].scratch, 0), c->of[i].what = -1;
}

/* What the worker that |scratch| belongs to has noted, -1 at first; its own to change. NULL: there are too many. */
static inline int64_t *ox_carried_of(ox_carried *c, const void *scratch) {
  for (int i = 0; i < OX_CARRIED_WORKERS; i++) {
    uintptr_t who = atomic_load_explicit(&c->of[i].scratch, memory_order_relaxed);
    if (!who && atomic_compare_exchange_strong_explicit(&c->of[i].scratch, &who, (uintptr_t)scratch,
                                                        memory_order_relaxed, memory_order_relaxed))
      who = (uintptr_t)scratch;
    if (who == (uintptr_t)scratch) return &c->of[i].what;
  }
  return NULL;
}

#endif
