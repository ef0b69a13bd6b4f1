/* SPDX-License-Identifier: Apache-2.0
 * task/fork.h - how often this process was forked from one that had pools. */
#ifndef OX_TASK_FORK_H
#define OX_TASK_FORK_H

#include <stdatomic.h>

extern atomic_uint ox_fork_count;
/* Counts from now on; again: changes nothing. */
void ox_fork_watch(void);

#endif
