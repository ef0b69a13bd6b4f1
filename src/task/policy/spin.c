/* SPDX-License-Identifier: Apache-2.0
 * task/policy/spin.c - how long to watch for work before sleeping. */
#include "task/policy/spin.h"

#include "task/policy/state.h"
#include "task/wake.h"

enum {
  SPIN_LEAST_NS = 20 * 1000, /* a gap between two loops of a model; 0.4 % of a core with one loop every 5 ms */
  SPIN_MOST_NS = 200 * 1000, /* sleeping costs about 50 us; spinning for longer was never faster */
  SPIN_CROWDED_NS = 2 * 1000,
  SPIN_SECTION_NS = 100 * 1000 * 1000, /* not without limit: the program may have forgotten to end the section */
  SLEEP_SHORT_NS = 300 * 1000,         /* woken this soon: spinning longer would have been better */
  SLEEP_LONG_NS = 1000 * 1000,         /* after such a sleep: spinning was in vain */
  WAIT_NS = 20 * 1000,                 /* of a thread that waits for others */
  STOLEN_NS = 20 * 1000,               /* a gap this long between two checks: another thread had our processor */
  STOLEN_SECTION_NS = 500 * 1000,      /* the same in a section: another thread's time slice, not just interrupts */
  SPIN_STOLEN_NS = 5 * 1000            /* after such a gap: enough if loops follow each other closely */
};

void ox_spin_init(ox_worker *w) { ox_state_of(w)->spin_ns = SPIN_LEAST_NS; }

/* Does an open section keep this worker awake? */
static bool is_held(const ox_worker *w) {
  return w->index <= atomic_load_explicit(&w->pool->held, memory_order_relaxed) && !ox_pool_is_crowded(w->pool);
}

/* How long to watch, in ns. */
static uint64_t budget(const ox_worker *w) {
  const ox_pool *pool = w->pool;
  if (is_held(w)) return SPIN_SECTION_NS;
  uint32_t us = atomic_load_explicit(&pool->spin_us, memory_order_relaxed);
  if (us == OX_POOL_NO_SPIN) return 0;
  if (us) return (uint64_t)us * 1000;
  return ox_pool_is_crowded(pool) ? SPIN_CROWDED_NS : ox_state_of(w)->spin_ns;
}

/* Was the gap between two checks so long that another thread needs the processor? A fixed time is kept regardless. */
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

/* After a short sleep the worker spins longer the next time, after a long one shorter. Not every loop wakes it
 * (cold.h), so the gap between loops counts if it is shorter than the sleep. */
void ox_spin_learn(ox_worker *w, uint64_t asleep_ns) {
  ox_worker_state *s = ox_state_of(w);
  uint64_t gap_ns = atomic_load_explicit(&ox_state_of_pool(w->pool)->cold.gap_ns, memory_order_relaxed);
  if (asleep_ns > SLEEP_LONG_NS)
    s->spin_ns = OX_MAX(s->spin_ns / 2, (uint32_t)SPIN_LEAST_NS);
  else if (OX_MIN(asleep_ns, gap_ns) < SLEEP_SHORT_NS)
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
