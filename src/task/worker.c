/* SPDX-License-Identifier: Apache-2.0
 * task/worker.c - the life of a worker: work, watch for a while, sleep. The handshake is proved in wake.h. */
#include "task/worker.h"

#include <stdio.h>

#include "task/parallel.h"
#include "task/queue.h"
#include "task/self.h"
#include "task/straggler.h"
#include "task/surplus.h"
#include "task/system/park.h"
#include "task/task_graph.h"
#include "task/task_run.h"
#include "task/wake.h"

enum {
  SPIN_LEAST_NS = 20 * 1000, /* a fork-join gap inside a model; 0.4 % of a core with one loop every 5 ms */
  SPIN_MOST_NS = 200 * 1000, /* a waiting kernel costs about 50 us; more spinning than this never paid */
  SPIN_CROWDED_NS = 2 * 1000,
  SPIN_SECTION_NS = 100 * 1000 * 1000, /* somebody may have forgotten to end it */
  NAP_SHORT_NS = 300 * 1000,           /* woken this soon: spinning longer would have been better */
  NAP_LONG_NS = 1000 * 1000,
  LOOPS_IN_A_ROW = 4,
  STOLEN_NS = 20 * 1000, /* a gap this long between two looks: somebody else had our processor and may want it again */
  STOLEN_SECTION_NS = 500 * 1000, /* then interrupts are no reason, only another thread's time slice */
  SPIN_STOLEN_NS = 5 * 1000       /* after a gap: only if loops follow each other */
};

static bool stopping(const ox_worker *w) { return atomic_load_explicit(&w->quit, memory_order_seq_cst); }

static bool help_loops(const ox_worker *w) {
  return ox_loops_help(w->pool, w->index) || ox_graphs_help(w->pool, w->index);
}

/* Loops first: somebody waits for them. But loops without end must not keep a task from running. */
static bool help_once(ox_worker *w) {
  bool tasks_first = w->loops_in_a_row == LOOPS_IN_A_ROW;
  if (!tasks_first && help_loops(w)) return w->loops_in_a_row++, true;
  w->loops_in_a_row = 0;
  uint32_t n = ox_tasks_help(w->pool, ox_queue_own(w->pool));
  if (n) ox_count(&w->units, n);
  return n || (tasks_first && help_loops(w));
}

static bool help(ox_worker *w) {
  if (OX_LIKELY(!atomic_load_explicit(&w->pool->profiles, memory_order_relaxed))) return help_once(w);
  uint64_t start = ox_thread_now_ns();
  bool helped = help_once(w);
  if (helped) ox_count(&w->run_ns, ox_thread_now_ns() - start);
  return helped;
}

bool ox_pool_any_work(const ox_pool *pool, uint32_t index) {
  return ox_loops_any(pool, index) || ox_graphs_any(pool, index) || ox_queue_any(pool);
}

static void sleep_until_woken(ox_worker *w) {
  ox_pool *pool = w->pool;
  atomic_store_explicit(&w->parked, 1, memory_order_seq_cst);
  ox_worker_announce(w);
  if (!ox_pool_any_work(pool, w->index) && !stopping(w)) {
    while (atomic_load_explicit(&w->parked, memory_order_acquire)) ox_park_wait(&w->parked, 1);
  }
  (void)ox_pool_take_sleeper(pool, w->index); /* still set if W2 found work or the wake was a late one */
}

/* Does an open section want this worker awake? (section.c) */
static bool is_held(const ox_worker *w) {
  return w->index <= atomic_load_explicit(&w->pool->held, memory_order_relaxed) && !ox_pool_is_crowded(w->pool);
}

static uint64_t spin_budget(const ox_worker *w) {
  const ox_pool *pool = w->pool;
  if (is_held(w)) return SPIN_SECTION_NS;
  uint32_t us = atomic_load_explicit(&pool->spin_us, memory_order_relaxed);
  if (us == OX_POOL_NO_SPIN) return 0;
  if (us) return (uint64_t)us * 1000;
  return ox_pool_is_crowded(pool) ? SPIN_CROWDED_NS : w->spin_ns;
}

/* Was the time between two looks so long that we should not go on? Who asks for a fixed time gets it. */
static bool was_stolen(const ox_worker *w, uint64_t gap_ns) {
  if (is_held(w)) return gap_ns > STOLEN_SECTION_NS;
  return gap_ns > STOLEN_NS && !atomic_load_explicit(&w->pool->spin_us, memory_order_relaxed);
}

/* True after it has worked, false when the budget is spent or the processor is wanted elsewhere. */
static bool spin(ox_worker *w) {
  if (!spin_budget(w)) return false;
  uint64_t start = ox_thread_now_ns(), last = start;
  bool stolen = false;
  for (;;) {
    for (int i = 0; i < OX_LOOKS_PER_CLOCK; i++) {
      if (help(w) || stopping(w)) return true;
      ox_pause();
    }
    uint64_t now = ox_thread_now_ns();
    if (was_stolen(w, now - last)) stolen = true, start = now;
    if (now - start > (stolen ? (uint64_t)SPIN_STOLEN_NS : spin_budget(w))) return false;
    last = now;
  }
}

/* Just woken: are we in the way of the thread that woke us? */
static void check_place(ox_worker *w) {
  int cpu = ox_thread_cpu();
  if (ox_pool_is_crowded(w->pool) || cpu < 0 || cpu != atomic_load_explicit(&w->waker_cpu, memory_order_relaxed))
    return;
  atomic_store_explicit(&w->pool->steers, true, memory_order_relaxed);
  ox_worker_steer(w, cpu);
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

void ox_worker_init(ox_worker *w, ox_pool *pool, uint32_t index) {
  w->index = index, w->pool = pool, w->spin_ns = SPIN_LEAST_NS, w->away_ns = 0;
  atomic_store_explicit(&w->quit, false, memory_order_relaxed);
  atomic_store_explicit(&w->waker_cpu, -1, memory_order_relaxed);
  atomic_store_explicit(&w->avoids, -1, memory_order_relaxed);
  atomic_store_explicit(&w->pulled_to, -1, memory_order_relaxed);
  if (pool->executor.run) ox_worker_announce(w);
}

static void pin(const ox_worker *w) {
  const ox_pool *pool = w->pool;
  if (w->index > pool->n_affinity) return;
  ox_cpu_mask mask = pool->affinity[w->index - 1];
  for (size_t i = 0; i < OX_COUNT(mask.bits); i++) mask.bits[i] &= pool->allowed.bits[i];
  (void)ox_thread_avoid_cpu(w->thread_id, &mask, -1); /* nothing left: stays as it is */
}

/* Being announced is being asleep here. Once it is, somebody else may be invited as this worker, so only the pool is
 * touched after that. */
void ox_worker_visit(void *worker) {
  ox_worker *w = worker;
  ox_pool *pool = w->pool;
  uint32_t index = w->index;
  bool flush = pool->opts.flags & OX_POOL_FLUSH_DENORMALS;
  unsigned mode = flush ? ox_thread_flush_denormals() : 0;
  ox_self outer = ox_self_become((ox_self){pool, index});
  do {
    while (!stopping(w) && (help(w) || spin(w))) {
    }
    ox_count(&w->sleeps, 1);
    ox_worker_announce(w);
  } while (!stopping(w) && ox_pool_any_work(pool, index) && ox_pool_take_sleeper(pool, index));
  (void)ox_self_become(outer);
  if (flush) ox_thread_restore_denormals(mode);
  atomic_fetch_sub_explicit(&pool->visits, 1, memory_order_release); /* pairs with the acquire in destroy */
}

void ox_worker_dismiss_all(ox_pool *pool) {
  for (uint32_t i = 1; i < ox_pool_threads(pool); i++)
    if (pool->workers[i]) atomic_store_explicit(&pool->workers[i]->quit, true, memory_order_relaxed);
  for (size_t i = 0; i < OX_COUNT(pool->asleep); i++) atomic_store_explicit(&pool->asleep[i], 0, memory_order_seq_cst);
  while (atomic_load_explicit(&pool->visits, memory_order_acquire)) ox_thread_yield();
}

void ox_worker_main(void *worker) {
  ox_worker *w = worker;
  ox_pool *pool = w->pool;
  (void)ox_self_become((ox_self){pool, w->index});
  w->thread_id = ox_thread_id();
  pin(w);
  if (pool->opts.priority) (void)ox_thread_set_priority(pool->opts.priority);
  char name[32];
  snprintf(name, sizeof name, "%.10s-%u", pool->name, (unsigned)w->index % 10000);
  ox_thread_set_name(name);
  if (pool->opts.flags & OX_POOL_FLUSH_DENORMALS) (void)ox_thread_flush_denormals();
  ox_give_way_start(&w->way);
  uint32_t turns = 0;
  while (!stopping(w)) {
    ox_straggler_go_back(w);
    if (help(w) || spin(w)) {
      bool look = w->loops_in_a_row || ++turns % 16 == 0; /* a look costs as much as a short task */
      if (look && ox_give_way_worker(w) && ox_surplus_stand_by(pool, w->index)) ox_give_way_start(&w->way);
      continue;
    }
    uint64_t start = ox_thread_now_ns();
    sleep_until_woken(w);
    ox_count(&w->sleeps, 1);
    check_place(w);
    uint64_t now = ox_thread_now_ns(), woken = atomic_load_explicit(&w->woken_ns, memory_order_relaxed);
    if (woken > start && woken < now) ox_cold_woken(&pool->cold, now - woken);
    adapt(w, now - start);
    (void)ox_surplus_stand_by(pool, w->index);
    ox_give_way_start(&w->way);
  }
  if (ox_queue_any(pool)) ox_queue_wake(pool, 1); /* the wake that let us go may have been for this */
  (void)ox_self_become((ox_self){NULL, 0});
}
