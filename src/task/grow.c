/* SPDX-License-Identifier: Apache-2.0
 * task/grow.c - see grow.h. */
#include "task/grow.h"

#include "task/wake.h"

/* |growing| is a lock: held for a short time only, and never while waiting for anything else. */
void ox_pool_grow(ox_pool *pool, uint32_t threads) {
  threads = OX_MIN(threads, ox_pool_threads(pool));
  while (atomic_flag_test_and_set_explicit(&pool->growing, memory_order_acquire)) ox_thread_yield();
  uint32_t open = ox_pool_open(pool);
  for (uint32_t i = open; i < threads; i++) {
    atomic_store_explicit(&pool->workers[i]->life, OX_WORKER_DUE, memory_order_relaxed);
    ox_worker_announce(pool->workers[i]);
  }
  if (threads > open) atomic_store_explicit(&pool->open, threads, memory_order_release); /* pairs with ox_pool_open */
  atomic_flag_clear_explicit(&pool->growing, memory_order_release);
}
