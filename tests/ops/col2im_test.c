/* SPDX-License-Identifier: Apache-2.0
 * ops/col2im_test.c - Col2Im of types that are summed exactly: two blocks of two pixels that share the middle one. */
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

/* Taps come in rows, blocks in columns: (a, b), (c, d) give the pixels a, b + c, d. */
static void run(one_node *n, uint32_t dtype, const void *columns) {
  static const int64_t image[] = {3}, block[] = {2};
  one_node_init(n, "", "Col2Im", 18, 1);
  one_node_input(n, dtype, 3, (int64_t[]){1, 2, 2}, columns);
  one_node_const(n, OX_I64, 1, (int64_t[]){1}, image);
  one_node_const(n, OX_I64, 1, (int64_t[]){1}, block);
  CHECK_OK(one_node_run(n));
}

static void test_sums_are_exact(void **state) {
  (void)state;
  one_node n;
  const int64_t big = ((int64_t)1 << 62) + 1;
  run(&n, OX_I64, (int64_t[]){big, 3, big, -5});
  assert_memory_equal(n.out[0].data, ((int64_t[]){big, big + 3, -5}), 24);
  one_node_deinit(&n);
  run(&n, OX_U8, (uint8_t[]){1, 200, 100, 7});
  assert_memory_equal(n.out[0].data, ((uint8_t[]){1, 44, 7}), 3);
  one_node_deinit(&n);
  run(&n, OX_BOOL, (bool[]){0, 1, 1, 0});
  assert_memory_equal(n.out[0].data, ((bool[]){0, 1, 0}), 3);
  one_node_deinit(&n);
  run(&n, OX_C64, (float[]){1, 2, 3, 4, 5, 6, 7, 8});
  assert_memory_equal(n.out[0].data, ((float[]){1, 2, 8, 10, 7, 8}), 24);
  one_node_deinit(&n);
}

static void test_strings_are_put_together(void **state) {
  (void)state;
  one_node n;
  run(&n, OX_STRING, (ox_str[]){{"a", 1}, {"b", 1}, {"cd", 2}, {"", 0}});
  const ox_str *y = n.out[0].data;
  assert_int_equal(y[0].n, 1);
  assert_int_equal(y[1].n, 3);
  assert_memory_equal(y[1].p, "bcd", 3);
  assert_int_equal(y[2].n, 0);
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_are_exact),
      cmocka_unit_test(test_strings_are_put_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
