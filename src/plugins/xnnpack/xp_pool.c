/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_pool.c - loops of up to six dimensions, the last two perhaps in tiles, as loops of the host. */
#include "xp_pool.h"

#include <stdatomic.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
enum { MOST_DIMS = 6 };

typedef struct loop loop;
typedef void (*call_fn)(const loop *l, uint32_t worker, const size_t *at);

/* |at| counts items in dimensions that are not tiled and tiles in the others. */
struct loop {
  call_fn call;
  void (*task)(void);
  void *ctx;
  int n_dims, n_tiled;     /* the last |n_tiled| dimensions */
  size_t range[MOST_DIMS]; /* in items */
  size_t tile[MOST_DIMS];  /* of those that are not tiled: 1 */
  size_t count[MOST_DIMS]; /* what |at| runs through */
};

static size_t first(const loop *l, const size_t *at, int d) { return at[d] * l->tile[d]; }
static size_t extent(const loop *l, const size_t *at, int d) {
  size_t left = l->range[d] - first(l, at, d);
  return left < l->tile[d] ? left : l->tile[d];
}

static void next(const loop *l, size_t *at) {
  for (int d = l->n_dims - 1; ++at[d] == l->count[d] && d; d--) at[d] = 0;
}

static ox_status *run_range(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const loop *l = ctx;
  size_t at[MOST_DIMS], rest = (size_t)begin;
  for (int d = l->n_dims - 1; d >= 0; d--) at[d] = rest % l->count[d], rest /= l->count[d];
  for (int64_t i = begin; i < end; i++, next(l, at)) l->call(l, worker, at);
  return NULL;
}

static atomic_uint calls_without_pool; /* how one sees that libXNNPACK calls this file */

static void run(struct pthreadpool *pool, loop *l) {
  size_t total = 1;
  for (int d = 0; d < l->n_dims; d++) {
    if (d < l->n_dims - l->n_tiled) l->tile[d] = 1;
    if (!l->range[d] || !l->tile[d]) return;
    l->count[d] = (l->range[d] - 1) / l->tile[d] + 1;
    total *= l->count[d]; /* of things in memory: no overflow */
  }
  if (!pool) atomic_fetch_add_explicit(&calls_without_pool, 1, memory_order_relaxed);
  if (!pool || !pool->host || pool->threads <= 1 || total == 1)
    (void)run_range(l, 0, (int64_t)total, 0); /* never fails, nor do tiles on other threads */
  else
    (void)pool->host->parallel_tiles(pool->host, (int64_t)total, pool->threads, run_range, l);
}

/* ---- what tasks are called with ---- */

#define U0 at[0]
#define U1 U0, at[1]
#define U2 U1, at[2]
#define U3 U2, at[3]
#define U4 U3, at[4]
#define U5 U4, at[5]
#define T1(d) first(l, at, d), extent(l, at, d)
#define T2(d) first(l, at, d), first(l, at, (d) + 1), extent(l, at, d), extent(l, at, (d) + 1)
#define T2_FIRST first(l, at, 0), first(l, at, 1), extent(l, at, 0), extent(l, at, 1)

#define S1 size_t
#define S2 S1, size_t
#define S3 S2, size_t
#define S4 S3, size_t
#define S5 S4, size_t
#define S6 S5, size_t
#define S7 S6, size_t
#define S8 S7, size_t

/* The task of pthreadpool_parallelize_<name>: its arguments' types and values. */
#define TASK(name, types, ...)                                                \
  typedef void (*task_##name)(void *, types);                                 \
  static void call_##name(const loop *l, uint32_t worker, const size_t *at) { \
    (void)worker;                                                             \
    ((task_##name)l->task)(l->ctx, __VA_ARGS__);                              \
  }
TASK(1d, S1, U0)
TASK(1d_tile_1d, S2, T1(0))
TASK(2d, S2, U1)
TASK(2d_tile_1d, S3, U0, T1(1))
TASK(2d_tile_2d, S4, T2_FIRST)
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

/* Tasks that are told a number first: the kind of processor (all are of kind 0 here), or the thread's. */
#define UARCH(name, types, ...)                                                            \
  typedef void (*task_##name##_with_id)(void *, uint32_t, types);                          \
  static void call_##name##_with_uarch(const loop *l, uint32_t worker, const size_t *at) { \
    (void)worker;                                                                          \
    ((task_##name##_with_id)l->task)(l->ctx, 0, __VA_ARGS__);                              \
  }
UARCH(1d, S1, U0)
UARCH(2d_tile_2d, S4, T2_FIRST)
UARCH(3d_tile_2d, S5, U0, T2(1))
UARCH(4d_tile_2d, S6, U1, T2(2))

#define THREAD(name, types, ...)                                                            \
  typedef void (*task_##name##_with_thread)(void *, size_t, types);                         \
  static void call_##name##_with_thread(const loop *l, uint32_t worker, const size_t *at) { \
    ((task_##name##_with_thread)l->task)(l->ctx, worker, __VA_ARGS__);                      \
  }
THREAD(1d, S1, U0)
THREAD(1d_tile_1d, S2, T1(0))
THREAD(2d, S2, U1)
THREAD(2d_tile_1d, S3, U0, T1(1))
THREAD(3d, S3, U2)
THREAD(3d_tile_1d, S4, U1, T1(2))

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

#define UNPACK(...) __VA_ARGS__
#define LOOP(name, n, ranges, values, ids)                                                                        \
  EXPORT void pthreadpool_parallelize_##name(struct pthreadpool *pool, void (*task)(void), void *ctx UNPACK ids,  \
                                             ranges, uint32_t flags);                                             \
  void pthreadpool_parallelize_##name(struct pthreadpool *pool, void (*task)(void), void *ctx UNPACK ids, ranges, \
                                      uint32_t flags) {                                                           \
    (void)flags;                                                                                                  \
    run(pool, &(loop){call_##name, task, ctx, n, 0, {values}, {0}, {0}});                                         \
  }
#define LOOP_TILE(name, n, ranges, values, ids)                                                                   \
  EXPORT void pthreadpool_parallelize_##name(struct pthreadpool *pool, void (*task)(void), void *ctx UNPACK ids,  \
                                             ranges, size_t t, uint32_t flags);                                   \
  void pthreadpool_parallelize_##name(struct pthreadpool *pool, void (*task)(void), void *ctx UNPACK ids, ranges, \
                                      size_t t, uint32_t flags) {                                                 \
    (void)flags;                                                                                                  \
    run(pool, &(loop){call_##name, task, ctx, n, 1, {values}, {[(n)-1] = t}, {0}});                               \
  }
#define LOOP_TILES(name, n, ranges, values, ids)                                                                  \
  EXPORT void pthreadpool_parallelize_##name(struct pthreadpool *pool, void (*task)(void), void *ctx UNPACK ids,  \
                                             ranges, size_t t0, size_t t1, uint32_t flags);                       \
  void pthreadpool_parallelize_##name(struct pthreadpool *pool, void (*task)(void), void *ctx UNPACK ids, ranges, \
                                      size_t t0, size_t t1, uint32_t flags) {                                     \
    (void)flags;                                                                                                  \
    run(pool, &(loop){call_##name, task, ctx, n, 2, {values}, {[(n)-2] = t0, [(n)-1] = t1}, {0}});                \
  }
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
LOOP_TILES(2d_tile_2d_with_uarch, 2, R2, V2, IDS)
LOOP_TILES(3d_tile_2d_with_uarch, 3, R3, V3, IDS)
LOOP_TILES(4d_tile_2d_with_uarch, 4, R4, V4, IDS)
LOOP(1d_with_thread, 1, R1, V1, NONE)
LOOP_TILE(1d_tile_1d_with_thread, 1, R1, V1, NONE)
LOOP(2d_with_thread, 2, R2, V2, NONE)
LOOP_TILE(2d_tile_1d_with_thread, 2, R2, V2, NONE)
LOOP(3d_with_thread, 3, R3, V3, NONE)
LOOP_TILE(3d_tile_1d_with_thread, 3, R3, V3, NONE)

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
TASK(3d_tiled, S6, first(l, at, 0), first(l, at, 1), first(l, at, 2), extent(l, at, 0), extent(l, at, 1),
     extent(l, at, 2))
TASK(4d_tiled, S8, first(l, at, 0), first(l, at, 1), first(l, at, 2), first(l, at, 3), extent(l, at, 0),
     extent(l, at, 1), extent(l, at, 2), extent(l, at, 3))
EXPORT void pthreadpool_compute_3d_tiled(struct pthreadpool *pool, void (*task)(void), void *ctx, R3, size_t t0,
                                         size_t t1, size_t t2);
void pthreadpool_compute_3d_tiled(struct pthreadpool *pool, void (*task)(void), void *ctx, R3, size_t t0, size_t t1,
                                  size_t t2) {
  run(pool, &(loop){call_3d_tiled, task, ctx, 3, 3, {V3}, {t0, t1, t2}, {0}});
}
EXPORT void pthreadpool_compute_4d_tiled(struct pthreadpool *pool, void (*task)(void), void *ctx, R4, size_t t0,
                                         size_t t1, size_t t2, size_t t3);
void pthreadpool_compute_4d_tiled(struct pthreadpool *pool, void (*task)(void), void *ctx, R4, size_t t0, size_t t1,
                                  size_t t2, size_t t3) {
  run(pool, &(loop){call_4d_tiled, task, ctx, 4, 4, {V4}, {t0, t1, t2, t3}, {0}});
}

EXPORT struct pthreadpool *pthreadpool_create(size_t threads);
EXPORT size_t pthreadpool_get_threads_count(struct pthreadpool *pool);
EXPORT void pthreadpool_destroy(struct pthreadpool *pool);

/* For whoever asks us for a pool of their own: one without threads. */
struct pthreadpool *pthreadpool_create(size_t threads) {
  (void)threads;
  struct pthreadpool *pool = malloc(sizeof *pool);
  if (pool) *pool = (struct pthreadpool){NULL, 1};
  return pool;
}
size_t pthreadpool_get_threads_count(struct pthreadpool *pool) {
  if (!pool) atomic_fetch_add_explicit(&calls_without_pool, 1, memory_order_relaxed);
  return pool ? pool->threads : 1;
}
void pthreadpool_destroy(struct pthreadpool *pool) { free(pool); }

unsigned xp_pool_calls_without(void) { return atomic_load_explicit(&calls_without_pool, memory_order_relaxed); }
