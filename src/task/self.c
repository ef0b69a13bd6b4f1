/* SPDX-License-Identifier: Apache-2.0
 * task/self.c - which worker the calling thread is. */
#include "task/self.h"

#include "task/pool.h"

static _Thread_local ox_self self OX_TLS_FAST;

uint32_t ox_pool_thread_id(void) { return self.index; }

uint32_t ox_pool_self(const ox_pool *pool) { return self.pool == pool ? self.index : 0; }

ox_self ox_self_become(ox_self now) {
  ox_self was = self;
  self = now;
  return was;
}
