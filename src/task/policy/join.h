/* SPDX-License-Identifier: Apache-2.0
 * task/policy/join.h - is an open loop worth joining?
 * Joining costs the owner half a microsecond: its words move to our cache and back, and it must wait for our report.
 * So a worker watches how fast the blocks go before it joins, and leaves a loop alone that will be over by then: empty
 * loops of 16 blocks took 0.9 us without this. After a few long loops in a row it joins at once. */
#ifndef OX_TASK_POLICY_JOIN_H
#define OX_TASK_POLICY_JOIN_H

#include "task/parallel.h"

/* worker_joins and worker_left of policy.h. */
bool ox_join_is_worth_it(ox_worker *w, const ox_loop_slot *slot, uint64_t range);
void ox_join_ended(ox_worker *w, uint64_t ticks);

#endif
