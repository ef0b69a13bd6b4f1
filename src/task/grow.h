/* SPDX-License-Identifier: Apache-2.0
 * task/grow.h - the default pool has the threads that were asked of it, and no others.
 *
 * A pool that somebody made has its threads from the start. The default pool is as large as the machine, whoever uses
 * it: so it begins with |open| 1, the callers. A loop or graph with a cap opens workers up to its cap; those of several
 * callers at the same time add up; without a cap, and for tasks, all are opened. A worker that is opened is announced
 * as asleep (wake.h) but has no thread, as on an executor: whoever takes its bit makes it. So a process whose only
 * session has a cap of n has n threads at most, and none before a loop is worth waking somebody.
 *
 * Nobody sleeps through work: who publishes work has opened workers before, so their bits are set before P1 of the
 * proof, and stay until somebody owes the worker a wake, which here is its thread. One that cannot be made is given up:
 * its waker wakes the next. Beyond |open| no bit is set, so nobody is woken there. A gate (gate.h) lies within what was
 * open when it was chosen, and |open| falls in a resize only, which holds all slots. */
#ifndef OX_TASK_GROW_H
#define OX_TASK_GROW_H

#include "task/pool.h"

/* Opens workers until |threads| can run, the caller included, or all. */
void ox_pool_grow(ox_pool *pool, uint32_t threads);
static inline void ox_pool_open_all(ox_pool *pool) {
  uint32_t size = ox_pool_threads(pool);
  if (OX_UNLIKELY(ox_pool_open(pool) < size)) ox_pool_grow(pool, size);
}

#endif
