/* SPDX-License-Identifier: Apache-2.0
 * exec/dynpool_test.c - which block a request gets, with and without a limit, and what the account says. */
#include "exec/dynpool.h"

#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"

enum { PAD = OX_PAD_BYTES };

static void trim(void *pool) { ox_dynpool_trim(pool); }

typedef struct {
  counting_alloc count;
  ox_workspace account;
  ox_dynpool pool;
} bench;

static void open_bench(bench *b, size_t limit) {
  *b = (bench){.count = {.fail_at = -1}, .account = {.limit = limit, .trim = trim, .ctx = &b->pool}};
  ox_dynpool_init(&b->pool, counting_alloc_of(&b->count), &b->account);
}

static void close_bench(bench *b) {
  ox_dynpool_deinit(&b->pool);
  assert_int_equal(b->account.held, 0);
  assert_int_equal(atomic_load(&b->count.live), 0);
}

/* A block of |has| bytes is free; |wants| are asked for. */
static void test_a_free_block_is_taken_if_it_fits(void **state) {
  static const struct {
    size_t limit, has, wants;
    bool same;
  } cases[] = {
      {0, 5000, 5000, true},        {0, 5000, 4999, true},        {0, 5000, 5001, false},
      {0, 50000, 50000 / 4, true},  {0, 50000, 50000 / 5, false}, /* four times too large */
      {0, 4096 - PAD, 0, true},                                   /* small ones always do */
      {1 << 20, 5000, 5000, true},                                /* under a limit only the same size does */
      {1 << 20, 5000, 4999, false}, {1 << 20, 100, 0, false},     {1 << 20, 0, 0, true},
  };
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    bench b;
    open_bench(&b, cases[i].limit);
    void *first = ox_dynpool_take(&b.pool, cases[i].has);
    ox_dynpool_give(&b.pool, first);
    void *second = ox_dynpool_take(&b.pool, cases[i].wants);
    assert_non_null(second);
    assert_int_equal((uintptr_t)second % OX_ALIGN_BYTES, 0);
    if ((first == second) != cases[i].same) fail_msg("case %zu", i);
    void *third = ox_dynpool_take(&b.pool, cases[i].wants); /* what is in use is nobody else's */
    assert_ptr_not_equal(third, second);
    close_bench(&b);
  }
}

static void test_the_limit_counts_what_is_in_use(void **state) {
  (void)state;
  bench b;
  open_bench(&b, 1000 + 2 * PAD);
  void *one = ox_dynpool_take(&b.pool, 600), *two = ox_dynpool_take(&b.pool, 400);
  assert_non_null(one), assert_non_null(two);
  assert_int_equal(b.account.held, 1000 + 2 * PAD);
  assert_null(ox_dynpool_take(&b.pool, 0));
  assert_null(ox_dynpool_take(&b.pool, SIZE_MAX));
  ox_dynpool_give(&b.pool, one);
  assert_null(ox_dynpool_take(&b.pool, 601)); /* the free one has gone, and still there is no room */
  assert_int_equal(b.account.held, 400 + PAD);
  assert_non_null(ox_dynpool_take(&b.pool, 600));
  ox_dynpool_give_all(&b.pool);
  assert_non_null(ox_dynpool_take(&b.pool, 1000 + PAD)); /* the place of both */
  assert_int_equal(b.account.held, 1000 + 2 * PAD);
  close_bench(&b);
}

/* Under a limit every size has a block: many sizes do not make the list ever longer. */
static void test_many_sizes_do_not_pile_up(void **state) {
  (void)state;
  bench b;
  open_bench(&b, 1 << 30);
  for (size_t i = 0; i < 1000; i++) ox_dynpool_give(&b.pool, ox_dynpool_take(&b.pool, i));
  assert_true(b.pool.n <= 64);
  close_bench(&b);
}

/* A value that a loop appends to: each size is taken while the last one is in use. Again, nothing is new. */
static void test_growing_values_leave_few_blocks(void **state) {
  (void)state;
  enum { STEP = 10000, STEPS = 200 };
  bench b;
  open_bench(&b, 0);
  size_t blocks = 0;
  for (int again = 0; again < 2; again++) {
    void *last = NULL;
    for (size_t i = 1; i <= STEPS; i++) {
      void *next = ox_dynpool_take(&b.pool, i * STEP);
      assert_non_null(next);
      ox_dynpool_give(&b.pool, last);
      last = next;
    }
    ox_dynpool_give(&b.pool, last);
    if (again) assert_int_equal(b.pool.n, blocks);
    blocks = b.pool.n;
  }
  size_t bytes = 0;
  for (size_t i = 0; i < b.pool.n; i++) bytes += b.pool.blocks[i].bytes;
  if (bytes > (size_t)12 * STEPS * STEP) fail_msg("%zu blocks of %zu bytes", blocks, bytes);
  close_bench(&b);
}

static void test_a_failed_allocation_is_not_counted(void **state) {
  (void)state;
  for (long at = 0; at < 2; at++) { /* the list, the block */
    bench b;
    open_bench(&b, 1 << 20);
    b.count.fail_at = at;
    assert_null(ox_dynpool_take(&b.pool, 100));
    assert_int_equal(b.account.held, 0);
    assert_false(b.account.refusal.fresh);
    close_bench(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_free_block_is_taken_if_it_fits),   cmocka_unit_test(test_the_limit_counts_what_is_in_use),
      cmocka_unit_test(test_many_sizes_do_not_pile_up),          cmocka_unit_test(test_growing_values_leave_few_blocks),
      cmocka_unit_test(test_a_failed_allocation_is_not_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
