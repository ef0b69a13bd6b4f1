/* SPDX-License-Identifier: Apache-2.0
 * task/policy/patience.h - a thief of calls lets a short queue grow.
 * A worker that runs calls as fast as somebody submits them comes back for one or two at a time, and each time takes
 * the queue's line away from the submitter: 5 to 10 million calls a second on two processors, 20 when it stays away for
 * a microsecond after a visit that found few. A single call that somebody waits for should not wait that long: so it
 * stays away only if the visit before was as recent, and gives up for a while when that brought nothing. */
#ifndef OX_TASK_POLICY_PATIENCE_H
#define OX_TASK_POLICY_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "onyx/task.h"

enum { OX_PATIENCE_FEW = 32, OX_PATIENCE_BAN = 64 };

/* One thread's. Ticks are those of ox_ticks(). */
typedef struct ox_patience {
  uint64_t until, last; /* stay away until; the last visit */
  bool waited;          /* before that one */
  uint32_t ban;         /* visits without waiting still to come */
} ox_patience;

static inline bool ox_patience_is_waiting(ox_patience *p, uint64_t now) {
  if (now < p->until) return true;
  p->until = 0;
  return false;
}

/* A visit took one call and left |left| of them; |us_ticks| make a microsecond. */
static inline void ox_patience_visited(ox_patience *p, uint64_t now, uint32_t left, uint64_t us_ticks) {
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

/* Of the calling thread: may_steal and stole_call of task/policy.h. */
bool ox_patience_may_steal(const ox_pool *pool);
void ox_patience_stole(const ox_pool *pool, uint32_t left);

#endif
