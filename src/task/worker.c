/* SPDX-License-Identifier: Apache-2.0
 * task/worker.c - what a worker does: it works, watches for work for a while, sleeps. The handshake is proved in
 * wake.h. */
#include "task/worker.h"

#include <stdio.h>

#include "task/parallel.h"
#include "task/queue.h"
#include "task/self.h"
#include "task/system/park.h"
#include "task/task_graph.h"
#include "task/task_run.h"
#include "task/wake.h"

enum { LOOPS_IN_A_ROW = 4 /* after so many, tasks come first once */ };

static bool stopping(const ox_worker *w) { return atomic_load_explicit(&w->quit, memory_order_seq_cst); }

static bool help_loops(const ox_worker *w) {
  return ox_loops_help(w->pool, w->index) || ox_graphs_help(w->pool, w->index);
}

/* Loops come first, as their callers wait for them; but an endless row of loops must not keep tasks from running. */
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

/* Watches for work: true after it has worked, false when it should sleep. */
static bool spin(ox_worker *w) {
  for (bool looked = false; w->pool->policy->worker_watches(w, looked); looked = true) {
    for (int i = 0; i < OX_LOOKS_PER_ASK; i++) {
      if (help(w) || stopping(w)) return true;
      ox_pause();
    }
  }
  return false;
}

void ox_worker_init(ox_worker *w, ox_pool *pool, uint32_t index) {
  w->index = index, w->pool = pool;
  atomic_store_explicit(&w->quit, false, memory_order_relaxed);
  atomic_store_explicit(&w->pulled_to, -1, memory_order_relaxed);
  pool->policy->worker_made(w);
  if (pool->executor.run) ox_worker_announce(w);
}

/* Sets where the calling worker may run: where the thread that made the pool could, within opts.affinity. A worker
 * whose thread is made later would inherit the mask of another thread. */
static void pin(const ox_worker *w) {
  const ox_pool *pool = w->pool;
  if (pool->opts.flags & OX_POOL_GROWS) (void)ox_thread_avoid_cpu(w->thread_id, &pool->allowed, -1);
  if (w->index > pool->n_affinity) return;
  ox_cpu_mask mask = pool->affinity[w->index - 1];
  for (size_t i = 0; i < OX_COUNT(mask.bits); i++) mask.bits[i] &= pool->allowed.bits[i];
  (void)ox_thread_avoid_cpu(w->thread_id, &mask, -1); /* no effect if the mask is empty */
}

/* Announced means asleep here. From then on another thread may become this worker, so only the pool is used after it.
 */
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
  const ox_policy *policy = pool->policy;
  policy->worker_started(w);
  for (uint32_t tasks = 0; !stopping(w);) {
    if (OX_UNLIKELY(atomic_load_explicit(&w->pulled_to, memory_order_relaxed) >= 0)) policy->worker_is_free(w);
    if (help(w) || spin(w)) {
      /* not after every task: reading a clock costs as much as a short one */
      if (w->loops_in_a_row || ++tasks % OX_TASKS_PER_ASK == 0) policy->worker_between(w);
      continue;
    }
    uint64_t start = ox_thread_now_ns();
    sleep_until_woken(w);
    ox_count(&w->sleeps, 1);
    policy->worker_woken(w, start);
  }
  if (ox_queue_any(pool)) ox_queue_wake(pool, 1); /* passes on a wake for this work that came to us instead */
  (void)ox_self_become((ox_self){NULL, 0});
}
