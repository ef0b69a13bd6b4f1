/* SPDX-License-Identifier: Apache-2.0
 * ops/sequence_test.c - sequences made, changed and taken apart; positions that do not exist. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

static int32_t values[3][2] = {{1, 2}, {3, 4}, {5, 6}};
static ox_tensor tensors[3];
static const ox_tensor *items[3];

static ox_tensor sequence(int64_t n) {
  const ox_shape s = {.rank = 1, .dim = {2}};
  for (int i = 0; i < 3; i++) tensors[i] = ox_tensor_view(OX_I32, &s, values[i]), items[i] = &tensors[i];
  return (ox_tensor){.kind = OX_SEQUENCE,
                     .dtype = OX_I32,
                     .data = items,
                     .bytes = (size_t)n * sizeof *items,
                     .shape = {.rank = 1, .dim = {n}}};
}

/* The first values of the items of an output sequence. */
static void expect(const ox_tensor *t, int64_t n, const int32_t *want) {
  assert_int_equal(t->kind, OX_SEQUENCE);
  assert_int_equal(t->shape.dim[0], n);
  for (int64_t i = 0; i < n; i++)
    assert_int_equal(*(const int32_t *)((const ox_tensor *const *)t->data)[i]->data, want[i]);
}

static void start(one_node *n, const char *op, int64_t length) {
  ox_tensor s = sequence(length);
  one_node_init(n, "", op, 11, 1);
  one_node_value(n, &s);
}

static void test_insert(void **state) {
  (void)state;
  static const struct {
    int64_t position;
    int32_t want[4];
  } cases[] = {{0, {9, 1, 3, 5}}, {1, {1, 9, 3, 5}}, {3, {1, 3, 5, 9}}, {-1, {1, 3, 9, 5}}, {-3, {9, 1, 3, 5}}};
  one_node n;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    start(&n, "SequenceInsert", 3);
    one_node_input(&n, OX_I32, 1, (int64_t[]){1}, (int32_t[]){9});
    one_node_input(&n, OX_I64, 0, NULL, &cases[i].position);
    CHECK_OK(one_node_run(&n));
    expect(&n.out[0], 4, cases[i].want);
    one_node_deinit(&n);
  }
  start(&n, "SequenceInsert", 0);
  one_node_input(&n, OX_I32, 1, (int64_t[]){1}, (int32_t[]){9});
  CHECK_OK(one_node_run(&n));
  expect(&n.out[0], 1, (int32_t[]){9});
  one_node_deinit(&n);
}

static void test_erase(void **state) {
  (void)state;
  one_node n;
  start(&n, "SequenceErase", 3);
  one_node_input(&n, OX_I32, 0, NULL, (int32_t[]){-2});
  CHECK_OK(one_node_run(&n));
  expect(&n.out[0], 2, (int32_t[]){1, 5});
  one_node_deinit(&n);
  start(&n, "SequenceErase", 1);
  CHECK_OK(one_node_run(&n));
  expect(&n.out[0], 0, NULL);
  one_node_deinit(&n);
}

static void test_at_and_concat(void **state) {
  (void)state;
  one_node n;
  start(&n, "SequenceAt", 3);
  one_node_input(&n, OX_I64, 0, NULL, (int64_t[]){-1});
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, values[2], 8);
  one_node_deinit(&n);
  for (int64_t fresh = 0; fresh < 2; fresh++) {
    start(&n, "ConcatFromSequence", 3);
    one_node_int(&n, "axis", -1);
    one_node_int(&n, "new_axis", fresh);
    CHECK_OK(one_node_run(&n));
    assert_int_equal(n.out[0].shape.rank, 1 + fresh);
    assert_memory_equal(n.out[0].data, fresh ? ((int32_t[]){1, 3, 5, 2, 4, 6}) : ((int32_t[]){1, 2, 3, 4, 5, 6}), 24);
    one_node_deinit(&n);
  }
}

static void test_split(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "", "SplitToSequence", 11, 1);
  one_node_input(&n, OX_I32, 1, (int64_t[]){5}, (int32_t[]){1, 2, 3, 4, 5});
  one_node_input(&n, OX_I64, 0, NULL, (int64_t[]){2});
  CHECK_OK(one_node_run(&n));
  expect(&n.out[0], 3, (int32_t[]){1, 3, 5});
  one_node_deinit(&n);
}

/* No element, and lines whose bytes 64 bits cannot count: no value may have such a shape, and a sanitizer sees who
 * counts them. */
static void test_empty_and_huge(void **state) {
  (void)state;
  const int64_t dims[] = {0, (int64_t)1 << 62};
  const ox_shape s = ox_shape_of(2, dims);
  one_node n;
  sequence(3);
  for (int i = 0; i < 3; i++) tensors[i] = ox_tensor_view(OX_I32, &s, NULL);
  for (int64_t fresh = 0; fresh < 2; fresh++) {
    ox_tensor all = {.kind = OX_SEQUENCE, .dtype = OX_I32, .data = items, .bytes = sizeof items};
    all.shape = ox_shape_of(1, (int64_t[]){3});
    one_node_init(&n, "", "ConcatFromSequence", 11, 1);
    one_node_value(&n, &all);
    one_node_int(&n, "axis", 0), one_node_int(&n, "new_axis", fresh);
    CHECK_FAILS(one_node_run(&n), OX_LIMIT, "too large");
    one_node_deinit(&n);
  }
}

static void test_positions_that_do_not_exist(void **state) {
  (void)state;
  one_node n;
  start(&n, "SequenceAt", 3);
  one_node_input(&n, OX_I64, 0, NULL, (int64_t[]){3});
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "position 3, the sequence has 3 items");
  one_node_deinit(&n);
  start(&n, "SequenceErase", 0);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "0 items");
  one_node_deinit(&n);
  start(&n, "ConcatFromSequence", 0);
  one_node_int(&n, "axis", 0);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "empty");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_insert),         cmocka_unit_test(test_erase),
      cmocka_unit_test(test_at_and_concat),  cmocka_unit_test(test_split),
      cmocka_unit_test(test_empty_and_huge), cmocka_unit_test(test_positions_that_do_not_exist),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
