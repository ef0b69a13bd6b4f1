/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_scaler_test.c - Scaler, Normalizer, Imputer and Binarizer on small tables. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static void expect(one_node *n, size_t count, const float *want) {
  CHECK_OK(one_node_run(n));
  for (size_t i = 0; i < count; i++) {
    float got = ((float *)n->out[0].data)[i];
    if (!(fabsf(got - want[i]) <= 1e-6f)) fail_msg("%s: element %zu: got %g, wanted %g", n->node.op, i, got, want[i]);
  }
  one_node_deinit(n);
}

static void test_scaler(void **state) {
  (void)state;
  static const int64_t x[] = {1, 2, 3, 4, 5, 6};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "Scaler", 1, 1);
  one_node_floats(&n, "offset", 3, (float[]){1, 0, -1});
  one_node_floats(&n, "scale", 3, (float[]){2, 0.5f, 10});
  one_node_input(&n, OX_I64, 2, (int64_t[]){2, 3}, x);
  expect(&n, 6, (float[]){0, 1, 40, 6, 2.5f, 70});
  one_node_init(&n, "ai.onnx.ml", "Scaler", 1, 1);
  one_node_floats(&n, "offset", 2, (float[]){1, 0});
  one_node_floats(&n, "scale", 2, (float[]){1, 0});
  one_node_input(&n, OX_I64, 2, (int64_t[]){2, 3}, x);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "for 3 features");
  one_node_deinit(&n);
}

static void test_normalizer(void **state) {
  (void)state;
  static const float x[] = {3, -4, 0, 0, -1, -2}, want[3][6] = {{1, -4.0f / 3, 0, 0, 1, 2},
                                                                {3.0f / 7, -4.0f / 7, 0, 0, -1.0f / 3, -2.0f / 3},
                                                                {0.6f, -0.8f, 0, 0, -0.4472136f, -0.8944272f}};
  static const char *const norms[] = {"MAX", "L1", "L2"};
  for (int k = 0; k < 3; k++) {
    one_node n;
    one_node_init(&n, "ai.onnx.ml", "Normalizer", 1, 1);
    one_node_str(&n, "norm", norms[k]);
    one_node_input(&n, OX_F32, 2, (int64_t[]){3, 2}, x);
    expect(&n, 6, want[k]);
  }
}

static void test_normalizer_of_wide_rows(void **state) {
  (void)state;
  enum { ROWS = 3, MOST = 37 };
  static const char *const norms[] = {"MAX", "L1", "L2"};
  static float x[ROWS * MOST], want[ROWS * MOST];
  for (int k = 0; k < 3; k++)
    for (int width = 1; width <= MOST; width += 4) {
      for (int i = 0; i < ROWS * width; i++) x[i] = (float)((i * 37 + 5) % 23 - 11) / 7;
      for (int r = 0; r < ROWS; r++) {
        double most = -INFINITY, sum = 0, squares = 0;
        for (int i = r * width; i < (r + 1) * width; i++)
          most = fmax(most, x[i]), sum += fabs((double)x[i]), squares += (double)x[i] * x[i];
        double norm = k == 0 ? most : k == 1 ? sum : sqrt(squares);
        for (int i = r * width; i < (r + 1) * width; i++) want[i] = (float)(x[i] / (norm != 0 ? norm : 1));
      }
      one_node n;
      one_node_init(&n, "ai.onnx.ml", "Normalizer", 1, 1);
      one_node_str(&n, "norm", norms[k]);
      one_node_input(&n, OX_F32, 2, (int64_t[]){ROWS, width}, x);
      expect(&n, (size_t)(ROWS * width), want);
    }
}

static void test_imputer(void **state) {
  (void)state;
  const float x[] = {1, NAN, NAN, 4};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "Imputer", 1, 1);
  one_node_floats(&n, "imputed_value_floats", 2, (float[]){8, 9});
  one_node_float(&n, "replaced_value_float", NAN);
  one_node_input(&n, OX_F32, 2, (int64_t[]){2, 2}, x);
  expect(&n, 4, (float[]){1, 9, 8, 4});
}

static void test_binarizer(void **state) {
  (void)state;
  static const int64_t x[] = {INT64_MIN, 0, 1, 2, INT64_MAX};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "Binarizer", 1, 1);
  one_node_float(&n, "threshold", 1.5f);
  one_node_input(&n, OX_I64, 1, (int64_t[]){5}, x);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < 5; i++) assert_int_equal(((int64_t *)n.out[0].data)[i], i >= 3);
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scaler),  cmocka_unit_test(test_normalizer), cmocka_unit_test(test_normalizer_of_wide_rows),
      cmocka_unit_test(test_imputer), cmocka_unit_test(test_binarizer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
