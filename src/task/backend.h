/* SPDX-License-Identifier: Apache-2.0
 * task/backend.h - on whose threads the loops of a pool run. A build has one back-end (ONYX_POOL_BACKEND), in
 * backend_own.c, backend_openmp.c or backend_none.c; executors, and pools that ask for what only threads of our own can
 * do, are served in every build that has threads. */
#ifndef OX_TASK_BACKEND_H
#define OX_TASK_BACKEND_H

#include "onyx/task.h"

typedef struct ox_backend {
  const char *name;      /* what ox_pool_backend() says */
  uint32_t most_threads; /* of one pool */
  /* Runs a loop of two tiles or more on at most |n_threads| threads, which is two or more. NULL: the pool's workers run
   * loops (parallel.c). Otherwise workers run tasks and graphs only, and are made when the first of these is submitted.
   */
  ox_status *(*run_loop)(ox_pool *pool, uint32_t n_threads, int64_t n_tiles, ox_tile_fn fn, void *ctx);
} ox_backend;

extern const ox_backend ox_backend_of_build;

const ox_backend *ox_backend_choose(const ox_pool_opts *opts);

#endif
