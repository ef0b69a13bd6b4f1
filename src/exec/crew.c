/* SPDX-License-Identifier: Apache-2.0
 * exec/crew.c - see crew.h. The first piece is one tile; what pieces take tells how many the next one has. */
#include "exec/crew.h"

#include "base/clock.h"
#include "base/macros.h"

enum { PIECE_NS = 50 * 1000 };

typedef struct {
  ox_tile_fn fn;
  void *ctx;
  ox_watch *watch;
  atomic_int_least64_t tiles; /* of a piece; all threads learn from each other */
} pieces;

static ox_status *run_pieces(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  pieces *p = ctx;
  while (begin < end && !ox_watch_stopped(p->watch)) {
    int64_t most = atomic_load_explicit(&p->tiles, memory_order_relaxed), n = OX_MIN(most, end - begin);
    int64_t start = ox_clock_ns();
    OX_TRY(p->fn(p->ctx, begin, begin + n, worker));
    int64_t took = ox_clock_ns() - start;
    if (took < PIECE_NS / 2 && n == most) atomic_store_explicit(&p->tiles, 2 * n, memory_order_relaxed);
    if (took > PIECE_NS && n > 1) atomic_store_explicit(&p->tiles, n / 2, memory_order_relaxed);
    begin += n;
  }
  return NULL;
}

ox_status *ox_crew_run(const ox_step_crew *crew, int64_t n, ox_tile_fn fn, void *ctx) {
  pieces p = {.fn = fn, .ctx = ctx, .watch = crew->watch, .tiles = 1};
  if (crew->watch) fn = run_pieces, ctx = &p;
  if (crew->pool) return ox_task_for_max(crew->pool, crew->max_threads, n, fn, ctx);
  return n > 0 ? fn(ctx, 0, n, 0) : NULL;
}
