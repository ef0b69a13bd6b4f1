/* SPDX-License-Identifier: Apache-2.0
 * task/policy/spin.h - how long to watch for work before sleeping.
 * A worker learns it from the gaps between loops, between 20 and 200 us; opts.spin_us fixes it, and an open section
 * makes it long. Where more threads are active than there are processors, watching only keeps others from working. */
#ifndef OX_TASK_POLICY_SPIN_H
#define OX_TASK_POLICY_SPIN_H

#include "task/pool.h"

void ox_spin_init(ox_worker *w);
/* worker_watches and waiter_watches of policy.h. */
bool ox_spin_worker(ox_worker *w, bool looked);
bool ox_spin_waiter(const ox_pool *pool, uint64_t ns);
/* Worker |w| was woken after |asleep_ns|. */
void ox_spin_learn(ox_worker *w, uint64_t asleep_ns);
/* Is a time set (opts.spin_us), so that every loop that finds workers asleep should wake them? */
bool ox_spin_is_long(const ox_pool *pool);
/* Wakes the workers that open sections keep awake. */
void ox_spin_section(ox_pool *pool);

#endif
