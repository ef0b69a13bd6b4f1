/* SPDX-License-Identifier: Apache-2.0
 * task/policy/give_way.h - sharing processors with other threads, of this pool's clients or of other programs.
 * Who runs until the system takes the processor away is usually in the middle of a block then, and the loop waits a
 * whole time slice (4 ms) for it. So threads give way between loops, where nobody waits for them:
 *  - A worker that was kept from running for a quarter of some 48 ms (wall time against its processor time) naps half of
 *    the time for a while. It then stays below its share, so the system lets it run when it wants to. Who computes for a
 *    moment now and then takes less than that: naps would cost all loops more than he costs some.
 *  - Callers of loops yield from time to time when there are at least as many as processors, so that each of them runs
 *    often: with four on two processors the worst loop took 14 ms. Who has had more than others naps (fair.h). Workers
 *    stay away as long as that is so. */
#ifndef OX_TASK_POLICY_GIVE_WAY_H
#define OX_TASK_POLICY_GIVE_WAY_H

#include "task/policy/fair.h"
#include "task/pool.h"

typedef struct ox_give_way {
  uint64_t tick;                /* of the last look at the clocks */
  uint64_t start_ns, start_cpu; /* of this run: since the last sleep or nap */
  uint64_t ran_ns, got_ns;      /* of the pieces judged together: how long they were, what it got of that */
  uint64_t judged_ns;           /* when the last of them ended */
  uint64_t until_ns, period_ns; /* nap until then; for how long after the next finding */
  uint64_t idle_ns;             /* when processors were last found idle although callers could fill them */
} ox_give_way;

/* A worker begins to run. */
void ox_give_way_start(ox_give_way *way);
/* Worker |w| is between two loops. True from time to time: when it has looked at the clocks. */
bool ox_give_way_worker(ox_worker *w, ox_give_way *way);
/* A caller has ended a loop; not asked more often than OX_CALLER_ASKS_US. */
void ox_give_way_caller(ox_pool *pool, ox_fair *fair);

#endif
