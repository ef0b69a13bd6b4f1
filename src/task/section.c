/* SPDX-License-Identifier: Apache-2.0
 * task/section.c - parallel sections: workers stay awake between the loops of a caller.
 * The pool only counts the workers that open sections keep awake; the policy does the rest. */
#include "task/grow.h"

void ox_task_section_begin(ox_pool *pool, uint32_t max_threads, ox_task_section *out_section) {
  *out_section = (ox_task_section){NULL, 0, 0};
  uint32_t size = ox_pool_size(pool), n = max_threads ? OX_MIN(max_threads, size) : size;
  if (n <= 1) return;
  *out_section = (ox_task_section){pool, n - 1, 0};
  atomic_fetch_add_explicit(&pool->held, n - 1, memory_order_relaxed);
  if (ox_pool_is_stale(pool)) return;
  ox_pool_grow(pool, n);
  pool->policy->section_begins(pool);
}

void ox_task_section_end(ox_task_section *section) {
  if (section->pool) atomic_fetch_sub_explicit(&section->pool->held, section->n_workers, memory_order_relaxed);
  section->pool = NULL;
}
