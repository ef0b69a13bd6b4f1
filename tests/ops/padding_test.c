/* SPDX-License-Identifier: Apache-2.0
 * ops/padding_test.c - RemovePadding and RestorePadding: tokens move row by row, and come back to where they were. */
#include "support/typed.h"

enum { BATCH = 4, LENGTH = 5, WIDTH = 3 };

static void check(const int32_t *counts, uint32_t dtype) {
  static const int64_t dims[] = {BATCH, LENGTH, WIDTH};
  one_node a, b;
  one_node_init(&a, "com.microsoft", "RemovePadding", 1, 4), one_node_init(&b, "com.microsoft", "RestorePadding", 1, 1);
  const ox_tensor *x = typed_input(&a, dtype, 3, dims, 1);
  one_node_input(&a, OX_I32, 1, dims, counts);
  CHECK_OK(one_node_run(&a));
  const int32_t *offset = a.out[1].data, *sums = a.out[2].data;
  int64_t token = 0;
  int32_t most = 0;
  bool seen[BATCH * LENGTH] = {false};
  for (int64_t s = 0; s < BATCH; s++) {
    assert_int_equal(sums[s], token);
    for (int64_t i = 0; i < counts[s]; i++, token++) {
      assert_int_equal(offset[token], s * LENGTH + i);
      for (int64_t k = 0; k < WIDTH; k++)
        assert_true(typed_at(&a.out[0], token * WIDTH + k) == typed_at(x, (s * LENGTH + i) * WIDTH + k));
    }
    most = OX_MAX(most, counts[s]);
  }
  assert_int_equal(sums[BATCH], token);
  assert_int_equal(a.out[0].shape.dim[0], token);
  assert_int_equal(*(const int32_t *)a.out[3].data, most);
  for (int64_t i = 0; i < BATCH * LENGTH; i++) seen[offset[i]] = true;
  for (int64_t i = token; i < BATCH * LENGTH; i++) {
    assert_true(i == token || offset[i] > offset[i - 1]);
    assert_true(offset[i] % LENGTH >= counts[offset[i] / LENGTH]);
  }
  for (int64_t i = 0; i < BATCH * LENGTH; i++) assert_true(seen[i]);
  one_node_input(&b, dtype, 2, a.out[0].shape.dim, a.out[0].data);
  one_node_input(&b, OX_I32, 2, a.out[1].shape.dim, a.out[1].data);
  CHECK_OK(one_node_run(&b));
  for (int64_t i = 0; i < BATCH * LENGTH * WIDTH; i++) {
    bool real = i / WIDTH % LENGTH < counts[i / WIDTH / LENGTH];
    assert_true(typed_at(&b.out[0], i) == (real ? typed_at(x, i) : 0));
  }
  one_node_deinit(&a), one_node_deinit(&b);
}

static void test_there_and_back(void **state) {
  (void)state;
  static const int32_t counts[][BATCH] = {{1, 2, 5, 3}, {0, 0, 0, 0}, {5, 5, 5, 5}, {0, 4, 0, 1}};
  for (size_t i = 0; i < OX_COUNT(counts); i++) check(counts[i], OX_F32), check(counts[i], OX_F16);
}

static void test_wrong_values(void **state) {
  (void)state;
  static const int32_t counts[][2] = {{1, 3}, {-1, 0}}, offsets[][2] = {{0, 2}, {-1, 0}};
  for (int i = 0; i < 2; i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "RemovePadding", 1, 4);
    typed_input(&n, OX_F32, 3, (int64_t[]){2, 2, 1}, 1), one_node_input(&n, OX_I32, 1, (int64_t[]){2}, counts[i]);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "tokens of 2");
    one_node_deinit(&n);
    one_node_init(&n, "com.microsoft", "RestorePadding", 1, 1);
    typed_input(&n, OX_F32, 2, (int64_t[]){2, 3}, 1), one_node_input(&n, OX_I32, 2, (int64_t[]){1, 2}, offsets[i]);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "offset");
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_there_and_back),
      cmocka_unit_test(test_wrong_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
