/* SPDX-License-Identifier: Apache-2.0
 * task/task_graph_test.c - nodes run once per run and after their parents; errors, barriers, nesting, reuse. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"

static const uint32_t sizes[] = {1, 2, 3, 8};

#define FOR_EACH_POOL(pool)                       \
  for (size_t s_ = 0; s_ < OX_COUNT(sizes); s_++) \
    for (ox_pool *pool = test_pool(sizes[s_]); pool; ox_pool_destroy(pool), pool = NULL)

enum { MOST_PARENTS = 5 };

/* A node that checks: all its parents have run as often as it is about to have. */
typedef struct checked {
  struct checked *all;
  uint32_t parents[MOST_PARENTS], n_parents, n_units;
  atomic_uint calls, early;
  ox_pool *pool;
} checked;

static ox_status *check_unit(void *payload, uint32_t unit) {
  checked *c = payload;
  if (unit >= c->n_units) atomic_fetch_add(&c->early, 1);
  uint32_t run = atomic_fetch_add(&c->calls, 1) / c->n_units + 1;
  for (uint32_t i = 0; i < c->n_parents; i++) {
    const checked *p = &c->all[c->parents[i]];
    if (p->calls != run * p->n_units) atomic_fetch_add(&c->early, 1);
  }
  return NULL;
}

static uint32_t random_below(uint32_t n) {
  static uint32_t x = 12345;
  x = x * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)x * n >> 32);
}

typedef struct dag {
  ox_task_graph *graph;
  checked *nodes;
  uint32_t n;
} dag;

/* |n| nodes, each with up to |n_parents| parents among the |reach| before it. */
static dag make_dag(uint32_t n, uint32_t n_parents, uint32_t reach, uint32_t most_units) {
  dag d = {.nodes = calloc(n + 1, sizeof *d.nodes), .n = n};
  CHECK_OK(ox_task_graph_create(&d.graph));
  for (uint32_t i = 0; i < n; i++) {
    checked *c = &d.nodes[i];
    c->all = d.nodes, c->n_units = 1 + random_below(most_units);
    c->n_parents = i ? random_below(OX_MIN(n_parents, i) + 1) : 0;
    for (uint32_t k = 0; k < c->n_parents; k++) c->parents[k] = i - 1 - random_below(OX_MIN(i, reach)); /* twins too */
    uint32_t node;
    CHECK_OK(ox_task_graph_add(d.graph, check_unit, c, c->n_units, c->parents, c->n_parents, &node));
    assert_int_equal(node, i);
  }
  return d;
}

static void free_dag(dag *d) {
  ox_task_graph_destroy(d->graph);
  free(d->nodes);
}

static void every_node_runs_once_after_its_parents(void **state) {
  (void)state;
  static const uint32_t cases[][4] = {/* nodes, parents, reach, units */
                                      {1, 0, 1, 1},     {2, 1, 1, 1},   {100, 0, 1, 1},  {1000, 1, 1, 1},
                                      {1000, 2, 60, 1}, {300, 5, 8, 3}, {1000, 3, 5, 1}, {3000, 5, 900, 1}};
  FOR_EACH_POOL(pool) {
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
      dag d = make_dag(cases[i][0], cases[i][1], cases[i][2], cases[i][3]);
      for (uint32_t run = 1; run <= 20; run++) {
        CHECK_OK(ox_task_graph_run(pool, d.graph));
        for (uint32_t k = 0; k < d.n; k++) {
          assert_int_equal(d.nodes[k].calls, run * d.nodes[k].n_units);
          assert_int_equal(d.nodes[k].early, 0);
        }
      }
      free_dag(&d);
    }
  }
}

static void empty_graphs_and_null(void **state) {
  (void)state;
  ox_task_graph *g;
  CHECK_OK(ox_task_graph_create(&g));
  CHECK_OK(ox_task_graph_run(NULL, g));
  CHECK_OK(ox_task_graph_run(NULL, NULL));
  ox_task_graph_destroy(g);
  ox_task_graph_destroy(NULL);
  dag d = make_dag(50, 3, 10, 2);
  CHECK_OK(ox_task_graph_run(NULL, d.graph));
  for (uint32_t k = 0; k < d.n; k++) assert_int_equal(d.nodes[k].calls, d.nodes[k].n_units);
  free_dag(&d);
}

static void barriers_pass_order_on(void **state) {
  (void)state;
  FOR_EACH_POOL(pool) {
    checked nodes[3] = {{.n_units = 1}, {.n_units = 1}, {.n_units = 4, .n_parents = 2, .parents = {0, 1}}};
    for (int i = 0; i < 3; i++) nodes[i].all = nodes;
    ox_task_graph *g;
    uint32_t a, b, bar, last;
    CHECK_OK(ox_task_graph_create(&g));
    CHECK_OK(ox_task_graph_add(g, check_unit, &nodes[0], 1, NULL, 0, &a));
    CHECK_OK(ox_task_graph_add(g, check_unit, &nodes[1], 1, NULL, 0, &b));
    CHECK_OK(ox_task_graph_add(g, NULL, NULL, 1, (uint32_t[]){a, b}, 2, &bar));
    CHECK_OK(ox_task_graph_add(g, check_unit, NULL, 0, &bar, 1, &bar)); /* no units: a barrier too */
    CHECK_OK(ox_task_graph_add(g, check_unit, &nodes[2], 4, &bar, 1, &last));
    assert_int_equal(last, 4);
    for (uint32_t run = 1; run < 50; run++) CHECK_OK(ox_task_graph_run(pool, g));
    for (int i = 0; i < 3; i++) assert_int_equal(nodes[i].early, 0);
    assert_int_equal(nodes[2].calls, 4 * 49);
    ox_task_graph_destroy(g);
  }
}

typedef struct fails {
  atomic_int calls;
  bool fail;
} fails;

static ox_status *maybe_fail(void *payload, uint32_t unit) {
  (void)unit;
  fails *f = payload;
  atomic_fetch_add(&f->calls, 1);
  return f->fail ? ox_task_error(OX_FAIL, "on purpose") : NULL;
}

static void an_error_skips_the_rest_and_the_graph_runs_again(void **state) {
  (void)state;
  FOR_EACH_POOL(pool) {
    fails first = {.fail = true}, rest = {.fail = false};
    ox_task_graph *g;
    uint32_t node;
    CHECK_OK(ox_task_graph_create(&g));
    CHECK_OK(ox_task_graph_add(g, maybe_fail, &first, 3, NULL, 0, &node));
    for (int i = 0; i < 200; i++) CHECK_OK(ox_task_graph_add(g, maybe_fail, &rest, 1, &node, 1, i % 3 ? NULL : &node));
    CHECK_FAILS(ox_task_graph_run(pool, g), OX_FAIL, "on purpose");
    assert_int_equal(rest.calls, 0);
    first.fail = false;
    CHECK_OK(ox_task_graph_run(pool, g));
    assert_int_equal(rest.calls, 200);
    ox_task_graph_destroy(g);
  }
}

static ox_status *run_itself(void *payload, uint32_t unit) {
  (void)unit;
  return ox_task_graph_run(NULL, payload);
}

static void bad_graphs_are_refused(void **state) {
  (void)state;
  ox_task_graph *g;
  CHECK_OK(ox_task_graph_create(&g));
  CHECK_FAILS(ox_task_graph_add(g, check_unit, NULL, 1, (uint32_t[]){0}, 1, NULL), OX_INVALID_ARGUMENT, "node 0");
  CHECK_FAILS(ox_task_graph_add(g, check_unit, NULL, 1, NULL, 1, NULL), OX_INVALID_ARGUMENT, "NULL");
  CHECK_OK(ox_task_graph_add(g, run_itself, g, 1, NULL, 0, NULL));
  CHECK_FAILS(ox_task_graph_add(g, check_unit, NULL, 1, (uint32_t[]){0, 1}, 2, NULL), OX_INVALID_ARGUMENT, "node 1");
  CHECK_FAILS(ox_task_graph_run(NULL, g), OX_INVALID_ARGUMENT, "already running");
  ox_task_graph_destroy(g);
}

static ox_status *run_inner(void *payload, uint32_t unit) {
  dag *inner = payload;
  return ox_task_graph_run(inner[unit].nodes[0].pool, inner[unit].graph);
}

/* More graphs at once than the pool has places for. */
static void graphs_nest(void **state) {
  (void)state;
  enum { INNER = 20 };
  FOR_EACH_POOL(pool) {
    dag inner[INNER];
    ox_task_graph *g;
    CHECK_OK(ox_task_graph_create(&g));
    for (int i = 0; i < INNER; i++) inner[i] = make_dag(100, 2, 20, 2), inner[i].nodes[0].pool = pool;
    CHECK_OK(ox_task_graph_add(g, run_inner, inner, INNER, NULL, 0, NULL));
    for (uint32_t run = 1; run <= 20; run++) CHECK_OK(ox_task_graph_run(pool, g));
    for (int i = 0; i < INNER; i++) {
      for (uint32_t k = 0; k < 100; k++) {
        assert_int_equal(inner[i].nodes[k].calls, 20 * inner[i].nodes[k].n_units);
        assert_int_equal(inner[i].nodes[k].early, 0);
      }
      free_dag(&inner[i]);
    }
    ox_task_graph_destroy(g);
  }
}

/* Bytes in use on the heap, where the system says and the test's executor does not allocate meanwhile. */
static size_t heap_bytes(void) {
  if (!test_pool_resizes()) return 0;
#if defined(__GLIBC__)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

static void a_graph_can_grow_between_runs_and_allocates_only_then(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  dag d = make_dag(500, 2, 40, 1);
  CHECK_OK(ox_task_graph_run(pool, d.graph));
  size_t before, after;
  int tries = 0;
  do { /* a thread that starts just now takes its own share, once */
    before = heap_bytes();
    for (int i = 0; i < 50; i++) CHECK_OK(ox_task_graph_run(pool, d.graph));
    after = heap_bytes();
  } while (after != before && ++tries < 3);
  assert_int_equal(after, before);
  fails more = {.fail = false};
  CHECK_OK(ox_task_graph_add(d.graph, maybe_fail, &more, 1, (uint32_t[]){499}, 1, NULL));
  CHECK_OK(ox_task_graph_run(pool, d.graph));
  assert_int_equal(more.calls, 1);
  free_dag(&d);
  ox_pool_destroy(pool);
}

static ox_status *nap(void *payload, uint32_t unit) {
  (void)unit;
  struct timespec t = {.tv_nsec = 200 * 1000};
  (void)nanosleep(&t, NULL);
  return maybe_fail(payload, 0);
}

/* The owner falls asleep twice: for nodes that a helper makes ready, and for the last node. */
static void an_owner_that_sleeps_is_woken(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  fails f = {.fail = false};
  ox_task_graph *g;
  uint32_t a, b;
  CHECK_OK(ox_task_graph_create(&g));
  CHECK_OK(ox_task_graph_add(g, maybe_fail, &f, 1, NULL, 0, &a));
  for (int i = 0; i < 10; i++) {
    CHECK_OK(ox_task_graph_add(g, nap, &f, 1, &a, 1, &b));
    for (int k = 0; k < 4; k++) CHECK_OK(ox_task_graph_add(g, nap, &f, 1, &b, 1, k ? NULL : &a));
  }
  for (int run = 1; run <= 10; run++) {
    CHECK_OK(ox_task_graph_run(pool, g));
    assert_int_equal(f.calls, 51 * run);
  }
  ox_task_graph_destroy(g);
  ox_pool_destroy(pool);
}

typedef struct crowd {
  ox_pool *pool;
  atomic_int inside, most, calls;
} crowd;

static ox_status *touch(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  atomic_fetch_add(&((crowd *)ctx)->calls, (int)(end - begin));
  return NULL;
}

static ox_status *enter(void *payload, uint32_t unit) {
  crowd *c = payload;
  int now = atomic_fetch_add(&c->inside, 1) + 1, most = atomic_load(&c->most);
  while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now)) {
  }
  (void)unit;
  ox_status *st = ox_task_for(c->pool, 4, touch, c); /* may use everybody */
  struct timespec t = {.tv_nsec = 20 * 1000};
  if (atomic_load(&c->calls) % 3 == 0) (void)nanosleep(&t, NULL);
  atomic_fetch_sub(&c->inside, 1);
  return st;
}

enum { CAPPED_NODES = 60 };

static void *run_with_caps(void *arg) {
  ox_pool *pool = arg;
  ox_task_graph *g;
  crowd c = {.pool = pool};
  uint32_t last = 0;
  CHECK_OK(ox_task_graph_create(&g));
  for (uint32_t i = 0; i < CAPPED_NODES; i++) /* bushes: every tenth has ten children */
    CHECK_OK(ox_task_graph_add(g, enter, &c, 1, &last, i > 0, i % 10 ? NULL : &last));
  for (uint32_t run = 0; run < 24; run++) {
    uint32_t cap = run % 6;
    atomic_store(&c.most, 0), atomic_store(&c.calls, 0);
    CHECK_OK(ox_task_graph_run_max(pool, cap, g));
    assert_int_equal(c.calls, 4 * CAPPED_NODES);
    if (cap && c.most > (int)cap) fail_msg("%d nodes at once, the cap is %u", (int)c.most, (unsigned)cap);
    if (!cap) assert_true(c.most <= (int)OX_POOL_MAX);
  }
  ox_task_graph_destroy(g);
  return NULL;
}

static void caps_hold(void **state) {
  (void)state;
  CHECK_OK(ox_task_graph_run_max(NULL, 3, NULL));
  (void)run_with_caps(NULL);
  for (uint32_t size = 1; size <= 7; size += 2) {
    ox_pool *pool = test_pool(size);
    pthread_t clients[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&clients[i], NULL, run_with_caps, pool), 0);
    for (uint32_t n = 1; n < 6 && test_pool_resizes(); n++) CHECK_OK(ox_pool_resize(pool, 1 + (size + n) % 7));
    for (int i = 0; i < 4; i++) pthread_join(clients[i], NULL);
    ox_pool_destroy(pool);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_node_runs_once_after_its_parents),
      cmocka_unit_test(empty_graphs_and_null),
      cmocka_unit_test(barriers_pass_order_on),
      cmocka_unit_test(an_error_skips_the_rest_and_the_graph_runs_again),
      cmocka_unit_test(bad_graphs_are_refused),
      cmocka_unit_test(graphs_nest),
      cmocka_unit_test(a_graph_can_grow_between_runs_and_allocates_only_then),
      cmocka_unit_test(an_owner_that_sleeps_is_woken),
      cmocka_unit_test(caps_hold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
