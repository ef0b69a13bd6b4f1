/* SPDX-License-Identifier: Apache-2.0
 * task/policy/surplus.h - pools with more threads than processors.
 * Threads beyond the processors are of no use to work that computes: they only take turns with the others, a time slice
 * each, and somebody's block waits meanwhile. But work may also block, and then they are what the pool is large for. So
 * a worker that is woken while enough are active stands by: it naps, looks once a millisecond, and joins if the
 * processors were idle a quarter of the time or if nothing has moved for ten looks. One stands by at a time; as long as
 * it does, nobody else is woken. Four threads on two processors then take about as long as two: a million single tasks
 * went from 3.5 M/s to 6.1, nested loops from 66 % of the ideal to 89.
 *
 * No work is forgotten: whoever publishes work and finds |standing| set has published before it is cleared (both
 * seq_cst), and the worker that clears it looks for work afterwards, at the latest at W2 of wake.h. */
#ifndef OX_TASK_POLICY_SURPLUS_H
#define OX_TASK_POLICY_SURPLUS_H

#include "task/parallel.h"

/* How many of |want| sleeping workers to wake. 0: somebody stands by, and will see the work. */
uint32_t ox_surplus_may_wake(const ox_pool *pool, uint32_t want);
/* Could the loop of a large pool use one of those that sleep? With a thread active for each processor only every 16th
 * loop finds that out: a sleeper would but stand by, and those who help in a loop that blocks ask again. */
bool ox_surplus_wants_more(const ox_pool *pool, const ox_loop_slot *slot);
/* Worker |w| is between two loops or has just been woken: returns when it should work or sleep; false at once if it
 * need not stand by. */
bool ox_surplus_stand_by(ox_worker *w);

#endif
