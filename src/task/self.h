/* SPDX-License-Identifier: Apache-2.0
 * task/self.h - which worker of which pool the calling thread is. */
#ifndef OX_TASK_SELF_H
#define OX_TASK_SELF_H

#include "onyx/task.h"

typedef struct ox_self {
  const ox_pool *pool;
  uint32_t index;
} ox_self;

/* The index of the calling thread in |pool|; 0 if it is not one of its workers. */
uint32_t ox_pool_self(const ox_pool *pool);

/* The calling thread is |self| from now on; returns what it was. {NULL, 0}: no worker. */
ox_self ox_self_become(ox_self self);

#endif
