/* SPDX-License-Identifier: Apache-2.0
 * ops/max_unpool_test.c - MaxUnpool of every element size, into its own shape and a larger one, against a loop over
 * coordinates; indices that lie outside. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

enum { W = 5, OUT = 10 };

static void start(one_node *n, uint32_t dtype, const void *x, const int64_t *index, const int64_t *shape) {
  static const int64_t twos[] = {2, 2}; /* the node keeps the pointer */
  one_node_init(n, "", "MaxUnpool", 11, 1);
  one_node_ints(n, "kernel_shape", 2, twos);
  one_node_ints(n, "strides", 2, twos);
  one_node_input(n, dtype, 4, (int64_t[]){1, 2, W, W}, x);
  one_node_input(n, OX_I64, 4, (int64_t[]){1, 2, W, W}, index);
  if (shape) one_node_input(n, OX_I64, 1, (int64_t[]){4}, shape);
}

static void check(uint32_t dtype, size_t size, int64_t height, int64_t width) {
  enum { N = 2 * W * W, MOST = 2 * 16 * 16 };
  uint8_t x[N * 8], want[MOST * 8] = {0};
  int64_t index[N], shape[4] = {1, 2, height, width};
  for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)(i * 37 % 120 + 1);
  for (int64_t i = 0; i < N; i++) {
    int64_t row = i / W % W * 2 + i % 2, column = i % W * 2 + i % 3 % 2, plane = i / (W * W);
    index[i] = (plane * OUT + row) * OUT + column;
    if (row < height && column < width)
      memcpy(want + (size_t)((plane * height + row) * width + column) * size, x + (size_t)i * size, size);
  }
  one_node n;
  start(&n, dtype, x, index, height == OUT && width == OUT ? NULL : shape);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, want, (size_t)(2 * height * width) * size);
  one_node_deinit(&n);
}

static void test_sizes_and_shapes(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F16, OX_F32, OX_F64};
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    check(types[t], (size_t)2 << t, OUT, OUT);
    check(types[t], (size_t)2 << t, 12, 11);
    check(types[t], (size_t)2 << t, 9, 16);
  }
}

static void test_indices_outside(void **state) {
  (void)state;
  static const int64_t bad[] = {-1, 2 * OUT * OUT, INT64_MIN, INT64_MAX}, larger[] = {1, 2, 12, 12};
  float x[2 * W * W] = {0};
  for (size_t i = 0; i < OX_COUNT(bad); i++)
    for (int k = 0; k < 2; k++) {
      int64_t index[2 * W * W] = {0};
      index[2 * W * W - 1] = bad[i];
      one_node n;
      start(&n, OX_F32, x, index, k ? larger : NULL);
      CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "outside 200 elements");
      one_node_deinit(&n);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_and_shapes),
      cmocka_unit_test(test_indices_outside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
