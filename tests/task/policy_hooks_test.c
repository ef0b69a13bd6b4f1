/* SPDX-License-Identifier: Apache-2.0
 * task/policy_hooks_test.c - the pool is right whatever a policy answers: one that throws dice at every hook. */
#include "task/policy.h"

#include <stdatomic.h>

#include "support/check.h"
#include "support/pool_backend.h"
#include "task/pool.h"

static uint32_t dice(uint32_t sides) {
  static atomic_uint seed;
  static _Thread_local uint32_t state;
  if (!state) state = 2463534242u + 7919 * atomic_fetch_add(&seed, 1);
  state ^= state << 13, state ^= state >> 17, state ^= state << 5;
  return state % sides;
}

static void dawdle(void) {
  if (dice(8) == 0) ox_thread_yield();
  if (dice(512) == 0) ox_thread_nap(20 * 1000);
}

static void at_pool(ox_pool *pool) { (void)pool, dawdle(); }
static void at_worker(ox_worker *w) { (void)w, dawdle(); }
static bool worker_watches(ox_worker *w, bool looked) { return (void)w, (void)looked, dice(4) != 0; }
static bool waiter_watches(const ox_pool *pool, uint64_t ns) { return (void)pool, (void)ns, dice(2); }
static void worker_woken(ox_worker *w, uint64_t ns) { (void)w, (void)ns, dawdle(); }
static uint32_t may_wake(const ox_pool *pool, uint32_t want) { return (void)pool, 1 + dice(want + 3); }
static void loop_begins(ox_pool *pool, const struct ox_loop_slot *slot, ox_loop_note *note) {
  (void)pool, (void)slot;
  *note = (ox_loop_note){.wake = (ox_wake)dice(3), .ends = dice(2), .key = 42};
}
static void graph_begins(ox_pool *pool, ox_task_graph *graph, size_t n_nodes, ox_loop_note *note) {
  (void)graph, (void)n_nodes;
  loop_begins(pool, NULL, note);
}
static atomic_uint strange_ends;
static void loop_ended(ox_pool *pool, const ox_loop_note *note, uint32_t ran, uint32_t n) {
  (void)pool;
  if (!note->ends || note->key != 42 || ran > n) atomic_fetch_add(&strange_ends, 1);
}
static bool worker_joins(ox_worker *w, const struct ox_loop_slot *slot, uint64_t range) {
  (void)w, (void)slot, (void)range;
  dawdle();
  return dice(2);
}
static void worker_left(ox_worker *w, uint64_t ticks) { (void)w, (void)ticks, dawdle(); }
static bool may_steal(const ox_pool *pool) { return (void)pool, dice(2); }
static void stole_call(const ox_pool *pool, uint32_t left) { (void)pool, (void)left, dawdle(); }
static void waiter_sleeps(ox_pool *pool, const void *what) { (void)pool, (void)what, dawdle(); }
/* Workers are called free at random: nobody pulled them. */
static void worker_between(ox_worker *w) { atomic_store(&w->pulled_to, dice(4) ? -1 : 0); }
static void worker_is_free(ox_worker *w) { atomic_store(&w->pulled_to, -1); }

static const ox_policy by_dice = {
    .name = "dice",
    .pool_made = at_pool,
    .worker_made = at_worker,
    .worker_started = at_worker,
    .worker_watches = worker_watches,
    .waiter_watches = waiter_watches,
    .worker_between = worker_between,
    .caller_between = at_pool,
    .worker_woken = worker_woken,
    .may_wake = may_wake,
    .worker_is_woken = at_worker,
    .section_begins = at_pool,
    .loop_begins = loop_begins,
    .graph_begins = graph_begins,
    .loop_ended = loop_ended,
    .worker_joins = worker_joins,
    .worker_left = worker_left,
    .may_steal = may_steal,
    .stole_call = stole_call,
    .waiter_sleeps = waiter_sleeps,
    .worker_is_free = worker_is_free,
};

/* Before it has workers, or before an executor's threads come: then nobody has asked a policy yet. */
static ox_pool *make_pool(uint32_t n) {
  ox_pool *pool =
      test_pool_with((ox_pool_opts){.n_threads = test_pool_resizes() ? 1 : n, .policy = OX_POOL_POLICY_OFF});
  pool->policy = &by_dice;
  if (test_pool_resizes()) CHECK_OK(ox_pool_resize(pool, n));
  return pool;
}

typedef struct work {
  ox_pool *pool;
  atomic_int tiles, units;
} work;

/* Tiles and units dawdle too: whoever has work in hand must not be too quick for the others to come. */
static ox_status *inner(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  dawdle();
  atomic_fetch_add(&((work *)ctx)->tiles, (int)(end - begin));
  return NULL;
}
static ox_status *outer(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (; begin < end; begin++) OX_TRY(ox_task_for(((work *)ctx)->pool, 5 * begin, inner, ctx));
  return NULL;
}
static ox_status *unit(void *payload, uint32_t i) {
  work *w = payload;
  dawdle();
  atomic_fetch_add(&w->units, 1);
  return i % 3 ? NULL : ox_task_for(w->pool, 7, inner, w);
}
static int all_calls_ran(void *ctx) { return atomic_load(&((work *)ctx)->units) == 64; }

/* Each returns how many tiles and units it makes. */
static void run_loops(work *w) {
  CHECK_OK(ox_task_for(w->pool, 8, outer, w));
  CHECK_OK(ox_task_for_max(w->pool, 3, 100, inner, w));
}
static void run_calls(work *w) {
  ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = unit, .payload = w};
  for (int i = 0; i < 64; i++) CHECK_OK(ox_task_submit(w->pool, &o, NULL));
  ox_pool_work_until(w->pool, all_calls_ran, w);
}
static void run_tasks(work *w) {
  ox_task *t[4];
  for (uint32_t i = 0; i < 4; i++) {
    ox_task_opts o = {.struct_size = sizeof o, .n_units = 6, .fn = unit, .payload = w, .parents = t, .n_parents = i};
    CHECK_OK(ox_task_submit(w->pool, &o, &t[i]));
  }
  for (int i = 3; i >= 0; i--) CHECK_OK(ox_task_wait_release(t[i]));
}
static void run_graph(work *w) {
  ox_task_graph *g;
  CHECK_OK(ox_task_graph_create(&g));
  for (uint32_t i = 0; i < 12; i++) {
    uint32_t parent = i / 3;
    CHECK_OK(ox_task_graph_add(g, unit, w, 1 + i % 2, &parent, i > 0, NULL));
  }
  for (int i = 0; i < 3; i++) CHECK_OK(ox_task_graph_run(w->pool, g));
  ox_task_graph_destroy(g);
}

static void nothing_is_lost_or_done_twice(void **state) {
  (void)state;
  static const struct {
    const char *name;
    void (*run)(work *w);
    int tiles, units;
  } rows[] = {
      {"loops", run_loops, 5 * 28 + 100, 0},
      {"calls", run_calls, 64 * 7, 64},
      {"tasks", run_tasks, 4 * 2 * 7, 4 * 6},
      {"graph", run_graph, 3 * 12 * 7, 3 * 18},
  };
  for (uint32_t n = 1; n <= 5; n++) {
    ox_pool *pool = make_pool(n);
    for (int round = 0; round < 100; round++)
      for (size_t i = 0; i < OX_COUNT(rows); i++) {
        work w = {.pool = pool};
        rows[i].run(&w);
        if (rows[i].run == run_calls) /* counted first, then they run their loops */
          while (atomic_load(&w.tiles) < rows[i].tiles) ox_thread_yield();
        if (w.tiles != rows[i].tiles || w.units != rows[i].units)
          fail_msg("%s on %u threads: %d tiles, wanted %d; %d units, wanted %d", rows[i].name, (unsigned)n,
                   (int)w.tiles, rows[i].tiles, (int)w.units, rows[i].units);
      }
    ox_pool_destroy(pool);
  }
  assert_int_equal(strange_ends, 0);
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost_or_done_twice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
