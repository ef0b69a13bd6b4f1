/* SPDX-License-Identifier: Apache-2.0
 * task/cycle.h - finds waits that would never end, before a thread goes to sleep in one. */
#ifndef OX_TASK_CYCLE_H
#define OX_TASK_CYCLE_H

#include "task/task.h"

/* True if |task| cannot end before the calling thread returns to one of its frames: it is the frame's task or descends
 * from it. Slow. */
bool ox_task_needs_us(ox_task *task);
void ox_task_cycle_forked(void); /* in the child */

#endif
