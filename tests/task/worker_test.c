/* SPDX-License-Identifier: Apache-2.0
 * task/worker_test.c - workers on somebody else's threads, counters, spinning switched on and off. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#elif defined(_WIN32)
#include <windows.h>
#endif

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"

/* An executor that makes a thread for each call, or refuses. */
typedef struct threads {
  atomic_int asked, running;
  int refuse_every; /* 0: never */
} threads;
typedef struct call {
  threads *owner;
  void (*fn)(void *);
  void *arg;
} call;

static void *call_main(void *p) {
  call c = *(call *)p;
  free(p);
  c.fn(c.arg);
  atomic_fetch_sub(&c.owner->running, 1);
  return NULL;
}
static int run(void *ctx, void (*fn)(void *), void *arg) {
  threads *t = ctx;
  int n = atomic_fetch_add(&t->asked, 1);
  if (t->refuse_every && n % t->refuse_every == 0) return 0;
  call *c = malloc(sizeof *c);
  *c = (call){t, fn, arg};
  atomic_fetch_add(&t->running, 1);
  pthread_t thread;
  pthread_attr_t detached; /* from the start: with MinGW, detaching a thread that has just ended is a race */
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &detached, call_main, c) != 0) abort();
  pthread_attr_destroy(&detached);
  return 1;
}

typedef struct work {
  ox_pool *pool;
  atomic_int tiles, bad;
  atomic_int inside[16];
} work;

static ox_status *tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  work *w = ctx;
  if (worker >= ox_pool_size(w->pool) || atomic_fetch_add(&w->inside[worker], 1)) atomic_fetch_add(&w->bad, 1);
  for (volatile int i = 0; i < 2000; i++) {
  }
  atomic_fetch_add(&w->tiles, (int)(end - begin));
  atomic_fetch_sub(&w->inside[worker], 1);
  return NULL;
}
static ox_status *unit(void *payload, uint32_t i) {
  work *w = payload;
  (void)i;
  work inner = {.pool = w->pool};
  OX_TRY(ox_task_for(w->pool, 20, tile, &inner));
  atomic_fetch_add(&w->tiles, atomic_load(&inner.tiles));
  atomic_fetch_add(&w->bad, atomic_load(&inner.bad));
  return NULL;
}

static void an_executor_supplies_the_threads(void **state) {
  (void)state;
  for (int refuse_every = 0; refuse_every < 4; refuse_every++) { /* 1: always */
    threads t = {.refuse_every = refuse_every};
    ox_executor e = {.struct_size = sizeof e, .ctx = &t, .run = run};
    ox_pool_opts o = {.struct_size = sizeof o, .n_threads = 4, .executor = &e, .flags = OX_POOL_FLUSH_DENORMALS};
    work w = {0};
    CHECK_OK(ox_pool_create(&o, &w.pool));
    for (int i = 0; i < 100; i++) {
      CHECK_OK(ox_task_for(w.pool, 64, tile, &w));
      ox_task *task;
      ox_task_opts to = {.struct_size = sizeof to, .n_units = 8, .fn = unit, .payload = &w};
      CHECK_OK(ox_task_submit(w.pool, &to, &task));
      if (i % 10 == 0) usleep(1000);
      CHECK_OK(ox_task_wait_release(task));
    }
    assert_int_equal(w.bad, 0);
    assert_int_equal(w.tiles, 100 * (64 + 8 * 20));
    assert_true(t.asked > 0);
    CHECK_FAILS(ox_pool_resize(w.pool, 2), OX_INVALID_ARGUMENT, "executor");
    ox_pool_destroy(w.pool); /* waits for those who are still inside */
    while (atomic_load(&t.running)) usleep(100);
  }
  ox_executor none = {.struct_size = sizeof none};
  ox_pool_opts o = {.struct_size = sizeof o, .n_threads = 2, .executor = &none};
  ox_pool *pool;
  CHECK_FAILS(ox_pool_create(&o, &pool), OX_INVALID_ARGUMENT, "executor");
}

static ox_pool_stats stats_of(const ox_pool *pool) {
  ox_pool_stats s = {.struct_size = sizeof s};
  ox_pool_get_stats(pool, &s);
  return s;
}

static void the_pool_counts(void **state) {
  (void)state;
  work w = {.pool = test_pool(3)};
  for (int i = 0; i < 200; i++) CHECK_OK(ox_task_for(w.pool, 32, tile, &w));
  usleep(3000);
  CHECK_OK(ox_task_for(w.pool, 1, tile, &w)); /* a function call */
  ox_pool_stats s = stats_of(w.pool);
  uint32_t size = test_pool_size(3), loops = size > 1 ? 200 : 0; /* on one thread all are function calls */
  assert_int_equal(s.n_threads, size);
  assert_int_equal(s.loops, loops);
  assert_in_range(s.claims, loops, loops * 32);
  assert_true(s.steals <= s.claims);
  ox_pool_stats small = {.struct_size = 8}, nobody = stats_of(NULL);
  ox_pool_get_stats(w.pool, &small);
  assert_true(small.n_threads == size && small.loops == 0);
  assert_true(nobody.n_threads == 1 && nobody.loops == 0);
  ox_pool_destroy(w.pool);
}

static void spinning_can_be_stopped(void **state) {
  (void)state;
  ox_pool_opts o = {.n_threads = 2, .spin_us = 60 * 1000 * 1000};
  work w = {.pool = test_pool_with(o)};
  CHECK_OK(ox_task_for(w.pool, 32, tile, &w));
  ox_pool_set_spin(w.pool, OX_POOL_NO_SPIN); /* it would watch for a minute */
  bool spins = test_pool_has_workers(w.pool);
  for (int i = 0; i < 5000 && spins && !stats_of(w.pool).sleeps; i++) {
    usleep(1000);
    CHECK_OK(ox_task_for(w.pool, 32, tile, &w)); /* sleeps are counted when they end */
  }
  assert_int_equal(stats_of(w.pool).sleeps > 0, spins);
  ox_pool_set_spin(w.pool, 0);
  CHECK_OK(ox_task_for(w.pool, 32, tile, &w));
  ox_pool_destroy(w.pool);
}

/* The system's own number for the calling thread's priority. */
#if defined(__linux__)
static int own_nice(void) { return getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)); }
#elif defined(_WIN32)
static int own_nice(void) { return GetThreadPriority(GetCurrentThread()); }
#else
static int own_nice(void) { return 0; } /* it cannot be changed */
#endif

static atomic_int nices[2]; /* of workers, of callers; 100: not seen yet */
static ox_status *note_nice(void *payload, uint32_t i) {
  (void)payload, (void)i;
  atomic_store(&nices[!ox_pool_thread_id()], own_nice());
  return NULL;
}

static void workers_have_their_priority(void **state) {
  (void)state;
  int before = own_nice();
  static const struct {
    int32_t priority;
    int nice;
  } rows[] = {
#if defined(__linux__)
    {0, 0},
    {-5, 5},
    {-19, 19},
    {-1000, 19},
    {INT32_MIN, 19},
    {3, -3},
    {20, -20},
    {INT32_MAX, -20}
#elif defined(_WIN32)
    {0, 0},
    {-5, -1},
    {-19, -2},
    {-1000, -15},
    {INT32_MIN, -15},
    {3, 1},
    {20, 2},
    {INT32_MAX, 2}
#else
    {0, 0},
    {-5, 0},
    {5, 0}
#endif
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_pool_opts o = {.struct_size = sizeof o, .n_threads = 2, .priority = rows[i].priority};
    ox_pool *pool;
    CHECK_OK(ox_pool_create(&o, &pool));
    atomic_store(&nices[0], 100);
    for (int k = 0; k < 1000 && ox_pool_size(pool) > 1 && atomic_load(&nices[0]) == 100; k++) {
      ox_task *t;
      ox_task_opts to = {.struct_size = sizeof to, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = note_nice};
      CHECK_OK(ox_task_submit(pool, &to, &t));
      usleep(1000); /* the worker's turn */
      CHECK_OK(ox_task_wait_release(t));
    }
    int got = atomic_load(&nices[0]), want = rows[i].priority ? rows[i].nice : before;
    if (got != 100 && got != want && !(want < before && got == before)) /* a right that users rarely have */
      fail_msg("priority %d: nice %d, wanted %d", (int)rows[i].priority, got, want);
    assert_int_equal(own_nice(), before);
    ox_pool_destroy(pool);
  }
}

/* Tiles that block: a thread that is left asleep is missed. The owner's lane is empty long before all are awake. */
static ox_status *nap(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  for (; begin < end; begin++) usleep(20000), atomic_fetch_add(&((atomic_int *)ctx)[worker], 1);
  return NULL;
}

static void every_worker_wakes_for_a_long_loop(void **state) {
  (void)state;
#if defined(__EMSCRIPTEN__)
  skip(); /* threads start long after they were made, one by one */
#endif
  enum { THREADS = 64 };
  ox_pool *pool = test_pool(THREADS);
  if (ox_pool_size(pool) < THREADS) {
    ox_pool_destroy(pool);
    skip();
  }
  int n = 0, most = THREADS;
  for (int tries = 0; tries < 5 && (n < THREADS * 3 / 4 || most > 16);
       tries++) { /* on a busy machine some are not there in time */
    atomic_int took_part[THREADS] = {0};
    usleep(20000); /* all sleep */
    CHECK_OK(ox_task_for(pool, 4 * THREADS, nap, took_part));
    bool own = test_pool_resizes() && test_pool_has_workers(pool); /* an executor may have fewer */
    n = own ? 0 : THREADS, most = 0;
    for (int i = 0; own && i < THREADS; i++) n += took_part[i] > 0, most = OX_MAX(most, (int)took_part[i]);
  }
  if (most > 16) fail_msg("one thread ran %d of %d tiles", most, 4 * THREADS); /* claimed too many to share */
  if (n < THREADS * 3 / 4) fail_msg("%d of %d threads took part", n, (int)THREADS);
  ox_pool_destroy(pool);
}

/* However long the visits would watch, and whatever is left to do. */
static void destroy_ends_visits(void **state) {
  (void)state;
  threads t = {0};
  const ox_executor e = {.struct_size = sizeof e, .ctx = &t, .run = run};
  ox_pool_opts o = {.struct_size = sizeof o, .n_threads = 4, .spin_us = OX_POOL_NO_SPIN - 1, .executor = &e};
  ox_pool *pool;
  atomic_int took_part[4] = {0};
  CHECK_OK(ox_pool_create(&o, &pool));
  CHECK_OK(ox_task_for(pool, 16, nap, took_part));
  ox_pool_destroy(pool);
  while (atomic_load(&t.running)) usleep(100);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_executor_supplies_the_threads),
      cmocka_unit_test(the_pool_counts),
      cmocka_unit_test(spinning_can_be_stopped),
      cmocka_unit_test(workers_have_their_priority),
      cmocka_unit_test(every_worker_wakes_for_a_long_loop),
      cmocka_unit_test(destroy_ends_visits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
