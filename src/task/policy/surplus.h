/* SPDX-License-Identifier: Apache-2.0
 * task/policy/surplus.h - pools with more threads than processors.
 * For work that computes, threads beyond the number of processors are useless: they share processors with the others, a
 * time slice each, and each time a block waits. But work may also block, and then the pool needs them. So a worker that
 * is woken while enough are active stands by: it naps, checks once a millisecond, and joins if the processors were idle
 * a quarter of the time or if nothing has progressed for ten checks. One worker stands by at a time; meanwhile no other
 * is woken. Four threads on two processors then take about as long as two: a million single tasks went from 3.5 M/s to
 * 6.1, nested loops from 66 % of the ideal to 89.
 *
 * No work is forgotten: a thread that publishes work and finds |standing| set has published before it is cleared (both
 * seq_cst), and the worker that clears it looks for work afterwards, at the latest at W2 of wake.h. */
#ifndef OX_TASK_POLICY_SURPLUS_H
#define OX_TASK_POLICY_SURPLUS_H

#include "task/parallel.h"

/* How many of |want| sleeping workers to wake. 0: a worker stands by, and will see the work. */
uint32_t ox_surplus_may_wake(const ox_pool *pool, uint32_t want);
/* Should the loop of a large pool consider waking a worker? While a thread is active for each processor, only every
 * 16th loop should: the woken worker would stand by, and workers that help in a loop that blocks wake others
 * themselves. */
bool ox_surplus_wants_more(const ox_pool *pool, const ox_loop_slot *slot);
/* Worker |w| is between two loops or has just been woken: returns when it should work or sleep; false at once if it
 * need not stand by. */
bool ox_surplus_stand_by(ox_worker *w);

#endif
