/* SPDX-License-Identifier: Apache-2.0
 * task/task.h - tasks: units, parents, counts.
 *
 * Ready: |wait_parents| starts at 1 + parents while no other thread knows the task; each parent that ends subtracts
 * one, and so does the submitter at the end. The thread that brings it to 0 queues the task: exactly one does, after
 * all parents have ended.
 *
 * Parents: a child pushes a link (in its own memory) onto the parent's |children|, a stack that accepts pushes until
 * the parent ends and swaps in CLOSED. A push either comes before the swap, and the parent will see the link, or it
 * fails on CLOSED, and the child knows that the parent has ended. Links are never popped one by one, so there is no
 * ABA. A link is read only before its child's wait_parents is decremented: until then the child cannot run, so cannot
 * be freed.
 *
 * References: one for the run, from submission until the task has ended and told its children, and one per handle. The
 * last one returns the memory. Retain is relaxed (the caller holds one), release is one acq_rel decrement. A thread
 * that finds its own reference to be the only one (acquire) need not subtract, as no other thread can retain any more:
 * for the run's reference that also means that no thread waits and that no child can be added any more.
 *
 * Waiting is the handshake of wake.h again, for threads that are not in the |asleep| mask: the waiter marks the task
 * (WAITED), counts itself in n_waiting, reads |wait_epoch|, checks again (has the task ended, is work queued?), and
 * sleeps while the epoch is what it read. A thread that ends a marked task, or queues work while n_waiting > 0, raises
 * the epoch before it wakes. All seq_cst: if the waiter's check missed the event, the event comes after the check in
 * the total order, so the epoch is raised after it was read, and the sleep ends or does not begin. A waiter that was
 * woken for work may leave instead because its task has ended: then that end, which came after its last check, wakes
 * all other waiters, and they look for the work.
 *
 * The rest is publication, one writer before one reader: acquire and release. What the submitter stored reaches the
 * thread that runs the task through the queue's lock or the link (pushed with release, swapped out with acquire; later
 * pushes are RMWs and continue the release sequence). What units wrote reaches the thread that ends the task through
 * |pending|, children through |wait_parents|, waiters through DONE, and the thread that frees the memory through
 * |refs|; all are acq_rel RMWs, so each sees everything before it.
 *
 * tests/task/model: refs.pml (parents, references, errors), wait.pml (waiting). */
#ifndef OX_TASK_TASK_H
#define OX_TASK_TASK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "onyx/task.h"

typedef struct ox_task_link {
  ox_task *child;
  struct ox_task_link *next;
} ox_task_link;

enum { OX_TASK_LINKS = 4, OX_TASK_INLINE_BYTES = 128 };

/* ox_task.state. The flags of ox_task_opts are in it too: they do not change. */
enum {
  OX_TASK_DONE = 1,
  OX_TASK_WAITED = 2,
  OX_TASK_KEPT = 4,       /* |kept| is set */
  OX_TASK_OWNS = 8,       /* payload_delete or |links| is set */
  OX_TASK_CANCELLED = 16, /* never set once it is DONE, so all waiters get the same result */
  OX_TASK_FLAG_SHIFT = 8
};

struct ox_task {
  /* All that a task of one unit needs, on one cache line, which moves from the submitter's processor to another and
   * back. */
  _Alignas(64) ox_task *next; /* under the lock of the queue it is in */
  ox_unit_fn fn;              /* constant while it runs, like payload, pool, n_units */
  void *payload;
  ox_pool *pool;
  _Atomic(ox_task_link *) children; /* or CLOSED */
  _Atomic(ox_status *) error;       /* first wins */
  uint32_t n_units;
  atomic_uint refs;
  atomic_uint state;
  atomic_uint pending; /* units not finished, if there were several */
  /* The rest is 0 in a spare and stays so unless it is needed. */
  atomic_uint wait_parents;
  uint32_t next_unit; /* like |next| */
  uint32_t mark;      /* the last search that came here (cycle.c); undefined in a spare */
  void (*payload_delete)(void *);
  ox_task_link *links;            /* NULL: |own| */
  _Atomic(struct ox_kept *) kept; /* ox_task_keep */
  uint64_t end_ns;                /* these two only if it is OX_TASK_TIMED */
  atomic_uint_least64_t first_ns;
  ox_task_link own[OX_TASK_LINKS];
  _Alignas(16) unsigned char bytes[OX_TASK_INLINE_BYTES];
};

static inline bool ox_task_has_ended(const ox_task *t) {
  return atomic_load_explicit(&t->state, memory_order_seq_cst) & OX_TASK_DONE;
}

/* acquire: pairs with ox_keep_first. */
static inline bool ox_task_has_failed(const ox_task *t) {
  return atomic_load_explicit(&t->error, memory_order_acquire) ||
         (atomic_load_explicit(&t->state, memory_order_relaxed) & OX_TASK_CANCELLED);
}

static inline uint32_t ox_task_flags(const ox_task *t) {
  return atomic_load_explicit(&t->state, memory_order_relaxed) >> OX_TASK_FLAG_SHIFT;
}

#endif
