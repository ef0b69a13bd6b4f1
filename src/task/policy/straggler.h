/* SPDX-License-Identifier: Apache-2.0
 * task/policy/straggler.h - a loop, graph or task that waits for a worker that does not run.
 *
 * Another program, an interrupt or one of the system's own threads can take the processor away from a worker in the
 * middle of a block. Systems leave it in that processor's queue, 3 to 12 ms here, although the owner of the loop then
 * sleeps and leaves its own processor idle. So the owner, having watched for a while, looks at the worker's processor
 * time twice: if it stands still, the owner pulls the worker to its own processor, and sleeps. When the worker is done
 * it goes back to where it may run otherwise. With one of two processors stolen, loops of 64 us that took longer than
 * 100 us cost 13 to 15 % of the time, now 3 to 7; on a quiet machine 2 to 8 %, now 2 to 3.
 *
 * One worker per wait: one that sleeps inside a block looks the same, and several of these must not end up on one
 * processor. Never in pools with an affinity of their own or on an executor's threads. Systems that cannot tell a
 * thread's processor time, or move it, do without. */
#ifndef OX_TASK_POLICY_STRAGGLER_H
#define OX_TASK_POLICY_STRAGGLER_H

#include "task/pool.h"

/* The calling thread is about to sleep until the helpers in |what| are done. */
void ox_straggler_pull(ox_pool *pool, const void *what);

/* Worker |w|, which was pulled, has no block any more: back. */
void ox_straggler_return(ox_worker *w);

#endif
