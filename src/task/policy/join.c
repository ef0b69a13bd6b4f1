/* SPDX-License-Identifier: Apache-2.0
 * task/policy/join.c - is an open loop worth joining? */
#include "task/policy/join.h"

#include "task/lane.h"
#include "task/policy/state.h"

enum {
  WATCH_NS = 220,      /* between two readings of the range: a cache line of another processor takes about half of it */
  WORTH_NS = 300,      /* a loop is worth joining if it is expected to last longer */
  AWAY_LEAST_NS = 250, /* a worker waits so long after a loop that was not; doubles with each up to the next */
  AWAY_MOST_NS = 2000,
  LONG_US = 3,   /* after LONG_LOOPS loops in a row in which the worker was busy for so long ... */
  LONG_LOOPS = 4 /* ... it joins without watching */
};

static void pause_for(const ox_pool *pool, uint32_t ns) {
  for (uint32_t i = 0; i < ns; i += pool->pause_ns) ox_pause();
}

bool ox_join_is_worth_it(ox_worker *w, const ox_loop_slot *slot, uint64_t seen) {
  ox_worker_state *s = ox_state_of(w);
  if (s->long_loops >= LONG_LOOPS) return true;
  unsigned serial = atomic_load_explicit(&slot->serial, memory_order_relaxed);
  for (int looks = 0; looks < 2; looks++) {
    pause_for(w->pool, WATCH_NS);
    uint64_t now = atomic_load_explicit(&slot->range0, memory_order_relaxed);
    unsigned loops = atomic_load_explicit(&slot->serial, memory_order_relaxed) - serial;
    uint32_t ran = begin_of(now) - begin_of(seen), left = end_of(now) - begin_of(now);
    if (!loops && !is_empty(now) && (uint64_t)left * WATCH_NS > (uint64_t)ran * WORTH_NS) {
      s->away_ns = 0;
      return true;
    }
    if (!loops && ran < 2) return false; /* slow blocks, and none left */
    if (loops != 1) break;
    seen = now, serial++; /* another loop has begun: watches that one */
  }
  s->away_ns = OX_MIN(OX_MAX(2 * s->away_ns, (uint32_t)AWAY_LEAST_NS), (uint32_t)AWAY_MOST_NS);
  pause_for(w->pool, s->away_ns);
  return false;
}

void ox_join_ended(ox_worker *w, uint64_t ticks) {
  ox_worker_state *s = ox_state_of(w);
  s->long_loops = ticks > LONG_US * w->pool->us_ticks ? s->long_loops + 1 : 0;
}
