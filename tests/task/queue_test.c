/* SPDX-License-Identifier: Apache-2.0
 * task/queue_test.c - ready tasks come out once, oldest first; spare memory comes back; a taken lock blocks nobody. */
#include "task/queue.h"

#include <string.h>

#include "support/check.h"
#include "task/pool.h"
#include "task/spare.h"
#include "task/task.h"

static ox_pool *make_pool(void) {
  ox_pool_opts o = {.struct_size = sizeof o, .n_threads = 1}; /* no workers: queues move only when we say so */
  ox_pool *pool;
  CHECK_OK(ox_pool_create(&o, &pool));
  return pool;
}

static ox_task *make_task(ox_pool *pool, uint32_t own, uint32_t n_units) {
  ox_task *t = ox_spare_take_task(pool, own);
  assert_non_null(t);
  t->n_units = n_units, t->next_unit = 0, t->next = NULL;
  return t;
}

static void tasks_come_out_oldest_first(void **state) {
  (void)state;
  ox_pool *pool = make_pool();
  ox_task *t[20];
  assert_false(ox_queue_any(pool));
  ox_claim c;
  assert_false(ox_queue_claim(pool, 0, &c));
  for (int i = 0; i < 20; i++) t[i] = make_task(pool, 0, 1), ox_queue_push(pool, 0, t[i], t[i], 1, 1);
  assert_true(ox_queue_any(pool));
  for (int i = 0; i < 20; i++) {
    assert_true(ox_queue_claim(pool, 0, &c));
    assert_ptr_equal(c.task, t[i]);
    assert_true(c.begin == 0 && c.n == 1 && c.more == (i < 19));
    ox_spare_give_task(pool, 0, c.task);
  }
  assert_false(ox_queue_any(pool));
  ox_pool_destroy(pool);
}

static void units_come_out_once(void **state) {
  (void)state;
  static const uint32_t counts[] = {1, 2, 63, 64, 65, 1000, UINT32_MAX};
  ox_pool *pool = make_pool();
  for (size_t i = 0; i < OX_COUNT(counts); i++) {
    ox_task *t = make_task(pool, 0, counts[i]);
    ox_queue_push(pool, 0, t, t, 1, counts[i]);
    uint64_t next = 0;
    for (ox_claim c; ox_queue_claim(pool, 0, &c);) {
      assert_true(c.begin == next && c.n >= 1);
      next += c.n;
      assert_int_equal(c.more, next < counts[i]);
    }
    assert_true(next == counts[i]);
    ox_spare_give_task(pool, 0, t);
  }
  ox_pool_destroy(pool);
}

/* Of a long queue all but the newest 16 to 32, of a short one half. */
static void thieves_take_several(void **state) {
  (void)state;
  static const struct {
    int tasks;
    uint32_t least, most; /* left with the victim */
  } cases[] = {{1, 0, 0}, {2, 1, 1}, {9, 4, 4}, {31, 15, 29}, {33, 16, 31}, {34, 16, 32}, {48, 16, 32}, {1000, 16, 32}};
  ox_pool *pool = make_pool();
  for (size_t k = 0; k < OX_COUNT(cases);
       k++) { /* one after the other in the same queue: marks of the last are stale */
    for (int i = 0; i < cases[k].tasks; i++) {
      ox_task *t = make_task(pool, 0, 1);
      ox_queue_push(pool, 0, t, t, 1, 1);
    }
    ox_claim c;
    assert_true(ox_queue_claim(pool, 1, &c));
    ox_spare_give_task(pool, 1, c.task);
    assert_in_range(pool->queues[0].count, cases[k].least, cases[k].most);
    assert_int_equal(pool->queues[1].count + pool->queues[0].count, cases[k].tasks - 1);
    int n = 0;
    for (; ox_queue_claim(pool, 2, &c); n++) ox_spare_give_task(pool, 2, c.task);
    assert_int_equal(n, cases[k].tasks - 1);
  }
  ox_pool_destroy(pool);
}

static void a_taken_lock_is_walked_around(void **state) {
  (void)state;
  ox_pool *pool = make_pool();
  ox_task *t = make_task(pool, 0, 1);
  pool->queues[0].lock = pool->spares[0].lock = 1; /* its holder was descheduled */
  ox_queue_push(pool, 0, t, t, 1, 1);
  assert_int_equal(pool->queues[1].count, 1);
  ox_task *other = make_task(pool, 0, 1);
  ox_spare_give_task(pool, 0, other);
  ox_claim c;
  assert_true(ox_queue_claim(pool, 0, &c));
  assert_ptr_equal(c.task, t);
  ox_spare_give_task(pool, 0, t);
  pool->queues[0].lock = pool->spares[0].lock = 0;
  ox_pool_destroy(pool);
}

static void memory_is_used_again(void **state) {
  (void)state;
  ox_pool *pool = make_pool();
  ox_task *seen[64];
  for (int i = 0; i < 64; i++) seen[i] = make_task(pool, 0, 1);
  for (int i = 0; i < 64; i++) /* all different */
    for (int k = 0; k < i; k++) assert_ptr_not_equal(seen[i], seen[k]);
  for (int i = 0; i < 64; i++) ox_spare_give_task(pool, 3, seen[i]); /* by another thread */
  for (int i = 0; i < 64; i++) {
    ox_task *t = make_task(pool, 0, 1);
    int known = 0;
    for (int k = 0; k < 64; k++) known += t == seen[k];
    assert_int_equal(known, 1);
  }
  ox_pool_destroy(pool);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_come_out_oldest_first), cmocka_unit_test(units_come_out_once),
      cmocka_unit_test(thieves_take_several),        cmocka_unit_test(a_taken_lock_is_walked_around),
      cmocka_unit_test(memory_is_used_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
