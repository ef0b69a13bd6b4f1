/* SPDX-License-Identifier: Apache-2.0
 * task/wake.c - waking workers and waiting threads. The handshake is proved in wake.h. */
#include "task/wake.h"

#include "task/system/park.h"

bool ox_pool_take_sleeper(ox_pool *pool, uint32_t index) {
  uint64_t bit = (uint64_t)1 << index % 64;
  return atomic_fetch_and_explicit(&pool->asleep[index / 64], ~bit, memory_order_seq_cst) & bit;
}

void ox_worker_announce(ox_worker *w) { /* W1 */
  uint64_t bit = (uint64_t)1 << w->index % 64;
  atomic_fetch_or_explicit(&w->pool->asleep[w->index / 64], bit, memory_order_seq_cst);
}

/* Asks the executor for a thread that becomes this worker for a while; false if it has none. */
static bool invite(ox_worker *w) {
  const ox_executor *e = &w->pool->executor;
  atomic_fetch_add_explicit(&w->pool->visits, 1, memory_order_relaxed);
  if (e->run(e->ctx, w->pool->visit, w)) return true;
  ox_worker_announce(w); /* available again */
  atomic_fetch_sub_explicit(&w->pool->visits, 1, memory_order_release);
  return false;
}

/* Wakes a worker whose bit the caller has cleared; false if it has no thread and cannot get one. */
static bool wake_worker(ox_worker *w) {
  atomic_fetch_add_explicit(&w->pool->wakes, 1, memory_order_relaxed);
  if (w->pool->executor.run) return invite(w);
  if (OX_UNLIKELY(atomic_load_explicit(&w->life, memory_order_relaxed) == OX_WORKER_DUE)) return w->pool->start(w);
  w->pool->policy->worker_is_woken(w);
  atomic_store_explicit(&w->parked, 0, memory_order_seq_cst); /* pairs with the load in sleep_until_woken */
  ox_park_wake(&w->parked, 0);
  return true;
}

uint32_t ox_pool_wake(ox_pool *pool, uint32_t want) {
  uint32_t woken = 0, words = (ox_pool_threads(pool) + 63) / 64;
  want = pool->policy->may_wake(pool, want);
  if (!want) return 1; /* a thread that is awake will look for work */
  for (uint32_t i = 0; i < words && woken < want; i++) {
    uint64_t bits = atomic_load_explicit(&pool->asleep[i], memory_order_seq_cst);
    while (bits && woken < want) {
      uint32_t index = i * 64 + (uint32_t)__builtin_ctzll(bits);
      bits &= bits - 1;
      if (!ox_pool_take_sleeper(pool, index)) continue;
      if (wake_worker(pool->workers[index]))
        woken++;
      else if (pool->executor.run)
        return woken;
    }
  }
  return woken;
}

void ox_pool_wake_some(ox_pool *pool, uint32_t first, uint32_t n, uint32_t want) {
  want = pool->policy->may_wake(pool, want);
  for (uint32_t index = first + 1; index <= first + n && want; index++) {
    uint64_t bits = atomic_load_explicit(&pool->asleep[index / 64], memory_order_seq_cst);
    if (!(bits >> index % 64 & 1) || !ox_pool_take_sleeper(pool, index)) continue;
    if (wake_worker(pool->workers[index]))
      want--;
    else if (pool->executor.run)
      return;
  }
}

void ox_pool_wake_admitted(ox_pool *pool, ox_gate gate, uint32_t want) {
  if (!gate.cap)
    (void)ox_pool_wake(pool, want);
  else
    ox_pool_wake_some(pool, gate.first, gate.cap - 1, want);
}

void ox_pool_wake_waiter(ox_pool *pool, bool all) {
  atomic_fetch_add_explicit(&pool->wait_epoch, 1, memory_order_seq_cst);
  ox_park_wake(&pool->wait_epoch, all);
}
