/* SPDX-License-Identifier: Apache-2.0
 * task/backend.c - chooses the back-end of a pool. */
#include "task/backend.h"

#include "task/pool.h"

static const ox_backend on_executor = {"executor", OX_POOL_MAX, NULL};
static const ox_backend on_workers = {"own", OX_POOL_MAX, NULL};

const ox_backend *ox_backend_choose(const ox_pool_opts *opts) {
  if (opts->executor) return &on_executor;
  bool special = opts->thread_create || opts->affinity || opts->priority || opts->stack_bytes;
  return special && ox_backend_of_build.run_loop ? &on_workers : &ox_backend_of_build;
}

const char *ox_pool_backend(const ox_pool *pool) { return pool ? pool->backend->name : "none"; }
