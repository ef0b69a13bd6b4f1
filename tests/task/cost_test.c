/* SPDX-License-Identifier: Apache-2.0
 * task/cost_test.c - blocks, batches and cost: all items once, ranges where they were promised. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"
#include "task/pool.h"

typedef struct seen {
  int64_t n, block, n_batches;
  atomic_llong items;
  atomic_int calls, bad;
} seen;

static ox_status *check_block(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  seen *s = ctx;
  (void)worker;
  if (begin < 0 || begin >= end || end > s->n || begin % s->block || (end % s->block && end != s->n))
    atomic_fetch_add(&s->bad, 1);
  atomic_fetch_add(&s->items, end - begin), atomic_fetch_add(&s->calls, 1);
  return NULL;
}

static ox_status *check_batch(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  seen *s = ctx;
  (void)worker;
  int64_t length = end - begin, least = s->n / s->n_batches;
  if (length != least && length != least + 1) atomic_fetch_add(&s->bad, 1);
  atomic_fetch_add(&s->items, length), atomic_fetch_add(&s->calls, 1);
  return NULL;
}

static const int64_t counts[] = {-1, 0, 1, 2, 5, 64, 1000, 99991, INT64_MAX - 1, INT64_MAX};

static void blocks_begin_at_multiples(void **state) {
  (void)state;
  static const int64_t sizes[] = {-3, 0, 1, 2, 7, 64, 100000, INT64_MAX / 3, INT64_MAX};
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    ox_pool *pool = test_pool(threads);
    for (size_t i = 0; i < OX_COUNT(counts); i++)
      for (size_t k = 0; k < OX_COUNT(sizes); k++) {
        seen s = {.n = counts[i], .block = OX_MAX(sizes[k], 1)};
        CHECK_OK(ox_task_for_block(pool, counts[i], sizes[k], check_block, &s));
        assert_int_equal(s.bad, 0);
        assert_true(s.items == OX_MAX(counts[i], 0));
      }
    ox_pool_destroy(pool);
  }
}

static void batches_are_even(void **state) {
  (void)state;
  static const int64_t batches[] = {-1, 0, 1, 2, 3, 64, 1000};
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    ox_pool *pool = test_pool(threads);
    for (size_t i = 0; i < OX_COUNT(counts); i++)
      for (size_t k = 0; k < OX_COUNT(batches); k++) {
        int64_t n = counts[i], want = batches[k] <= 0 ? test_pool_size(threads) : batches[k];
        want = OX_MIN(want, OX_MAX(n, 0));
        seen s = {.n = n, .n_batches = OX_MAX(want, 1)};
        CHECK_OK(ox_task_for_batch(pool, n, batches[k], check_batch, &s));
        assert_int_equal(s.bad, 0);
        assert_true(s.items == OX_MAX(n, 0));
        assert_int_equal(s.calls, want);
      }
    ox_pool_destroy(pool);
  }
}

static const struct {
  const char *name;
  int64_t n;
  ox_cost cost;
  uint32_t threads;
  int64_t least, most; /* of the block */
} rows[] = {
    {"one thread", 1000, {0, 0, 1e6}, 1, 1000, 1000},
    {"one item", 1, {0, 0, 1e9}, 8, 1, 1},
    {"too little work", 1000, {0, 0, 10}, 4, 1000, 1000},
    {"dear items", 100, {0, 0, 1e6}, 4, 1, 7},
    {"four blocks a thread", 16000, {0, 0, 1000}, 4, 1000, 1000},
    {"cheap items", 1000000, {4, 4, 1}, 2, 1600, 125000},
    {"bytes count", 1000, {64000, 0, 0}, 2, 1, 125},
    {"free items", 1000000, {0, 0, 0}, 2, 4000, 500000},
    {"negative cost", 1000000, {-5, 0, 0}, 2, 4000, 500000},
    {"not a number", 1000000, {NAN, 0, 0}, 2, 4000, 500000},
    {"infinite", 1000, {INFINITY, 0, 0}, 2, 1, 125},
    {"all of int64", INT64_MAX, {0, 0, 1}, 64, 1, INT64_MAX / 64},
};

static void blocks_fit_the_cost(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    int64_t block = ox_task_block_for_cost(rows[i].n, rows[i].cost, rows[i].threads);
    if (block < rows[i].least || block > rows[i].most) fail_msg("%s: block of %lld", rows[i].name, (long long)block);
    ox_pool *pool = test_pool(2);
    seen s = {.n = rows[i].n, .block = 1};
    CHECK_OK(ox_task_for_cost(pool, rows[i].n, rows[i].cost, check_block, &s));
    assert_int_equal(s.bad, 0);
    assert_true(s.items == rows[i].n);
    ox_pool_destroy(pool);
  }
}

static void slow_processors_get_smaller_blocks(void **state) {
  (void)state;
  ox_pool *pool = test_pool(4);
  static const ox_cost cost = {0, 0, 1000};
  static const struct {
    bool mixed;
    int64_t block;
  } kinds[] = {{false, 1000}, {true, 250}}; /* 4 or 16 for each of 4 threads */
  for (size_t i = 0; i < OX_COUNT(kinds); i++) {
    atomic_store(&pool->mixed, kinds[i].mixed);
    seen s = {.n = 16000, .block = kinds[i].block};
    CHECK_OK(ox_task_for_cost(pool, s.n, cost, check_block, &s));
    assert_int_equal(s.bad, 0);
    assert_true(s.items == s.n);
    assert_in_range(s.calls, 1, s.n / s.block);
    seen little = {.n = 10, .block = 10}; /* still not worth a helper */
    CHECK_OK(ox_task_for_cost(pool, little.n, cost, check_block, &little));
    assert_int_equal(little.calls, 1);
  }
  ox_pool_destroy(pool);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_begin_at_multiples),
      cmocka_unit_test(batches_are_even),
      cmocka_unit_test(blocks_fit_the_cost),
      cmocka_unit_test(slow_processors_get_smaller_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
