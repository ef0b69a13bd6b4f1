/* SPDX-License-Identifier: Apache-2.0
 * task/pool.h - the layout of a pool and of a worker, which all parts of the pool share. Each part has a header of its
 * own, and none of them is included here. */
#ifndef OX_TASK_POOL_H
#define OX_TASK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/status.h"
#include "onyx/task.h"
#include "task/fork.h"
#include "task/policy.h"
#include "task/system/thread.h"

enum {
  OX_CACHE_LINE = 64,
  OX_SLOTS_MAX = 32, /* loops */
  OX_GRAPH_SLOTS = 8 /* runs of graphs that can have help at the same time */
};

/* Flags of a pool beside the public ones, set by task_pool.c alone. */
enum {
  OX_POOL_GROWS = 1 << 29,           /* threads are made when they are asked for (grow.h) */
  OX_POOL_LOOPS_ELSEWHERE = 1 << 30, /* ox_backend.run_loop runs the loops */
  /* Any of these: ox_task_for does more than its fast path. */
  OX_POOL_UNUSUAL = OX_POOL_LOOPS_ELSEWHERE | OX_POOL_FLUSH_DENORMALS
};

#if defined(__GNUC__)
#define OX_TLS_FAST __attribute__((tls_model("initial-exec"))) /* a few bytes of static TLS save a call per loop */
#else
#define OX_TLS_FAST
#endif

/* The blocks of a loop that a thread has, unclaimed (parallel.h). */
typedef struct ox_lane {
  _Alignas(OX_CACHE_LINE) atomic_uint_least64_t range; /* empty: begin >= end */
} ox_lane;

/* The nodes of a graph that a thread offers to others (task_graph.h): {nodes:32, first node + 1:32}; 0: no offer. */
typedef struct ox_graph_lane {
  _Alignas(OX_CACHE_LINE) atomic_uint_least64_t chain;
} ox_graph_lane;

/* ox_worker.life. */
enum {
  OX_WORKER_NONE,   /* has no thread */
  OX_WORKER_DUE,    /* has none, but counts as asleep: the thread that wakes it makes one (grow.h) */
  OX_WORKER_STARTS, /* its thread is being made */
  OX_WORKER_RUNS    /* has a thread */
};

typedef struct ox_worker {
  _Alignas(OX_CACHE_LINE) atomic_uint parked; /* futex word: 1 while asleep */
  atomic_int pulled_to;                       /* the processor a policy pulled it to; negative: none */
  atomic_uintptr_t helps;                     /* the slot or task it is working on, or 0 */
  int thread_id;                              /* set before the first sleep */
  uint32_t index;                             /* 1 .. size-1; the caller of a loop is 0 */
  ox_pool *pool;
  void *policy_state; /* of pool->policy; NULL: it has none */
  ox_thread thread;
  atomic_uint_least64_t steals, claims, units, sleeps, run_ns; /* written by this worker only */
  atomic_uint life;                                            /* OX_WORKER_... */
  atomic_bool quit;
  uint32_t next_slot;                        /* where to look first; used by this worker only */
  uint32_t loops_in_a_row;                   /* helped since the last look for tasks; used by this worker only */
  ox_graph_lane graph_lanes[OX_GRAPH_SLOTS]; /* this worker's offer in each graph slot */
  ox_lane lanes[];                           /* this worker's range in each slot */
} ox_worker;

struct ox_pool {
  /* Read by all, written rarely. A resize changes the first six. It holds every slot meanwhile, so that no loop sees
   * two values; all other readers are correct with either value. */
  atomic_uint size;
  atomic_uint open;        /* at most |size|: workers from this index on are not woken (grow.h) */
  atomic_uint grain_shift; /* a claim takes at least n_blocks >> grain_shift */
  atomic_bool mixed;       /* more threads than fast processors of a machine that has two kinds */
  atomic_bool large;       /* more threads than processors */
  atomic_uint n_cpus;      /* that this process may use */
  uint32_t n_slots, n_queues;
  uint32_t pause_ns; /* of one ox_pause, at least 1 */
  uint64_t us_ticks; /* ox_ticks() in a microsecond, about */
  atomic_flag resizing, growing;
  const ox_policy *policy;
  void *policy_state;   /* like a worker's */
  atomic_uint epoch;    /* ox_fork_count when these threads were made */
  atomic_uint spin_us;  /* as in ox_pool_opts */
  atomic_uint held;     /* workers that open sections keep awake; may be more than there are */
  atomic_uint visits;   /* of an executor's threads, asked for and not yet ended */
  atomic_uint n_used;   /* slots [0, n_used) were used at least once; idle workers watch only these */
  atomic_uint n_graphs; /* the same of graph slots */
  const struct ox_backend *backend;
  atomic_uint_least64_t team_loops, team_claims; /* of loops that the back-end runs */
  atomic_uint_least64_t team_run_ns;
  atomic_uint team_open; /* of those, in progress */
  /* Calls from lower parts to higher ones. */
  void (*visit)(void *worker);    /* an executor's thread becomes that worker for a while */
  void (*rebuild)(ox_pool *pool); /* makes the workers anew in a forked child */
  bool (*start)(ox_worker *w);    /* makes the thread of a DUE worker, whose bit the caller has cleared; false: it will
                                     never have one */
  ox_executor executor;           /* run NULL: threads of our own */
  ox_cpu_mask *affinity;          /* of worker i at [i - 1], n_affinity of them; NULL: none was set */
  uint32_t n_affinity;
  ox_cpu_mask allowed; /* affinity of the thread that made the pool */
  ox_pool_opts opts;
  char name[16];
  struct ox_loop_slot *slots;   /* n_slots */
  struct ox_graph_slot *graphs; /* OX_GRAPH_SLOTS */
  struct ox_task_queue *queues; /* n_queues, like the next */
  struct ox_spares *spares;
  _Atomic(struct ox_chunk *) chunks; /* memory of all tasks and calls (spare.c) */
  atomic_uint n_tasks, n_blocks;     /* in them */
  /* Bit i of word w: worker 64 w + i sleeps. */
  _Alignas(OX_CACHE_LINE) atomic_uint_least64_t asleep[OX_POOL_MAX / 64];
  /* Threads that wait for a task and sleep (task.h). */
  _Alignas(OX_CACHE_LINE) atomic_uint n_waiting;
  atomic_uint wait_epoch;
  atomic_uint_least64_t wakes, pulls;
  atomic_uint profiles;            /* that are on (stats.c) */
  atomic_uint n_made;              /* workers 1 .. n_made have memory */
  ox_worker *workers[OX_POOL_MAX]; /* [0] is NULL; made when first needed, stable until destroy */
};

/* acquire: the workers below it are made (pairs with set_size). */
static inline uint32_t ox_pool_threads(const ox_pool *pool) {
  return atomic_load_explicit(&pool->size, memory_order_acquire);
}
/* acquire: the workers below it are announced as asleep, or run (pairs with ox_pool_grow). */
static inline uint32_t ox_pool_open(const ox_pool *pool) {
  return atomic_load_explicit(&pool->open, memory_order_acquire);
}
static inline bool ox_pool_is_large(const ox_pool *pool) {
  return atomic_load_explicit(&pool->large, memory_order_relaxed);
}

/* Worker |w| begins to work on |what|, a slot of the pool or a task; when it ends: NULL, or what it worked on before.
 */
static inline void ox_worker_helps(ox_worker *w, const void *what) {
  atomic_store_explicit(&w->helps, (uintptr_t)what,
                        memory_order_release); /* a thread that reads it may read thread_id */
}
/* What it works on; called on its own thread. */
static inline const void *ox_worker_helped(const ox_worker *w) {
  return (const void *)atomic_load_explicit(&w->helps, memory_order_relaxed);
}

/* Keeps the first error and frees later ones. acq_rel: a thread that loads it with acquire may read its text. */
static inline void ox_keep_first(_Atomic(ox_status *) *error, ox_status *st) {
  ox_status *none = NULL;
  if (!atomic_compare_exchange_strong_explicit(error, &none, st, memory_order_acq_rel, memory_order_relaxed))
    ox_status_free(st);
}

/* Adds to a counter that only the calling thread writes. */
static inline void ox_count(atomic_uint_least64_t *counter, uint64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* After fork() the child has no workers: any use of a pool makes them first (ox_pool_renew). */
static inline bool ox_pool_is_stale(const ox_pool *pool) {
  return atomic_load_explicit(&pool->epoch, memory_order_acquire) !=
         atomic_load_explicit(&ox_fork_count, memory_order_relaxed);
}
static inline void ox_pool_renew(ox_pool *pool) {
  if (OX_UNLIKELY(ox_pool_is_stale(pool))) pool->rebuild(pool);
}

#endif
