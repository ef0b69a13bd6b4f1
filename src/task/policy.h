/* SPDX-License-Identifier: Apache-2.0
 * task/policy.h - the hooks: where the mechanism of the pool asks what depends on how busy, how large or how old things
 * are. It is all that the mechanism (this folder) knows of policies; they lie in policy/ and may know all of it.
 *
 * Mechanism is what makes the pool right: who owns which block, task or node, who sleeps and who must be woken. Policy
 * is what makes it fast: whether to watch or to sleep, to join or to leave alone, to nap, to yield, to pull. No hook
 * can lose work, run it twice or block for ever, whatever it answers, if it keeps to what is said below; all the proofs
 * are about the mechanism alone.
 *
 * A pool has one table for life: ox_pool_opts.policy chooses. A hook runs on the thread that asks, may be called by
 * many at once, allocates nothing and must not run tiles or units. Where a call would be felt (a loop of two blocks
 * takes 50 ns, a task as long) the mechanism asks rarely, and says here when. */
#ifndef OX_TASK_POLICY_H
#define OX_TASK_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onyx/task.h"

struct ox_worker;
struct ox_loop_slot;

enum {
  OX_LOOKS_PER_ASK = 16,   /* at work, between two questions whether to go on watching */
  OX_TASKS_PER_ASK = 16,   /* a worker's, between two calls of worker_between */
  OX_CALLER_ASKS_US = 200, /* a caller's, between two calls of caller_between */
};

/* A loop or graph that found workers asleep. */
typedef enum ox_wake {
  OX_WAKE_NOBODY, /* now; those who join may */
  OX_WAKE_QUIET,  /* while it runs */
  OX_WAKE_SOME
} ox_wake;

/* The answer for such a loop; stays with its owner until it has ended. */
typedef struct ox_loop_note {
  ox_wake wake;
  bool ends; /* loop_ended is called */
  /* The policy's own. */
  bool woke;
  uint64_t key, start_ns;
} ox_loop_note;

typedef struct ox_policy {
  const char *name;
  /* Of its state, pool->policy_state and worker->policy_state: zeroed when made, on cache lines of its own. */
  size_t pool_bytes, worker_bytes;

  /* --- Making --- */
  void (*pool_made)(ox_pool *pool);            /* before its workers, and again in a forked child */
  void (*worker_made)(struct ox_worker *w);    /* before its thread starts, each time */
  void (*worker_started)(struct ox_worker *w); /* on its thread; not on an executor's */

  /* --- Watching, that is spinning, before sleep --- */
  /* Worker |w| has nothing to do: shall it look on? |looked|: it has, OX_LOOKS_PER_ASK times since it asked last. */
  bool (*worker_watches)(struct ox_worker *w, bool looked);
  /* A thread waits for others and has watched for |ns|: shall it go on? Asked after every OX_LOOKS_PER_ASK looks. */
  bool (*waiter_watches)(const ox_pool *pool, uint64_t ns);

  /* --- Between two pieces of work, where nobody waits for this thread: it may nap, yield or stand by here --- */
  void (*worker_between)(struct ox_worker *w); /* after each loop or graph and every OX_TASKS_PER_ASK tasks */
  void (*caller_between)(ox_pool *pool);       /* a client ends a loop; its slot still counts as taken */
  void (*worker_woken)(struct ox_worker *w, uint64_t asleep_ns); /* asleep since then; looks for work after this */

  /* --- Waking --- */
  /* How many of |want| sleepers to wake. 0 only if a thread that is awake will look for work after this call. */
  uint32_t (*may_wake)(const ox_pool *pool, uint32_t want);
  void (*worker_is_woken)(struct ox_worker *w); /* by the calling thread, just before; not on an executor */
  void (*section_begins)(ox_pool *pool);        /* pool->held has grown */
  /* Only if somebody sleeps. What a note leaves asleep the loop's owner does alone. */
  void (*loop_begins)(ox_pool *pool, const struct ox_loop_slot *slot, ox_loop_note *out_note);
  void (*graph_begins)(ox_pool *pool, ox_task_graph *graph, size_t n_nodes, ox_loop_note *out_note);
  void (*loop_ended)(ox_pool *pool, const ox_loop_note *note, uint32_t ran, uint32_t n); /* the owner |ran| of |n| */

  /* --- Joining and stealing --- */
  /* Worker |w| sees a loop with |range| in its owner's lane. False: it looks elsewhere, or again; may take its time. */
  bool (*worker_joins)(struct ox_worker *w, const struct ox_loop_slot *slot, uint64_t range);
  void (*worker_left)(struct ox_worker *w, uint64_t ticks); /* it was in a loop for so long */
  /* May the calling thread look into others' queues? Not false for long. */
  bool (*may_steal)(const ox_pool *pool);
  void (*stole_call)(const ox_pool *pool, uint32_t left); /* one, and so many stay; that queue is locked */

  /* --- Stragglers --- */
  void (*waiter_sleeps)(ox_pool *pool, const void *what); /* until those with a part of |what| are done: worker.helps */
  void (*worker_is_free)(struct ox_worker *w); /* only if worker.pulled_to says so: it has no part of anything */
} ox_policy;

extern const ox_policy ox_policy_adaptive; /* policy/adaptive.c */
extern const ox_policy ox_policy_off;      /* policy_off.c: the mechanism alone; keeps no state */

#endif
