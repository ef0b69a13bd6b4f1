/* SPDX-License-Identifier: Apache-2.0
 * task/task_pool.h - the inside of a pool: who works, who sleeps, and the proof that nobody sleeps through work.
 *
 * Sleeping is Dekker's handshake. All four steps are seq_cst, so they lie in one total order S:
 *     owner of a loop                              worker that wants to sleep
 *     P1 publish the range (xchg range0)           W1 announce (fetch_or its bit in |asleep|)
 *     P2 look for sleepers (load |asleep|)         W2 look for work (load n_used, range0 of each slot)
 * If W2 misses P1 then W2 precedes P1 in S, hence W1 < W2 < P1 < P2 and P2 sees the bit: the owner wakes the worker.
 * If P2 misses W1 then P2 precedes W1, hence P1 < P2 < W1 < W2 and the worker sees the range. One of the two always
 * happens. (n_used is raised before P1, or read seq_cst by who finds it raised, so the same holds for a slot used for
 * the first time.) The same with a queue's |count| for range0 (tasks, queue.h), with a lane of a graph (task_graph.h),
 * and with |quit| (ending a worker: all of them are woken). Acquire and release would not do: they let each side's load
 * pass its own earlier store, on x86 too.
 *
 * Waking: whoever clears a worker's bit (the old value had it) owes that worker one "parked = 0, wake". A worker that
 * cancels W1 and finds its bit gone is owed a wake that may come late, at worst during its next sleep: it then wakes
 * for nothing, clears its bit itself and looks again. A wake is never lost: W stores parked = 1 before W1, and the
 * waker stores 0 after it read the bit that W1 set, so 0 comes later in the modification order of |parked|. Reading
 * that 0 (acquire) the worker sees the work, as the waker published it before.
 *
 * On an executor's threads being announced is being asleep. Whoever clears the bit invites a thread to become that
 * worker; the thread announces itself again as the last thing it does as that worker, then looks (W2), and goes on only
 * if it gets its own bit back: so no two threads are one worker. |visits| counts from before the invitation until the
 * visitor has left the pool's memory; destroy waits for 0.
 *
 * tests/task/model: park.pml and visit.pml. */
#ifndef OX_TASK_TASK_POOL_H
#define OX_TASK_TASK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/status.h"
#include "onyx/task.h"
#include "task/cold.h"
#include "task/fair.h"
#include "task/give_way.h"
#include "task/parallel.h"
#include "task/task_graph.h"
#include "task/system/thread.h"

enum { OX_CACHE_LINE = 64, OX_SLOTS_MAX = 32 };

/* In the flags of a pool: loops leave the short way. */
enum {
  OX_POOL_LOOPS_ELSEWHERE = 1 << 30, /* ox_backend.run_loop runs them; set by ox_pool_create alone */
  OX_POOL_UNUSUAL = OX_POOL_LOOPS_ELSEWHERE | OX_POOL_FLUSH_DENORMALS
};

#if defined(__GNUC__)
#define OX_TLS_FAST __attribute__((tls_model("initial-exec"))) /* a few bytes of static TLS save a call per loop */
#else
#define OX_TLS_FAST
#endif

typedef struct ox_worker {
  _Alignas(OX_CACHE_LINE) atomic_uint parked; /* futex word: 1 while asleep */
  atomic_int waker_cpu;                       /* where the last one who woke us ran */
  atomic_int avoids;                          /* the processor we were told to stay away from; -1: none */
  atomic_uint_least64_t woken_ns;             /* when that was */
  atomic_uintptr_t helps;                     /* slot or task it has a part of, or 0 (straggler.h) */
  atomic_int pulled_to;                       /* the processor it was pulled to; negative: none */
  ox_cpu_mask mask;                           /* where it was allowed before that */
  int thread_id;                              /* set before the first sleep */
  uint32_t index;                             /* 1 .. size-1; the caller of a loop is 0 */
  ox_pool *pool;
  ox_thread thread;
  atomic_uint_least64_t steals, claims, units, sleeps, run_ns; /* written by this worker only */
  bool started;
  atomic_bool quit;
  uint32_t spin_ns;                          /* adaptive budget, this worker's only */
  ox_give_way way;                           /* this worker's only */
  uint32_t away_ns;                          /* how long to leave short loops alone, this worker's only */
  uint32_t long_loops;                       /* in a row that were worth joining, this worker's only */
  uint32_t next_slot;                        /* where to look first, this worker's only */
  uint32_t loops_in_a_row;                   /* helped since the last look for tasks, this worker's only */
  ox_graph_lane graph_lanes[OX_GRAPH_SLOTS]; /* this worker's offer in each graph slot */
  ox_lane lanes[];                           /* this worker's range in each slot */
} ox_worker;

struct ox_chunk;

struct ox_pool {
  /* Read by all, written rarely. A resize changes the first five; it holds every slot meanwhile, so no loop sees two
   * values, and for others any value does. */
  atomic_uint size;
  atomic_uint grain_shift; /* a claim takes n_blocks >> grain_shift, at least */
  atomic_bool mixed;       /* more threads than fast processors of a machine that has two kinds */
  atomic_bool large;       /* more threads than processors (surplus.h) */
  atomic_uint n_cpus;      /* that this process may use */
  uint32_t n_slots, n_queues;
  uint32_t pause_ns; /* of one ox_pause, at least 1 */
  uint64_t us_ticks; /* ox_ticks() in a microsecond, about */
  atomic_flag resizing;
  atomic_uint epoch;    /* ox_fork_count when these threads were made */
  atomic_uint spin_us;  /* as in ox_pool_opts */
  atomic_uint held;     /* workers that open sections want awake; may be more than there are */
  atomic_uint standing; /* workers that stand by (surplus.h) */
  atomic_uint visits;   /* of an executor's threads, asked for and not yet ended */
  atomic_bool steers;   /* wakers choose where a worker must not run (worker.c) */
  atomic_uint n_used;   /* slots below were used at least once; idle workers watch only these */
  atomic_uint n_graphs; /* graph slots below were used at least once */
  const struct ox_backend *backend;
  atomic_uint_least64_t team_loops, team_claims; /* loops run elsewhere */
  atomic_uint_least64_t team_run_ns;
  atomic_uint team_open; /* of those, in progress */
  ox_executor executor;  /* run NULL: threads of our own */
  ox_cpu_mask *affinity; /* of worker i at [i - 1], n_affinity of them; NULL: none was asked for */
  uint32_t n_affinity;
  ox_cpu_mask allowed; /* affinity of the thread that made the pool */
  ox_pool_opts opts;
  char name[16];
  ox_loop_slot *slots;
  struct ox_task_queue *queues;
  _Atomic(struct ox_chunk *) chunks; /* memory of all tasks and calls (spare.c) */
  atomic_uint n_tasks, n_blocks;     /* in them */
  /* Bit i of word w: worker 64 w + i sleeps. */
  _Alignas(OX_CACHE_LINE) atomic_uint_least64_t asleep[OX_POOL_MAX / 64];
  /* Threads that wait for a task and sleep (task.h). */
  _Alignas(OX_CACHE_LINE) atomic_uint n_waiting;
  atomic_uint wait_epoch;
  atomic_uint_least64_t wakes, pulls;
  ox_cold cold;
  ox_fair fair;
  ox_graph_slot graphs[OX_GRAPH_SLOTS];
  atomic_uint profiles;            /* that are on (stats.c) */
  atomic_uint n_made;              /* workers 1 .. n_made have memory */
  ox_worker *workers[OX_POOL_MAX]; /* [0] is NULL; made when first needed, stable until destroy */
};

/* acquire: the workers below it are made (pairs with set_size). */
static inline uint32_t ox_pool_threads(const ox_pool *pool) {
  return atomic_load_explicit(&pool->size, memory_order_acquire);
}
static inline bool ox_pool_is_large(const ox_pool *pool) {
  return atomic_load_explicit(&pool->large, memory_order_relaxed);
}

/* Threads that neither sleep nor stand by, one caller included. */
static inline uint32_t ox_pool_active(const ox_pool *pool) {
  uint32_t threads = ox_pool_threads(pool), words = (threads + 63) / 64;
  uint32_t idle = atomic_load_explicit(&pool->standing, memory_order_relaxed);
  for (uint32_t i = 0; i < words; i++)
    idle += (uint32_t)__builtin_popcountll(atomic_load_explicit(&pool->asleep[i], memory_order_relaxed));
  return idle < threads ? threads - idle : 0;
}

/* More threads are active than there are processors: spinning only keeps others from working. */
static inline bool ox_pool_is_crowded(const ox_pool *pool) {
  return ox_pool_is_large(pool) && ox_pool_active(pool) > atomic_load_explicit(&pool->n_cpus, memory_order_relaxed);
}

/* The first error stays, later ones are freed. acq_rel: whoever sees it, with acquire, reads its text. */
static inline void ox_keep_first(_Atomic(ox_status *) *error, ox_status *st) {
  ox_status *none = NULL;
  if (!atomic_compare_exchange_strong_explicit(error, &none, st, memory_order_acq_rel, memory_order_relaxed))
    ox_status_free(st);
}

/* How long a thread that waits for others watches before it sleeps, and how often it looks between two looks at the
 * clock. */
enum { OX_LOOKS_PER_CLOCK = 16 };
static inline uint64_t ox_pool_watch_ns(const ox_pool *pool) { return ox_pool_is_crowded(pool) ? 2 * 1000 : 20 * 1000; }

/* Adds to a counter that only the calling thread writes. */
static inline void ox_count(atomic_uint_least64_t *counter, uint64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* The index of the calling thread in |pool|; 0 if it is not one of its workers. */
uint32_t ox_pool_self(const ox_pool *pool);

/* Wakes up to |want| sleeping workers and says how many; stops when an executor has no thread for one. */
uint32_t ox_pool_wake(ox_pool *pool, uint32_t want);
/* The same among workers first + 1 .. first + n. */
void ox_pool_wake_some(ox_pool *pool, uint32_t first, uint32_t n, uint32_t want);

/* Is there anything that worker |index| could do? W2 of the proof. */
bool ox_pool_any_work(const ox_pool *pool, uint32_t index);

/* True if somebody sleeps; the load is P2 of the proof. */
static inline bool ox_pool_any_asleep(const ox_pool *pool) {
  uint32_t words = (ox_pool_threads(pool) + 63) / 64;
  for (uint32_t i = 0; i < words; i++)
    if (atomic_load_explicit(&pool->asleep[i], memory_order_seq_cst)) return true;
  return false;
}

/* Helps until |task| has ended; INVALID_ARGUMENT if that can never be. The other raises wait_epoch (wait.c). */
OX_NODISCARD ox_status *ox_pool_wait_task(ox_task *task);
void ox_pool_wake_waiter(ox_pool *pool, bool all);

/* Body of a worker thread (worker.c). */
void ox_worker_main(void *worker);
/* Before the thread starts; with an executor the worker is available from now on. */
void ox_worker_init(ox_worker *w, ox_pool *pool, uint32_t index);
/* Takes every worker from an executor's reach and waits for those at work. */
void ox_worker_dismiss_all(ox_pool *pool);

/* How often this process was forked from one that had pools. */
extern atomic_uint ox_fork_count;
static inline bool ox_pool_is_stale(const ox_pool *pool) {
  return atomic_load_explicit(&pool->epoch, memory_order_acquire) !=
         atomic_load_explicit(&ox_fork_count, memory_order_relaxed);
}
/* After fork() the child has no workers: makes them anew. Called by any use of a stale pool. */
void ox_pool_rebuild(ox_pool *pool);

#endif
