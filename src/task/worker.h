/* SPDX-License-Identifier: Apache-2.0
 * task/worker.h - the life of a worker: work, watch for a while, sleep. */
#ifndef OX_TASK_WORKER_H
#define OX_TASK_WORKER_H

#include "task/pool.h"

/* Before the thread starts; with an executor the worker is available from now on. */
void ox_worker_init(ox_worker *w, ox_pool *pool, uint32_t index);
/* Body of a worker thread. */
void ox_worker_main(void *worker);
/* A worker's life on an executor's thread: until there is nothing to do. */
void ox_worker_visit(void *worker);
/* Takes every worker from an executor's reach and waits for those at work. */
void ox_worker_dismiss_all(ox_pool *pool);

/* Is there anything that worker |index| could do? W2 of the proof in wake.h. */
bool ox_pool_any_work(const ox_pool *pool, uint32_t index);

#endif
