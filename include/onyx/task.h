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
  OX_POOL_FLUSH_DENORMALS = 1 /* flags: denormal floats count as zero in loops and tasks of this pool */
};

#define OX_POOL_NO_SPIN UINT32_MAX

/* The policy decides when workers watch for work, join loops, nap, stand by, wake each other or move to another
 * processor. */
enum {
  OX_POOL_POLICY_DEFAULT = 0,  /* what the environment variable ONYX_POOL_POLICY says, else adaptive */
  OX_POOL_POLICY_ADAPTIVE = 1, /* by the clock, past loops and competition for the processors */
  OX_POOL_POLICY_OFF = 2       /* none: idle workers sleep, new work wakes them; spin_us and sections have no
                                  effect. Slower; shows whether the policy is to blame for something */
};

/* Threads of the caller's. */
typedef struct ox_executor {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  void *ctx;
  /* Runs fn(arg) once, soon, on another thread; fn returns when there is no more work. Returns 0 if it cannot do so.
   * Called from any thread that starts work; must not wait. */
  int (*run)(void *ctx, void (*fn)(void *arg), void *arg);
} ox_executor;

/* How to make a pool. Zero everything, set struct_size = sizeof(ox_pool_opts), then what you need. Append only. */
typedef struct ox_pool_opts {
  uint32_t struct_size;
  uint32_t n_threads; /* the calling thread included; 1: makes none; 0: ox_pool_default_size() */
  uint32_t flags;     /* OX_POOL_FLUSH_DENORMALS */
  uint32_t spin_us;   /* how long an idle worker watches for work before it sleeps; 0: adaptive, at most 200 us;
                         OX_POOL_NO_SPIN: not at all */
  size_t stack_bytes; /* of each worker; 0: the system's default */
  const char *name;   /* threads are called <name>-<index>; NULL: "onyx"; copied */
  /* Optional: make and join threads yourself. thread_create starts a thread that calls main(arg), and returns a
   * non-NULL handle, or NULL if it cannot. Both or neither. */
  void *(*thread_create)(void *ctx, void (*main)(void *arg), void *arg);
  void (*thread_join)(void *ctx, void *handle);
  void *thread_ctx;
  /* Optional: where workers may run, "1,2;3-4;5": one entry for each worker (n_threads - 1), processors from 1. Those
   * the process may not use are ignored; a worker left with none runs anywhere. */
  const char *affinity;
  const ox_executor *executor; /* optional: run on these threads, make none; copied */
  /* The workers' priority, where the system allows it; else it is ignored. 0: the system's default; above 0: more
   * urgent; below: less. Linux: the nice value becomes -priority, in -20 .. 19 (above 0 needs a right that users rarely
   * have). Windows: two steps up from 10 on, one step up above 0, one down below 0, two from -10 on, idle below -19.
   * Not for an executor's threads. */
  int32_t priority;
  uint32_t policy; /* OX_POOL_POLICY_* */
} ox_pool_opts;

/* Makes a pool; |opts| NULL: all defaults. Errors: INVALID_ARGUMENT, LIMIT (over OX_POOL_MAX), OUT_OF_MEMORY,
 * FAIL (a thread cannot be made). */
OX_API OX_NODISCARD ox_status *ox_pool_create(const ox_pool_opts *opts, ox_pool **out_pool);

/* Joins the threads and frees the pool and the tasks that have not begun; NULL is fine. No loop or unit may be running
 * on it. Does nothing for the default pool, or if called by one of the pool's own tiles, units or nodes. */
OX_API void ox_pool_destroy(ox_pool *pool);

/* Changes the number of threads (0: the default size), also while the pool is in use: it waits for running loops, and
 * loops started meanwhile run in their callers. |pool| NULL: the default pool. Errors: INVALID_ARGUMENT inside a loop
 * or task; those of ox_pool_create. */
OX_API OX_NODISCARD ox_status *ox_pool_resize(ox_pool *pool, uint32_t n_threads);

/* The number of threads of |pool|, the caller included; 1 for NULL. */
OX_API uint32_t ox_pool_size(const ox_pool *pool);

/* Whose threads run the pool's loops: "own"; "executor"; "openmp" (a build with that ONYX_POOL_BACKEND; tasks and
 * graphs then run on workers of the pool, made when first needed, and OMP_WAIT_POLICY replaces spin_us); "none": every
 * pool of such a build has size 1, and so has NULL. Thread hooks, stacks, affinity and priority need "own". */
OX_API const char *ox_pool_backend(const ox_pool *pool);

/* The pool of the process, made on first use with default options and never destroyed. NULL if it cannot be made; every
 * function here accepts that, and work then runs in the caller. It has no threads at first: loops and tasks make them,
 * as many as their caps allow. */
OX_API ox_pool *ox_pool_default(void);

/* The environment variable ONYX_NUM_THREADS, else OMP_NUM_THREADS, else ox_pool_usable_cpus(), but no more than the
 * performance cores of a machine that has efficiency cores as well. Read anew at each call; ox_pool_resize(pool, 0)
 * applies it. */
OX_API uint32_t ox_pool_default_size(void);

/* Changes a pool's spin_us. OX_POOL_NO_SPIN: workers sleep as soon as they find nothing, and those now watching sleep
 * at once. For bursts of work set 0 (adaptive) or more before and OX_POOL_NO_SPIN after. |pool| NULL: the default
 * pool. */
OX_API void ox_pool_set_spin(ox_pool *pool, uint32_t spin_us);

/* What a pool has done so far. Counters only grow: subtract two readings. Set struct_size. */
typedef struct ox_pool_stats {
  uint32_t struct_size;
  uint32_t n_threads;
  uint64_t loops;   /* on several threads; one of a single tile or thread is a mere call, not counted */
  uint64_t claims;  /* calls of tile functions in them */
  uint64_t steals;  /* ranges of tiles taken from another thread */
  uint64_t units;   /* units of tasks that workers ran */
  uint64_t sleeps;  /* of workers */
  uint64_t wakes;   /* of workers, by others */
  uint64_t wait_ns; /* callers of loops waiting for others' last tiles; waits under 1 us are not counted */
  uint64_t run_ns;  /* workers in tiles, units and nodes; counted only while a profile is on */
  uint64_t time_ns; /* the clock at the reading; in a profile: how long it was on */
  uint64_t pulls;   /* workers that had no processor, moved to the one of a caller that waits for them */
} ox_pool_stats;
OX_API void ox_pool_get_stats(const ox_pool *pool, ox_pool_stats *out_stats);

/* A profile: start takes a reading of the counters, stop turns it into the differences. Set struct_size before the
 * start. Several profiles may be on at once; each start needs its stop, or workers go on reading the clock. Workers
 * were busy for run_ns / (time_ns * (n_threads - 1)) of the time. */
OX_API void ox_pool_profile_start(ox_pool *pool, ox_pool_stats *out_profile);
OX_API void ox_pool_profile_stop(ox_pool *pool, ox_pool_stats *profile);

/* The number of processors, of any kind, that this process may use: min(affinity mask, cgroup quota rounded up, cores).
 * Read anew at each call. */
OX_API uint32_t ox_pool_usable_cpus(void);

/* Runs tiles [begin, end) of a loop. |worker| is below ox_pool_size(pool), fixed for the calling thread during the
 * loop, and different from that of any other thread in the same loop: an index for per-worker scratch. Returns NULL,
 * or an error that ends the loop early. */
typedef ox_status *(*ox_tile_fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker);

/* Calls |fn| so that each tile in [0, n_tiles) is covered exactly once, on the calling thread and on free workers;
 * returns when all is done. Consecutive tiles may come in one call. After an error the tiles not yet started are
 * skipped and one of the errors is returned. Allocates nothing. Loops may be nested and may run from several threads at
 * once. n_tiles <= 0: no call. |pool| NULL or of size 1, or one tile: a single call fn(ctx, 0, n_tiles, 0). */
OX_API OX_NODISCARD ox_status *ox_task_for(ox_pool *pool, int64_t n_tiles, ox_tile_fn fn, void *ctx);

/* Like ox_task_for with at most |max_threads| threads, the caller included (0: all), and |worker| below that number.
 * Loops with a cap that run at the same time use different workers while there are enough, so parts of a program can
 * share one pool and each have its number of threads. */
OX_API OX_NODISCARD ox_status *ox_task_for_max(ox_pool *pool, uint32_t max_threads, int64_t n_tiles, ox_tile_fn fn,
                                               void *ctx);

/* What one item of a loop costs: bytes read from memory, bytes written to it, and compute cycles. */
typedef struct ox_cost {
  double bytes_in, bytes_out, cycles;
} ox_cost;

/* Like ox_task_for, for |n| items too small to be claimed one by one: they come in blocks whose size suits their cost
 * and the pool, and a loop too cheap to be worth sharing is one call in the caller. The blocks depend on the pool's
 * size, so fn's result for an item must not depend on the block that it is in. */
OX_API OX_NODISCARD ox_status *ox_task_for_cost(ox_pool *pool, int64_t n, ox_cost per_item, ox_tile_fn fn, void *ctx);

/* Like ox_task_for over |n| items, but ranges begin at multiples of |block| (at least 1) and end at multiples or |n|.
 */
OX_API OX_NODISCARD ox_status *ox_task_for_block(ox_pool *pool, int64_t n, int64_t block, ox_tile_fn fn, void *ctx);

/* Like ox_task_for over |n| items cut into |n_batches| ranges by ox_task_partition, one call of |fn| each.
 * n_batches <= 0: as many as the pool has threads; never more than |n|. */
OX_API OX_NODISCARD ox_status *ox_task_for_batch(ox_pool *pool, int64_t n, int64_t n_batches, ox_tile_fn fn, void *ctx);

/* Range number |batch| of |n_batches| contiguous ones over |n| items; the first n % n_batches have one item more. */
OX_API void ox_task_partition(int64_t batch, int64_t n_batches, int64_t n, int64_t *out_begin, int64_t *out_end);

/* The block size that ox_task_for_cost uses for |n| items on |n_threads| threads; |n| if the loop is not worth
 * splitting. */
OX_API int64_t ox_task_block_for_cost(int64_t n, ox_cost per_item, uint32_t n_threads);

/* A parallel section: between the short loops of a caller, workers go on watching for the next loop instead of sleeping
 * after spin_us. Keep the object until the section's end; its fields are private. */
typedef struct ox_task_section {
  ox_pool *pool;
  uint32_t n_workers, reserved;
} ox_task_section;

/* Wakes the workers that sleep and keeps them awake until the section ends: |max_threads| - 1 of them (0: all).
 * Sections may be nested and open on several threads at once: their numbers add up. They do not limit loops. Workers
 * still sleep when nothing has run for 100 ms, when the pool has more threads than there are processors, and when they
 * lose their processor to others. |pool| NULL or of size 1: nothing happens. */
OX_API void ox_task_section_begin(ox_pool *pool, uint32_t max_threads, ox_task_section *out_section);
/* Ends it, from any thread, before the pool is destroyed; a second call does nothing. */
OX_API void ox_task_section_end(ox_task_section *section);

/* Makes a status for a tile or unit function to return. */
OX_API OX_NODISCARD ox_status *ox_task_error(ox_code code, const char *text);

/* --- Tasks: work that is submitted now and waited for later, or never ------------------------------------------- */

/* A task is |n_units| calls of |fn|, in any order and in parallel, that begin when its parents have ended. Handles are
 * reference-counted; NULL stands for a task that has succeeded. Using a released handle, or one of a destroyed pool, is
 * an error that is not detected. */
typedef struct ox_task ox_task;

/* Runs one unit. An error is the task's result: units not yet started are skipped. */
typedef ox_status *(*ox_unit_fn)(void *payload, uint32_t unit);

enum {
  OX_TASK_ASYNC = 1,     /* never run by ox_task_submit itself */
  OX_TASK_TIMED = 2,     /* measure for ox_task_ms */
  OX_TASK_RUN_ANYWAY = 4 /* run even if a parent failed; without it the task ends with the parent's error */
};

/* Zero everything, set struct_size = sizeof(ox_task_opts), then what you need. Append only. */
typedef struct ox_task_opts {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t n_units; /* 0: a barrier, which ends as soon as its parents have */
  uint32_t n_parents;
  ox_unit_fn fn; /* NULL: a barrier */
  void *payload;
  size_t payload_bytes;            /* not 0: the task copies so many bytes (up to 128 without allocating) */
  void (*payload_delete)(void *p); /* called once when the task has ended; the payload is then not copied */
  ox_task *const *parents;         /* NULL entries are skipped */
} ox_task_opts;

/* Submits a task; |pool| NULL is the default pool. A task of one unit without unfinished parents and without
 * OX_TASK_ASYNC runs at once: *out_task is then NULL and its error is returned. Otherwise *out_task is a handle to
 * release; pass NULL to have none. Errors (INVALID_ARGUMENT, OUT_OF_MEMORY): nothing is submitted, the payload stays
 * the caller's. */
OX_API OX_NODISCARD ox_status *ox_task_submit(ox_pool *pool, const ox_task_opts *opts, ox_task **out_task);

OX_API ox_task *ox_task_retain(ox_task *task);
OX_API void ox_task_release(ox_task *task); /* does not wait */

/* Waits until the task has ended and returns its error, if any; every waiter gets it. Meanwhile this thread runs other
 * units of the pool. A unit may wait only for tasks that do not depend on it: INVALID_ARGUMENT if the task is its own
 * or a descendant, or if that holds for another unit that is waiting further up on this thread's stack. Tasks that wait
 * for each other in a cycle never end; parents cannot form a cycle, so prefer them to waiting. */
OX_API OX_NODISCARD ox_status *ox_task_wait(ox_task *task);
OX_API OX_NODISCARD ox_status *ox_task_wait_release(ox_task *task); /* ox_task_wait, then ox_task_release */
OX_API int ox_task_is_done(const ox_task *task);                    /* does not wait; 1 for NULL */

/* Units not yet started are skipped and the task ends with CANCELLED; so do its descendants, except with
 * OX_TASK_RUN_ANYWAY. No effect on a task that has ended. */
OX_API void ox_task_cancel(ox_task *task);

/* Runs units of |pool| (NULL: the default pool) until stop(ctx) is true, which is checked between units and while
 * idle. */
OX_API void ox_pool_work_until(ox_pool *pool, int (*stop)(void *ctx), void *ctx);

/* 1 .. size - 1 on a worker of some pool, 0 on any other thread. */
OX_API uint32_t ox_pool_thread_id(void);

/* Milliseconds from the first unit's start to the last one's end; and from the start of |a| to the start of |b|. Both
 * must have ended and have been submitted with OX_TASK_TIMED; else 0. */
OX_API double ox_task_ms(const ox_task *task);
OX_API double ox_task_ms_between(const ox_task *a, const ox_task *b);

/* |on| not 0: every task submitted from now on is OX_TASK_TIMED. */
OX_API void ox_task_set_timing(int on);
OX_API int ox_task_timing(void);

/* The task whose unit the calling thread runs, borrowed. NULL outside of units, or when out of memory in a task that
 * was submitted without a handle. */
OX_API ox_task *ox_task_current(void);
/* Attaches |object| to a task until the task is freed, for language bindings that carry exceptions. The first object
 * stays; |object_delete| is called at once on later ones, or if |task| is NULL. Descendants that end with the task's
 * error share the object, so it must have one type among all who submit tasks that depend on each other; for C++ it is
 * a std::exception_ptr. */
OX_API void ox_task_keep(ox_task *task, void *object, void (*object_delete)(void *object));
OX_API void *ox_task_kept(const ox_task *task);

/* --- Graphs: the same tasks again and again --------------------------------------------------------------------- */

/* Tasks and their order, written down once and run many times without allocating. A graph runs once at a time. */
typedef struct ox_task_graph ox_task_graph;

enum { OX_GRAPH_NODES_MAX = 1 << 30, OX_GRAPH_EDGES_MAX = 1 << 30 };

OX_API OX_NODISCARD ox_status *ox_task_graph_create(ox_task_graph **out_graph);
/* NULL is fine; does nothing while the graph runs. Payloads stay the caller's. */
OX_API void ox_task_graph_destroy(ox_task_graph *graph);

/* Adds a node: |n_units| calls of |fn|, which begin when all |parents| (numbers of earlier nodes, so there are no
 * cycles) have ended. |fn| NULL or |n_units| 0: a barrier. |out_node| (may be NULL): its number, counting from 0.
 * Errors (nothing is added): INVALID_ARGUMENT (unknown parent, or the graph runs), LIMIT, OUT_OF_MEMORY. One thread at
 * a time. */
OX_API OX_NODISCARD ox_status *ox_task_graph_add(ox_task_graph *graph, ox_unit_fn fn, void *payload, uint32_t n_units,
                                                 const uint32_t *parents, uint32_t n_parents, uint32_t *out_node);

/* Runs every node, on the calling thread and on free workers of |pool| (NULL: in the caller alone); returns when all
 * have ended. After an error the nodes and units not yet started are skipped and one of the errors is returned; the
 * graph can run again. Only the first run after a change allocates. May be called from tasks, loops and nodes of other
 * graphs. Errors of its own: INVALID_ARGUMENT (it already runs), OUT_OF_MEMORY. */
OX_API OX_NODISCARD ox_status *ox_task_graph_run(ox_pool *pool, ox_task_graph *graph);

/* Like ox_task_graph_run with nodes on at most |max_threads| threads, the caller included (0: all). Loops of nodes, and
 * nodes of several units, are not limited by it: they may use the rest of the pool. */
OX_API OX_NODISCARD ox_status *ox_task_graph_run_max(ox_pool *pool, uint32_t max_threads, ox_task_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
