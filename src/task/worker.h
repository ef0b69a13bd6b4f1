/* SPDX-License-Identifier: Apache-2.0
 * task/worker.h - what a worker does: it works, watches for work for a while, sleeps. */
#ifndef OX_TASK_WORKER_H
#define OX_TASK_WORKER_H

#include "task/pool.h"

/* Called before the thread starts; with an executor the worker can be woken from now on. */
void ox_worker_init(ox_worker *w, ox_pool *pool, uint32_t index);
/* Body of a worker thread. */
void ox_worker_main(void *worker);
/* A visit of an executor's thread (wake.h): is a worker until there is nothing to do. */
void ox_worker_visit(void *worker);
/* Ends all workers of a pool on an executor: none can be woken any more; waits for visits to end. */
void ox_worker_dismiss_all(ox_pool *pool);

/* Is there any work for worker |index|? W2 of the proof in wake.h. */
bool ox_pool_any_work(const ox_pool *pool, uint32_t index);

#endif
