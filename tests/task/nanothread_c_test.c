/* SPDX-License-Identifier: Apache-2.0
 * task/nanothread_c_test.c - the compatibility header in C. */
#include <nanothread/nanothread.h>
#include <stdatomic.h>
#include <time.h>

#include "support/check.h"

static void add(uint32_t index, void *payload) { atomic_fetch_add(*(atomic_int **)payload, (int)index + 1); }
static bool is_ten(void *payload) { return atomic_load((atomic_int *)payload) == 10; }

static void the_c_names_work(void **state) {
  (void)state;
  for (uint32_t size = 0; size < 4; size++) {
    Pool *pool = pool_create(size, 0);
    atomic_int sum = 0, *where = &sum;
    Task *a = task_submit(pool, 4, add, &where, sizeof where, NULL, 1);
    const Task *parents[] = {a, NULL};
    Task *b = task_submit_dep(pool, parents, 2, 1, add, &where, sizeof where, NULL, 0, 0);
    task_retain(b);
    task_release(b);
    task_wait_and_release(b);
    assert_int_equal(sum, 11);
    task_wait(a);
    assert_true(task_query(a));
    task_release(a);
    atomic_store(&sum, 0);
    task_release(task_submit(pool, 4, add, &where, sizeof where, NULL, 0));
    pool_work_until(pool, is_ten, &sum);
    assert_int_equal(sum, 10);
    task_submit_and_wait(pool, 4, add, &where);
    assert_int_equal(sum, 20);
    pool_set_size(pool, 3, 1);
    assert_int_equal(pool_size(pool), 3);
    pool_destroy(pool);
  }
}

static int n_deleted;
static void *last_deleted;
static void count_deleted(void *payload) { n_deleted++, last_deleted = payload; }
static void wait_for_go(uint32_t index, void *payload) {
  (void)index;
  while (!atomic_load((atomic_int *)payload)) {
  }
}

/* What comes back, what is called, and with what, for each kind of size, function, parent and flag. */
static void handles_and_deleters(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t size;
    bool has_func, has_parent, has_payload;
    int async, profile;
    bool handle;
    int calls, deletes;
  } cases[] = {
      {"nothing", 0, false, false, true, 0, 0, false, 0, 1},
      {"a function but no units", 0, true, false, true, 0, 0, false, 0, 1},
      {"no units, async", 0, true, false, true, 1, 0, true, 0, 1},
      {"no units, timed", 0, true, false, true, 0, 1, true, 0, 1},
      {"no units after a parent", 0, true, true, true, 0, 0, true, 0, 1},
      {"one unit", 1, true, false, true, 0, 0, false, 1, 1},
      {"one unit, NULL payload", 1, true, false, false, 0, 0, false, 0, 1},
      {"one unit, NULL payload, async", 1, false, false, false, 1, 0, true, 0, 0},
      {"one unit, timed", 1, true, false, true, 0, 1, true, 1, 1},
      {"one unit, async", 1, true, false, true, 1, 0, true, 1, 1},
      {"one unit after a parent", 1, true, true, true, 0, 0, true, 1, 1},
      {"one unit, no function, after a parent", 1, false, true, true, 0, 0, true, 0, 1},
      {"units", 7, true, false, true, 0, 0, true, 7, 1},
      {"units without a function", 7, false, false, true, 0, 0, true, 0, 1},
      {"units without a function after a parent", 7, false, true, true, 0, 0, true, 0, 1},
  };
  for (uint32_t size = 1; size < 4; size++) {
    Pool *pool = pool_create(size, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      atomic_int calls = 0, go = 0, *where = &calls;
      void *payload = cases[i].has_payload ? (void *)&where : NULL;
      Task *parent = cases[i].has_parent ? task_submit(pool, 1, wait_for_go, &go, 0, NULL, 1) : NULL;
      const Task *parents[] = {NULL, parent, NULL};
      n_deleted = 0, last_deleted = &go;
      Task *t = task_submit_dep(pool, parents, 3, cases[i].size, cases[i].has_func && payload ? add : NULL, payload,
                                sizeof where, count_deleted, cases[i].async, cases[i].profile);
      if (parent && (task_query(t) || n_deleted)) fail_msg("%s: ended before its parent", cases[i].name);
      atomic_store(&go, 1);
      task_wait(t);
      int sum = cases[i].calls * (cases[i].calls + 1) / 2; /* add: index + 1 */
      if (!t == cases[i].handle) fail_msg("%s: %s handle", cases[i].name, t ? "a" : "no");
      if (calls != sum) fail_msg("%s: %d, wanted %d", cases[i].name, (int)calls, sum);
      if (n_deleted != cases[i].deletes) fail_msg("%s: %d deletes", cases[i].name, n_deleted);
      if (n_deleted && last_deleted != payload) fail_msg("%s: another payload", cases[i].name);
      assert_true(task_query(t));
      task_release(t);
      task_wait_and_release(parent);
    }
    pool_destroy(pool);
  }
}

/* Waiting for units and resizing from another thread's point of view: nothing is lost. */
static void nap(uint32_t index, void *payload) {
  (void)index;
  struct timespec t = {0, 1000000};
  nanosleep(&t, NULL);
  atomic_fetch_add((atomic_int *)payload, 1);
}

static void a_busy_pool_changes_its_size(void **state) {
  (void)state;
  static const uint32_t sizes[] = {4, 0, 7, 1, 2, NANOTHREAD_AUTO, 3};
  Pool *pool = pool_create(3, 0);
  atomic_int sum = 0;
  Task *t = task_submit(pool, 200, nap, &sum, 0, NULL, 0);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    pool_set_size(pool, sizes[i], (int)i % 2);
    uint32_t want = sizes[i] == NANOTHREAD_AUTO ? performance_core_count() : sizes[i];
    assert_int_equal(pool_size(pool), want ? want : 1);
  }
  task_wait_and_release(t);
  assert_int_equal(sum, 200);
  pool_destroy(pool);
}

/* Work nobody waits for is dropped with the pool, and its payload deleted. */
static void destroy_drops_work(void **state) {
  (void)state;
  int x;
  Pool *pool = pool_create(1, 0);
  n_deleted = 0;
  Task *a = task_submit(pool, 3, wait_for_go, &x, 0, count_deleted, 0);
  const Task *parents[] = {a};
  task_release(task_submit_dep(pool, parents, 1, 1, wait_for_go, &x, 0, count_deleted, 0, 0));
  task_release(a);
  pool_destroy(pool);
  assert_int_equal(n_deleted, 2);
}

static void the_default_pool_comes_back(void **state) {
  (void)state;
  atomic_int sum = 0, *where = &sum;
  pool_set_size(NULL, 3, 1);
  assert_int_equal(pool_size(NULL), 3);
  task_submit_and_wait(NULL, 4, add, &where);
  pool_destroy(NULL);
  assert_int_equal(pool_size(NULL), performance_core_count());
  task_wait_and_release(task_submit(NULL, 4, add, &where, sizeof where, NULL, 0));
  assert_int_equal(sum, 20);
  assert_int_equal(pool_size(NULL), performance_core_count());
  assert_int_equal(ox_pool_size(ox_pool_default()), performance_core_count());
  pool_destroy(NULL);
  pool_set_size(NULL, 2, 1);
  assert_int_equal(pool_size(NULL), 2);
  pool_destroy(NULL);
  pool_destroy(NULL);
}

static void null_is_a_task_that_ended(void **state) {
  (void)state;
  task_wait(NULL), task_release(NULL), task_retain(NULL), task_wait_and_release(NULL);
  assert_true(task_query(NULL));
  assert_true(task_time(NULL) == 0 && task_time_rel(NULL, NULL) == 0);
}

static void record_id(uint32_t index, void *payload) {
  struct timespec t = {0, 200000};
  nanosleep(&t, NULL);
  ((uint32_t *)payload)[index] = pool_thread_id();
}

static void threads_have_numbers(void **state) {
  (void)state;
  uint32_t ids[64];
  Pool *pool = pool_create(5, 0);
  task_wait_and_release(task_submit(pool, 64, record_id, ids, 0, NULL, 0));
  for (int i = 0; i < 64; i++) assert_true(ids[i] < 5);
  pool_destroy(pool);
  assert_int_equal(pool_thread_id(), 0);
}

static void barriers_have_times(void **state) {
  (void)state;
  atomic_int sum = 0;
  Pool *pool = pool_create(2, 0);
  Task *a = task_submit_dep(pool, NULL, 0, 1, nap, &sum, 0, NULL, 1, 1);
  const Task *parents[] = {a};
  Task *b = task_submit_dep(pool, parents, 1, 0, NULL, NULL, 0, NULL, 0, 1);
  Task *plain = task_submit_dep(pool, parents, 1, 1, nap, &sum, 0, NULL, 1, 0);
  task_wait(b), task_wait(plain);
  assert_true(task_time(a) >= 0.9 && task_time(b) < 0.9 && task_time_rel(a, b) >= 0.9);
  assert_true(task_time_rel(b, a) == 0 && task_time(plain) == 0 && task_time_rel(a, plain) == 0);
  task_release(a), task_release(b), task_release(plain);
  pool_destroy(pool);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_c_names_work),     cmocka_unit_test(handles_and_deleters),
      cmocka_unit_test(destroy_drops_work),   cmocka_unit_test(a_busy_pool_changes_its_size),
      cmocka_unit_test(threads_have_numbers), cmocka_unit_test(the_default_pool_comes_back),
      cmocka_unit_test(barriers_have_times),  cmocka_unit_test(null_is_a_task_that_ended),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
