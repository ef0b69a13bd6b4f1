/* SPDX-License-Identifier: Apache-2.0
 * ops/det_test.c - determinants with known values; an inverse times its matrix is the identity. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static void test_determinants(void **state) {
  (void)state;
  /* needs a row exchange; singular; ordinary */
  const double x[3][9] = {{0, 2, 1, 1, 0, 0, 0, 0, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {2, -1, 0, 1, 3, 5, -2, 4, 1}};
  const double want[3] = {-6, 0, -23};
  one_node n;
  one_node_init(&n, "", "Det", 11, 1);
  one_node_input(&n, OX_F64, 3, (int64_t[]){3, 3, 3}, x);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].shape.rank, 1);
  for (int i = 0; i < 3; i++) assert_true(fabs(((double *)n.out[0].data)[i] - want[i]) < 1e-12);
  one_node_deinit(&n);
  one_node_init(&n, "", "Det", 22, 1); /* of nothing: 1 */
  one_node_input(&n, OX_F64, 2, (int64_t[]){0, 0}, x);
  CHECK_OK(one_node_run(&n));
  assert_true(*(double *)n.out[0].data == 1);
  one_node_deinit(&n);
}

static void invert(ox_dtype type, int64_t batch, int64_t n, const void *x, one_node *node) {
  one_node_init(node, "com.microsoft", "Inverse", 1, 1);
  one_node_input(node, type, 3, (int64_t[]){batch, n, n}, x);
  CHECK_OK(one_node_run(node));
}

static void test_inverse(void **state) {
  (void)state;
  static double x[2 * 33 * 33];
  static const int64_t sizes[] = {1, 2, 4, 16, 33};
  for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
    int64_t n = sizes[c];
    one_node node;
    for (int64_t i = 0; i < 2 * n * n; i++) x[i] = (double)(i * i * 13 % 101) / 50 - 1;
    for (int64_t i = 0; i < n; i++) x[i * n + (i * 5 + 3) % n] += 2 * (double)n; /* exchanges rows */
    for (int64_t i = 0; i < n; i++) x[(n + i) * n + i] += 2 * (double)n;
    invert(OX_F64, 2, n, x, &node);
    for (int64_t z = 0; z < 2; z++)
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
          double s = 0;
          for (int64_t k = 0; k < n; k++)
            s += x[(z * n + i) * n + k] * ((double *)node.out[0].data)[(z * n + k) * n + j];
          assert_true(fabs(s - (i == j)) < 1e-10);
        }
    one_node_deinit(&node);
  }
}

static void test_singular_and_float(void **state) {
  (void)state;
  const float x[2][4] = {{1, 2, 2, 4}, {0, 4, 2, 0}}, want[4] = {0, 0.5f, 0.25f, 0};
  one_node node;
  invert(OX_F32, 2, 2, x, &node);
  const float *y = node.out[0].data;
  for (int i = 0; i < 4; i++) assert_true(!isfinite(y[i]) && y[4 + i] == want[i]);
  one_node_deinit(&node);
}

static void test_only_square_matrices(void **state) {
  (void)state;
  float x[6] = {0};
  one_node n;
  one_node_init(&n, "", "Det", 11, 1);
  one_node_input(&n, OX_F32, 2, (int64_t[]){2, 3}, x);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "2 x 3 is not square");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_determinants),
      cmocka_unit_test(test_inverse),
      cmocka_unit_test(test_singular_and_float),
      cmocka_unit_test(test_only_square_matrices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
