/* SPDX-License-Identifier: Apache-2.0
 * task/parallel_test.c - every tile once, whoever runs it; errors, nesting, clients, worker indices. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"

typedef struct tally {
  atomic_uchar *hits;
  int64_t n;
  uint32_t size;
  atomic_int bad;
  atomic_int inside[16]; /* by worker index: more than one at a time is a clash */
} tally;

static ox_status *count(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  tally *t = ctx;
  if (begin >= end || begin < 0 || end > t->n || worker >= t->size) {
    atomic_fetch_add(&t->bad, 1);
    return NULL;
  }
  if (atomic_fetch_add(&t->inside[worker], 1) != 0) atomic_fetch_add(&t->bad, 1);
  for (int64_t i = begin; i < end; i++) atomic_fetch_add_explicit(&t->hits[i], 1, memory_order_relaxed);
  atomic_fetch_sub(&t->inside[worker], 1);
  return NULL;
}

static void run_and_check(ox_pool *pool, int64_t n) {
  tally t = {.hits = calloc((size_t)n + 1, sizeof(atomic_uchar)), .n = n, .size = ox_pool_size(pool)};
  CHECK_OK(ox_task_for(pool, n, count, &t));
  assert_int_equal(atomic_load(&t.bad), 0);
  for (int64_t i = 0; i < n; i++)
    if (atomic_load_explicit(&t.hits[i], memory_order_relaxed) != 1)
      fail_msg("tile %d of %d ran %d times", (int)i, (int)n, t.hits[i]);
  free((void *)t.hits);
}

static const uint32_t sizes[] = {1, 2, 3, 4, 8}; /* 8 on any small machine: more threads than processors */

static void every_tile_runs_once(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 1, 2, 3, 7, 8, 64, 65, 127, 128, 129, 1000, 4097, 100003};
  run_and_check(NULL, 0), run_and_check(NULL, 17);
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]);
    for (size_t i = 0; i < OX_COUNT(counts); i++) run_and_check(pool, counts[i]);
    for (int i = 0; i < 2000; i++) run_and_check(pool, i % 5);
    ox_pool_destroy(pool);
  }
}

static ox_status *never(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)begin, (void)end, (void)worker;
  ++*(int *)ctx;
  return NULL;
}

static void nothing_runs_for_zero_or_negative_counts(void **state) {
  (void)state;
  int calls = 0;
  ox_pool *pool = test_pool(2);
  CHECK_OK(ox_task_for(pool, 0, never, &calls));
  CHECK_OK(ox_task_for(pool, -1, never, &calls));
  CHECK_OK(ox_task_for(pool, INT64_MIN, never, &calls));
  CHECK_OK(ox_task_for(NULL, INT64_MIN, never, &calls));
  assert_int_equal(calls, 0);
  ox_pool_destroy(pool);
}

typedef struct cover {
  atomic_llong tiles;
  int64_t n;
  int64_t fail_from; /* fail at ranges that reach this tile; -1: never */
  atomic_int calls, bad;
} cover;

static ox_status *add_up(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  cover *c = ctx;
  (void)worker;
  if (begin < 0 || end > c->n || begin >= end) atomic_fetch_add(&c->bad, 1);
  atomic_fetch_add(&c->calls, 1);
  atomic_fetch_add(&c->tiles, end - begin);
  return c->fail_from >= 0 && end > c->fail_from ? ox_task_error(OX_LIMIT, "tile failed") : NULL;
}

static void huge_counts_are_covered_and_stop_early(void **state) {
  (void)state;
  static const int64_t counts[] = {(int64_t)1 << 30,           ((int64_t)1 << 30) + 1, (int64_t)1 << 40,
                                   ((int64_t)1 << 40) + 12345, INT64_MAX / 2,          INT64_MAX};
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]);
    for (size_t i = 0; i < OX_COUNT(counts); i++) {
      cover c = {.n = counts[i], .fail_from = -1};
      CHECK_OK(ox_task_for(pool, counts[i], add_up, &c));
      assert_true(atomic_load(&c.tiles) == counts[i]);
      assert_int_equal(c.bad, 0);
      cover early = {.n = counts[i], .fail_from = 0};
      CHECK_FAILS(ox_task_for(pool, counts[i], add_up, &early), OX_LIMIT, "tile failed");
      assert_true(atomic_load(&early.calls) <= (int)(4 * sizes[s])); /* those that had begun, no more */
    }
    ox_pool_destroy(pool);
  }
}

static ox_status *fail_all(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)ctx, (void)begin, (void)end, (void)worker;
  return ox_task_error(OX_CANCELLED, "all of them fail");
}

static void one_error_comes_back_and_the_pool_goes_on(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]);
    for (int i = 0; i < 500; i++) {
      CHECK_FAILS(ox_task_for(pool, 1 + i, fail_all, NULL), OX_CANCELLED, "all of them");
      run_and_check(pool, 10);
    }
    ox_pool_destroy(pool);
  }
}

typedef struct nest {
  ox_pool *pool;
  int depth;
  atomic_int *leaves;
  int fail_depth; /* the innermost loop at this depth fails; -1: none */
} nest;

static ox_status *descend(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  nest *n = ctx;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    if (n->depth == n->fail_depth && i == 1) return ox_task_error(OX_INVALID_MODEL, "deep down");
    if (n->depth == 0) {
      atomic_fetch_add_explicit(n->leaves, 1, memory_order_relaxed);
      continue;
    }
    nest inner = *n;
    inner.depth--;
    OX_TRY(ox_task_for(n->pool, 3, descend, &inner));
  }
  return NULL;
}

static void loops_nest(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]);
    atomic_int leaves = 0;
    nest n = {pool, 7, &leaves, -1};
    CHECK_OK(ox_task_for(pool, 3, descend, &n));
    assert_int_equal(leaves, 6561); /* 3^8 */
    n.fail_depth = 0;
    CHECK_FAILS(ox_task_for(pool, 3, descend, &n), OX_INVALID_MODEL, "deep down");
    ox_pool_destroy(pool);
  }
}

static ox_status *go_deep(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  nest *n = ctx;
  (void)begin, (void)end, (void)worker;
  atomic_fetch_add(n->leaves, 1);
  if (begin != 0 || n->depth == 0) return NULL;
  nest inner = *n;
  inner.depth--;
  return ox_task_for(n->pool, 2, go_deep, &inner);
}

/* Deeper than there are slots: the innermost loops run without help. */
static void nesting_may_be_deeper_than_the_slots(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  atomic_int leaves = 0;
  nest n = {pool, 200, &leaves, -1};
  CHECK_OK(ox_task_for(pool, 2, go_deep, &n));
  assert_true(leaves >= 201);
  run_and_check(pool, 100);
  ox_pool_destroy(pool);
}

enum { CLIENTS = 24 }; /* more than a small pool has slots */
typedef struct client {
  ox_pool *pool;
  ox_pool *other;
  pthread_t thread;
} client;

static ox_status *cross(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  client *c = ctx;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    atomic_uchar hits[9] = {0};
    tally t = {.hits = hits, .n = 9, .size = ox_pool_size(c->other)};
    OX_TRY(ox_task_for(c->other, 9, count, &t));
    for (int k = 0; k < 9; k++)
      if (hits[k] != 1) return ox_task_error(OX_FAIL, "tile lost");
    if (t.bad) return ox_task_error(OX_FAIL, "bad range");
  }
  return NULL;
}

static void *client_main(void *arg) {
  client *c = arg;
  for (int i = 0; i < 60; i++) {
    run_and_check(c->pool, 1 + i % 40);
    CHECK_OK(ox_task_for(c->pool, 4, cross, c));
  }
  return NULL;
}

static void many_clients_share_pools(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]), *other = test_pool(2);
    client clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
      clients[i] =
          i % 2 ? (client){pool, other, 0} : (client){other, pool, 0}; /* loops of each pool inside the other */
      assert_int_equal(pthread_create(&clients[i].thread, NULL, client_main, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) pthread_join(clients[i].thread, NULL);
    ox_pool_destroy(pool), ox_pool_destroy(other);
  }
}

typedef struct capped {
  tally t;
  atomic_int at_once, most;
} capped;

static ox_status *count_at_once(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  capped *c = ctx;
  int now = atomic_fetch_add(&c->at_once, 1) + 1, most = atomic_load(&c->most);
  while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now)) {
  }
  for (volatile int i = 0; i < 300; i++) {
  }
  ox_status *st = count(&c->t, begin, end, worker);
  atomic_fetch_sub(&c->at_once, 1);
  return st;
}

static void run_capped(ox_pool *pool, uint32_t cap, int64_t n) {
  capped c = {.t = {.hits = calloc((size_t)n, sizeof(atomic_uchar)), .n = n, .size = cap}};
  CHECK_OK(ox_task_for_max(pool, cap, n, count_at_once, &c)); /* count checks worker < size == cap */
  assert_int_equal(c.t.bad, 0);
  assert_true(c.most <= (int)cap);
  for (int64_t i = 0; i < n; i++) assert_int_equal(c.t.hits[i], 1);
  free((void *)c.t.hits);
}

typedef struct capped_client {
  ox_pool *pool;
  uint32_t cap;
  pthread_t thread;
} capped_client;
static void *capped_main(void *arg) {
  capped_client *c = arg;
  for (int i = 0; i < 150; i++) run_capped(c->pool, 1 + (c->cap + (uint32_t)i) % 5, 1 + (i * 7) % 90);
  return NULL;
}

/* Caps change from loop to loop in the same slots, and the pool changes its size: no loop admits one too many. */
static void caps_hold(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]);
    for (uint32_t cap = 1; cap < 12; cap++) run_capped(pool, cap, 200);
    capped_client clients[5];
    for (uint32_t i = 0; i < 5; i++) {
      clients[i] = (capped_client){pool, i, 0};
      assert_int_equal(pthread_create(&clients[i].thread, NULL, capped_main, &clients[i]), 0);
    }
    for (uint32_t i = 0; test_pool_resizes() && i < 6; i++) CHECK_OK(ox_pool_resize(pool, 1 + (sizes[s] + 3 * i) % 9));
    for (int i = 0; i < 5; i++) pthread_join(clients[i].thread, NULL);
    ox_pool_destroy(pool);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_tile_runs_once),
      cmocka_unit_test(nothing_runs_for_zero_or_negative_counts),
      cmocka_unit_test(huge_counts_are_covered_and_stop_early),
      cmocka_unit_test(one_error_comes_back_and_the_pool_goes_on),
      cmocka_unit_test(loops_nest),
      cmocka_unit_test(nesting_may_be_deeper_than_the_slots),
      cmocka_unit_test(many_clients_share_pools),
      cmocka_unit_test(caps_hold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
