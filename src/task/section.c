/* SPDX-License-Identifier: Apache-2.0
 * task/section.c - parallel sections: workers stay awake between the loops of a caller.
 * A pool only counts how many workers its open sections want; worker.c asks when one of them has run out of work. */
#include "base/macros.h"
#include "task/wake.h"

void ox_task_section_begin(ox_pool *pool, uint32_t max_threads, ox_task_section *out_section) {
  *out_section = (ox_task_section){NULL, 0, 0};
  uint32_t size = ox_pool_size(pool), n = max_threads ? OX_MIN(max_threads, size) : size;
  if (n <= 1) return;
  *out_section = (ox_task_section){pool, n - 1, 0};
  uint32_t held = atomic_fetch_add_explicit(&pool->held, n - 1, memory_order_relaxed) + n - 1;
  if (ox_pool_is_crowded(pool) || ox_pool_is_stale(pool)) return;
  if (ox_pool_any_asleep(pool)) ox_pool_wake_some(pool, 0, OX_MIN(held, size - 1), size);
}

void ox_task_section_end(ox_task_section *section) {
  if (section->pool) atomic_fetch_sub_explicit(&section->pool->held, section->n_workers, memory_order_relaxed);
  section->pool = NULL;
}
