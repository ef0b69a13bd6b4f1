/* SPDX-License-Identifier: Apache-2.0
 * task/grow.h - the default pool makes its threads when they are needed, and no more than are needed.
 *
 * A pool made by ox_pool_create has all threads from the start. The default pool is as large as the machine, so it
 * begins with |open| 1, the caller. A loop or graph with a cap opens workers up to its cap; those of several callers at
 * the same time add up; loops without a cap, and tasks, open all. A worker that is opened is announced as asleep
 * (wake.h) but has no thread, as on an executor: the thread that clears its bit to wake it makes its thread. So a
 * process whose only session has a cap of n has n threads at most, and none before a loop is worth waking a worker.
 *
 * No worker misses work: a thread that publishes work has opened workers before, so their bits are set before P1 of the
 * proof, and remain until some thread has to wake the worker, which here means to make its thread. If that fails, the
 * waker wakes the next worker instead. From |open| on no bit is set, so none is woken there. A gate (gate.h) lies
 * within what was open when it was chosen, and |open| decreases in a resize only, which holds all slots. */
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
