/* SPDX-License-Identifier: Apache-2.0
 * task/policy/patience.c - each thread's state of policy/patience.h. */
#include "task/policy/patience.h"

#include "task/pool.h"

static _Thread_local ox_patience patience OX_TLS_FAST;

bool ox_patience_may_steal(const ox_pool *pool) {
  (void)pool;
  return !patience.until || !ox_patience_is_waiting(&patience, ox_ticks());
}

void ox_patience_stole(const ox_pool *pool, uint32_t left) {
  ox_patience_update(&patience, ox_ticks(), left, pool->us_ticks);
}
