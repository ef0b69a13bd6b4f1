/* SPDX-License-Identifier: Apache-2.0
 * task/queue.h - ready tasks and calls, one queue per worker and a few for other threads.
 *
 * A queue is a list of tasks and a chain of blocks of calls under a lock that is only ever tried, never waited for: a
 * thread may be descheduled while it holds one, and then the others use other queues. The lock is held for a few
 * instructions, and usually only one thread uses it.
 *
 * |count| may be read without the lock: writing it is P1 and reading it W2 of the proof in wake.h. Only the step from 0
 * is seq_cst. A read that misses the step precedes it, so the pusher sees the sleeper and wakes it. A read that follows
 * the step finds a number above 0, unless everything was claimed: only a claim goes back to 0, and an earlier claim
 * happens before the step, through the lock. Pushes onto a queue that is not empty come after its step, through the
 * lock again, and so after the sleeper's announcement, too. As each push wakes one or two, a claim that leaves tasks
 * behind wakes more. The list and the tasks need no more than the lock's acquire and release.
 *
 * A thief takes a task and moves a share of the rest to its own queue. In between these are in no queue, and a reader
 * may find both queues empty, in either order: so moving ends with P1 and P2 like a push. A worker that quits passes on
 * the wake that it may have received, to a waiting thread if no worker sleeps.
 *
 * tests/task/model/queue.pml: each unit is claimed once and no thread sleeps while there is a task. */
#ifndef OX_TASK_QUEUE_H
#define OX_TASK_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "onyx/task.h"
#include "task/call.h"
#include "task/pool.h"

enum { OX_CLIENT_QUEUES = 4 }; /* for threads that are not workers */

typedef struct ox_task_queue {
  _Alignas(64) atomic_uint lock;
  atomic_uint count;    /* tasks from head to tail, and calls */
  uint32_t n_calls;     /* all but |count| is under lock */
  uint32_t alternate;   /* claims so far from a queue that had both: odd ones take a task */
  ox_call_chain calls;  /* ready, oldest first */
  ox_task *head, *tail; /* ready, oldest first */
  /* Tasks ever pushed and popped. |mark| is number mark_at of those pushed: a thief's share ends there, so it can be
   * cut off in one step. |young| becomes the next mark. */
  uint32_t pushed, popped, mark_at, young_at;
  ox_task *mark, *young;
} ox_task_queue;

/* Units [begin, begin + n) of a task, or a call, to be run now. */
typedef struct ox_claim {
  ox_task *task; /* NULL: a call */
  uint32_t begin, n;
  bool more; /* units, tasks or calls are left in that queue */
  ox_task_call call;
} ox_claim;

/* The calling thread's queue. */
uint32_t ox_queue_own(const ox_pool *pool);
/* Appends a chain of ready tasks (linked by next) to queue |own| or a later one, and wakes workers for them. */
void ox_queue_push(ox_pool *pool, uint32_t own, ox_task *first, ox_task *last, uint32_t n_tasks, uint32_t n_units);
/* Appends a call; |bytes| of payload (OX_CALL_BYTES or fewer) are copied, 0: only pointed to. False on out of memory.
 */
bool ox_queue_push_call(ox_pool *pool, uint32_t own, ox_unit_fn fn, void *payload, size_t bytes);
/* P2 for tasks: wakes up to |want| sleeping workers or, if there are none, a waiting thread. */
void ox_queue_wake(ox_pool *pool, uint32_t want);
/* Claims units from our own queue, or else from another, of which more tasks may move to our own. False: none found. */
bool ox_queue_claim(ox_pool *pool, uint32_t own, ox_claim *out);
/* True if some queue has a task. */
bool ox_queue_any(const ox_pool *pool);

#endif
