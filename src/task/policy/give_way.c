/* SPDX-License-Identifier: Apache-2.0
 * task/policy/give_way.c - naps and yields between two pieces of work. */
#include "task/policy/give_way.h"

#include "task/parallel.h"
#include "task/queue.h"
#include "task/task_graph.h"

enum {
  LOOK_NS = 250 * 1000,    /* between two readings of the clocks */
  RUN_NS = 700 * 1000,     /* of a nap, and of a run between naps: half of the shortest time slice, 1.4 ms */
  WINDOW_NS = 6000 * 1000, /* runs are judged in pieces of this length: one and a half time slices */
  JUDGE_NS = 48000 * 1000, /* pieces of so much time are judged together ... */
  AGAIN_NS = 12000 * 1000, /* ... or of so much if naps have just ended: the other program is likely still there */
  SOON_NS = 30000 * 1000,  /* pieces further apart are not judged together */
  PERIOD_LEAST_NS = 128000 * 1000, /* how long a worker goes on taking naps; doubles up to the next */
  PERIOD_MOST_NS = 512000 * 1000,
  FULL_NAP_NS = 2000 * 1000, /* of a worker while callers keep all processors busy */
  IDLE_NS = 20000 * 1000,    /* after processors were found idle it does not nap for so long */
  CALLER_NAP_NS = 500 * 1000 /* of a caller that is ahead of others */
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

/* Could the worker not run for a quarter of the time, over several pieces? Then naps begin. (Interrupts and the
 * system's own threads take less than that.) */
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

/* Naps as long as callers keep the processors busy and there is no other work than their loops. If the process uses
 * less than a quarter of its processors, twice in a row, the blocks must be sleeping, and the worker helps. (The limit
 * cannot be three quarters: so much is used when the system takes a processor for itself.) */
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

/* Naps if this caller has had more processor time than others. */
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
