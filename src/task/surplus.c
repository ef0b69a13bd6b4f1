/* SPDX-License-Identifier: Apache-2.0
 * task/surplus.c - workers that wait until the others get stuck. */
#include "task/surplus.h"

#include "task/queue.h"
#include "task/task_pool.h"

enum { NAP_NS = 1000 * 1000 };

/* Changes whenever somebody gets on with a loop or a task. */
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
  return !atomic_load_explicit(&pool->standing, memory_order_seq_cst);
}

static bool any_work(const ox_pool *pool, uint32_t index) {
  return ox_loops_any(pool, index) || ox_graphs_any(pool, index) || ox_queue_any(pool);
}

bool ox_surplus_stand_by(ox_pool *pool, uint32_t index) {
  if (OX_LIKELY(!ox_pool_is_crowded(pool)) || pool->executor.run) return false;
  const ox_worker *w = pool->workers[index];
  atomic_fetch_add_explicit(&pool->standing, 1, memory_order_seq_cst);
  for (uint64_t before = progress(pool), now;; before = now) {
    ox_thread_nap(NAP_NS);
    now = progress(pool);
    if (now == before || !any_work(pool, index) || atomic_load_explicit(&w->quit, memory_order_relaxed)) break;
    if (ox_pool_active(pool) < atomic_load_explicit(&pool->n_cpus, memory_order_relaxed)) break;
  }
  atomic_fetch_sub_explicit(&pool->standing, 1, memory_order_seq_cst);
  return true;
}
