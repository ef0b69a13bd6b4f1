/* SPDX-License-Identifier: Apache-2.0
 * onyx/task.h - the task pool: one set of threads for the whole process. C99; stands alone with onyx/status.h.
 * Handles may be used from any thread unless a line says otherwise. */
#ifndef ONYX_TASK_H
#define ONYX_TASK_H

#include <stddef.h>
#include <stdint.h>

#include "onyx/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ox_pool ox_pool;

enum {
  OX_POOL_MAX = 1024,         /* threads of one pool, the caller included */
  OX_POOL_FLUSH_DENORMALS = 1 /* flags: workers treat denormal floats as zero */
};

/* How to make a pool. Zero everything, set struct_size = sizeof(ox_pool_opts), then what you need. Append only. */
typedef struct ox_pool_opts {
  uint32_t struct_size;
  uint32_t n_threads; /* counting the thread that calls; 1: no threads; 0: ox_pool_default_size() */
  uint32_t flags;     /* OX_POOL_FLUSH_DENORMALS */
  uint32_t spin_us;   /* how long an idle worker watches for work before it sleeps; 0: adaptive, at most 200 us */
  uint32_t no_spin;   /* not 0: workers never spin, spin_us is ignored */
  uint32_t reserved;  /* 0 */
  size_t stack_bytes; /* of each worker; 0: the system's default */
  const char *name;   /* threads are called <name>-<index>; NULL: "onyx"; copied */
  /* Optional: make and join threads yourself. create starts a thread that calls main(arg) and returns a non-NULL
   * handle, or NULL if it cannot. Both or neither. */
  void *(*thread_create)(void *ctx, void (*main)(void *arg), void *arg);
  void (*thread_join)(void *ctx, void *handle);
  void *thread_ctx;
} ox_pool_opts;

/* Makes a pool; |opts| NULL: all defaults. Errors: INVALID_ARGUMENT, LIMIT (over OX_POOL_MAX), OUT_OF_MEMORY,
 * FAIL (a thread cannot be made). */
OX_API OX_NODISCARD ox_status *ox_pool_create(const ox_pool_opts *opts, ox_pool **out_pool);

/* Joins the threads and frees the pool; NULL is fine. No loop may run on it, and no tile of it may call this. */
OX_API void ox_pool_destroy(ox_pool *pool);

/* Threads of |pool|, the caller included; 1 for NULL. */
OX_API uint32_t ox_pool_size(const ox_pool *pool);

/* The pool of the process, made on first use with default options and never destroyed; NULL (which every function
 * here accepts: work runs in the caller) if it cannot be made. */
OX_API ox_pool *ox_pool_default(void);

/* ONYX_NUM_THREADS, else OMP_NUM_THREADS, else min(affinity mask, cgroup quota rounded up, cores). Reads them anew. */
OX_API uint32_t ox_pool_default_size(void);

/* Runs tiles [begin, end) of a loop. |worker| is below ox_pool_size(pool), fixed for the calling thread during the
 * loop, and different from that of any other thread in the same loop: an index for per-worker scratch. Returns NULL,
 * or an error that ends the loop early. */
typedef ox_status *(*ox_tile_fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker);

/* Calls |fn| so that each tile in [0, n_tiles) is covered exactly once, on the calling thread and on workers that are
 * free; returns when all is done. Consecutive tiles may come in one call. After an error the tiles not yet started are
 * skipped and one of the errors is returned. Allocates nothing. Loops may be nested and may run from several threads
 * at once. n_tiles <= 0: nothing. |pool| NULL or of size 1, or one tile: a single call fn(ctx, 0, n_tiles, 0). */
OX_API OX_NODISCARD ox_status *ox_task_for(ox_pool *pool, int64_t n_tiles, ox_tile_fn fn, void *ctx);

/* Makes a status for a tile function to return. */
OX_API OX_NODISCARD ox_status *ox_task_error(ox_code code, const char *text);

#ifdef __cplusplus
}
#endif
#endif
