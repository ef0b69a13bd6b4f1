/* SPDX-License-Identifier: Apache-2.0
 * task/policy/patience.h - a worker that steals calls lets a short queue grow first.
 * A worker that runs calls as fast as they are submitted steals one or two at a time, and each time takes the queue's
 * cache line away from the submitter: 5 to 10 million calls a second on two processors, 20 if it waits a microsecond
 * after a theft that left few. A single call should not have to wait that long, as its submitter may wait for it: so
 * the worker waits only if the theft before was as recent, and stops waiting for a while if it finds no calls after a
 * wait. */
#ifndef OX_TASK_POLICY_PATIENCE_H
#define OX_TASK_POLICY_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "onyx/task.h"

enum {
  OX_PATIENCE_FEW = 32, /* a queue of so many calls is worth stealing from at once */
  OX_PATIENCE_BAN = 64  /* thefts without waiting, after a wait that was in vain */
};

/* The state of one thread. Times are those of ox_ticks(). */
typedef struct ox_patience {
  uint64_t until, last; /* steal nothing before; the last theft */
  bool waited;          /* it waited before that one */
  uint32_t ban;         /* thefts without waiting still to come */
} ox_patience;

static inline bool ox_patience_is_waiting(ox_patience *p, uint64_t now) {
  if (now < p->until) return true;
  p->until = 0;
  return false;
}

/* A theft took one call and left |left| of them; |us_ticks| make a microsecond. */
static inline void ox_patience_update(ox_patience *p, uint64_t now, uint32_t left, uint64_t us_ticks) {
  bool soon = now - p->last < 2 * us_ticks;
  p->last = now;
  if (left >= OX_PATIENCE_FEW) {
    p->waited = false, p->ban = 0;
  } else if (p->waited && !left) {
    p->waited = false, p->ban = OX_PATIENCE_BAN;
  } else if (p->ban) {
    p->ban--;
  } else if (soon) {
    p->waited = true, p->until = now + us_ticks;
  }
}

/* The hooks may_steal and stole_call of task/policy.h, for the calling thread. */
bool ox_patience_may_steal(const ox_pool *pool);
void ox_patience_stole(const ox_pool *pool, uint32_t left);

#endif
