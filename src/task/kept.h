/* SPDX-License-Identifier: Apache-2.0
 * task/kept.h - objects that language bindings leave with tasks. */
#ifndef OX_TASK_KEPT_H
#define OX_TASK_KEPT_H

#include "task/task.h"

/* |to| ends with the error of |from|: it shares its object too. */
void ox_kept_share(const ox_task *from, ox_task *to);
/* The task, which has one (OX_TASK_KEPT), is freed. */
void ox_kept_drop(ox_task *task);

#endif
