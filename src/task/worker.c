/* SPDX-License-Identifier: Apache-2.0
 * task/worker.c - the life of a worker: work, watch for a while, sleep. The handshake is proved in pool.h. */
#include <stdio.h>

#include "task/park.h"
#include "task/pool.h"
#include "task/queue.h"
#include "task/task.h"

enum {
  SPIN_LEAST_NS = 20 * 1000, /* a fork-join gap inside a model; 0.4 % of a core with one loop every 5 ms */
  SPIN_MOST_NS = 200 * 1000, /* a waiting kernel costs about 50 us; more spinning than this never paid */
  SPIN_CROWDED_NS = 2 * 1000,
  NAP_SHORT_NS = 300 * 1000, /* woken this soon: spinning longer would have been better */
  NAP_LONG_NS = 1000 * 1000,
  LOOKS_PER_CLOCK = 16,
  STOLEN_NS = 20 * 1000 /* a gap this long between two looks: somebody else had our processor and may want it again */
};

static _Thread_local struct {
  const ox_pool *pool;
  uint32_t index;
} self OX_TLS_FAST;

uint32_t ox_pool_thread_id(void) { return self.index; }

uint32_t ox_pool_self(const ox_pool *pool) { return self.pool == pool ? self.index : 0; }

/* Clears the worker's bit; true if it was still set. Whoever gets true owes the wake. */
static bool take_sleeper(ox_pool *pool, uint32_t index) {
  uint64_t bit = (uint64_t)1 << index % 64;
  return atomic_fetch_and_explicit(&pool->asleep[index / 64], ~bit, memory_order_seq_cst) & bit;
}

/* Where processors share no cache, as virtual machines often pretend, Linux wakes a thread on the processor of whoever
 * wakes it although others are idle, and the two take turns: 16 blocks of 50 us took 830 us on two processors, 450 with
 * this. Once a worker has found itself there, wakers first forbid it their own processor (a system call only when the
 * waker has moved). Systems that place threads well never get that far. */
static void steer(ox_worker *w, int cpu) {
  if (cpu < 0 || atomic_load_explicit(&w->avoids, memory_order_relaxed) == cpu) return;
  if (ox_thread_avoid_cpu(w->thread_id, &w->pool->allowed, cpu))
    atomic_store_explicit(&w->avoids, cpu, memory_order_relaxed);
}

static void rouse(ox_worker *w, int cpu) {
  atomic_store_explicit(&w->waker_cpu, cpu, memory_order_relaxed);
  if (atomic_load_explicit(&w->pool->steers, memory_order_relaxed)) steer(w, cpu);
  atomic_store_explicit(&w->woken_ns, ox_thread_now_ns(), memory_order_relaxed);
  atomic_store_explicit(&w->parked, 0, memory_order_seq_cst); /* pairs with the load in sleep_until_woken */
  ox_park_wake(&w->parked, 0);
}

void ox_pool_wake(ox_pool *pool, uint32_t want) {
  uint32_t words = (ox_pool_threads(pool) + 63) / 64;
  int cpu = ox_thread_cpu();
  for (uint32_t i = 0; i < words && want; i++) {
    uint64_t bits = atomic_load_explicit(&pool->asleep[i], memory_order_seq_cst);
    while (bits && want) {
      uint32_t index = i * 64 + (uint32_t)__builtin_ctzll(bits);
      bits &= bits - 1;
      if (take_sleeper(pool, index)) rouse(pool->workers[index], cpu), want--;
    }
  }
}

static bool stopping(const ox_worker *w) { return atomic_load_explicit(&w->quit, memory_order_seq_cst); }

/* Loops first: somebody waits for them. */
static bool help(ox_worker *w) {
  return ox_loops_help(w->pool, w->index) || ox_tasks_help(w->pool, ox_queue_own(w->pool));
}

static void sleep_until_woken(ox_worker *w) {
  ox_pool *pool = w->pool;
  atomic_store_explicit(&w->parked, 1, memory_order_seq_cst);
  atomic_fetch_or_explicit(&pool->asleep[w->index / 64], (uint64_t)1 << w->index % 64, memory_order_seq_cst); /* W1 */
  if (!ox_loops_any(pool) && !ox_queue_any(pool) && !stopping(w)) {                                           /* W2 */
    while (atomic_load_explicit(&w->parked, memory_order_acquire)) ox_park_wait(&w->parked, 1);
  }
  (void)take_sleeper(pool, w->index); /* still set if W2 found work or the wake was a late one */
}

/* True after it has worked, false when the budget is spent or the processor is wanted elsewhere. */
static bool spin(ox_worker *w, uint64_t budget_ns) {
  if (!budget_ns) return false;
  uint64_t start = ox_thread_now_ns(), last = start;
  for (;;) {
    for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
      if (help(w) || stopping(w)) return true;
      ox_pause();
    }
    uint64_t now = ox_thread_now_ns();
    if (now - start > budget_ns || now - last > STOLEN_NS) return false;
    last = now;
  }
}

/* Just woken: are we in the way of the thread that woke us? */
static void check_place(ox_worker *w) {
  int cpu = ox_thread_cpu();
  if (ox_pool_is_crowded(w->pool) || cpu < 0 || cpu != atomic_load_explicit(&w->waker_cpu, memory_order_relaxed))
    return;
  atomic_store_explicit(&w->pool->steers, true, memory_order_relaxed);
  steer(w, cpu);
}

static uint64_t spin_budget(const ox_worker *w) {
  const ox_pool *pool = w->pool;
  if (pool->opts.no_spin) return 0;
  if (pool->opts.spin_us) return (uint64_t)pool->opts.spin_us * 1000;
  return ox_pool_is_crowded(pool) ? SPIN_CROWDED_NS : w->spin_ns;
}

/* Work that came soon after we fell asleep asks for longer spinning, long naps for shorter. Not every loop wakes us
 * (cold.h), so the gap between loops counts if it is shorter than the nap. */
static void adapt(ox_worker *w, uint64_t nap_ns) {
  uint64_t gap_ns = atomic_load_explicit(&w->pool->cold.gap_ns, memory_order_relaxed);
  if (nap_ns > NAP_LONG_NS)
    w->spin_ns = OX_MAX(w->spin_ns / 2, (uint32_t)SPIN_LEAST_NS);
  else if (OX_MIN(nap_ns, gap_ns) < NAP_SHORT_NS)
    w->spin_ns = OX_MIN(w->spin_ns * 2, (uint32_t)SPIN_MOST_NS);
}

void ox_worker_main(void *worker) {
  ox_worker *w = worker;
  ox_pool *pool = w->pool;
  self.pool = pool, self.index = w->index;
  w->thread_id = ox_thread_id();
  atomic_store_explicit(&w->waker_cpu, -1, memory_order_relaxed);
  atomic_store_explicit(&w->avoids, -1, memory_order_relaxed);
  char name[32];
  snprintf(name, sizeof name, "%.10s-%u", pool->name, (unsigned)w->index % 10000);
  ox_thread_set_name(name);
  if (pool->opts.flags & OX_POOL_FLUSH_DENORMALS) (void)ox_thread_flush_denormals();
  w->spin_ns = SPIN_LEAST_NS;
  while (!stopping(w)) {
    if (help(w) || spin(w, spin_budget(w))) continue;
    uint64_t start = ox_thread_now_ns();
    sleep_until_woken(w);
    check_place(w);
    uint64_t now = ox_thread_now_ns(), woken = atomic_load_explicit(&w->woken_ns, memory_order_relaxed);
    if (woken > start && woken < now) ox_cold_woken(&pool->cold, now - woken);
    adapt(w, now - start);
  }
  if (ox_queue_any(pool)) ox_pool_wake(pool, 1); /* the wake that let us go may have been for this */
  self.pool = NULL, self.index = 0;
}
