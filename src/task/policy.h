/* SPDX-License-Identifier: Apache-2.0
 * task/policy.h - the hooks through which the pool's mechanism (this folder) calls its policy (the folder policy/).
 *
 * The mechanism makes the pool correct: it decides which thread owns which block, task or node, and which sleeping
 * thread must be woken. The policy makes it fast: whether to watch for work or to sleep, to join a loop or not, to nap,
 * to yield, to move a worker to another processor. Whatever a hook returns within the bounds given below, no work is
 * lost or run twice and no thread waits for ever; all proofs are about the mechanism alone.
 *
 * A pool has one table of hooks for its whole life, chosen by ox_pool_opts.policy. A hook runs on the thread that calls
 * it, may be called by several at once, allocates nothing and must not run tiles or units. The shortest loops and tasks
 * take 50 ns, so hooks that would slow them down are called rarely; their comments say how often. */
#ifndef OX_TASK_POLICY_H
#define OX_TASK_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onyx/task.h"

struct ox_worker;
struct ox_loop_slot;

enum {
  OX_LOOKS_PER_ASK = 16,   /* checks for work between two calls of worker_watches or waiter_watches */
  OX_TASKS_PER_ASK = 16,   /* tasks that a worker runs between two calls of worker_between */
  OX_CALLER_ASKS_US = 200, /* least time between a caller's calls of caller_between */
};

/* Which workers a loop or graph wakes, if it finds some asleep. */
typedef enum ox_wake {
  OX_WAKE_NOBODY, /* none now; workers that join may wake others */
  OX_WAKE_QUIET,  /* none, as long as it runs */
  OX_WAKE_SOME    /* one or two now, which wake others */
} ox_wake;

/* What the policy decided for such a loop; its owner keeps it until the loop has ended. */
typedef struct ox_loop_note {
  ox_wake wake;
  bool ends; /* loop_ended is to be called */
  /* Private to the policy. */
  bool woke;
  uint64_t key, start_ns;
} ox_loop_note;

typedef struct ox_policy {
  const char *name;
  /* Sizes of its state, pool->policy_state and worker->policy_state: zeroed when made, on cache lines of their own. */
  size_t pool_bytes, worker_bytes;

  /* --- Making --- */
  void (*pool_made)(ox_pool *pool);            /* before its workers, and again in a forked child */
  void (*worker_made)(struct ox_worker *w);    /* before its thread starts, each time */
  void (*worker_started)(struct ox_worker *w); /* on its thread; not on an executor's */

  /* --- Watching, that is spinning, before sleep --- */
  /* Should worker |w|, which has nothing to do, watch for work? |looked|: it has checked OX_LOOKS_PER_ASK times since
   * the last call; false: it begins. */
  bool (*worker_watches)(struct ox_worker *w, bool looked);
  /* Should a thread that waits for others, and has watched for |ns|, go on? Called after every OX_LOOKS_PER_ASK checks.
   */
  bool (*waiter_watches)(const ox_pool *pool, uint64_t ns);

  /* --- Between two pieces of work: no thread waits for this one, so it may nap, yield or stand by here --- */
  void (*worker_between)(struct ox_worker *w); /* after each loop or graph and every OX_TASKS_PER_ASK tasks */
  void (*caller_between)(ox_pool *pool);       /* a client ends a loop; its slot still counts as taken */
  void (*worker_woken)(struct ox_worker *w, uint64_t asleep_ns); /* slept since that time; looks for work afterwards */

  /* --- Waking --- */
  /* How many of |want| sleeping workers to wake. 0 is allowed only if a thread that is awake will look for work after
   * this call. */
  uint32_t (*may_wake)(const ox_pool *pool, uint32_t want);
  void (*worker_is_woken)(struct ox_worker *w); /* the calling thread is about to wake it; not on an executor */
  void (*section_begins)(ox_pool *pool);        /* pool->held has grown */
  /* Called only if some worker sleeps. */
  void (*loop_begins)(ox_pool *pool, const struct ox_loop_slot *slot, ox_loop_note *out_note);
  void (*graph_begins)(ox_pool *pool, ox_task_graph *graph, size_t n_nodes, ox_loop_note *out_note);
  void (*loop_ended)(ox_pool *pool, const ox_loop_note *note, uint32_t ran,
                     uint32_t n); /* its owner ran |ran| of |n| */

  /* --- Joining and stealing --- */
  /* Should worker |w| join a loop that has |range| in its owner's lane? It may wait and watch before it returns. */
  bool (*worker_joins)(struct ox_worker *w, const struct ox_loop_slot *slot, uint64_t range);
  void (*worker_left)(struct ox_worker *w, uint64_t ticks); /* it worked in a loop for |ticks| */
  /* May the calling thread look into the queues of others? Must not be false for long. */
  bool (*may_steal)(const ox_pool *pool);
  void (*stole_call)(const ox_pool *pool, uint32_t left); /* |left| calls stay in that queue, which is locked */

  /* --- Stragglers --- */
  void (*waiter_sleeps)(ox_pool *pool,
                        const void *what);     /* until all workers that work on |what| (worker.helps) are done */
  void (*worker_is_free)(struct ox_worker *w); /* it was pulled (worker.pulled_to) and works on nothing now */
} ox_policy;

extern const ox_policy ox_policy_adaptive; /* policy/adaptive.c */
extern const ox_policy ox_policy_off;      /* policy_off.c: the mechanism alone; keeps no state */

#endif
