/* SPDX-License-Identifier: Apache-2.0
 * task/pool.c - making, ending and forking pools. */
#include "task/pool.h"

#include <stdio.h>
#include <string.h>

#include "task/park.h"
#include "task/topology.h"

atomic_uint ox_fork_count;

static void count_fork(void) { atomic_fetch_add_explicit(&ox_fork_count, 1, memory_order_relaxed); }

static size_t worker_bytes(const ox_pool *pool) {
  return OX_ROUND_UP(sizeof(ox_worker) + pool->n_slots * sizeof(ox_lane), OX_CACHE_LINE);
}
static size_t slots_bytes(const ox_pool *pool) { return pool->n_slots * sizeof(ox_loop_slot); }

static void *new_lines(size_t bytes) {
  void *p = ox_new_aligned(ox_alloc_heap(), bytes, OX_CACHE_LINE);
  return p ? memset(p, 0, bytes) : NULL;
}

static ox_status *check(const ox_pool_opts *given, ox_pool_opts *out) {
  memset(out, 0, sizeof *out);
  if (given) {
    if (given->struct_size < offsetof(ox_pool_opts, reserved))
      return ox_fail(OX_INVALID_ARGUMENT, "ox_pool_opts.struct_size is %u: set it to sizeof(ox_pool_opts)",
                     (unsigned)given->struct_size);
    memcpy(out, given, OX_MIN(given->struct_size, sizeof *out));
  }
  out->struct_size = sizeof *out;
  if (!out->n_threads) out->n_threads = ox_pool_default_size();
  if (out->n_threads > OX_POOL_MAX)
    return ox_fail(OX_LIMIT, "a pool of %u threads: at most %d", (unsigned)out->n_threads, OX_POOL_MAX);
  if (!out->thread_create != !out->thread_join)
    return ox_fail(OX_INVALID_ARGUMENT, "thread_create and thread_join: give both or neither");
  return NULL;
}

static ox_status *start_workers(ox_pool *pool) {
  for (uint32_t i = 1; i < pool->size; i++) {
    ox_worker *w = pool->workers[i];
    OX_TRY(ox_thread_start(&pool->opts, ox_worker_main, w, &w->thread));
    w->started = true;
  }
  return NULL;
}

/* All workers leave and are joined. */
static void stop_workers(ox_pool *pool) {
  atomic_store_explicit(&pool->stop, true, memory_order_seq_cst); /* P1 of the handshake; waking all is P2 */
  for (uint32_t i = 1; i < pool->size; i++) {
    ox_worker *w = pool->workers[i];
    if (!w || !w->started) continue;
    atomic_store_explicit(&w->parked, 0, memory_order_seq_cst);
    ox_park_wake(&w->parked, 0);
  }
  for (uint32_t i = 1; i < pool->size; i++) {
    ox_worker *w = pool->workers[i];
    if (w && w->started) ox_thread_join(&pool->opts, w->thread), w->started = false;
  }
}

static ox_status *make_parts(ox_pool *pool) {
  pool->n_slots = pool->size <= 1 ? 0 : OX_MAX(16, OX_MIN(2 * pool->size, OX_SLOTS_MAX));
  if (!pool->n_slots) return NULL;
  pool->slots = new_lines(slots_bytes(pool));
  if (!pool->slots) return ox_oom();
  for (uint32_t i = 1; i < pool->size; i++) {
    ox_worker *w = pool->workers[i] = new_lines(worker_bytes(pool));
    if (!w) return ox_oom();
    w->index = i, w->pool = pool;
  }
  return NULL;
}

ox_status *ox_pool_create(const ox_pool_opts *opts, ox_pool **out_pool) {
  *out_pool = NULL;
  ox_pool_opts o;
  OX_TRY(check(opts, &o));
  ox_status *st = NULL;
  ox_pool *pool = new_lines(sizeof *pool);
  if (!pool) return ox_oom();
  snprintf(pool->name, sizeof pool->name, "%s", o.name ? o.name : "onyx");
  o.name = pool->name;
  pool->opts = o;
  pool->size = o.n_threads;
  pool->allowed = ox_thread_mask();
  pool->crowded = o.n_threads > ox_topology_usable();
  for (pool->grain_shift = 6; 1u << (pool->grain_shift - 6) < pool->size;) pool->grain_shift++;
  ox_thread_at_fork(count_fork);
  atomic_store_explicit(&pool->epoch, atomic_load(&ox_fork_count), memory_order_relaxed);
  OX_TRY_TO(done, st, make_parts(pool));
  OX_TRY_TO(done, st, start_workers(pool));
  *out_pool = pool, pool = NULL;
done:
  ox_pool_destroy(pool);
  return st;
}

void ox_pool_destroy(ox_pool *pool) {
  if (!pool) return;
  if (!ox_pool_is_stale(pool)) stop_workers(pool); /* in a forked child they do not exist */
  for (uint32_t i = 1; i < pool->size; i++) ox_delete(ox_alloc_heap(), pool->workers[i], worker_bytes(pool));
  ox_delete(ox_alloc_heap(), pool->slots, slots_bytes(pool));
  ox_delete(ox_alloc_heap(), pool, sizeof *pool);
}

/* Only the thread that called fork() lives on: no worker runs, every loop in progress is gone. Threads of the child
 * may get here together; one rebuilds, the others wait for the epoch. */
void ox_pool_rebuild(ox_pool *pool) {
  static atomic_flag rebuilding = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set_explicit(&rebuilding, memory_order_acquire)) ox_thread_yield();
  if (ox_pool_is_stale(pool)) {
    memset(pool->slots, 0, slots_bytes(pool));
    for (uint32_t i = 0; i < OX_COUNT(pool->asleep); i++)
      atomic_store_explicit(&pool->asleep[i], 0, memory_order_relaxed);
    atomic_store_explicit(&pool->n_used, 0, memory_order_relaxed);
    for (uint32_t i = 1; i < pool->size; i++) {
      ox_worker *w = pool->workers[i];
      memset(w, 0, worker_bytes(pool));
      w->index = i, w->pool = pool;
    }
    ox_status_free(start_workers(pool)); /* with fewer workers, or none, loops still run: in the caller */
    atomic_store_explicit(&pool->epoch, atomic_load(&ox_fork_count), memory_order_release); /* pairs with is_stale */
  }
  atomic_flag_clear_explicit(&rebuilding, memory_order_release);
}

uint32_t ox_pool_size(const ox_pool *pool) { return pool ? pool->size : 1; }

/* A CAS, not a lock: a lock could be held by a thread that a fork left behind. The loser's pool goes away at once. */
ox_pool *ox_pool_default(void) {
  static _Atomic(ox_pool *) the_pool;
  ox_pool *pool = atomic_load_explicit(&the_pool, memory_order_acquire), *none = NULL;
  if (OX_LIKELY(pool != NULL)) return pool;
  ox_status *st = ox_pool_create(NULL, &pool);
  if (st) {
    ox_status_free(st);
    return NULL;
  }
  if (atomic_compare_exchange_strong_explicit(&the_pool, &none, pool, memory_order_acq_rel, memory_order_acquire))
    return pool;
  ox_pool_destroy(pool);
  return none;
}
