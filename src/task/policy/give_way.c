/* SPDX-License-Identifier: Apache-2.0
 * task/policy/give_way.c - naps and yields, where nobody waits for this thread. */
#include "task/policy/give_way.h"

#include "task/parallel.h"
#include "task/queue.h"
#include "task/task_graph.h"

enum {
  LOOK_NS = 250 * 1000,
  RUN_NS = 700 * 1000,     /* of naps: well within the shortest time slice in use, 1.4 ms */
  WINDOW_NS = 6000 * 1000, /* a run is looked at in pieces of this length: one time slice and a half */
  JUDGE_NS = 48000 * 1000, /* so much is judged together */
  AGAIN_NS = 12000 * 1000, /* ... or so much when naps have just ended: a neighbour who stays is soon known again */
  SOON_NS = 30000 * 1000,
  PERIOD_LEAST_NS = 128000 * 1000,
  PERIOD_MOST_NS = 512000 * 1000,
  FULL_NAP_NS = 2000 * 1000,
  IDLE_NS = 20000 * 1000,
  CALLER_NAP_NS = 500 * 1000
};

static uint64_t ticks_of(const ox_pool *pool, uint64_t ns) { return pool->us_ticks * (ns / 1000); }

/* Do callers alone keep all processors busy? */
static bool is_full(const ox_pool *pool) {
  uint32_t used = OX_MIN(atomic_load_explicit(&pool->n_used, memory_order_relaxed), pool->n_slots), open = 0;
  for (uint32_t i = 0; i < used; i++)
    open += atomic_load_explicit(&pool->slots[i].busy, memory_order_relaxed) == OX_LOOP_CLIENT;
  return open >= atomic_load_explicit(&pool->n_cpus, memory_order_relaxed);
}

void ox_give_way_start(ox_give_way *way) { way->start_ns = ox_thread_now_ns(), way->start_cpu = ox_thread_cpu_ns(); }

/* Has it been kept from running for a quarter of the time, over several pieces, so that naps begin? (Interrupts and the
 * system's own threads take less.) */
static bool should_begin(ox_give_way *way, uint64_t now, uint64_t ran) {
  uint64_t cpu = ox_thread_cpu_ns(), got = cpu - way->start_cpu;
  ox_give_way_start(way);
  if (!cpu) return false; /* the system does not say */
  if (now - way->judged_ns > SOON_NS + ran) way->ran_ns = way->got_ns = 0;
  way->judged_ns = now, way->ran_ns += ran, way->got_ns += got;
  bool again = now - way->until_ns < way->period_ns;
  if (way->ran_ns < (uint64_t)(again ? AGAIN_NS : JUDGE_NS)) return false;
  bool kept = way->got_ns * 4 < way->ran_ns * 3;
  way->ran_ns = way->got_ns = 0;
  if (!kept) return false;
  way->period_ns = again ? OX_MIN(2 * way->period_ns, (uint64_t)PERIOD_MOST_NS) : PERIOD_LEAST_NS;
  way->until_ns = now + way->period_ns;
  return true;
}

static bool should_nap(ox_give_way *way) {
  uint64_t now = ox_thread_now_ns(), ran = now - way->start_ns;
  if (now <= way->until_ns) return ran > RUN_NS;
  return ran >= WINDOW_NS && should_begin(way, now, ran);
}

/* Naps as long as callers keep the processors busy and nothing but their loops is to be done. If the process uses less
 * than a quarter of the processors, twice, the blocks sleep: then we go and help. (Less than three quarters would not
 * do: so it looks when the system takes a processor for itself.) */
static void nap_while_full(const ox_worker *w, ox_give_way *way) {
  const ox_pool *pool = w->pool;
  uint64_t n_cpus = atomic_load_explicit(&pool->n_cpus, memory_order_relaxed);
  int idle = 0;
  do {
    uint64_t wall = ox_thread_now_ns(), cpu = ox_process_cpu_ns();
    ox_thread_nap(FULL_NAP_NS);
    wall = ox_thread_now_ns() - wall, cpu = ox_process_cpu_ns() - cpu;
    idle = cpu * 4 < wall * n_cpus ? idle + 1 : 0;
  } while (idle < 2 && is_full(pool) && !ox_queue_any(pool) && !ox_graphs_any(pool, w->index) &&
           !atomic_load_explicit(&w->quit, memory_order_relaxed));
  if (idle == 2) way->idle_ns = ox_thread_now_ns();
}

bool ox_give_way_worker(ox_worker *w, ox_give_way *way) {
  uint64_t tick = ox_ticks();
  if (tick - way->tick < ticks_of(w->pool, LOOK_NS)) return false;
  way->tick = tick;
  if (is_full(w->pool) && ox_thread_now_ns() - way->idle_ns > IDLE_NS)
    nap_while_full(w, way);
  else if (should_nap(way))
    ox_thread_nap(RUN_NS);
  else
    return true;
  ox_give_way_start(way);
  return true;
}

/* If we have had more than others, a nap. */
static bool let_others_catch_up(ox_fair *fair) {
  static atomic_uint callers;
  static _Thread_local uint32_t number OX_TLS_FAST; /* 0: none yet */
  static _Thread_local ox_fair_look look;
  ox_thread_usage usage;
  if (!ox_thread_get_usage(&usage)) return false;
  if (!number) number = atomic_fetch_add_explicit(&callers, 1, memory_order_relaxed) + 1;
  if (!ox_fair_is_ahead(fair, number, &look, ox_thread_now_ns(), usage)) return false;
  ox_thread_nap(CALLER_NAP_NS);
  (void)ox_thread_get_usage(&look.usage); /* this sleep does not count */
  return true;
}

void ox_give_way_caller(ox_pool *pool, ox_fair *fair) {
  if (is_full(pool) && !let_others_catch_up(fair)) ox_thread_yield();
}
