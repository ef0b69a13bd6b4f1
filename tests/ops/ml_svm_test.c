/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_svm_test.c - kernels of the regressor against doubles; votes and scores of a small classifier. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { N = 11, F = 5, V = 27 };
static float x[N * F], support[V * F], coefficients[V];
static const float rho = 0.25f;

static void fill(void) {
  for (int i = 0; i < N * F; i++) x[i] = (float)(i * 29 % 17 - 8) / 5;
  for (int i = 0; i < V * F; i++) support[i] = (float)(i * 31 % 19 - 9) / 6;
  for (int i = 0; i < V; i++) coefficients[i] = (float)(i % 7 - 3) / 2;
}

static double kernel(const char *type, double degree, const float *a, const float *b) {
  double dot = 0, distance = 0;
  for (int i = 0; i < F; i++) dot += (double)a[i] * b[i], distance += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
  if (!strcmp(type, "RBF")) return exp(-0.3 * distance);
  if (!strcmp(type, "POLY")) return pow(0.3 * dot + 0.5, degree);
  return !strcmp(type, "SIGMOID") ? tanh(0.3 * dot + 0.5) : dot;
}

static void test_regressor_sums_kernels(void **state) {
  (void)state;
  static const struct {
    const char *type;
    float degree;
  } cases[] = {{"LINEAR", 0}, {"RBF", 0},  {"SIGMOID", 0}, {"POLY", 3},  {"POLY", 1},  {"POLY", 1.5f},
               {"POLY", 2},   {"POLY", 0}, {"POLY", 16},   {"POLY", 17}, {"POLY", NAN}};
  fill();
  for (size_t k = 0; k < OX_COUNT(cases); k++) {
    float params[] = {0.3f, 0.5f, cases[k].degree};
    one_node r;
    one_node_init(&r, "ai.onnx.ml", "SVMRegressor", 1, 1);
    one_node_str(&r, "kernel_type", cases[k].type);
    one_node_floats(&r, "kernel_params", 3, params);
    one_node_floats(&r, "coefficients", V, coefficients);
    one_node_floats(&r, "support_vectors", V * F, support);
    one_node_floats(&r, "rho", 1, &rho);
    one_node_int(&r, "n_supports", V);
    one_node_input(&r, OX_F32, 2, (int64_t[]){N, F}, x);
    CHECK_OK(one_node_run(&r));
    for (int i = 0; i < N; i++) {
      double want = rho, size = 1, got = ((float *)r.out[0].data)[i];
      for (int v = 0; v < V; v++) {
        double term = coefficients[v] * kernel(cases[k].type, cases[k].degree, x + i * F, support + v * F);
        want += term, size += fabs(term);
      }
      assert_true(isnan(want) ? isnan(got) : fabs(got - want) < 1e-5 * size);
    }
    one_node_deinit(&r);
  }
}

static void test_classifier_votes_by_pairs(void **state) {
  (void)state;
  /* one support vector for each of three classes, at -1, 0 and 1; linear kernel */
  static const float vectors[] = {-1, 0, 1}, c[] = {1, 1, -1, 1, -1, -1}, rhos[] = {0, 0, 0}, in[] = {-2, 2};
  static const int64_t per_class[] = {1, 1, 1}, labels[] = {7, 8, 9};
  one_node r;
  one_node_init(&r, "ai.onnx.ml", "SVMClassifier", 1, 2);
  one_node_floats(&r, "coefficients", 6, c);
  one_node_floats(&r, "support_vectors", 3, vectors);
  one_node_floats(&r, "rho", 3, rhos);
  one_node_ints(&r, "vectors_per_class", 3, per_class);
  one_node_ints(&r, "classlabels_ints", 3, labels);
  one_node_input(&r, OX_F32, 2, (int64_t[]){2, 1}, in);
  CHECK_OK(one_node_run(&r));
  /* pairs (0,1): c[0] k0 + c[1] k1; (0,2): c[3] k0 + c[2] k2; (1,2): c[4] k1 + c[5] k2, with k = x * vector */
  static const float want[] = {2, 4, 2, -2, -4, -2};
  for (int i = 0; i < 6; i++) assert_true(fabsf(((float *)r.out[1].data)[i] - want[i]) < 1e-6f);
  assert_int_equal(((int64_t *)r.out[0].data)[0], 7);
  assert_int_equal(((int64_t *)r.out[0].data)[1], 9);
  one_node_deinit(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_regressor_sums_kernels),
      cmocka_unit_test(test_classifier_votes_by_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
