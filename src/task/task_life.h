/* SPDX-License-Identifier: Apache-2.0
 * task/task_life.h - how a task begins, becomes ready, ends and is freed. Explained and proved in task.h. */
#ifndef OX_TASK_TASK_LIFE_H
#define OX_TASK_TASK_LIFE_H

#include "base/status.h"
#include "task/spare.h"
#include "task/task.h"

/* A task that owns nothing and is not initialised; NULL on out of memory. |own|: ox_queue_own(). */
static inline ox_task *ox_task_new(ox_pool *pool, uint32_t own) {
  ox_task *t = ox_spare_take_task(pool, own);
  if (t) atomic_store_explicit(&t->state, 0, memory_order_relaxed);
  return t;
}
/* |flags|: those of |opts| and more. */
void ox_task_init(ox_task *task, ox_pool *pool, const ox_task_opts *opts, uint32_t n_units, uint32_t flags,
                  uint32_t refs);
/* Links |task| to its parents; it starts when all of them have ended. |wait_parents| counts them and the caller. */
void ox_task_add_parents(ox_task *task, const ox_task_opts *opts);
/* All parents have ended, or there are none: queues it, or ends it if it is a barrier. */
void ox_task_start(ox_task *task);
/* All units have run: ends |task| and the barriers that become ready by that, and queues the tasks that become ready.
 */
void ox_task_end(ox_task *task);

/* A status of the caller's own with the task's error, or NULL. */
ox_status *ox_task_copy_error(const ox_task *task);
/* Frees what an unfinished task owns; for destroy, when no thread uses the pool any more. */
void ox_task_discard(ox_task *task);

#endif
