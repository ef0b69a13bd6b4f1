/* SPDX-License-Identifier: Apache-2.0
 * task/task_pool.c - making, resizing, ending and forking pools. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/backend.h"
#include "task/cycle.h"
#include "task/frame.h"
#include "task/grow.h"
#include "task/parallel.h"
#include "task/queue.h"
#include "task/self.h"
#include "task/spare.h"
#include "task/system/affinity.h"
#include "task/system/park.h"
#include "task/system/topology.h"
#include "task/task_graph.h"
#include "task/task_life.h"
#include "task/wake.h"
#include "task/worker.h"

/* The size of a worker and its lanes; the policy's state of it comes after. */
static size_t lanes_end(const ox_pool *pool) {
  return OX_ROUND_UP(sizeof(ox_worker) + pool->n_slots * sizeof(ox_lane), OX_CACHE_LINE);
}
static size_t worker_bytes(const ox_pool *pool) {
  return lanes_end(pool) + OX_ROUND_UP(pool->policy->worker_bytes, OX_CACHE_LINE);
}
static size_t policy_bytes(const ox_pool *pool) { return OX_ROUND_UP(pool->policy->pool_bytes, OX_CACHE_LINE); }
static size_t queues_bytes(const ox_pool *pool) { return pool->n_queues * sizeof(ox_task_queue); }
static size_t spares_bytes(const ox_pool *pool) { return pool->n_queues * sizeof(ox_spares); }
static size_t slots_bytes(const ox_pool *pool) { return pool->n_slots * sizeof(ox_loop_slot); }
enum { GRAPHS_BYTES = OX_GRAPH_SLOTS * sizeof(ox_graph_slot) };

static void *new_lines(size_t bytes) {
  void *p = ox_new_aligned(ox_alloc_heap(), bytes, OX_CACHE_LINE);
  return p ? memset(p, 0, bytes) : NULL;
}

static ox_status *check(const ox_pool_opts *given, ox_pool_opts *out) {
  memset(out, 0, sizeof *out);
  if (given) {
    if (given->struct_size < offsetof(ox_pool_opts, stack_bytes))
      return ox_fail(OX_INVALID_ARGUMENT, "ox_pool_opts.struct_size is %u: set it to sizeof(ox_pool_opts)",
                     (unsigned)given->struct_size);
    memcpy(out, given, OX_MIN(given->struct_size, sizeof *out));
  }
  out->struct_size = sizeof *out;
  if (!out->n_threads) out->n_threads = ox_pool_default_size();
  if (out->n_threads > OX_POOL_MAX)
    return ox_fail(OX_LIMIT, "a pool of %u threads: at most %d", (unsigned)out->n_threads, OX_POOL_MAX);
  if (out->executor && (out->executor->struct_size < sizeof *out->executor || !out->executor->run))
    return ox_fail(OX_INVALID_ARGUMENT, "executor: set struct_size and run");
  if (!out->thread_create != !out->thread_join)
    return ox_fail(OX_INVALID_ARGUMENT, "thread_create and thread_join: give both or neither");
  if (out->policy > OX_POOL_POLICY_OFF)
    return ox_fail(OX_INVALID_ARGUMENT, "policy is %u: at most %d", (unsigned)out->policy, OX_POOL_POLICY_OFF);
  return NULL;
}

static const ox_policy *choose_policy(uint32_t wanted) {
  const char *text = wanted == OX_POOL_POLICY_DEFAULT ? getenv("ONYX_POOL_POLICY") : NULL;
  bool off = wanted == OX_POOL_POLICY_OFF || (text && strcmp(text, ox_policy_off.name) == 0);
  return off ? &ox_policy_off : &ox_policy_adaptive;
}

/* Sets the size and what depends on it. */
static void set_size(ox_pool *pool, uint32_t n) {
  uint32_t shift = 6;
  while (1u << (shift - 6) < n) shift++;
  uint32_t open = pool->opts.flags & OX_POOL_GROWS && !ox_pool_threads(pool) ? 1 : n;
  atomic_store_explicit(&pool->open, OX_MAX(open, ox_pool_open(pool)), memory_order_release);
  atomic_store_explicit(&pool->size, n, memory_order_release); /* pairs with ox_pool_threads: the workers are made */
  atomic_store_explicit(&pool->open, open, memory_order_release);
  atomic_store_explicit(&pool->grain_shift, shift, memory_order_relaxed);
  uint32_t n_cpus = ox_topology_usable();
  atomic_store_explicit(&pool->n_cpus, n_cpus, memory_order_relaxed);
  atomic_store_explicit(&pool->large, n > n_cpus, memory_order_relaxed);
  uint32_t fast = ox_topology_fast("", &pool->allowed);
  atomic_store_explicit(&pool->mixed, fast && n > fast, memory_order_relaxed);
}

/* Release: pairs with the acquire of readers that look at workers while the pool grows (stats.c). */
static ox_worker *make_worker(ox_pool *pool, uint32_t index) {
  ox_worker *w = pool->workers[index] = new_lines(worker_bytes(pool));
  if (w) atomic_store_explicit(&pool->n_made, index, memory_order_release);
  return w;
}

/* Initialises workers [from, to), made if need be, and starts their threads if |now|. On an error those before the one
 * that failed run. */
static ox_status *start_workers(ox_pool *pool, uint32_t from, uint32_t to, bool now) {
  for (uint32_t i = from; i < to; i++) {
    ox_worker *w = pool->workers[i];
    if (!w && !(w = make_worker(pool, i))) return ox_oom();
    w->policy_state = (unsigned char *)w + lanes_end(pool);
    ox_worker_init(w, pool, i);
    if (pool->executor.run || !now) continue;
    OX_TRY(ox_thread_start(&pool->opts, ox_worker_main, w, &w->thread));
    atomic_store_explicit(&w->life, OX_WORKER_RUNS, memory_order_relaxed);
  }
  return NULL;
}

/* The memory of all workers, for a pool whose threads come later. */
static ox_status *reserve_workers(ox_pool *pool, uint32_t n) {
  for (uint32_t i = 1; i < n; i++)
    if (!make_worker(pool, i)) return ox_oom();
  return NULL;
}

/* ox_pool.start. */
static bool start_late(ox_worker *w) {
  atomic_store_explicit(&w->life, OX_WORKER_STARTS, memory_order_relaxed);
  ox_status *st = ox_thread_start(&w->pool->opts, ox_worker_main, w, &w->thread);
  atomic_store_explicit(&w->life, st ? OX_WORKER_NONE : OX_WORKER_RUNS, memory_order_release);
  ox_status_free(st);
  return !st;
}

/* Does the worker have a thread? A worker that has none will not get one after this call. */
static bool has_thread(ox_pool *pool, uint32_t index) {
  ox_worker *w = pool->workers[index];
  for (; w; ox_thread_yield()) {
    unsigned life = atomic_load_explicit(&w->life, memory_order_acquire); /* pairs with start_late */
    if (life == OX_WORKER_RUNS) return true;
    if (life == OX_WORKER_NONE) return false;
    if (life == OX_WORKER_STARTS || !ox_pool_take_sleeper(pool, index)) continue;
    unsigned due = OX_WORKER_DUE; /* if it is no longer, the bit was that of its thread, which has just fallen asleep */
    if (atomic_compare_exchange_strong_explicit(&w->life, &due, OX_WORKER_NONE, memory_order_acquire,
                                                memory_order_acquire))
      return false;
  }
  return false;
}

/* Ends workers [from, to) and joins their threads. */
static void stop_workers(ox_pool *pool, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    ox_worker *w = pool->workers[i];
    if (!has_thread(pool, i)) continue;
    atomic_store_explicit(&w->quit, true, memory_order_seq_cst); /* P1 of the handshake; waking all is P2 */
    atomic_store_explicit(&w->parked, 0, memory_order_seq_cst);
    ox_park_wake(&w->parked, 0);
  }
  for (uint32_t i = from; i < to; i++) {
    ox_worker *w = pool->workers[i];
    if (!w || atomic_load_explicit(&w->life, memory_order_relaxed) != OX_WORKER_RUNS) continue;
    ox_thread_join(&pool->opts, w->thread);
    atomic_store_explicit(&w->life, OX_WORKER_NONE, memory_order_relaxed);
  }
}

static ox_status *make_affinity(ox_pool *pool, uint32_t n_workers) {
  if (!pool->opts.affinity) return NULL;
  pool->affinity = ox_new(ox_alloc_heap(), OX_MAX(n_workers, 1) * sizeof *pool->affinity);
  if (!pool->affinity) return ox_oom();
  pool->n_affinity = n_workers;
  return ox_affinity_parse(pool->opts.affinity, n_workers, pool->affinity);
}

static ox_status *make_parts(ox_pool *pool, uint32_t size) {
  pool->n_slots = OX_MAX(16, OX_MIN(2 * size, OX_SLOTS_MAX));
  pool->n_queues = OX_CLIENT_QUEUES + OX_MAX(size, 2) - 1;
  pool->slots = new_lines(slots_bytes(pool));
  pool->graphs = new_lines(GRAPHS_BYTES);
  pool->queues = new_lines(queues_bytes(pool));
  pool->spares = new_lines(spares_bytes(pool));
  if (!pool->slots || !pool->graphs || !pool->queues || !pool->spares) return ox_oom();
  pool->policy_state = policy_bytes(pool) ? new_lines(policy_bytes(pool)) : NULL;
  if (!pool->policy_state && policy_bytes(pool)) return ox_oom();
  pool->policy->pool_made(pool);
  return NULL;
}

/* Measures how long ox_pause takes (5 to 50 ns) and how fast ox_ticks counts. The shortest of a few tries counts, as
 * the thread may be descheduled during one. */
static void calibrate(ox_pool *pool) {
  enum { PAUSES = 64 };
  uint64_t least = UINT64_MAX, ticks = 0;
  for (int k = 0; k < 4; k++) {
    uint64_t start = ox_thread_now_ns(), tick = ox_ticks();
    for (int i = 0; i < PAUSES; i++) ox_pause();
    uint64_t took = ox_thread_now_ns() - start;
    if (took < least) least = took, ticks = ox_ticks() - tick;
  }
  pool->pause_ns = (uint32_t)OX_MIN(OX_MAX(least / PAUSES, 1u), 1000u);
  pool->us_ticks = OX_MAX(ticks * 1000 / OX_MAX(least, 1u), 1u);
}

/* In a forked child only the thread that called fork() exists: no worker runs, and loops in progress are gone. Several
 * threads of the child may get here at the same time; one rebuilds the pool, the others wait. */
static void rebuild(ox_pool *pool) {
  static atomic_flag rebuilding = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set_explicit(&rebuilding, memory_order_acquire)) ox_thread_yield();
  if (ox_pool_is_stale(pool)) {
    memset(pool->slots, 0, slots_bytes(pool));
    memset(pool->graphs, 0, GRAPHS_BYTES);
    ox_task_cycle_forked();
    memset(pool->queues, 0, queues_bytes(pool)); /* tasks of the parent are dropped; destroy frees them */
    memset(pool->spares, 0, spares_bytes(pool));
    for (uint32_t i = 0; i < OX_COUNT(pool->asleep); i++)
      atomic_store_explicit(&pool->asleep[i], 0, memory_order_relaxed);
    atomic_store_explicit(&pool->n_used, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->visits, 0, memory_order_relaxed);
    pool->policy->pool_made(pool);
    atomic_store_explicit(&pool->n_waiting, 0, memory_order_relaxed);
    atomic_flag_clear_explicit(&pool->resizing, memory_order_relaxed);
    atomic_flag_clear_explicit(&pool->growing, memory_order_relaxed);
    bool grows = pool->opts.flags & OX_POOL_GROWS;
    if (grows) atomic_store_explicit(&pool->open, 1, memory_order_relaxed);
    for (uint32_t i = 1; i < OX_POOL_MAX; i++)
      if (pool->workers[i]) memset(pool->workers[i], 0, worker_bytes(pool));
    /* with fewer workers, or none, loops still run */
    ox_status_free(start_workers(pool, 1, ox_pool_threads(pool), !grows));
    atomic_store_explicit(&pool->epoch, atomic_load(&ox_fork_count), memory_order_release); /* pairs with is_stale */
  }
  atomic_flag_clear_explicit(&rebuilding, memory_order_release);
}

static ox_status *create(const ox_pool_opts *opts, bool grows, ox_pool **out_pool) {
  *out_pool = NULL;
  ox_pool_opts o;
  OX_TRY(check(opts, &o));
  ox_status *st = NULL;
  ox_pool *pool = new_lines(sizeof *pool);
  if (!pool) return ox_oom();
  snprintf(pool->name, sizeof pool->name, "%s", o.name ? o.name : "onyx");
  o.name = pool->name;
  pool->opts = o;
  pool->backend = ox_backend_choose(&o);
  bool lazy = pool->backend->run_loop != NULL;
  pool->opts.flags = (o.flags & ~(uint32_t)(OX_POOL_LOOPS_ELSEWHERE | OX_POOL_GROWS)) |
                     (lazy ? OX_POOL_LOOPS_ELSEWHERE : 0) | (grows ? OX_POOL_GROWS : 0);
  uint32_t size = OX_MIN(o.n_threads, pool->backend->most_threads);
  if (o.executor) pool->executor = *o.executor;
  atomic_store_explicit(&pool->spin_us, o.spin_us, memory_order_relaxed);
  pool->allowed = ox_thread_mask();
  calibrate(pool);
  set_size(pool, size);
  ox_fork_watch();
  pool->policy = choose_policy(o.policy);
  pool->visit = ox_worker_visit, pool->rebuild = rebuild, pool->start = start_late;
  /* If lazy it is stale from the start: the first use of the workers makes their threads, as after a fork. */
  atomic_store_explicit(&pool->epoch, atomic_load(&ox_fork_count) - lazy, memory_order_relaxed);
  OX_TRY_TO(done, st, make_parts(pool, size));
  OX_TRY_TO(done, st, make_affinity(pool, o.n_threads - 1));
  OX_TRY_TO(done, st, lazy ? reserve_workers(pool, size) : start_workers(pool, 1, size, !grows));
  *out_pool = pool, pool = NULL;
done:
  ox_pool_destroy(pool);
  return st;
}

ox_status *ox_pool_create(const ox_pool_opts *opts, ox_pool **out_pool) { return create(opts, false, out_pool); }

static _Atomic(ox_pool *) the_pool; /* the default */

/* Is this called by a tile or unit that runs on the pool, so that the pool cannot be freed? */
static bool is_in_use(const ox_pool *pool) {
  if (ox_pool_self(pool) || ox_task_is_on(pool)) return true;
  for (uint32_t i = 0; pool->slots && i < pool->n_slots; i++)
    if (atomic_load_explicit(&pool->slots[i].busy, memory_order_relaxed)) return true;
  return false;
}

void ox_pool_destroy(ox_pool *pool) {
  if (!pool || pool == atomic_load_explicit(&the_pool, memory_order_acquire)) return;
  if (atomic_load_explicit(&pool->team_open, memory_order_relaxed)) return; /* a tile of its own calls this */
  if (!ox_pool_is_stale(pool)) { /* else: a forked child has no workers, and slots say nothing about it */
    if (is_in_use(pool)) return;
    stop_workers(pool, 1, OX_POOL_MAX);
    atomic_store_explicit(&pool->held, 0, memory_order_relaxed); /* sections may never have been ended */
    ox_worker_dismiss_all(pool);
  }
  for (uint32_t i = 1; i < OX_POOL_MAX; i++) ox_delete(ox_alloc_heap(), pool->workers[i], worker_bytes(pool));
  ox_spare_free_all(pool, ox_task_discard);
  ox_heap_free(pool->affinity);
  ox_delete(ox_alloc_heap(), pool->policy_state, policy_bytes(pool));
  ox_delete(ox_alloc_heap(), pool->spares, spares_bytes(pool));
  ox_delete(ox_alloc_heap(), pool->queues, queues_bytes(pool));
  ox_delete(ox_alloc_heap(), pool->graphs, GRAPHS_BYTES);
  ox_delete(ox_alloc_heap(), pool->slots, slots_bytes(pool));
  ox_delete(ox_alloc_heap(), pool, sizeof *pool);
}

/* Takes all slots, so that no loop or graph starts on workers (they run in their callers), or gives them back. */
static void hold_slots(ox_pool *pool, bool hold) {
  for (uint32_t i = 0; i < pool->n_slots; i++) {
    if (!hold) atomic_store_explicit(&pool->slots[i].busy, 0, memory_order_release);
    while (hold && atomic_exchange_explicit(&pool->slots[i].busy, 1, memory_order_acquire)) ox_thread_yield();
  }
  for (uint32_t i = 0; i < OX_GRAPH_SLOTS; i++) {
    if (!hold) atomic_store_explicit(&pool->graphs[i].busy, 0, memory_order_release);
    while (hold && atomic_exchange_explicit(&pool->graphs[i].busy, 1, memory_order_acquire)) ox_thread_yield();
  }
}

ox_status *ox_pool_resize(ox_pool *pool, uint32_t n_threads) {
  if (!pool && !(pool = ox_pool_default())) return ox_oom();
  if (!n_threads) n_threads = ox_pool_default_size();
  if (n_threads > OX_POOL_MAX)
    return ox_fail(OX_LIMIT, "a pool of %u threads: at most %d", (unsigned)n_threads, OX_POOL_MAX);
  n_threads = OX_MIN(n_threads, pool->backend->most_threads);
  if (pool->executor.run) return ox_fail(OX_INVALID_ARGUMENT, "a pool on an executor cannot be resized");
  if (ox_pool_thread_id() || ox_task_is_running() || ox_task_is_on(pool) || ox_loops_owned())
    return ox_fail(OX_INVALID_ARGUMENT, "a pool cannot be resized from inside a loop or a task");
  ox_pool_renew(pool);
  while (atomic_flag_test_and_set_explicit(&pool->resizing, memory_order_acquire)) ox_thread_yield();
  hold_slots(pool, true);
  ox_pool_open_all(pool); /* an explicit size applies at once */
  uint32_t before = ox_pool_threads(pool);
  stop_workers(pool, n_threads, before);
  ox_status *st = start_workers(pool, before, n_threads, true);
  if (st) stop_workers(pool, before, n_threads);
  set_size(pool, st ? before : n_threads);
  hold_slots(pool, false);
  atomic_flag_clear_explicit(&pool->resizing, memory_order_release);
  return st;
}

uint32_t ox_pool_size(const ox_pool *pool) { return pool ? ox_pool_threads(pool) : 1; }

/* A CAS, not a lock: after a fork a lock could be held by a thread that does not exist. If two threads create the pool,
 * the second frees its own. */
ox_pool *ox_pool_default(void) {
  ox_pool *pool = atomic_load_explicit(&the_pool, memory_order_acquire), *none = NULL;
  if (OX_LIKELY(pool != NULL)) return pool;
  ox_status *st = create(NULL, true, &pool);
  if (st) {
    ox_status_free(st);
    return NULL;
  }
  if (atomic_compare_exchange_strong_explicit(&the_pool, &none, pool, memory_order_acq_rel, memory_order_acquire))
    return pool;
  ox_pool_destroy(pool);
  return none;
}

void ox_pool_set_spin(ox_pool *pool, uint32_t spin_us) {
  if (pool || (pool = ox_pool_default())) atomic_store_explicit(&pool->spin_us, spin_us, memory_order_relaxed);
}
