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

static void test_inverse(void **state) {
  (void)state;
  float x[2][16];
  for (int i = 0; i < 32; i++) x[i / 16][i % 16] = (float)((i * 13) % 7) - 3 + (i % 5 == 0 ? 6.0f : 0.0f);
  one_node n;
  one_node_init(&n, "com.microsoft", "Inverse", 1, 1);
  one_node_input(&n, OX_F32, 3, (int64_t[]){2, 4, 4}, x);
  CHECK_OK(one_node_run(&n));
  for (int z = 0; z < 2; z++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) {
        double s = 0;
        for (int k = 0; k < 4; k++) s += (double)x[z][i * 4 + k] * (double)((float *)n.out[0].data)[z * 16 + k * 4 + j];
        assert_true(fabs(s - (i == j)) < 1e-5);
      }
  one_node_deinit(&n);
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
      cmocka_unit_test(test_only_square_matrices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
