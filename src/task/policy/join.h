/* SPDX-License-Identifier: Apache-2.0
 * task/policy/join.h - is an open loop worth joining?
 * Joining costs the owner half a microsecond: its cache lines move to our processor and back, and it must wait until we
 * have subtracted our blocks. So a worker watches how fast blocks are claimed before it joins, and stays out of a loop
 * that will be over by then: empty loops of 16 blocks took 0.9 us without this. After a few long loops in a row it
 * joins at once. */
#ifndef OX_TASK_POLICY_JOIN_H
#define OX_TASK_POLICY_JOIN_H

#include "task/parallel.h"

/* worker_joins and worker_left of policy.h. */
bool ox_join_is_worth_it(ox_worker *w, const ox_loop_slot *slot, uint64_t range);
void ox_join_ended(ox_worker *w, uint64_t ticks);

#endif
