/* SPDX-License-Identifier: Apache-2.0
 * task/bad_input_test.c - arguments no one should give: a status or the documented meaning, in bounded time. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onyx/task.h"
#include "support/bad_input.h"
#include "support/pool_backend.h"
#include "task/backend.h"

enum { SECONDS = 60 }; /* of the whole program; it takes one */

static void strange_options(void **state) {
  (void)state;
  static const ox_executor no_run = {.struct_size = sizeof no_run}, no_size = {.struct_size = 0};
  static const struct {
    const char *name;
    ox_pool_opts opts;
    ox_code code; /* OX_OK: it works */
    const char *text;
  } rows[] = {
      {"size 0", {.struct_size = 0}, OX_INVALID_ARGUMENT, "struct_size"},
      {"size 4", {.struct_size = 4}, OX_INVALID_ARGUMENT, "struct_size"},
      {"a later version's size", {.struct_size = UINT32_MAX}, OX_OK, ""},
      {"unknown flags", {.struct_size = sizeof(ox_pool_opts), .flags = 0x80000000u}, OX_OK, ""},
      {"10,000 threads", {.struct_size = sizeof(ox_pool_opts), .n_threads = 10000}, OX_LIMIT, "10000"},
      {"2^32 - 1 threads", {.struct_size = sizeof(ox_pool_opts), .n_threads = UINT32_MAX}, OX_LIMIT, "4294967295"},
      {"one too many", {.struct_size = sizeof(ox_pool_opts), .n_threads = OX_POOL_MAX + 1}, OX_LIMIT, "1025"},
      {"spinning for an hour", {.struct_size = sizeof(ox_pool_opts), .spin_us = UINT32_MAX - 1}, OX_OK, ""},
      {"spinning for 1 us", {.struct_size = sizeof(ox_pool_opts), .spin_us = 1}, OX_OK, ""},
      {"no spinning", {.struct_size = sizeof(ox_pool_opts), .spin_us = OX_POOL_NO_SPIN}, OX_OK, ""},
      {"stack 1", {.struct_size = sizeof(ox_pool_opts), .stack_bytes = 1}, OX_OK, ""},
      {"stack odd", {.struct_size = sizeof(ox_pool_opts), .stack_bytes = 100001}, OX_OK, ""},
      {"stack huge", {.struct_size = sizeof(ox_pool_opts), .stack_bytes = SIZE_MAX / 4}, OX_FAIL, "thread"},
      {"stack SIZE_MAX", {.struct_size = sizeof(ox_pool_opts), .stack_bytes = SIZE_MAX}, OX_INVALID_ARGUMENT, "stack"},
      {"name empty", {.struct_size = sizeof(ox_pool_opts), .name = ""}, OX_OK, ""},
      {"name long", {.struct_size = sizeof(ox_pool_opts), .name = "%s%n a name of many more than 16 bytes"}, OX_OK, ""},
      {"executor without run", {.struct_size = sizeof(ox_pool_opts), .executor = &no_run}, OX_INVALID_ARGUMENT, "run"},
      {"executor without size", {.struct_size = sizeof(ox_pool_opts), .executor = &no_size}, OX_INVALID_ARGUMENT, ""},
      {"affinity empty", {.struct_size = sizeof(ox_pool_opts), .affinity = ""}, OX_INVALID_ARGUMENT, "affinity"},
      {"affinity words", {.struct_size = sizeof(ox_pool_opts), .affinity = "1;x"}, OX_INVALID_ARGUMENT, "position 3"},
      {"affinity from 0", {.struct_size = sizeof(ox_pool_opts), .affinity = "0;1"}, OX_INVALID_ARGUMENT, "affinity"},
      {"affinity backwards", {.struct_size = sizeof(ox_pool_opts), .affinity = "2-1;1"}, OX_INVALID_ARGUMENT, ""},
      {"affinity huge", {.struct_size = sizeof(ox_pool_opts), .affinity = "99999999999;1"}, OX_INVALID_ARGUMENT, ""},
      {"affinity short", {.struct_size = sizeof(ox_pool_opts), .affinity = "1"}, OX_INVALID_ARGUMENT, "1 entries"},
      {"affinity long",
       {.struct_size = sizeof(ox_pool_opts), .affinity = "1;1;1"},
       OX_INVALID_ARGUMENT,
       "more entries"},
      {"affinity elsewhere", {.struct_size = sizeof(ox_pool_opts), .affinity = "1023;1024"}, OX_OK, ""},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_pool_opts o = rows[i].opts;
    ox_pool *pool = (void *)1;
    if (!o.n_threads) o.n_threads = 3;
    /* no thread, no failure; and a quarter of 32 bits may be had */
    if (o.stack_bytes > SIZE_MAX / 8 && (ox_backend_of_build.most_threads == 1 || SIZE_MAX <= UINT32_MAX)) continue;
    ox_status *st = ox_pool_create(&o, &pool);
    if (ox_status_code(st) != rows[i].code || !strstr(ox_status_message(st), rows[i].text))
      fail_msg("%s: %s", rows[i].name, ox_status_message(st));
    ox_status_free(st);
    assert_true(!pool == (rows[i].code != OX_OK));
    if (pool) check_works(pool);
    ox_pool_destroy(pool);
  }
}

/* --- Waits that would never end ---------------------------------------------------------------------------------- */

typedef struct knot {
  ox_pool *pool;
  ox_task *self, *target;
  atomic_int ready, refused, ended;
} knot;

static void wait_until_set(atomic_int *flag) {
  while (!atomic_load(flag)) usleep(100);
}

static ox_status *wait_for_target(void *payload, uint32_t unit) {
  knot *k = payload;
  (void)unit;
  wait_until_set(&k->ready);
  ox_status *st = ox_task_wait(k->target);
  if (ox_status_code(st) == OX_INVALID_ARGUMENT && strstr(ox_status_message(st), "itself"))
    atomic_fetch_add(&k->refused, 1);
  ox_status_free(st);
  return NULL;
}

static ox_status *wait_in_a_tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker, (void)end;
  return begin ? NULL : wait_for_target(ctx, 0);
}
static ox_status *wait_in_a_loop(void *payload, uint32_t unit) {
  (void)unit;
  return ox_task_for(NULL, 1, wait_in_a_tile, payload);
}
static ox_status *wait_in_a_small_task(void *payload, uint32_t unit) {
  (void)unit;
  ox_task_opts o = {.struct_size = sizeof o, .n_units = 1, .fn = wait_for_target, .payload = payload};
  return ox_task_submit(((knot *)payload)->pool, &o, NULL); /* runs at once, on top of us */
}

static void a_task_cannot_wait_for_itself(void **state) {
  (void)state;
  static const ox_unit_fn fns[] = {wait_for_target, wait_in_a_loop, wait_in_a_small_task};
  for (size_t s = 0; s < OX_COUNT(sizes); s++)
    for (size_t f = 0; f < OX_COUNT(fns); f++)
      for (uint32_t units = 1; units <= 3; units += 2) {
        knot k = {.pool = test_pool(sizes[s])};
        CHECK_OK(submit(k.pool, fns[f], &k, units, NULL, 0, &k.target));
        atomic_store(&k.ready, 1);
        CHECK_OK(ox_task_wait(k.target)); /* a unit of another task may */
        assert_int_equal(k.refused, (int)units);
        ox_task_release(k.target);
        ox_pool_destroy(k.pool);
      }
}

/* How the target descends from the task that waits for it. */
enum { DIRECTLY, BY_A_BARRIER, BY_A_CHAIN, BY_DIAMONDS, NOT_AT_ALL, N_KINDS };
static const char *const kinds[N_KINDS] = {"directly", "by a barrier", "by a chain", "by diamonds", "not at all"};

static void release(ox_task **tasks, int *n) {
  while (*n) ox_task_release(tasks[--*n]);
}

static ox_task *descendant(ox_pool *pool, ox_task *from, int kind, ox_task **tasks, int *n, atomic_int *runs) {
  ox_task *last = kind == NOT_AT_ALL ? NULL : from;
  int layers = kind == DIRECTLY ? 0 : kind == BY_A_CHAIN ? 100 : kind == BY_DIAMONDS ? 60 : 1;
  for (int i = 0; i < layers; i++) {
    ox_task *sides[2] = {last, last}, *parents[2] = {last, NULL};
    if (kind == BY_DIAMONDS)
      for (int k = 0; k < 2; k++) {
        CHECK_OK(submit(pool, count, runs, 1, parents, 2, &sides[k]));
        tasks[(*n)++] = sides[k];
      }
    CHECK_OK(submit(pool, kind == BY_A_CHAIN ? count : NULL, runs, 1, sides, kind == BY_DIAMONDS ? 2 : 1, &last));
    tasks[(*n)++] = last;
  }
  ox_task *parents[6] = {last, last, last, last, last, NULL}; /* more than fit in the task; and five times the same */
  CHECK_OK(submit(pool, count, runs, 3, parents, 6, &last));
  return tasks[(*n)++] = last;
}

static void a_task_cannot_wait_for_its_descendants(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++)
    for (int kind = 0; kind < N_KINDS; kind++) {
      knot k = {.pool = test_pool(sizes[s])};
      ox_task *tasks[200];
      int n = 0;
      atomic_int runs = 0;
      CHECK_OK(submit(k.pool, wait_for_target, &k, 2, NULL, 0, &k.self));
      k.target = descendant(k.pool, k.self, kind, tasks, &n, &runs);
      atomic_store(&k.ready, 1);
      CHECK_OK(ox_task_wait(k.target)); /* it runs all the same: the unit that was refused has returned */
      CHECK_OK(ox_task_wait_release(k.self));
      if (k.refused != (kind == NOT_AT_ALL ? 0 : 2)) fail_msg("%s: %d refused", kinds[kind], (int)k.refused);
      release(tasks, &n);
      ox_pool_destroy(k.pool);
    }
}

/* A waits for X and meanwhile runs B on top of itself; B cannot wait for A there. */
static ox_status *wait_below(void *payload, uint32_t unit) {
  (void)unit;
  return ox_task_wait(*(ox_task **)payload);
}

static void a_waiting_unit_beneath_is_found(void **state) {
  (void)state;
  knot k = {.pool = test_pool(1), .ready = 1};
  ox_task *a, *b, *gate, *x;
  atomic_int runs = 0;
  CHECK_OK(submit(k.pool, wait_below, &x, 1, NULL, 0, &a));
  k.target = a;
  CHECK_OK(submit(k.pool, wait_for_target, &k, 1, NULL, 0, &b));
  CHECK_OK(submit(k.pool, count, &runs, 1, NULL, 0, &gate));
  CHECK_OK(submit(k.pool, count, &runs, 1, &gate, 1, &x));
  CHECK_OK(ox_task_wait_release(a));
  CHECK_OK(ox_task_wait_release(b));
  assert_int_equal(k.refused, 1);
  assert_int_equal(runs, 2);
  ox_task_release(gate), ox_task_release(x);
  ox_pool_destroy(k.pool);
}

/* --- Counts and parents ------------------------------------------------------------------------------------------ */

static void extreme_numbers_of_units(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]);
    ox_task *t, *gate, *child;
    atomic_int runs = 0;
    knot k = {.pool = pool};
    CHECK_OK(submit(pool, wait_for_target, &k, 1, NULL, 0, &gate)); /* its target is NULL */
    CHECK_OK(submit(pool, count, &runs, UINT32_MAX, &gate, 1, &t));
    CHECK_OK(submit(pool, count, &runs, UINT32_MAX, &t, 1, &child));
    ox_task_cancel(t);
    atomic_store(&k.ready, 1);
    CHECK_FAILS(ox_task_wait_release(t), OX_CANCELLED, "");
    CHECK_FAILS(ox_task_wait_release(child), OX_CANCELLED, "");
    assert_int_equal(runs, 0);
    CHECK_OK(ox_task_wait_release(gate));
    CHECK_OK(submit(pool, refuse_unit, NULL, UINT32_MAX, NULL, 0, &t));
    CHECK_FAILS(ox_task_wait_release(t), OX_LIMIT, "on purpose");
    CHECK_OK(submit(pool, NULL, NULL, UINT32_MAX, NULL, 0, &t)); /* a barrier */
    CHECK_OK(ox_task_wait_release(t));
    CHECK_OK(submit(pool, count, &runs, 0, NULL, 0, &t));
    CHECK_OK(ox_task_wait_release(t));
    assert_int_equal(runs, 0);
    ox_pool_destroy(pool);
  }
}

static ox_status *add_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  atomic_fetch_add((atomic_llong *)ctx, end - begin);
  return NULL;
}

static void extreme_numbers_of_items(void **state) {
  (void)state;
  static const int64_t counts[] = {INT64_MIN, -1, 0, 1, UINT32_MAX, (int64_t)UINT32_MAX + 1, INT64_MAX - 1, INT64_MAX};
  static const ox_cost costs[] = {
      {0, 0, 0}, {1e300, 1e300, 1e300}, {-1, -1, -1}, {0, 0, 1e-300}, {1e308, 1e308, -1e308}};
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]);
    for (size_t i = 0; i < OX_COUNT(counts); i++) {
      int64_t n = counts[i], want = OX_MAX(n, 0), begin, end;
      atomic_llong sum = 0;
#define COVERS(call)                        \
  do {                                      \
    atomic_store(&sum, 0);                  \
    CHECK_OK(call);                         \
    assert_true(atomic_load(&sum) == want); \
  } while (0)
      COVERS(ox_task_for(pool, n, add_tiles, &sum));
      COVERS(ox_task_for_max(pool, UINT32_MAX, n, add_tiles, &sum));
      COVERS(ox_task_for_max(pool, 1, n, add_tiles, &sum));
      COVERS(ox_task_for_block(pool, n, INT64_MAX, add_tiles, &sum));
      COVERS(ox_task_for_block(pool, n, INT64_MIN, add_tiles, &sum));
      COVERS(ox_task_for_block(pool, n, INT64_MAX / 3, add_tiles, &sum));
      COVERS(ox_task_for_batch(pool, n, 0, add_tiles, &sum));
      COVERS(ox_task_for_batch(pool, n, 7, add_tiles, &sum));
      for (size_t c = 0; c < OX_COUNT(costs); c++) COVERS(ox_task_for_cost(pool, n, costs[c], add_tiles, &sum));
      ox_task_partition(0, 0, n, &begin, &end);
      ox_task_partition(INT64_MAX - 1, INT64_MAX, n, &begin, &end);
      assert_true(ox_task_block_for_cost(n, costs[1], UINT32_MAX) >= 1);
    }
    ox_pool_destroy(pool);
  }
}

static void strange_parents(void **state) {
  (void)state;
  ox_pool *one = test_pool(1), *two = test_pool(2);
  atomic_int runs = 0;
  ox_task *t, *a, *b, *none[9] = {NULL};
  CHECK_FAILS(submit(one, count, &runs, 1, NULL, 3, &t), OX_INVALID_ARGUMENT, "parents");
  assert_null(t);
  CHECK_OK(submit(one, count, &runs, 1, none, 9, &t));
  CHECK_OK(ox_task_wait_release(t));
  CHECK_OK(submit(one, count, &runs, 1, none, 0, NULL));
  for (int failing = 0; failing < 2; failing++) { /* from pool to pool and back */
    CHECK_OK(submit(one, failing ? refuse_unit : count, &runs, 1, NULL, 0, &a));
    CHECK_OK(submit(two, count, &runs, 5, &a, 1, &b));
    ox_task *both[] = {a, NULL, b, a};
    CHECK_OK(submit(one, count, &runs, 3, both, 4, &t));
    ox_status *st = ox_task_wait(a); /* a pool of 1 works for those who wait; the other has a worker */
    if (ox_pool_size(two) == 1) ox_status_free(ox_task_wait(b)); /* or has none in this build */
    assert_int_equal(ox_status_code(st), failing ? OX_LIMIT : OX_OK);
    ox_status_free(st);
    st = ox_task_wait(t);
    assert_int_equal(ox_status_code(st), failing ? OX_LIMIT : OX_OK);
    ox_status_free(st);
    ox_task_release(a), ox_task_release(b), ox_task_release(t);
  }
  assert_int_equal(runs, 1 + 1 + 1 + 5 + 3);
  ox_pool_destroy(two);
  ox_pool_destroy(one);
}

/* --- From inside ------------------------------------------------------------------------------------------------- */

static ox_status *meddle(void *payload, uint32_t unit) {
  ox_pool *pool = payload, *other = test_pool(2);
  (void)unit;
  ox_status *st = ox_pool_resize(pool, 3);
  if (ox_status_code(st) != OX_INVALID_ARGUMENT) return st ? st : ox_task_error(OX_FAIL, "resized from inside");
  ox_status_free(st);
  ox_pool_destroy(pool); /* does nothing */
  ox_pool_destroy(other);
  return NULL;
}
typedef struct meddler {
  ox_pool *pool;
  ox_task_graph *graph;
} meddler;
static ox_status *meddle_in_a_node(void *payload, uint32_t unit) {
  meddler *m = payload;
  ox_task_graph_destroy(m->graph); /* does nothing either */
  ox_status *st = ox_task_graph_add(m->graph, count, NULL, 1, NULL, 0, NULL);
  if (ox_status_code(st) != OX_INVALID_ARGUMENT) return st ? st : ox_task_error(OX_FAIL, "grown while it runs");
  ox_status_free(st);
  st = ox_task_graph_run(m->pool, m->graph);
  if (ox_status_code(st) != OX_INVALID_ARGUMENT) return st ? st : ox_task_error(OX_FAIL, "run inside of itself");
  ox_status_free(st);
  return meddle(m->pool, unit);
}
static ox_status *meddle_in_a_tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)begin, (void)end, (void)worker;
  return meddle(ctx, 0);
}

static void pools_survive_what_they_run(void **state) {
  (void)state;
  if (test_pool_size(2) == 1) skip(); /* on one thread a loop is a function call */
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = test_pool(sizes[s]);
    ox_task *t;
    if (s) CHECK_OK(ox_task_for(pool, 50, meddle_in_a_tile, pool)); /* on one thread it is a function call */
    CHECK_OK(submit(pool, meddle, pool, 50, NULL, 0, &t));
    CHECK_OK(ox_task_wait_release(t));
    meddler m = {.pool = pool};
    CHECK_OK(ox_task_graph_create(&m.graph));
    for (int i = 0; i < 30; i++) CHECK_OK(ox_task_graph_add(m.graph, meddle_in_a_node, &m, 1 + i % 3, NULL, 0, NULL));
    CHECK_OK(ox_task_graph_run(pool, m.graph));
    ox_task_graph_destroy(m.graph);
    if (test_pool_resizes()) {
      CHECK_FAILS(ox_pool_resize(pool, 10000), OX_LIMIT, "10000");
      CHECK_FAILS(ox_pool_resize(pool, UINT32_MAX), OX_LIMIT, "");
    }
    assert_int_equal(ox_pool_size(pool), sizes[s]);
    check_works(pool);
    ox_pool_destroy(pool);
  }
  ox_pool_destroy(ox_pool_default());
  check_works(ox_pool_default());
}

/* --- Resources that run out -------------------------------------------------------------------------------------- */

int main(void) {
#if !defined(_WIN32)
  alarm(SECONDS);
#endif
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(strange_options),
      cmocka_unit_test(a_task_cannot_wait_for_itself),
      cmocka_unit_test(a_task_cannot_wait_for_its_descendants),
      cmocka_unit_test(a_waiting_unit_beneath_is_found),
      cmocka_unit_test(extreme_numbers_of_units),
      cmocka_unit_test(extreme_numbers_of_items),
      cmocka_unit_test(strange_parents),
      cmocka_unit_test(pools_survive_what_they_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
