/* SPDX-License-Identifier: Apache-2.0
 * task/policy/straggler.h - a loop, graph or task that waits for a worker that does not run.
 *
 * Another program, an interrupt or one of the system's own threads can take the processor away from a worker in the
 * middle of a block. The system leaves it in that processor's queue, for 3 to 12 ms as measured, although the owner of
 * the loop then sleeps and leaves its own processor idle. So the owner, after spinning for a while, reads the worker's
 * processor time twice: if it has not changed, the owner moves (pulls) the worker to its own processor, and sleeps.
 * When the worker is done its former affinity is restored. With one of two processors taken, loops of 64 us that took
 * longer than 100 us cost 13 to 15 % of the time, 3 to 7 with this; on a quiet machine 2 to 8 %, 2 to 3 with this.
 *
 * One worker per wait: a worker that sleeps inside a block looks the same, and several of these must not end up on one
 * processor. Never in pools with an affinity of their own or on an executor's threads, nor on systems that do not
 * report a thread's processor time or cannot move it. */
#ifndef OX_TASK_POLICY_STRAGGLER_H
#define OX_TASK_POLICY_STRAGGLER_H

#include "task/pool.h"

/* The calling thread is about to sleep until the helpers in |what| are done. */
void ox_straggler_pull(ox_pool *pool, const void *what);

/* Worker |w|, which was pulled, has no block any more: restores its affinity. */
void ox_straggler_return(ox_worker *w);

#endif
