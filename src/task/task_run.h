/* SPDX-License-Identifier: Apache-2.0
 * task/task_run.h - running units of tasks, and calls. */
#ifndef OX_TASK_TASK_RUN_H
#define OX_TASK_TASK_RUN_H

#include "task/task.h"

/* Runs units of a task that is ready, or a call; returns how many, 0: there were none. |own|: ox_queue_own(). */
uint32_t ox_tasks_help(ox_pool *pool, uint32_t own);
/* Runs units [begin, begin + n) of |task|, which the caller has claimed. */
void ox_task_run_units(ox_task *task, uint32_t begin, uint32_t n);

#endif
