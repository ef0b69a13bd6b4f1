/* SPDX-License-Identifier: Apache-2.0
 * task/policy/place.c - a woken worker should not run on the processor of the thread that woke it. */
#include "task/policy/place.h"

#include "task/policy/state.h"

void ox_place_init(ox_worker *w) {
  atomic_store_explicit(&ox_state_of(w)->waker_cpu, -1, memory_order_relaxed);
  atomic_store_explicit(&ox_state_of(w)->avoids, -1, memory_order_relaxed);
}

/* Excludes |cpu| from the processors of |w|, unless it is already or the pool has an affinity of its own. */
static void exclude_cpu(ox_worker *w, int cpu) {
  atomic_int *avoids = &ox_state_of(w)->avoids;
  if (cpu < 0 || w->pool->affinity || atomic_load_explicit(avoids, memory_order_relaxed) == cpu) return;
  if (ox_thread_avoid_cpu(w->thread_id, &w->pool->allowed, cpu))
    atomic_store_explicit(avoids, cpu, memory_order_relaxed);
}

void ox_place_waking(ox_worker *w) {
  int cpu = ox_thread_cpu();
  atomic_store_explicit(&ox_state_of(w)->waker_cpu, cpu, memory_order_relaxed);
  if (atomic_load_explicit(&ox_state_of_pool(w->pool)->steers, memory_order_relaxed)) exclude_cpu(w, cpu);
}

void ox_place_woken(ox_worker *w) {
  int cpu = ox_thread_cpu();
  if (ox_pool_is_crowded(w->pool) || cpu < 0 ||
      cpu != atomic_load_explicit(&ox_state_of(w)->waker_cpu, memory_order_relaxed))
    return;
  atomic_store_explicit(&ox_state_of_pool(w->pool)->steers, true, memory_order_relaxed);
  exclude_cpu(w, cpu);
}
