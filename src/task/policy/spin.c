/* SPDX-License-Identifier: Apache-2.0
 * task/policy/spin.c - how long to watch for work before sleeping. */
#include "task/policy/spin.h"

#include "task/policy/state.h"
#include "task/wake.h"

enum {
  SPIN_LEAST_NS = 20 * 1000, /* a fork-join gap inside a model; 0.4 % of a core with one loop every 5 ms */
  SPIN_MOST_NS = 200 * 1000, /* a waiting kernel costs about 50 us; more spinning than this never paid */
  SPIN_CROWDED_NS = 2 * 1000,
  SPIN_SECTION_NS = 100 * 1000 * 1000, /* somebody may have forgotten to end it */
  NAP_SHORT_NS = 300 * 1000,           /* woken this soon: spinning longer would have been better */
  NAP_LONG_NS = 1000 * 1000,
  WAIT_NS = 20 * 1000,   /* of a thread that waits for others */
  STOLEN_NS = 20 * 1000, /* a gap this long between two looks: somebody else had our processor and may want it again */
  STOLEN_SECTION_NS = 500 * 1000, /* then interrupts are no reason, only another thread's time slice */
  SPIN_STOLEN_NS = 5 * 1000       /* after a gap: only if loops follow each other */
};

void ox_spin_init(ox_worker *w) { ox_state_of(w)->spin_ns = SPIN_LEAST_NS; }

/* Does an open section want this worker awake? */
static bool is_held(const ox_worker *w) {
  return w->index <= atomic_load_explicit(&w->pool->held, memory_order_relaxed) && !ox_pool_is_crowded(w->pool);
}

static uint64_t budget(const ox_worker *w) {
  const ox_pool *pool = w->pool;
  if (is_held(w)) return SPIN_SECTION_NS;
  uint32_t us = atomic_load_explicit(&pool->spin_us, memory_order_relaxed);
  if (us == OX_POOL_NO_SPIN) return 0;
  if (us) return (uint64_t)us * 1000;
  return ox_pool_is_crowded(pool) ? SPIN_CROWDED_NS : ox_state_of(w)->spin_ns;
}

/* Was the time between two looks so long that we should not go on? Who asks for a fixed time gets it. */
static bool was_stolen(const ox_worker *w, uint64_t gap_ns) {
  if (is_held(w)) return gap_ns > STOLEN_SECTION_NS;
  return gap_ns > STOLEN_NS && !atomic_load_explicit(&w->pool->spin_us, memory_order_relaxed);
}

bool ox_spin_worker(ox_worker *w, bool looked) {
  ox_worker_state *s = ox_state_of(w);
  if (!looked) {
    if (!budget(w)) return false;
    s->watch_start_ns = s->watch_last_ns = ox_thread_now_ns(), s->stolen = false;
    return true;
  }
  uint64_t now = ox_thread_now_ns();
  if (was_stolen(w, now - s->watch_last_ns)) s->stolen = true, s->watch_start_ns = now;
  s->watch_last_ns = now;
  return now - s->watch_start_ns <= (s->stolen ? (uint64_t)SPIN_STOLEN_NS : budget(w));
}

bool ox_spin_waiter(const ox_pool *pool, uint64_t ns) {
  return ns <= (uint64_t)(ox_pool_is_crowded(pool) ? SPIN_CROWDED_NS : WAIT_NS);
}

/* Work that came soon after we fell asleep asks for longer spinning, long naps for shorter. Not every loop wakes us
 * (cold.h), so the gap between loops counts if it is shorter than the nap. */
void ox_spin_learn(ox_worker *w, uint64_t nap_ns) {
  ox_worker_state *s = ox_state_of(w);
  uint64_t gap_ns = atomic_load_explicit(&ox_state_of_pool(w->pool)->cold.gap_ns, memory_order_relaxed);
  if (nap_ns > NAP_LONG_NS)
    s->spin_ns = OX_MAX(s->spin_ns / 2, (uint32_t)SPIN_LEAST_NS);
  else if (OX_MIN(nap_ns, gap_ns) < NAP_SHORT_NS)
    s->spin_ns = OX_MIN(s->spin_ns * 2, (uint32_t)SPIN_MOST_NS);
}

bool ox_spin_is_long(const ox_pool *pool) {
  uint32_t us = atomic_load_explicit(&pool->spin_us, memory_order_relaxed);
  return us && us != OX_POOL_NO_SPIN;
}

void ox_spin_section(ox_pool *pool) {
  if (ox_pool_is_crowded(pool) || !ox_pool_any_asleep(pool)) return;
  uint32_t size = ox_pool_threads(pool), held = atomic_load_explicit(&pool->held, memory_order_relaxed);
  ox_pool_wake_some(pool, 0, OX_MIN(held, size - 1), size);
}
