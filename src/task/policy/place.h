/* SPDX-License-Identifier: Apache-2.0
 * task/policy/place.h - a woken worker must not be in the way of whoever woke it.
 * Where processors share no cache, as virtual machines often pretend, Linux wakes a thread on the processor of whoever
 * wakes it although others are idle, and the two take turns: 16 blocks of 50 us took 830 us on two processors, 450 with
 * this. Once a worker has found itself there, wakers first forbid it their own processor (a system call only when the
 * waker has moved). Systems that place threads well never get that far. */
#ifndef OX_TASK_POLICY_PLACE_H
#define OX_TASK_POLICY_PLACE_H

#include "task/pool.h"

void ox_place_init(ox_worker *w);
/* The calling thread is about to wake |w|. */
void ox_place_waking(ox_worker *w);
/* On its own thread: |w| has been woken. */
void ox_place_woken(ox_worker *w);

#endif
