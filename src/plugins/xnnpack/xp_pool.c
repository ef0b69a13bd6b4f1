/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_pool.c - pthreadpool's loops of up to six dimensions, the last ones possibly tiled, flattened to parallel
 * loops of the host. */
#include "xp_pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
enum { MOST_DIMS = 6 };

typedef struct loop loop;

/* The part of the iteration space for one call of a task: start and extent, in tiles where a dimension is tiled and in
 * items elsewhere. */
typedef struct place {
  size_t at[MOST_DIMS], span[MOST_DIMS];
} place;
typedef void (*call_fn)(const loop *l, uint32_t worker, const place *p);

struct loop {
  call_fn call;
  void (*task)(void);
  void *ctx;
  int n_dims, n_tiled;     /* the last |n_tiled| dimensions */
  bool dynamic;            /* the task takes several tiles per call, if they are adjacent in one dimension */
  int fastest;             /* the innermost dimension; the next outer one is the one before it, cyclically */
  size_t range[MOST_DIMS]; /* in items */
  size_t tile[MOST_DIMS];  /* 1 in dimensions that are not tiled */
  size_t count[MOST_DIMS]; /* range / tile, rounded up */
};

static size_t first(const loop *l, const place *p, int d) { return p->at[d] * l->tile[d]; }
static size_t extent(const loop *l, const place *p, int d) {
  size_t left = l->range[d] - first(l, p, d);
  return left / l->tile[d] < p->span[d] ? left : p->span[d] * l->tile[d];
}

static int slower(const loop *l, int d) { return d ? d - 1 : l->n_dims - 1; }

/* Advances |at| by |by| in dimension |d|, at most to its end, and carries into the slower dimensions there. */
static void advance(const loop *l, size_t *at, int d, size_t by) {
  for (at[d] += by; at[d] == l->count[d] && slower(l, d) != l->fastest; at[d]++) at[d] = 0, d = slower(l, d);
}

static ox_status *run_range(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const loop *l = ctx;
  size_t left = (size_t)(end - begin), rest = (size_t)begin;
  int d = l->fastest;
  place p;
  for (int i = 0; i < l->n_dims; i++, d = slower(l, d))
    p.at[d] = rest % l->count[d], rest /= l->count[d], p.span[d] = 1;
  if (l->dynamic && l->n_tiled == 2 && l->count[d] == 1) d--; /* tiles follow each other in the one before */
  for (size_t n; left; left -= n, advance(l, p.at, d, n)) {
    n = l->count[d] - p.at[d];
    if (!l->dynamic) n = 1;
    if (n > left) n = left;
    p.span[d] = n;
    l->call(l, worker, &p);
  }
  return NULL;
}

/* Makes rows the innermost loop of a product with several row tiles and more columns than one block, so that all rows
 * pass through a block of the weights before the next one. */
static void block_columns(loop *l, size_t columns) {
  int last = l->n_dims - 1;
  bool rows = false;
  for (int d = 0; d < last; d++) rows |= l->range[d] > l->tile[d];
  if (!columns || l->n_tiled != 2 || l->dynamic || !rows || l->range[last] <= columns) return;
  if (l->tile[last] > columns) l->tile[last] = columns;
  l->fastest = last - 1;
}

static atomic_uint calls_without_pool; /* see xp_pool_calls_without */

static void run(struct pthreadpool *pool, loop *l) {
  size_t total = 1;
  l->fastest = l->n_dims - 1;
  for (int d = 0; d < l->n_dims - l->n_tiled; d++) l->tile[d] = 1;
  if (pool) block_columns(l, pool->columns);
  for (int d = 0; d < l->n_dims; d++) {
    if (!l->range[d] || !l->tile[d]) return;
    l->count[d] = (l->range[d] - 1) / l->tile[d] + 1;
    total *= l->count[d]; /* cannot overflow: tiles are of tensors in memory */
  }
  if (!pool) atomic_fetch_add_explicit(&calls_without_pool, 1, memory_order_relaxed);
  if (!pool || !pool->host || pool->threads <= 1 || total == 1)
    (void)run_range(l, 0, (int64_t)total, 0); /* always NULL, here and on the host's threads */
  else
    (void)pool->host->parallel_tiles(pool->host, (int64_t)total, pool->threads, run_range, l);
}

/* ---- the signatures of tasks ---- */

#define U0 p->at[0]
#define U1 U0, p->at[1]
#define U2 U1, p->at[2]
#define U3 U2, p->at[3]
#define U4 U3, p->at[4]
#define U5 U4, p->at[5]
#define T1(d) first(l, p, d), extent(l, p, d)
#define T2(d) first(l, p, d), first(l, p, (d) + 1), extent(l, p, d), extent(l, p, (d) + 1)

#define S1 size_t
#define S2 S1, size_t
#define S3 S2, size_t
#define S4 S3, size_t
#define S5 S4, size_t
#define S6 S5, size_t
#define S7 S6, size_t
#define S8 S7, size_t

/* The task of pthreadpool_parallelize_<name>: its arguments' types and values. */
#define TASK(name, types, ...)                                              \
  typedef void (*task_##name)(void *, types);                               \
  static void call_##name(const loop *l, uint32_t worker, const place *p) { \
    (void)worker;                                                           \
    ((task_##name)l->task)(l->ctx, __VA_ARGS__);                            \
  }
TASK(1d, S1, U0)
TASK(1d_tile_1d, S2, T1(0))
TASK(2d, S2, U1)
TASK(2d_tile_1d, S3, U0, T1(1))
TASK(2d_tile_2d, S4, T2(0))
TASK(3d, S3, U2)
TASK(3d_tile_1d, S4, U1, T1(2))
TASK(3d_tile_2d, S5, U0, T2(1))
TASK(4d, S4, U3)
TASK(4d_tile_1d, S5, U2, T1(3))
TASK(4d_tile_2d, S6, U1, T2(2))
TASK(5d, S5, U4)
TASK(5d_tile_1d, S6, U3, T1(4))
TASK(5d_tile_2d, S7, U2, T2(3))
TASK(6d, S6, U5)
TASK(6d_tile_1d, S7, U4, T1(5))
TASK(6d_tile_2d, S8, U3, T2(4))

/* Tasks with leading arguments: the micro-architecture index (always 0 here), the thread's number, or both. */
#define TASK_WITH(name, types, values)                                      \
  typedef void (*task_##name)(void *, UNPACK types);                        \
  static void call_##name(const loop *l, uint32_t worker, const place *p) { \
    (void)worker;                                                           \
    ((task_##name)l->task)(l->ctx, UNPACK values);                          \
  }
#define UNPACK(...) __VA_ARGS__
#define UARCH(name, types, ...) TASK_WITH(name##_with_uarch, (uint32_t, types), (0, __VA_ARGS__))
#define THREAD(name, types, ...) TASK_WITH(name##_with_thread, (size_t, types), (worker, __VA_ARGS__))
#define BOTH(name, types, ...) \
  TASK_WITH(name##_with_uarch_with_thread, (uint32_t, size_t, types), (0, worker, __VA_ARGS__))
/* In dynamic loops the thread's number is a uint32_t, not a size_t. */
#define THREAD_DYNAMIC(name, types, ...) TASK_WITH(name##_dynamic_with_thread, (uint32_t, types), (worker, __VA_ARGS__))
UARCH(1d, S1, U0)
UARCH(2d_tile_1d, S3, U0, T1(1))
UARCH(2d_tile_2d, S4, T2(0))
UARCH(3d_tile_1d, S4, U1, T1(2))
UARCH(3d_tile_2d, S5, U0, T2(1))
UARCH(4d_tile_2d, S6, U1, T2(2))
THREAD(1d, S1, U0)
THREAD(1d_tile_1d, S2, T1(0))
THREAD(2d, S2, U1)
THREAD(2d_tile_1d, S3, U0, T1(1))
THREAD(3d, S3, U2)
THREAD(3d_tile_1d, S4, U1, T1(2))
BOTH(1d_tile_1d, S2, T1(0))
BOTH(2d_tile_1d, S3, U0, T1(1))
BOTH(3d_tile_1d, S4, U1, T1(2))
THREAD_DYNAMIC(1d_tile_1d, S2, T1(0))
THREAD_DYNAMIC(2d_tile_1d, S3, U0, T1(1))
THREAD_DYNAMIC(2d_tile_2d, S4, T2(0))
THREAD_DYNAMIC(3d_tile_1d, S4, U1, T1(2))
THREAD_DYNAMIC(3d_tile_2d, S5, U0, T2(1))

/* ---- the entry points ---- */

#define R1 size_t r0
#define R2 R1, size_t r1
#define R3 R2, size_t r2
#define R4 R3, size_t r3
#define R5 R4, size_t r4
#define R6 R5, size_t r5
#define V1 r0
#define V2 V1, r1
#define V3 V2, r2
#define V4 V3, r3
#define V5 V4, r4
#define V6 V5, r5

/* An entry point whose task is called by call_<calls>, with |n_tiled| sizes of tiles. */
#define ENTRY(name, calls, is_dynamic, n, n_tiled, ids, sizes, values, tiles)                                     \
  EXPORT void pthreadpool_parallelize_##name(struct pthreadpool *pool, void (*task)(void), void *ctx UNPACK ids,  \
                                             UNPACK sizes, uint32_t flags);                                       \
  void pthreadpool_parallelize_##name(struct pthreadpool *pool, void (*task)(void), void *ctx UNPACK ids,         \
                                      UNPACK sizes, uint32_t flags) {                                             \
    (void)flags;                                                                                                  \
    run(pool, &(loop){call_##calls, task, ctx, n, n_tiled, is_dynamic, 0, {UNPACK values}, {UNPACK tiles}, {0}}); \
  }
#define ENTRY_TILE(name, calls, is_dynamic, n, ranges, values, ids) \
  ENTRY(name, calls, is_dynamic, n, 1, ids, (UNPACK ranges, size_t t), values, ([(n)-1] = t))
#define ENTRY_TILES(name, calls, is_dynamic, n, ranges, values, ids) \
  ENTRY(name, calls, is_dynamic, n, 2, ids, (UNPACK ranges, size_t t0, size_t t1), values, ([(n)-2] = t0, [(n)-1] = t1))
#define LOOP(name, n, ranges, values, ids) ENTRY(name, name, false, n, 0, ids, (ranges), (values), (0))
#define LOOP_TILE(name, n, ranges, values, ids) ENTRY_TILE(name, name, false, n, (ranges), (values), ids)
#define LOOP_TILES(name, n, ranges, values, ids) ENTRY_TILES(name, name, false, n, (ranges), (values), ids)
#define DYNAMIC_TILE(name, calls, n, ranges, values, ids) ENTRY_TILE(name, calls, true, n, (ranges), (values), ids)
#define DYNAMIC_TILES(name, calls, n, ranges, values, ids) ENTRY_TILES(name, calls, true, n, (ranges), (values), ids)
#define NONE ()
#define IDS (, uint32_t default_id __attribute__((unused)), uint32_t max_id __attribute__((unused)))

LOOP(1d, 1, R1, V1, NONE)
LOOP_TILE(1d_tile_1d, 1, R1, V1, NONE)
LOOP(2d, 2, R2, V2, NONE)
LOOP_TILE(2d_tile_1d, 2, R2, V2, NONE)
LOOP_TILES(2d_tile_2d, 2, R2, V2, NONE)
LOOP(3d, 3, R3, V3, NONE)
LOOP_TILE(3d_tile_1d, 3, R3, V3, NONE)
LOOP_TILES(3d_tile_2d, 3, R3, V3, NONE)
LOOP(4d, 4, R4, V4, NONE)
LOOP_TILE(4d_tile_1d, 4, R4, V4, NONE)
LOOP_TILES(4d_tile_2d, 4, R4, V4, NONE)
LOOP(5d, 5, R5, V5, NONE)
LOOP_TILE(5d_tile_1d, 5, R5, V5, NONE)
LOOP_TILES(5d_tile_2d, 5, R5, V5, NONE)
LOOP(6d, 6, R6, V6, NONE)
LOOP_TILE(6d_tile_1d, 6, R6, V6, NONE)
LOOP_TILES(6d_tile_2d, 6, R6, V6, NONE)
LOOP(1d_with_uarch, 1, R1, V1, IDS)
LOOP_TILE(2d_tile_1d_with_uarch, 2, R2, V2, IDS)
LOOP_TILES(2d_tile_2d_with_uarch, 2, R2, V2, IDS)
LOOP_TILE(3d_tile_1d_with_uarch, 3, R3, V3, IDS)
LOOP_TILES(3d_tile_2d_with_uarch, 3, R3, V3, IDS)
LOOP_TILES(4d_tile_2d_with_uarch, 4, R4, V4, IDS)
LOOP(1d_with_thread, 1, R1, V1, NONE)
LOOP_TILE(1d_tile_1d_with_thread, 1, R1, V1, NONE)
LOOP(2d_with_thread, 2, R2, V2, NONE)
LOOP_TILE(2d_tile_1d_with_thread, 2, R2, V2, NONE)
LOOP(3d_with_thread, 3, R3, V3, NONE)
LOOP_TILE(3d_tile_1d_with_thread, 3, R3, V3, NONE)
LOOP_TILE(2d_tile_1d_with_uarch_with_thread, 2, R2, V2, IDS)
LOOP_TILE(3d_tile_1d_with_uarch_with_thread, 3, R3, V3, IDS)

/* Since 2025: a task takes all adjacent tiles of a thread's range in one call. */
DYNAMIC_TILE(1d_tile_1d_dynamic, 1d_tile_1d, 1, R1, V1, NONE)
DYNAMIC_TILE(2d_tile_1d_dynamic, 2d_tile_1d, 2, R2, V2, NONE)
DYNAMIC_TILE(3d_tile_1d_dynamic, 3d_tile_1d, 3, R3, V3, NONE)
DYNAMIC_TILES(2d_tile_2d_dynamic, 2d_tile_2d, 2, R2, V2, NONE)
DYNAMIC_TILES(3d_tile_2d_dynamic, 3d_tile_2d, 3, R3, V3, NONE)
DYNAMIC_TILES(4d_tile_2d_dynamic, 4d_tile_2d, 4, R4, V4, NONE)
DYNAMIC_TILES(2d_tile_2d_dynamic_with_uarch, 2d_tile_2d_with_uarch, 2, R2, V2, IDS)
DYNAMIC_TILES(3d_tile_2d_dynamic_with_uarch, 3d_tile_2d_with_uarch, 3, R3, V3, IDS)
DYNAMIC_TILES(4d_tile_2d_dynamic_with_uarch, 4d_tile_2d_with_uarch, 4, R4, V4, IDS)
DYNAMIC_TILE(1d_tile_1d_dynamic_with_thread, 1d_tile_1d_dynamic_with_thread, 1, R1, V1, NONE)
DYNAMIC_TILE(2d_tile_1d_dynamic_with_thread, 2d_tile_1d_dynamic_with_thread, 2, R2, V2, NONE)
DYNAMIC_TILE(3d_tile_1d_dynamic_with_thread, 3d_tile_1d_dynamic_with_thread, 3, R3, V3, NONE)
DYNAMIC_TILES(2d_tile_2d_dynamic_with_thread, 2d_tile_2d_dynamic_with_thread, 2, R2, V2, NONE)
DYNAMIC_TILES(3d_tile_2d_dynamic_with_thread, 3d_tile_2d_dynamic_with_thread, 3, R3, V3, NONE)
DYNAMIC_TILE(1d_tile_1d_dynamic_with_uarch_with_thread, 1d_tile_1d_with_uarch_with_thread, 1, R1, V1, IDS)
DYNAMIC_TILE(2d_tile_1d_dynamic_with_uarch_with_thread, 2d_tile_1d_with_uarch_with_thread, 2, R2, V2, IDS)
DYNAMIC_TILE(3d_tile_1d_dynamic_with_uarch_with_thread, 3d_tile_1d_with_uarch_with_thread, 3, R3, V3, IDS)

/* Older names of some of them. */
#define COMPUTE(name, is, ranges, values)                                                                  \
  EXPORT void pthreadpool_compute_##name(struct pthreadpool *pool, void (*task)(void), void *ctx, ranges); \
  void pthreadpool_compute_##name(struct pthreadpool *pool, void (*task)(void), void *ctx, ranges) {       \
    pthreadpool_parallelize_##is(pool, task, ctx, values, 0);                                              \
  }
COMPUTE(1d, 1d, R1, V1)
COMPUTE(1d_tiled, 1d_tile_1d, R2, V2)
COMPUTE(2d, 2d, R2, V2)
COMPUTE(2d_tiled, 2d_tile_2d, R4, V4)

/* The only ones with more than two tiled dimensions. */
TASK(3d_tiled, S6, first(l, p, 0), first(l, p, 1), first(l, p, 2), extent(l, p, 0), extent(l, p, 1), extent(l, p, 2))
TASK(4d_tiled, S8, first(l, p, 0), first(l, p, 1), first(l, p, 2), first(l, p, 3), extent(l, p, 0), extent(l, p, 1),
     extent(l, p, 2), extent(l, p, 3))
EXPORT void pthreadpool_compute_3d_tiled(struct pthreadpool *pool, void (*task)(void), void *ctx, R3, size_t t0,
                                         size_t t1, size_t t2);
void pthreadpool_compute_3d_tiled(struct pthreadpool *pool, void (*task)(void), void *ctx, R3, size_t t0, size_t t1,
                                  size_t t2) {
  run(pool, &(loop){call_3d_tiled, task, ctx, 3, 3, false, 0, {V3}, {t0, t1, t2}, {0}});
}
EXPORT void pthreadpool_compute_4d_tiled(struct pthreadpool *pool, void (*task)(void), void *ctx, R4, size_t t0,
                                         size_t t1, size_t t2, size_t t3);
void pthreadpool_compute_4d_tiled(struct pthreadpool *pool, void (*task)(void), void *ctx, R4, size_t t0, size_t t1,
                                  size_t t2, size_t t3) {
  run(pool, &(loop){call_4d_tiled, task, ctx, 4, 4, false, 0, {V4}, {t0, t1, t2, t3}, {0}});
}

EXPORT struct pthreadpool *pthreadpool_create(size_t threads);
EXPORT struct pthreadpool *pthreadpool_create_v2(void *executor, void *ctx, size_t threads);
EXPORT bool pthreadpool_update_executor(struct pthreadpool *pool, void *executor, void *ctx);
EXPORT void pthreadpool_release_executor_threads(struct pthreadpool *pool);
EXPORT size_t pthreadpool_get_threads_count(struct pthreadpool *pool);
EXPORT size_t pthreadpool_set_threads_count(struct pthreadpool *pool, size_t threads);
EXPORT void pthreadpool_destroy(struct pthreadpool *pool);

/* Callers that create a pool of their own get one without threads; the executor they pass is ignored. */
struct pthreadpool *pthreadpool_create(size_t threads) {
  (void)threads;
  struct pthreadpool *pool = malloc(sizeof *pool);
  if (pool) *pool = (struct pthreadpool){.threads = 1};
  return pool;
}
struct pthreadpool *pthreadpool_create_v2(void *executor, void *ctx, size_t threads) {
  (void)executor, (void)ctx;
  return pthreadpool_create(threads);
}
bool pthreadpool_update_executor(struct pthreadpool *pool, void *executor, void *ctx) {
  (void)pool, (void)executor, (void)ctx;
  return false;
}
void pthreadpool_release_executor_threads(struct pthreadpool *pool) { (void)pool; }
size_t pthreadpool_get_threads_count(struct pthreadpool *pool) {
  if (!pool) atomic_fetch_add_explicit(&calls_without_pool, 1, memory_order_relaxed);
  return pool ? pool->threads : 1;
}
size_t pthreadpool_set_threads_count(struct pthreadpool *pool, size_t threads) {
  (void)threads; /* the session says how many */
  return pool ? pool->threads : 1;
}
void pthreadpool_destroy(struct pthreadpool *pool) { free(pool); }

unsigned xp_pool_calls_without(void) { return atomic_load_explicit(&calls_without_pool, memory_order_relaxed); }
