/* SPDX-License-Identifier: Apache-2.0
 * task/team.c - see team.h. A team is a loop with a tile for each member. A thread that runs a tile joins the team,
 * then waits until the caller closes it: so no thread can run a second tile before that, and afterwards tiles do
 * nothing. */
#include "task/team.h"

#include "base/macros.h"
#include "task/pool.h"

#define CLOSED 0x80000000u /* in a team's |joined|: no thread can join any more */
enum { LOOKS_PER_YIELD = 4096 };

typedef struct team {
  ox_team_fn fn;
  void *ctx;
  uint32_t n;
  atomic_uint joined; /* members, and CLOSED */
} team;

/* Called by the caller: waits for the other members, at most one for each tile but the |taken| that the caller has. */
static uint32_t close_team(team *t, int64_t taken) {
  uint32_t want = 1 + t->n - (uint32_t)taken;
  uint64_t start = ox_thread_now_ns();
  while (atomic_load_explicit(&t->joined, memory_order_relaxed) < want && ox_thread_now_ns() - start < OX_TEAM_WAIT_NS)
    ox_pause();
  return atomic_fetch_or_explicit(&t->joined, CLOSED, memory_order_acq_rel);
}

/* Joins the team and waits until it is closed; false: it is closed already. */
static bool join(team *t, uint32_t *out_member, uint32_t *out_size) {
  unsigned joined = atomic_load_explicit(&t->joined, memory_order_relaxed);
  do {
    if (joined & CLOSED) return false;
  } while (!atomic_compare_exchange_weak_explicit(&t->joined, &joined, joined + 1, memory_order_acq_rel,
                                                  memory_order_relaxed));
  *out_member = joined;
  for (unsigned looks = 1;; looks++) { /* the caller may have lost its processor */
    unsigned now = atomic_load_explicit(&t->joined, memory_order_acquire);
    *out_size = now & ~CLOSED;
    if (now & CLOSED) return true;
    ox_pause();
    if (looks % LOOKS_PER_YIELD == 0) ox_thread_yield();
  }
}

static ox_status *take_part(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  team *t = ctx;
  uint32_t member = 0, size;
  if (worker) {
    if (!join(t, &member, &size)) return NULL;
  } else {
    if (atomic_load_explicit(&t->joined, memory_order_relaxed) & CLOSED) return NULL;
    size = close_team(t, end - begin);
  }
  t->fn(t->ctx, member, size);
  return NULL;
}

void ox_task_team(ox_pool *pool, uint32_t n, ox_team_fn fn, void *ctx) {
  uint32_t most = ox_pool_size(pool);
  team t = {.fn = fn, .ctx = ctx, .n = n ? OX_MIN(n, most) : most};
  atomic_init(&t.joined, 1);                                      /* the caller */
  ox_status_free(ox_task_for_max(pool, t.n, t.n, take_part, &t)); /* tiles do not fail */
}
