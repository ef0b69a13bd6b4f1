/* SPDX-License-Identifier: Apache-2.0
 * plan/packs.h - packed constants of a kernel and its twins (plan/twins.h), in the forms that runs have asked for: the
 * one part of a plan that grows after it was made. A form is packed once. Threads claim its units one by one, so that
 * runs that need it at the same time share the work, and units that a stopped run leaves are claimed by the next. The
 * thread that finishes the last unit marks the form as ready. */
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
  atomic_bool passed; /* a run has packed it into memory that is reused */
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

/* Finds the form that |want| names; if it is missing, adds it, with memory and no unit claimed. */
OX_NODISCARD ox_status *ox_packs_find(ox_packs *p, ox_alloc alloc, const ox_pack *want, ox_packed **out);

static inline bool ox_packed_ready(ox_packed *f) {
  return atomic_load_explicit(&f->ready, memory_order_acquire); /* pairs with ox_packed_finish */
}
/* Provides the memory's pages if need be; called before a thread's first claim. */
void ox_packed_touch(ox_packs *p, ox_packed *f);
/* Claims a unit; false: all are claimed. */
bool ox_packed_claim(ox_packed *f, int64_t *out_unit);
/* Reports that a claimed unit is packed. */
void ox_packed_finish(ox_packs *p, ox_packed *f);
/* Waits up to a millisecond for units that other threads have claimed; true: the form is ready. */
bool ox_packed_wait(ox_packs *p, ox_packed *f);

#endif
