/* SPDX-License-Identifier: Apache-2.0
 * ops/gather_test.c - Gather, GatherElements, GatherND: values by hand, and indices that are out of range. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

static const int32_t data[12] = {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32}; /* [4,3] */

static void start(one_node *n, const char *op, int rank, const int64_t *dims, const int64_t *index) {
  one_node_init(n, "", op, 13, 1);
  one_node_input(n, OX_I32, 2, (int64_t[]){4, 3}, data);
  one_node_input(n, OX_I64, rank, dims, index);
}

static void expect(one_node *n, int64_t count, const int32_t *want) {
  CHECK_OK(one_node_run(n));
  assert_int_equal(ox_shape_count(&n->out[0].shape), count);
  if (count) assert_memory_equal(n->out[0].data, want, (size_t)count * sizeof *want);
  one_node_deinit(n);
}

static void test_gather(void **state) {
  (void)state;
  one_node n;
  start(&n, "Gather", 1, (int64_t[]){3}, (int64_t[]){3, 0, -1});
  expect(&n, 9, (int32_t[]){30, 31, 32, 0, 1, 2, 30, 31, 32});
  start(&n, "Gather", 0, NULL, (int64_t[]){-3});
  one_node_int(&n, "axis", -1);
  expect(&n, 4, (int32_t[]){0, 10, 20, 30});
  start(&n, "Gather", 2, (int64_t[]){0, 2}, NULL);
  expect(&n, 0, NULL);
}

static void test_torch_embedding(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "com.microsoft", "TorchEmbedding", 1, 1);
  one_node_input(&n, OX_I32, 2, (int64_t[]){4, 3}, data);
  one_node_input(&n, OX_I64, 2, (int64_t[]){2, 1}, (int64_t[]){3, 1});
  one_node_input(&n, OX_I64, 0, NULL, &(int64_t){1}), one_node_input(&n, OX_BOOL, 0, NULL, &(uint8_t){1});
  expect(&n, 6, (int32_t[]){30, 31, 32, 10, 11, 12});
}

static void test_gather_elements(void **state) {
  (void)state;
  one_node n;
  start(&n, "GatherElements", 2, (int64_t[]){2, 2}, (int64_t[]){2, -3, 1, 1});
  one_node_int(&n, "axis", 1);
  expect(&n, 4, (int32_t[]){2, 0, 11, 11});
  start(&n, "GatherElements", 2, (int64_t[]){2, 2}, (int64_t[]){2, -4, 1, 3});
  expect(&n, 4, (int32_t[]){20, 1, 10, 31});
}

static void test_gather_nd(void **state) {
  (void)state;
  one_node n;
  start(&n, "GatherND", 2, (int64_t[]){2, 2}, (int64_t[]){3, 1, -4, 2});
  expect(&n, 2, (int32_t[]){31, 2});
  start(&n, "GatherND", 2, (int64_t[]){2, 1}, (int64_t[]){1, 0});
  expect(&n, 6, (int32_t[]){10, 11, 12, 0, 1, 2});
  start(&n, "GatherND", 2, (int64_t[]){4, 1}, (int64_t[]){2, 1, 0, -1});
  one_node_int(&n, "batch_dims", 1);
  expect(&n, 4, (int32_t[]){2, 11, 20, 32});
}

static void test_indices_out_of_range_name_index_and_bound(void **state) {
  (void)state;
  one_node n;
  start(&n, "Gather", 1, (int64_t[]){2}, (int64_t[]){0, 4});
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "index 4 at position 1 is outside [-4, 4)");
  one_node_deinit(&n);
  start(&n, "Gather", 0, NULL, (int64_t[]){INT64_MIN});
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "outside [-4, 4)");
  one_node_deinit(&n);
  start(&n, "GatherElements", 2, (int64_t[]){1, 1}, (int64_t[]){-5});
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "index -5");
  one_node_deinit(&n);
  start(&n, "GatherND", 1, (int64_t[]){2}, (int64_t[]){0, 3});
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "outside [-3, 3)");
  one_node_deinit(&n);
  start(&n, "GatherElements", 2, (int64_t[]){1, 4}, (int64_t[]){0, 0, 0, 0});
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "dimension 1 = 4, the data 3");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gather),
      cmocka_unit_test(test_torch_embedding),
      cmocka_unit_test(test_gather_elements),
      cmocka_unit_test(test_gather_nd),
      cmocka_unit_test(test_indices_out_of_range_name_index_and_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
