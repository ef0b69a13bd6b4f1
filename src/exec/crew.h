/* SPDX-License-Identifier: Apache-2.0
 * exec/crew.h - the threads that run the tiles of steps. */
#ifndef OX_EXEC_CREW_H
#define OX_EXEC_CREW_H

#include "base/watch.h"
#include "exec/profile.h"
#include "onyx/task.h"

/* The threads that run the tiles of a step, what stops them, and what is noted of them. */
typedef struct ox_step_crew {
  ox_pool *pool; /* NULL: the calling thread alone */
  uint32_t max_threads;
  ox_watch *watch;     /* NULL: it is never stopped */
  ox_profile *profile; /* for events of kernels and programs; NULL: none is taken */
  struct ox_passing *passing; /* exec/pack.h; NULL: what a run packs is kept */
} ox_step_crew;

/* Calls |fn| for [0, n) on the crew's threads. With a watch, the range is cut into pieces of about 50 us, and the loop
 * may stop between two of them without an error: ask ox_watch_status. */
OX_NODISCARD ox_status *ox_crew_run(const ox_step_crew *crew, int64_t n, ox_tile_fn fn, void *ctx);

#endif
