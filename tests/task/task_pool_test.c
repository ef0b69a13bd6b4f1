/* SPDX-License-Identifier: Apache-2.0
 * task/task_pool_test.c - making and ending pools, hooks, fork, the default pool. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if !defined(_WIN32)
#include <sys/wait.h>
#endif

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"
#include "task/backend.h"

static ox_status *add_one(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  atomic_fetch_add((atomic_int *)ctx, (int)(end - begin));
  return NULL;
}

static int sum(ox_pool *pool, int n) {
  atomic_int total = 0;
  CHECK_OK(ox_task_for(pool, n, add_one, &total));
  return total;
}

static void bad_options_are_refused(void **state) {
  (void)state;
  ox_pool *pool = (void *)1;
  ox_pool_opts none = {0};
  CHECK_FAILS(ox_pool_create(&none, &pool), OX_INVALID_ARGUMENT, "struct_size");
  assert_null(pool);
  ox_pool_opts many = {.struct_size = sizeof many, .n_threads = 10000};
  CHECK_FAILS(ox_pool_create(&many, &pool), OX_LIMIT, "10000");
  ox_pool_opts half = {.struct_size = sizeof half, .n_threads = 2, .thread_join = (void (*)(void *, void *))abort};
  CHECK_FAILS(ox_pool_create(&half, &pool), OX_INVALID_ARGUMENT, "both or neither");
  ox_pool_destroy(NULL);
  assert_int_equal(ox_pool_size(NULL), 1);
}

static void pools_come_and_go(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 9; n++)
    for (int i = 0; i < 20; i++) {
      ox_pool_opts opts = {.n_threads = n,
                           .spin_us = i % 3 == 1   ? 100
                                      : i % 3 == 2 ? OX_POOL_NO_SPIN
                                                   : 0,

                           .stack_bytes = i % 2 ? 1 : 0,
                           .name = "a name that is far too long",
                           .flags = OX_POOL_FLUSH_DENORMALS};
      ox_pool *pool = test_pool_with(opts);
      assert_int_equal(ox_pool_size(pool), test_pool_size(n));
      if (i % 4) assert_int_equal(sum(pool, 100), 100);
      if (i % 4 == 3) usleep(300); /* asleep when it ends */
      ox_pool_destroy(pool);
    }
}

static void sleepers_are_woken(void **state) {
  (void)state;
  ox_pool_opts opts = {.n_threads = 4, .spin_us = OX_POOL_NO_SPIN};
  ox_pool *pool = test_pool_with(opts);
  for (int i = 0; i < 300; i++) {
    assert_int_equal(sum(pool, 50), 50);
    if (i % 3 == 0) usleep(200);
  }
  ox_pool_destroy(pool);
}

typedef struct hooks {
  atomic_int made, joined;
  int refuse_after;
} hooks;
typedef struct hooked {
  pthread_t thread;
  void (*main)(void *);
  void *arg;
} hooked;

static void *hooked_main(void *p) {
  hooked *h = p;
  h->main(h->arg);
  return NULL;
}
static void *make(void *ctx, void (*main)(void *), void *arg) {
  hooks *k = ctx;
  if (k->made >= k->refuse_after) return NULL;
  hooked *h = malloc(sizeof *h);
  h->main = main, h->arg = arg;
  pthread_create(&h->thread, NULL, hooked_main, h);
  k->made++;
  return h;
}
static void join(void *ctx, void *handle) {
  hooked *h = handle;
  pthread_join(h->thread, NULL);
  free(h);
  ((hooks *)ctx)->joined++;
}

static void threads_may_be_the_callers(void **state) {
  (void)state;
  if (ox_backend_of_build.most_threads == 1) skip();
  for (int refuse_after = 0; refuse_after <= 3; refuse_after++) { /* the Nth thread cannot be made; 3 are wanted */
    hooks k = {.refuse_after = refuse_after};
    ox_pool_opts opts = {
        .struct_size = sizeof opts, .n_threads = 4, .thread_create = make, .thread_join = join, .thread_ctx = &k};
    ox_pool *pool;
    ox_status *st = ox_pool_create(&opts, &pool);
    if (refuse_after < 3) {
      CHECK_FAILS(st, OX_FAIL, "thread_create");
      assert_null(pool);
    } else {
      CHECK_OK(st);
      assert_int_equal(sum(pool, 1000), 1000);
      ox_pool_destroy(pool);
    }
    assert_int_equal(k.made, refuse_after);
    assert_int_equal(k.joined, refuse_after);
  }
}

static ox_status *unit_adds(void *payload, uint32_t unit) {
  (void)unit;
  atomic_fetch_add((atomic_int *)payload, 1);
  return NULL;
}

#if !defined(_WIN32)
static bool can_fork(void) {
#if defined(__SANITIZE_THREAD__) || defined(__EMSCRIPTEN__)
  return false; /* the first does not follow threads made in a forked child, the second has no processes */
#else
  return !getenv("ONYX_TEST_NO_FORK"); /* emulators that do not either */
#endif
}

/* Runs |pool| in a forked child and returns the child's exit code; a hang is killed by alarm(). */
static int sum_in_child(ox_pool *pool, bool destroy) {
  pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    int bad = 0;
    for (int i = 0; i < 50; i++) {
      atomic_int total = 0;
      ox_status *st = ox_task_for(pool, 64, add_one, &total);
      bad |= st || total != 64;
    }
    if (destroy) ox_pool_destroy(pool);
    _exit(bad ? 1 : 0);
  }
  int code = -1;
  waitpid(pid, &code, 0);
  return code;
}

static void *keep_busy(void *arg) {
  void **a = arg;
  atomic_int total = 0;
  while (!atomic_load((atomic_int *)a[1])) ox_status_free(ox_task_for(a[0], 16, add_one, &total));
  return NULL;
}

static void a_forked_child_has_its_own_threads(void **state) {
  (void)state;
  if (!can_fork()) skip();
  ox_pool *pool = test_pool(3);
  assert_int_equal(sum_in_child(pool, true), 0); /* never used before */
  assert_int_equal(sum(pool, 64), 64);
  assert_int_equal(sum_in_child(pool, false), 0);
  atomic_int stop = 0;
  void *args[] = {pool, &stop};
  pthread_t busy; /* another thread is inside a loop while we fork: its slot must not stay taken */
  pthread_create(&busy, NULL, keep_busy, args);
  for (int i = 0; i < 20; i++) assert_int_equal(sum_in_child(pool, i % 2), 0);
  atomic_store(&stop, 1);
  pthread_join(busy, NULL);
  assert_int_equal(sum(pool, 64), 64);
  ox_pool_destroy(pool);
}

static void tasks_run_in_a_forked_child(void **state) {
  (void)state;
  if (!can_fork()) skip();
  ox_pool *pool = test_pool(3);
  atomic_int total = 0;
  ox_task *task;
  ox_task_opts o = {.struct_size = sizeof o, .n_units = 50, .fn = unit_adds, .payload = &total};
  CHECK_OK(ox_task_submit(pool, &o, &task)); /* may be under way when we fork; the child forgets it */
  pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    atomic_store(&total, 0);
    ox_status *st = ox_task_submit(pool, &o, &task);
    if (!st) st = ox_task_wait_release(task);
    if (!st && test_pool_resizes()) st = ox_pool_resize(pool, 2);
    bool good = !st && atomic_load(&total) == 50;
    ox_pool_destroy(pool);
    _exit(good ? 0 : 1);
  }
  int code = -1;
  waitpid(pid, &code, 0);
  assert_int_equal(code, 0);
  CHECK_OK(ox_task_wait_release(task));
  assert_int_equal(total, 50);
  ox_pool_destroy(pool);
}

static void a_process_may_exit_with_loops_in_flight(void **state) {
  (void)state;
  if (!can_fork()) skip();
  for (int i = 0; i < 10; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      atomic_int stop = 0;
      ox_pool *pool = test_pool(3);
      void *args[] = {pool, &stop};
      pthread_t busy;
      pthread_create(&busy, NULL, keep_busy, args);
      usleep(500);
      exit(0);
    }
    int code = -1;
    waitpid(pid, &code, 0);
    assert_int_equal(code, 0);
  }
}

#else /* there is no fork */
static void a_forked_child_has_its_own_threads(void **state) {
  (void)state;
  skip();
}
static void tasks_run_in_a_forked_child(void **state) {
  (void)state;
  skip();
}
static void a_process_may_exit_with_loops_in_flight(void **state) {
  (void)state;
  skip();
}
#endif

static void *get_default(void *arg) {
  *(ox_pool **)arg = ox_pool_default();
  return NULL;
}

static void there_is_one_default_pool(void **state) {
  (void)state;
  pthread_t threads[8];
  ox_pool *got[8];
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, get_default, &got[i]);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 8; i++) assert_ptr_equal(got[i], ox_pool_default());
  assert_non_null(got[0]);
  assert_int_equal(sum(got[0], 1000), 1000);
}

static const char *name_of(ox_pool_opts opts) {
  ox_pool *pool;
  opts.struct_size = sizeof opts, opts.n_threads = 2;
  CHECK_OK(ox_pool_create(&opts, &pool));
  const char *name = ox_pool_backend(pool);
  ox_pool_destroy(pool);
  return name;
}

static void a_pool_names_its_backend(void **state) {
  (void)state;
  const char *build = ox_backend_of_build.name, *own = ox_backend_of_build.most_threads == 1 ? "none" : "own";
  hooks k = {.refuse_after = 100};
  assert_string_equal(ox_pool_backend(NULL), "none");
  assert_string_equal(ox_pool_backend(ox_pool_default()), build);
  assert_string_equal(name_of((ox_pool_opts){0}), build);
  assert_string_equal(name_of((ox_pool_opts){.flags = 1u << 30}), build); /* unknown flags change nothing */
  assert_string_equal(name_of((ox_pool_opts){.priority = -1}), own);
  assert_string_equal(name_of((ox_pool_opts){.affinity = "1"}), own);
  assert_string_equal(name_of((ox_pool_opts){.thread_create = make, .thread_join = join, .thread_ctx = &k}), own);
  assert_string_equal(name_of((ox_pool_opts){.executor = test_executor(), .priority = 1}), "executor");
}

static ox_status *fail_third(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)ctx, (void)worker;
  return begin <= 3 && end > 3 ? ox_task_error(OX_LIMIT, "third") : NULL;
}

/* Loops, then tasks, which make the workers where loops run elsewhere, then both. */
static void workers_may_come_late(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 4; n++) {
    ox_pool *pool = test_pool(n);
    for (int i = 0; i < 3; i++) {
      assert_int_equal(sum(pool, 100), 100);
      CHECK_FAILS(ox_task_for(pool, 100, fail_third, NULL), OX_LIMIT, "third");
      if (i == 0) continue;
      atomic_int total = 0;
      ox_task *task;
      ox_task_opts o = {.struct_size = sizeof o, .n_units = 50, .fn = unit_adds, .payload = &total};
      CHECK_OK(ox_task_submit(pool, &o, &task));
      assert_int_equal(sum(pool, 100), 100);
      CHECK_OK(ox_task_wait_release(task));
      assert_int_equal(total, 50);
    }
    ox_pool_destroy(pool);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_options_are_refused),
      cmocka_unit_test(pools_come_and_go),
      cmocka_unit_test(sleepers_are_woken),
      cmocka_unit_test(threads_may_be_the_callers),
      cmocka_unit_test(a_forked_child_has_its_own_threads),
      cmocka_unit_test(tasks_run_in_a_forked_child),
      cmocka_unit_test(a_process_may_exit_with_loops_in_flight),
      cmocka_unit_test(there_is_one_default_pool),
      cmocka_unit_test(a_pool_names_its_backend),
      cmocka_unit_test(workers_may_come_late),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
