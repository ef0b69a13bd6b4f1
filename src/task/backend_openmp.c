/* SPDX-License-Identifier: Apache-2.0
 * task/backend_openmp.c - loops as OpenMP regions, for programs that have an OpenMP team anyway.
 * The region's threads claim ranges from one counter. Loops run in their caller alone
 *  - inside a region (a nested one would have a team of its own);
 *  - on the pool's workers: several run units at the same time, and a team for each would be n * n threads;
 *  - in a forked child: the OpenMP run-time of GCC does not survive a fork. */
#include <omp.h>

#include "base/macros.h"
#include "task/backend.h"
#include "task/parallel.h"

typedef struct team_loop {
  ox_pool *pool;
  ox_tile_fn fn;
  void *ctx;
  uint64_t n_tiles, grain;
  _Alignas(OX_CACHE_LINE) atomic_uint_least64_t next; /* may pass n_tiles by a grain for each thread */
  _Atomic(ox_status *) error;                         /* the first one stays */
} team_loop;

/* One thread's part. The barrier at the end of a region orders what tiles wrote. */
static void take_part(team_loop *loop, uint32_t worker) {
  bool flush = loop->pool->opts.flags & OX_POOL_FLUSH_DENORMALS;
  unsigned mode = flush ? ox_thread_flush_denormals() : 0;
  bool profiled = worker && atomic_load_explicit(&loop->pool->profiles, memory_order_relaxed);
  uint64_t claims = 0, start = profiled ? ox_thread_now_ns() : 0;
  ox_loops_enter();
  while (!atomic_load_explicit(&loop->error, memory_order_relaxed)) {
    uint64_t begin = atomic_fetch_add_explicit(&loop->next, loop->grain, memory_order_relaxed);
    if (begin >= loop->n_tiles) break;
    uint64_t end = OX_MIN(begin + loop->grain, loop->n_tiles);
    ox_status *st = loop->fn(loop->ctx, (int64_t)begin, (int64_t)end, worker);
    claims++;
    if (OX_UNLIKELY(st != NULL)) ox_keep_first(&loop->error, st);
  }
  ox_loops_leave();
  if (profiled) atomic_fetch_add_explicit(&loop->pool->team_run_ns, ox_thread_now_ns() - start, memory_order_relaxed);
  if (flush) ox_thread_restore_denormals(mode);
  atomic_fetch_add_explicit(&loop->pool->team_claims, claims, memory_order_relaxed);
}

static ox_status *run_loop(ox_pool *pool, uint32_t n_threads, int64_t n_tiles, ox_tile_fn fn, void *ctx) {
  if (omp_in_parallel() || ox_pool_thread_id() || atomic_load_explicit(&ox_fork_count, memory_order_relaxed))
    return fn(ctx, 0, n_tiles, 0);
  uint64_t n = (uint64_t)n_tiles, grain = n >> atomic_load_explicit(&pool->grain_shift, memory_order_relaxed);
  team_loop loop = {.pool = pool, .fn = fn, .ctx = ctx, .n_tiles = n, .grain = OX_MAX(grain, 1)};
  int team = (int)OX_MIN(n_threads, n);
  atomic_fetch_add_explicit(&pool->team_open, 1, memory_order_relaxed);
#pragma omp parallel num_threads(team)
  take_part(&loop, (uint32_t)omp_get_thread_num());
  atomic_fetch_sub_explicit(&pool->team_open, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&pool->team_loops, 1, memory_order_relaxed);
  return atomic_load_explicit(&loop.error, memory_order_acquire); /* pairs with ox_keep_first */
}

const ox_backend ox_backend_of_build = {"openmp", OX_POOL_MAX, run_loop};
