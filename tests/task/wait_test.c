/* SPDX-License-Identifier: Apache-2.0
 * task/wait_test.c - waiting threads help, sleep and wake; recursion; loops and tasks mixed; resizing meanwhile. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"

static const uint32_t sizes[] = {1, 2, 3, 8};

static ox_pool *make_pool(uint32_t n) {
  ox_pool_opts opts = {.n_threads = n, .flags = OX_POOL_FLUSH_DENORMALS};
  return test_pool_with(opts);
}

typedef struct fib {
  ox_pool *pool;
  int n;
  uint64_t *out;
} fib;

/* Submits both halves and waits for them inside the unit. */
static ox_status *run_fib(void *payload, uint32_t unit) {
  fib *f = payload;
  (void)unit;
  if (f->n < 2) {
    *f->out = (uint64_t)f->n;
    return NULL;
  }
  uint64_t parts[2];
  ox_task *tasks[2];
  for (int i = 0; i < 2; i++) {
    fib half = {f->pool, f->n - 1 - i, &parts[i]};
    ox_task_opts o = {.struct_size = sizeof o,
                      .flags = OX_TASK_ASYNC,
                      .n_units = 1,
                      .fn = run_fib,
                      .payload = &half,
                      .payload_bytes = sizeof half};
    OX_TRY(ox_task_submit(f->pool, &o, &tasks[i]));
  }
  for (int i = 0; i < 2; i++) OX_TRY(ox_task_wait_release(tasks[i]));
  *f->out = parts[0] + parts[1];
  return NULL;
}

static void units_may_wait_for_their_own_tasks(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = make_pool(sizes[s]);
    uint64_t out = 0;
#if defined(__EMSCRIPTEN__) /* a thread that waits runs other units on top; engines allow less stack than systems */
    fib f = {pool, 10, &out};
    uint64_t want = 55;
#else
    fib f = {pool, 17, &out};
    uint64_t want = 1597;
#endif
    CHECK_OK(run_fib(&f, 0));
    assert_int_equal(out, want);
    ox_pool_destroy(pool);
  }
}

typedef struct shared {
  ox_pool *pool;
  atomic_int sum;
  atomic_int clients_left;
} shared;

static ox_status *add_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  atomic_fetch_add(&((shared *)ctx)->sum, (int)(end - begin));
  return NULL;
}
static ox_status *loop_in_unit(void *payload, uint32_t unit) {
  shared *s = payload;
  (void)unit;
  return ox_task_for(s->pool, 10, add_tiles, s);
}
static ox_status *task_in_tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  shared *s = ctx;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    ox_task *t;
    ox_task_opts o = {.struct_size = sizeof o, .n_units = 3, .fn = loop_in_unit, .payload = s};
    OX_TRY(ox_task_submit(s->pool, &o, &t));
    OX_TRY(ox_task_wait_release(t));
  }
  return NULL;
}

static void *mixed_client(void *arg) {
  shared *s = arg;
  for (int i = 0; i < 30; i++) {
    CHECK_OK(ox_task_for(s->pool, 5, task_in_tile, s)); /* 5 x 3 x 10 */
    ox_task *t;
    ox_task_opts o = {.struct_size = sizeof o, .n_units = 5, .fn = loop_in_unit, .payload = s};
    CHECK_OK(ox_task_submit(s->pool, &o, &t));
    if (i % 7 == 0) usleep(300);
    CHECK_OK(ox_task_wait_release(t)); /* 5 x 10 */
  }
  atomic_fetch_sub(&s->clients_left, 1);
  return NULL;
}

enum { CLIENTS = 6 };

static void loops_and_tasks_mix(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(sizes); k++) {
    shared s = {.pool = make_pool(sizes[k]), .clients_left = CLIENTS};
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) pthread_create(&threads[i], NULL, mixed_client, &s);
    for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(s.sum, CLIENTS * 30 * 200);
    ox_pool_destroy(s.pool);
  }
}

static void pools_are_resized_while_busy(void **state) {
  (void)state;
  if (!test_pool_resizes()) skip();
  shared s = {.pool = make_pool(1), .clients_left = CLIENTS};
  pthread_t threads[CLIENTS];
  for (int i = 0; i < CLIENTS; i++) pthread_create(&threads[i], NULL, mixed_client, &s);
  for (uint32_t n = 0; atomic_load(&s.clients_left); n = (n + 5) % 9) {
    CHECK_OK(ox_pool_resize(s.pool, n + 1));
    assert_int_equal(ox_pool_size(s.pool), test_pool_size(n + 1));
    usleep(200);
  }
  for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(s.sum, CLIENTS * 30 * 200);
  CHECK_FAILS(ox_pool_resize(s.pool, 10000), OX_LIMIT, "10000");
  ox_pool_destroy(s.pool);
}

static ox_status *resize_inside(void *payload, uint32_t unit) {
  (void)unit;
  return ox_pool_resize(payload, 2);
}
static ox_status *resize_in_tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)begin, (void)end, (void)worker;
  return ox_pool_resize(ctx, 2);
}

static void a_pool_is_not_resized_from_inside(void **state) {
  (void)state;
  if (!test_pool_resizes() || test_pool_size(3) == 1) skip(); /* on one thread a loop is a function call */
  ox_pool *pool = make_pool(3);
  ox_task *t;
  ox_task_opts o = {.struct_size = sizeof o, .n_units = 2, .fn = resize_inside, .payload = pool};
  CHECK_OK(ox_task_submit(pool, &o, &t));
  CHECK_FAILS(ox_task_wait_release(t), OX_INVALID_ARGUMENT, "inside");
  CHECK_FAILS(ox_task_for(pool, 8, resize_in_tile, pool), OX_INVALID_ARGUMENT, "inside");
  ox_pool_destroy(pool);
}

static ox_status *slow(void *payload, uint32_t unit) {
  (void)unit;
  usleep(3000);
  atomic_fetch_add((atomic_int *)payload, 1);
  return NULL;
}
static void *wait_only(void *task) {
  CHECK_OK(ox_task_wait(task));
  return NULL;
}

static void many_threads_wait_for_one_task(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = make_pool(sizes[s]);
    atomic_int done = 0;
    ox_task *chain[8], *parent = NULL;
    for (int i = 0; i < 8; i++) {
      ox_task_opts o = {.struct_size = sizeof o,
                        .flags = OX_TASK_ASYNC,
                        .n_units = 1,
                        .fn = slow,
                        .payload = &done,
                        .parents = &parent,
                        .n_parents = 1};
      CHECK_OK(ox_task_submit(pool, &o, &chain[i]));
      parent = chain[i];
    }
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, wait_only, chain[i]); /* most of them sleep */
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    assert_int_equal(done, 8);
    for (int i = 0; i < 8; i++) ox_task_release(chain[i]);
    ox_pool_destroy(pool);
  }
}

static int eight(void *ctx) { return atomic_load((atomic_int *)ctx) >= 8; }

static void any_thread_may_work_until_something(void **state) {
  (void)state;
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = make_pool(sizes[s]);
    atomic_int done = 0;
    ox_task_opts o = {.struct_size = sizeof o, .n_units = 8, .fn = slow, .payload = &done};
    CHECK_OK(ox_task_submit(pool, &o, NULL)); /* nobody holds it */
    ox_pool_work_until(pool, eight, &done);
    assert_int_equal(done, 8);
    assert_int_equal(ox_pool_thread_id(), 0);
    ox_pool_destroy(pool);
  }
}

static ox_status *tiny(void *payload, uint32_t unit) {
  (void)unit;
  atomic_fetch_add_explicit((atomic_int *)payload, 1, memory_order_relaxed);
  return NULL;
}

static void a_stream_of_single_tasks_ends(void **state) {
  (void)state;
  enum { N = 50000 };
  for (size_t s = 0; s < OX_COUNT(sizes); s++) {
    ox_pool *pool = make_pool(sizes[s]);
    atomic_int done = 0;
    ox_task *parts[100];
    for (int i = 0; i < N; i++) {
      ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = tiny, .payload = &done};
      CHECK_OK(ox_task_submit(pool, &o, i % (N / 100) ? NULL : &parts[i / (N / 100)]));
    }
    for (int i = 0; i < 100; i++) CHECK_OK(ox_task_wait_release(parts[i]));
    while (atomic_load(&done) < N) { /* detached ones may be left; a thread that waits runs them */
      ox_task *t;
      ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = tiny, .payload = &done};
      CHECK_OK(ox_task_submit(pool, &o, &t));
      CHECK_OK(ox_task_wait_release(t));
      atomic_fetch_sub(&done, 1);
    }
    ox_pool_destroy(pool);
  }
}

static int refuse(void *ctx, void (*fn)(void *), void *arg) {
  (void)ctx, (void)fn, (void)arg;
  return 0;
}
typedef struct late {
  ox_pool *pool;
  atomic_int done;
  ox_task *child;
  pthread_t waiter;
} late;

/* Runs in the submitter. Its child becomes ready when it has ended, and then nobody but the sleeper is there. */
static ox_status *make_child(void *payload, uint32_t unit) {
  late *l = payload;
  (void)unit;
  ox_task *self = ox_task_current();
  ox_task_opts o = {
      .struct_size = sizeof o, .n_units = 1, .fn = tiny, .payload = &l->done, .parents = &self, .n_parents = 1};
  OX_TRY(ox_task_submit(l->pool, &o, &l->child));
  pthread_create(&l->waiter, NULL, wait_only, l->child);
  usleep(20000); /* it sleeps by now */
  return NULL;
}

static void a_sleeper_is_woken_when_no_worker_can_be_had(void **state) {
  (void)state;
  ox_executor none = {.struct_size = sizeof none, .run = refuse};
  ox_pool_opts po = {.struct_size = sizeof po, .n_threads = 3, .executor = &none};
  late l = {0};
  CHECK_OK(ox_pool_create(&po, &l.pool));
  ox_task *t;
  ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_TIMED, .n_units = 1, .fn = make_child, .payload = &l};
  CHECK_OK(ox_task_submit(l.pool, &o, &t));
  pthread_join(l.waiter, NULL);
  assert_int_equal(l.done, 1);
  ox_task_release(t), ox_task_release(l.child);
  ox_pool_destroy(l.pool);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(units_may_wait_for_their_own_tasks),
      cmocka_unit_test(loops_and_tasks_mix),
      cmocka_unit_test(pools_are_resized_while_busy),
      cmocka_unit_test(a_pool_is_not_resized_from_inside),
      cmocka_unit_test(many_threads_wait_for_one_task),
      cmocka_unit_test(any_thread_may_work_until_something),
      cmocka_unit_test(a_stream_of_single_tasks_ends),
      cmocka_unit_test(a_sleeper_is_woken_when_no_worker_can_be_had),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
