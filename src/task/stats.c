/* SPDX-License-Identifier: Apache-2.0
 * task/stats.c - reading a pool's counters, once or between two points. */
#include <string.h>

#include "task/parallel.h"

static uint64_t get(const atomic_uint_least64_t *counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

void ox_pool_get_stats(const ox_pool *pool, ox_pool_stats *out_stats) {
  ox_pool_stats s = {
      .struct_size = out_stats->struct_size, .n_threads = ox_pool_size(pool), .time_ns = ox_thread_now_ns()};
  for (uint32_t i = 0; pool && i < pool->n_slots; i++) {
    const ox_loop_slot *slot = &pool->slots[i];
    s.loops += get(&slot->loops), s.claims += get(&slot->claims), s.steals += get(&slot->steals);
    s.wait_ns += get(&slot->wait_ns);
  }
  uint32_t n = pool ? atomic_load_explicit(&pool->n_made, memory_order_acquire) : 0; /* pairs with make_worker */
  for (uint32_t i = 1; i <= n; i++) { /* also those that a resize has ended */
    const ox_worker *w = pool->workers[i];
    s.claims += get(&w->claims), s.steals += get(&w->steals), s.units += get(&w->units);
    s.sleeps += get(&w->sleeps), s.run_ns += get(&w->run_ns);
  }
  if (pool) {
    s.wakes = get(&pool->wakes), s.pulls = get(&pool->pulls);
    s.loops += get(&pool->team_loops), s.claims += get(&pool->team_claims), s.run_ns += get(&pool->team_run_ns);
  }
  memcpy(out_stats, &s, OX_MIN(s.struct_size, sizeof s));
}

void ox_pool_profile_start(ox_pool *pool, ox_pool_stats *out_profile) {
  if (pool) atomic_fetch_add_explicit(&pool->profiles, 1, memory_order_relaxed);
  ox_pool_get_stats(pool, out_profile);
}

void ox_pool_profile_stop(ox_pool *pool, ox_pool_stats *profile) {
  ox_pool_stats was = {0}, now = {.struct_size = sizeof now};
  memcpy(&was, profile, OX_MIN(profile->struct_size, sizeof was));
  ox_pool_get_stats(pool, &now);
  if (pool) atomic_fetch_sub_explicit(&pool->profiles, 1, memory_order_relaxed);
  ox_pool_stats d = {.struct_size = was.struct_size,
                     .n_threads = now.n_threads,
                     .loops = now.loops - was.loops,
                     .claims = now.claims - was.claims,
                     .steals = now.steals - was.steals,
                     .units = now.units - was.units,
                     .sleeps = now.sleeps - was.sleeps,
                     .wakes = now.wakes - was.wakes,
                     .pulls = now.pulls - was.pulls,
                     .wait_ns = now.wait_ns - was.wait_ns,
                     .run_ns = now.run_ns - was.run_ns,
                     .time_ns = now.time_ns - was.time_ns};
  memcpy(profile, &d, OX_MIN(was.struct_size, sizeof d));
}
