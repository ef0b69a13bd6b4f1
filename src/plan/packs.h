/* SPDX-License-Identifier: Apache-2.0
 * plan/packs.h - the forms of a kernel's (and its twins', plan/twins.h) constants that runs have asked for: the one
 * part of a plan that grows after it is made. A form is packed once, by whoever comes: units are claimed one by one, so
 * that runs that want it at the same time share the work, and what one leaves that is stopped the next one does. Who
 * finishes the last unit says so.
 */
#ifndef OX_PLAN_PACKS_H
#define OX_PLAN_PACKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "onyx/ep.h"

typedef struct ox_packed {
  struct ox_packed *next; /* set before the form can be found */
  ox_alloc alloc;
  uint64_t form;
  size_t bytes;
  void *data;
  int64_t n_units;
  atomic_int_least64_t claimed, done; /* claimed may count beyond n_units */
  atomic_size_t unread;               /* bytes packed since the constants' pages were given back */
  atomic_bool ready;
  atomic_bool passed; /* a run has packed it where it did not stay */
  bool touched; /* its pages are there; under the lock */
} ox_packed;

struct ox_pack_room;

typedef struct ox_packs {
  struct ox_pack_room *room;  /* where forms lie; NULL: each by itself */
  _Atomic(ox_packed *) first; /* forms are added in front, and go with the kernel */
  pthread_mutex_t lock;       /* for adding forms, and for waiting */
  pthread_cond_t finished;
} ox_packs;

void ox_packs_init(ox_packs *p, struct ox_pack_room *room); /* |room| outlives it */
void ox_packs_deinit(ox_packs *p);

/* The form that |want| names; made, with memory and no unit claimed, if it is not there. */
OX_NODISCARD ox_status *ox_packs_find(ox_packs *p, ox_alloc alloc, const ox_pack *want, ox_packed **out);

static inline bool ox_packed_ready(ox_packed *f) {
  return atomic_load_explicit(&f->ready, memory_order_acquire); /* pairs with ox_packed_finish */
}
/* Before the first claim of a thread's: the memory gets its pages, if it has none yet. */
void ox_packed_touch(ox_packs *p, ox_packed *f);
/* A unit that is nobody's yet; false: there is none. */
bool ox_packed_claim(ox_packed *f, int64_t *out_unit);
/* A unit is packed. */
void ox_packed_finish(ox_packs *p, ox_packed *f);
/* Waits for units that others have claimed, for a millisecond at most; true: the form is ready. */
bool ox_packed_wait(ox_packs *p, ox_packed *f);

#endif
