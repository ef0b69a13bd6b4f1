/* SPDX-License-Identifier: Apache-2.0
 * task/policy/state.h - what the policy remembers of a pool and of each worker. */
#ifndef OX_TASK_POLICY_STATE_H
#define OX_TASK_POLICY_STATE_H

#include "task/policy/cold.h"
#include "task/policy/fair.h"
#include "task/policy/give_way.h"
#include "task/pool.h"

typedef struct ox_pool_state {
  _Alignas(OX_CACHE_LINE) atomic_uint standing; /* workers that stand by (surplus.h) */
  atomic_bool steers;                           /* wakers exclude their processors (place.h) */
  ox_cold cold;
  ox_fair fair;
} ox_pool_state;

typedef struct ox_worker_state {
  /* Written by threads that wake or pull it. */
  _Alignas(OX_CACHE_LINE) atomic_int waker_cpu; /* the processor of the thread that woke it last */
  atomic_int avoids;                            /* the processor it is excluded from; -1: none (place.h) */
  atomic_uint_least64_t woken_ns;               /* when it was woken last */
  ox_cpu_mask mask;                             /* where it was allowed before it was pulled */
  /* Used by the worker only. */
  _Alignas(OX_CACHE_LINE) uint32_t spin_ns; /* how long to watch, learnt (spin.h) */
  uint32_t away_ns;                         /* how long to leave short loops alone (join.h) */
  uint32_t long_loops;                      /* in a row that were worth joining */
  bool stolen;                              /* while it watched, another thread had its processor */
  uint64_t watch_start_ns, watch_last_ns;
  ox_give_way way;
} ox_worker_state;

static inline ox_pool_state *ox_state_of_pool(const ox_pool *pool) { return pool->policy_state; }
static inline ox_worker_state *ox_state_of(const ox_worker *w) { return w->policy_state; }

/* Threads that neither sleep nor stand by, one caller included. */
static inline uint32_t ox_pool_active(const ox_pool *pool) {
  uint32_t threads = ox_pool_open(pool), words = (threads + 63) / 64;
  uint32_t idle = atomic_load_explicit(&ox_state_of_pool(pool)->standing, memory_order_relaxed);
  for (uint32_t i = 0; i < words; i++)
    idle += (uint32_t)__builtin_popcountll(atomic_load_explicit(&pool->asleep[i], memory_order_relaxed));
  return idle < threads ? threads - idle : 0;
}

/* More threads are active than there are processors: spinning only keeps others from working. */
static inline bool ox_pool_is_crowded(const ox_pool *pool) {
  return ox_pool_is_large(pool) && ox_pool_active(pool) > atomic_load_explicit(&pool->n_cpus, memory_order_relaxed);
}

#endif
