/* SPDX-License-Identifier: Apache-2.0
 * task/policy/place.h - a woken worker should not run on the processor of the thread that woke it.
 * Where processors share no cache, as virtual machines often report, Linux wakes a thread on the processor of the waker
 * although others are idle, and the two share it: 16 blocks of 50 us took 830 us on two processors, 450 with this. Once
 * a worker has found itself there, wakers exclude their own processor from the worker's affinity first (a system call
 * only if the waker has moved). Where the system places threads well this never starts. */
#ifndef OX_TASK_POLICY_PLACE_H
#define OX_TASK_POLICY_PLACE_H

#include "task/pool.h"

void ox_place_init(ox_worker *w);
/* The calling thread is about to wake |w|. */
void ox_place_waking(ox_worker *w);
/* |w| has been woken; called on its own thread. */
void ox_place_woken(ox_worker *w);

#endif
