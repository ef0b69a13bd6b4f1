/* SPDX-License-Identifier: Apache-2.0
 * exec/crew.h - who runs the tiles of steps. */
#ifndef OX_EXEC_CREW_H
#define OX_EXEC_CREW_H

#include "base/watch.h"
#include "exec/profile.h"
#include "onyx/task.h"

/* Who runs the tiles of a step, and what stops it. */
typedef struct ox_step_crew {
  ox_pool *pool; /* NULL: the calling thread does all */
  uint32_t max_threads;
  ox_watch *watch;     /* NULL: nobody stops it */
  ox_profile *profile; /* for events of kernels and programs; NULL: nobody profiles */
  struct ox_passing *passing; /* exec/pack.h; NULL: what is packed in a run stays where it is */
} ox_step_crew;

/* Calls |fn| for [0, n) on the crew's threads. A crew that is watched gets it in pieces of some 50 us and stops between
 * two of them, without an error: see ox_watch_status. */
OX_NODISCARD ox_status *ox_crew_run(const ox_step_crew *crew, int64_t n, ox_tile_fn fn, void *ctx);

#endif
