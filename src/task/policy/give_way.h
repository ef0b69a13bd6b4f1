/* SPDX-License-Identifier: Apache-2.0
 * task/policy/give_way.h - sharing processors with other threads, of this pool's clients or of other programs.
 * A thread that runs until the system preempts it is usually in the middle of a block then, and the loop waits a whole
 * time slice (4 ms) for it. So threads give way between loops, where no other thread waits for them:
 *  - A worker that could not run for a quarter of some 48 ms (wall time against its processor time) naps half of the
 * time for a while. It then uses less than its share, so the system lets it run when it is ready. Programs that compute
 *    for a moment now and then take less than a quarter: naps would cost all loops more than these programs cost some.
 *  - Callers of loops yield from time to time when there are at least as many as processors, so that each of them runs
 *    often: with four on two processors the worst loop took 14 ms. A caller that has had more than others naps
 * (fair.h). Workers nap as long as callers keep all processors busy. */
#ifndef OX_TASK_POLICY_GIVE_WAY_H
#define OX_TASK_POLICY_GIVE_WAY_H

#include "task/policy/fair.h"
#include "task/pool.h"

typedef struct ox_give_way {
  uint64_t tick;                /* when the clocks were last read */
  uint64_t start_ns, start_cpu; /* the begin of this run: since the last sleep or nap */
  uint64_t ran_ns, got_ns;      /* wall time and processor time of the runs that are judged together */
  uint64_t judged_ns;           /* when the last of them ended */
  uint64_t until_ns, period_ns; /* until when to take naps; how long that lasts the next time */
  uint64_t idle_ns;             /* when processors were last found idle although callers could fill them */
} ox_give_way;

/* A worker begins to run. */
void ox_give_way_start(ox_give_way *way);
/* Worker |w| is between two loops. Returns true when it has read the clocks, which it does from time to time. */
bool ox_give_way_worker(ox_worker *w, ox_give_way *way);
/* A caller has ended a loop; called at most every OX_CALLER_ASKS_US. */
void ox_give_way_caller(ox_pool *pool, ox_fair *fair);

#endif
