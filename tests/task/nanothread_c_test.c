/* SPDX-License-Identifier: Apache-2.0
 * task/nanothread_c_test.c - the compatibility header in C. */
#include <nanothread/nanothread.h>
#include <stdatomic.h>

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
    pool_set_size(pool, 3);
    assert_int_equal(pool_size(pool), 3);
    pool_destroy(pool);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(the_c_names_work)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
