/* SPDX-License-Identifier: Apache-2.0
 * task/policy/straggler.c - pulls a worker that does not run to the processor of the thread that waits for it. */
#include "task/policy/straggler.h"

#include "task/policy/state.h"

enum {
  SAMPLE_NS = 8 * 1000, /* between two readings of a worker's processor time */
  MOST_CPUS = sizeof(ox_cpu_mask) * 8,
  NOWHERE = -1, /* ox_worker.pulled_to */
  BEING_PULLED = -2
};

static bool is_on(const ox_cpu_mask *mask, int cpu) { return mask->bits[cpu / 64] >> cpu % 64 & 1; }

static bool is_known(const ox_cpu_mask *mask) {
  uint64_t any = 0;
  for (size_t i = 0; i < OX_COUNT(mask->bits); i++) any |= mask->bits[i];
  return any;
}

static bool helps(const ox_worker *w, const void *what) {
  return atomic_load_explicit(&w->helps, memory_order_acquire) == (uintptr_t)what;
}

static ox_worker *find_helper(ox_pool *pool, const void *what) {
  uint32_t n = ox_pool_threads(pool);
  for (uint32_t i = 1; i < n; i++)
    if (helps(pool->workers[i], what)) return pool->workers[i];
  return NULL;
}

/* Does the worker not run? Its processor time may grow by less than half of the sample: another thread's clock is not
 * exact, but its error is less than that. */
static bool stands_still(const ox_worker *w) {
  uint64_t cpu = ox_thread_cpu_ns_of(w->thread_id), start = ox_thread_now_ns(), now = start;
  if (!cpu) return false;
  while (now - start < SAMPLE_NS) now = ox_thread_now_ns();
  return (ox_thread_cpu_ns_of(w->thread_id) - cpu) * 2 < now - start;
}

void ox_straggler_pull(ox_pool *pool, const void *what) {
  if (pool->affinity || pool->executor.run || ox_pool_is_crowded(pool)) return;
  int cpu = ox_thread_cpu();
  if (cpu < 0 || cpu >= MOST_CPUS || !is_on(&pool->allowed, cpu)) return;
  ox_worker *w = find_helper(pool, what);
  if (!w || !stands_still(w) || !helps(w, what)) return;
  int nowhere = NOWHERE; /* one owner at a time: another would take our mask for the worker's */
  if (!atomic_compare_exchange_strong_explicit(&w->pulled_to, &nowhere, BEING_PULLED, memory_order_acquire,
                                               memory_order_relaxed))
    return;
  ox_cpu_mask here = {{0}};
  here.bits[cpu / 64] = (uint64_t)1 << cpu % 64;
  ox_cpu_mask *mask = &ox_state_of(w)->mask;
  *mask = ox_thread_mask_of(w->thread_id);
  bool pulled = is_known(mask) && ox_thread_avoid_cpu(w->thread_id, &here, -1);
  /* After the call: a worker that sees this goes back, and must not be called here again. */
  atomic_store_explicit(&w->pulled_to, pulled ? cpu : NOWHERE, memory_order_release);
  atomic_fetch_add_explicit(&pool->pulls, pulled, memory_order_relaxed);
}

/* First away from that processor, which the owner of the loop needs; then the affinity it had before. */
void ox_straggler_return(ox_worker *w) {
  int cpu = atomic_load_explicit(&w->pulled_to, memory_order_acquire); /* pairs with the release above */
  (void)ox_thread_avoid_cpu(w->thread_id, &ox_state_of(w)->mask, cpu);
  (void)ox_thread_avoid_cpu(w->thread_id, &ox_state_of(w)->mask, -1);
  atomic_store_explicit(&w->pulled_to, NOWHERE, memory_order_release); /* pairs with the next pull's acquire */
}
