/* SPDX-License-Identifier: Apache-2.0
 * task/no_resources_test.c - threads, executors and memory that are not to be had: a status, and the pool works on. */
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

/* On request the allocations of the calling thread fail from number |fail_at| on. The sanitizers have malloc to
 * themselves. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define CAN_FAIL 0
#elif defined(__has_feature)
#define CAN_FAIL (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define CAN_FAIL 1
#endif
static _Thread_local long fail_at = -1;
#if CAN_FAIL
void *__libc_malloc(size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
static int fails_now(void) {
  if (fail_at < 0) return 0;
  if (fail_at > 0) return fail_at--, 0;
  errno = ENOMEM;
  return 1;
}
void *malloc(size_t bytes) { return fails_now() ? NULL : __libc_malloc(bytes); }
void *aligned_alloc(size_t align, size_t bytes) { return fails_now() ? NULL : __libc_memalign(align, bytes); }
#endif

typedef struct threads {
  int left; /* that can be made */
  int made, joined;
} threads;
typedef struct thread_start {
  void (*main)(void *);
  void *arg;
  pthread_t thread;
} thread_start;
static void *thread_main(void *p) {
  thread_start *s = p;
  s->main(s->arg);
  return NULL;
}
static void *make_thread(void *ctx, void (*main)(void *), void *arg) {
  threads *t = ctx;
  if (!t->left) return NULL;
  thread_start *s = malloc(sizeof *s);
  if (!s) return NULL;
  *s = (thread_start){main, arg, 0};
  if (pthread_create(&s->thread, NULL, thread_main, s) != 0) abort();
  t->left--, t->made++;
  return s;
}
static void join_thread(void *ctx, void *handle) {
  thread_start *s = handle;
  pthread_join(s->thread, NULL);
  free(s);
  ((threads *)ctx)->joined++;
}

static void threads_run_out(void **state) {
  (void)state;
  if (ox_backend_of_build.most_threads == 1) skip();
  for (int n = 0; n < 6; n++) {
    threads t = {.left = n};
    ox_pool *pool;
    ox_pool_opts *o = OPTS(.n_threads = 6, .thread_create = make_thread, .thread_join = join_thread, .thread_ctx = &t);
    if (n < 5) {
      CHECK_FAILS(ox_pool_create(o, &pool), OX_FAIL, "thread_create");
      assert_null(pool);
      assert_true(t.made == n && t.joined == n);
    }
    t = (threads){.left = n};
    o->n_threads = 1;
    CHECK_OK(ox_pool_create(o, &pool));
    ox_status *st = ox_pool_resize(pool, 6);
    assert_int_equal(ox_status_code(st), n < 5 ? OX_FAIL : OX_OK);
    ox_status_free(st);
    assert_int_equal(ox_pool_size(pool), n < 5 ? 1 : 6);
    check_works(pool);
    t.left = 100;
    CHECK_OK(ox_pool_resize(pool, 3));
    check_works(pool);
    ox_pool_destroy(pool);
    assert_int_equal(t.made, t.joined);
  }
}

static int refuse(void *ctx, void (*fn)(void *), void *arg) {
  (void)ctx, (void)fn, (void)arg;
  return 0;
}

static void an_executor_may_refuse_everything(void **state) {
  (void)state;
  const ox_executor executor = {.struct_size = sizeof executor, .run = refuse};
  ox_pool *pool;
  CHECK_OK(ox_pool_create(OPTS(.n_threads = 4, .executor = &executor), &pool));
  for (int i = 0; i < 10; i++) check_works(pool);
  ox_pool_destroy(pool);
}

static int n_deleted;
static void count_deleted(void *payload) { (void)payload, n_deleted++; }

static void payloads_that_do_not_fit(void **state) {
  (void)state;
  static const size_t bytes[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2, SIZE_MAX / 4 + 1};
  ox_pool *pool = test_pool(2);
  atomic_int runs = 0;
  for (size_t i = 0; i < OX_COUNT(bytes); i++) {
    ox_task *t;
    ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = count};
    o.payload = &runs, o.payload_bytes = bytes[i];
    CHECK_FAILS(ox_task_submit(pool, &o, &t), OX_OUT_OF_MEMORY, "");
    assert_null(t);
    o.payload_delete = count_deleted; /* it is passed on: its size does not matter */
    n_deleted = 0;
    CHECK_OK(ox_task_submit(pool, &o, &t));
    CHECK_OK(ox_task_wait_release(t));
    assert_int_equal(n_deleted, 1);
  }
  assert_int_equal(runs, OX_COUNT(bytes));
  ox_pool_destroy(pool);
}

/* Each allocates; returns the first error. They leave nothing behind. */
static ox_status *try_create(ox_pool *unused) {
  ox_pool *pool = NULL;
  (void)unused;
  ox_status *st = ox_pool_create(OPTS(.n_threads = 3, .affinity = "1;2"), &pool);
  ox_pool_destroy(pool);
  return st;
}
static ox_status *try_submit(ox_pool *pool) {
  char payload[1000] = {0};
  ox_task *parents[20], *t = NULL;
  atomic_int runs = 0;
  ox_status *st = submit(pool, count, &runs, 1, NULL, 0, &parents[0]);
  if (st) return st;
  for (int i = 1; i < 20; i++) parents[i] = parents[0];
  ox_task_opts o = {.struct_size = sizeof o, .n_units = 2, .fn = count, .payload = payload, .payload_bytes = 1000};
  o.parents = parents, o.n_parents = 20;
  st = ox_task_submit(pool, &o, &t);
  ox_status *waited = ox_task_wait_release(t);
  if (!st) st = waited;
  waited = ox_task_wait_release(parents[0]);
  return st ? st : waited;
}
typedef struct calls {
  int submitted;
  atomic_int runs;
} calls;
static int all_ran(void *ctx) { return ((calls *)ctx)->runs == ((calls *)ctx)->submitted; }
static ox_status *try_calls(ox_pool *pool) { /* without handles; several blocks of them */
  calls c = {0, 0};
  ox_status *st = NULL;
  for (; !st && c.submitted < 1000; c.submitted += !st) st = submit(pool, count, &c.runs, 1, NULL, 0, NULL);
  ox_pool_work_until(pool, all_ran, &c);
  return st;
}
static ox_status *try_resize(ox_pool *pool) {
  ox_status *st = ox_pool_resize(pool, 1);
  return st ? st : ox_pool_resize(pool, 9);
}
static ox_status *try_graph(ox_pool *pool) {
  ox_task_graph *graph = NULL;
  atomic_int runs = 0;
  uint32_t last = 0;
  ox_status *st = ox_task_graph_create(&graph);
  for (uint32_t i = 0; !st && i < 40; i++) st = ox_task_graph_add(graph, count, &runs, 1, &last, i > 0, &last);
  if (!st) st = ox_task_graph_run(pool, graph);
  if (!st && runs != 40) st = ox_task_error(OX_FAIL, "nodes were lost");
  ox_task_graph_destroy(graph);
  return st;
}

static void memory_runs_out(void **state) {
  (void)state;
  static const struct {
    const char *name;
    ox_status *(*fn)(ox_pool *pool);
  } rows[] = {{"create", try_create},
              {"submit", try_submit},
              {"calls", try_calls},
              {"resize", try_resize},
              {"graph", try_graph}};
  if (!CAN_FAIL) skip();
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    long n = 0;
    for (bool done = false; !done; n++) {
      if (rows[i].fn == try_resize && (!test_pool_resizes() || test_pool_size(9) == 1)) break;
      ox_pool *pool = test_pool(2); /* a new one each time: it has no spare memory yet */
      fail_at = n;
      ox_status *st = rows[i].fn(pool);
      fail_at = -1;
      done = !st;
      ox_code code = ox_status_code(st);
      if (st && code != OX_OUT_OF_MEMORY && code != OX_FAIL)
        fail_msg("%s, step %ld: %s", rows[i].name, n, ox_status_message(st));
      ox_status_free(st);
      check_works(pool);
      ox_pool_destroy(pool);
      if (n > 1000) fail_msg("%s: never succeeds", rows[i].name);
    }
    if (n == 1) fail_msg("%s: allocates nothing", rows[i].name);
  }
}

int main(void) {
#if !defined(_WIN32)
  alarm(SECONDS);
#endif
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_run_out),
      cmocka_unit_test(an_executor_may_refuse_everything),
      cmocka_unit_test(payloads_that_do_not_fit),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
