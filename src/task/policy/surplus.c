/* SPDX-License-Identifier: Apache-2.0
 * task/policy/surplus.c - workers that stand by until the others make no progress. */
#include "task/policy/surplus.h"

#include "task/policy/state.h"
#include "task/worker.h"

enum { NAP_LEAST_NS = 250 * 1000, NAP_MOST_NS = 1000 * 1000, STUCK_LOOKS = 10 };

/* A hash that changes whenever a loop or a task progresses. */
static uint64_t progress(const ox_pool *pool) {
  uint64_t sum = 0;
  uint32_t used = OX_MIN(atomic_load_explicit(&pool->n_used, memory_order_acquire), pool->n_slots);
  uint32_t threads = OX_MIN(ox_pool_threads(pool), atomic_load_explicit(&pool->n_made, memory_order_acquire) + 1);
  for (uint32_t s = 0; s < used; s++) {
    const ox_loop_slot *slot = &pool->slots[s];
    sum = sum * 31 + atomic_load_explicit(&slot->range0, memory_order_relaxed);
    sum = sum * 31 + atomic_load_explicit(&slot->pending, memory_order_relaxed);
    sum = sum * 31 + atomic_load_explicit(&slot->serial, memory_order_relaxed);
  }
  for (uint32_t i = 1; i < threads; i++) {
    const ox_worker *w = pool->workers[i];
    sum = sum * 31 + atomic_load_explicit(&w->units, memory_order_relaxed);
    for (uint32_t s = 0; s < used; s++) sum = sum * 31 + atomic_load_explicit(&w->lanes[s].range, memory_order_relaxed);
  }
  return sum;
}

uint32_t ox_surplus_may_wake(const ox_pool *pool, uint32_t want) {
  if (OX_LIKELY(!ox_pool_is_large(pool))) return want;
  uint32_t active = ox_pool_active(pool), cpus = atomic_load_explicit(&pool->n_cpus, memory_order_relaxed);
  if (active < cpus) return OX_MIN(want, cpus - active);
  return !atomic_load_explicit(&ox_state_of_pool(pool)->standing, memory_order_seq_cst);
}

bool ox_surplus_wants_more(const ox_pool *pool, const ox_loop_slot *slot) {
  if (!(atomic_load_explicit(&slot->serial, memory_order_relaxed) % 16)) return true;
  return ox_pool_active(pool) < atomic_load_explicit(&pool->n_cpus, memory_order_relaxed);
}

typedef struct look {
  uint64_t progress, wall, cpu;
} look;

static look take_look(const ox_pool *pool) { return (look){progress(pool), ox_thread_now_ns(), ox_process_cpu_ns()}; }

/* Is another thread useful, as two readings show? Yes if this process used less than three quarters of its processors,
 * or if they are busy but nothing has progressed for long: then blocks may be waiting for each other. */
static bool is_wanted(const ox_pool *pool, const look *a, const look *b, uint32_t *stuck) {
  uint32_t cpus = atomic_load_explicit(&pool->n_cpus, memory_order_relaxed);
  if (ox_pool_active(pool) < cpus) return true;
  *stuck = b->progress == a->progress ? *stuck + 1 : 0;
  if (!b->cpu) return *stuck; /* the system does not say */
  return *stuck > STUCK_LOOKS || (b->cpu - a->cpu) * 4 < (b->wall - a->wall) * cpus * 3;
}

bool ox_surplus_stand_by(ox_worker *w) {
  ox_pool *pool = w->pool;
  if (OX_LIKELY(!ox_pool_is_crowded(pool)) || pool->executor.run) return false;
  atomic_uint *standing = &ox_state_of_pool(pool)->standing;
  atomic_fetch_add_explicit(standing, 1, memory_order_seq_cst);
  look before = take_look(pool);
  uint32_t stuck = 0;
  for (uint64_t nap_ns = NAP_LEAST_NS;; nap_ns = OX_MIN(2 * nap_ns, (uint64_t)NAP_MOST_NS)) {
    ox_thread_nap(nap_ns);
    look now = take_look(pool);
    if (!ox_pool_any_work(pool, w->index) || atomic_load_explicit(&w->quit, memory_order_relaxed)) break;
    if (is_wanted(pool, &before, &now, &stuck)) break;
    before = now;
  }
  atomic_fetch_sub_explicit(standing, 1, memory_order_seq_cst);
  return true;
}
