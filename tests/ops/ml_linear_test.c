/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_linear_test.c - linear models: products, the two forms of binary scores, shapes that do not fit. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static float x[70 * 19];

static void fill(void) {
  for (size_t i = 0; i < OX_COUNT(x); i++) x[i] = (float)((int)(i * 37 % 23) - 11) / 7;
}

static void test_regressor_multiplies(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{0, 3, 1}, {1, 1, 1}, {9, 5, 3}, {70, 19, 17}, {64, 16, 16}};
  fill();
  for (size_t s = 0; s < OX_COUNT(sizes); s++)
    for (int64_t run_tiles = 0; run_tiles < 2; run_tiles++) {
      int64_t n = sizes[s][0], f = sizes[s][1], t = sizes[s][2];
      one_node r;
      one_node_init(&r, "ai.onnx.ml", "LinearRegressor", 1, 1);
      r.run_tiles = run_tiles;
      one_node_floats(&r, "coefficients", (size_t)(t * f), x + 3);
      one_node_floats(&r, "intercepts", (size_t)t, x + 1);
      one_node_int(&r, "targets", t);
      one_node_input(&r, OX_F32, 2, (int64_t[]){n, f}, x);
      CHECK_OK(one_node_run(&r));
      for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < t; k++) {
          double want = x[1 + k];
          for (int64_t e = 0; e < f; e++) want += (double)x[i * f + e] * x[3 + k * f + e];
          assert_true(fabs(((float *)r.out[0].data)[i * t + k] - want) < 1e-4);
        }
      one_node_deinit(&r);
    }
}

static void classify(const char *post, const int64_t *labels, size_t n_labels, int64_t want, float s0, float s1) {
  static const float coefficient = 2, intercept = -1, in = 1.5f; /* score 2 */
  one_node r;
  one_node_init(&r, "ai.onnx.ml", "LinearClassifier", 1, 2);
  one_node_floats(&r, "coefficients", 1, &coefficient);
  one_node_floats(&r, "intercepts", 1, &intercept);
  one_node_ints(&r, "classlabels_ints", n_labels, labels);
  one_node_str(&r, "post_transform", post);
  one_node_input(&r, OX_F32, 2, (int64_t[]){1, 1}, &in);
  CHECK_OK(one_node_run(&r));
  assert_int_equal(((int64_t *)r.out[0].data)[0], want);
  assert_int_equal(r.out[1].shape.dim[1], n_labels == 2 ? 2 : 1);
  assert_true(fabsf(((float *)r.out[1].data)[0] - s0) < 1e-6f);
  if (n_labels == 2) assert_true(fabsf(((float *)r.out[1].data)[1] - s1) < 1e-6f);
  one_node_deinit(&r);
}

static void test_one_score_for_two_labels(void **state) {
  (void)state;
  static const int64_t labels[] = {-1, 5};
  classify("NONE", labels, 2, 5, -1, 2);
  classify("LOGISTIC", labels, 2, 5, 0.119202922f, 0.880797078f);
  classify("NONE", labels, 1, 1, 2, 0);
}

/* The scores of a row after the transform, in double. */
static void transformed(const char *post, double *s, int64_t n) {
  double most = s[0], sum = 0;
  for (int64_t k = 1; k < n; k++) most = s[k] > most ? s[k] : most;
  for (int64_t k = 0; k < n; k++) {
    if (!strcmp(post, "LOGISTIC")) s[k] = 1 / (1 + exp(-s[k]));
    if (!strcmp(post, "SOFTMAX")) sum += s[k] = exp(s[k] - most);
  }
  for (int64_t k = 0; sum > 0 && k < n; k++) s[k] /= sum;
}

static void check_classifier(const char *post, int64_t n, int64_t f, int64_t t, int64_t run_tiles) {
  int64_t labels[40], best = 0;
  one_node r;
  for (int64_t k = 0; k < t; k++) labels[k] = 100 - 3 * k;
  one_node_init(&r, "ai.onnx.ml", "LinearClassifier", 1, 2);
  r.run_tiles = run_tiles;
  one_node_floats(&r, "coefficients", (size_t)(t * f), x + 3);
  one_node_floats(&r, "intercepts", (size_t)t, x + 1);
  one_node_ints(&r, "classlabels_ints", (size_t)t, labels);
  one_node_str(&r, "post_transform", post);
  one_node_input(&r, OX_F32, 2, (int64_t[]){n, f}, x);
  CHECK_OK(one_node_run(&r));
  for (int64_t i = 0; i < n; i++) {
    double want[40];
    for (int64_t k = 0; k < t; k++) {
      want[k] = x[1 + k];
      for (int64_t e = 0; e < f; e++) want[k] += (double)x[i * f + e] * x[3 + k * f + e];
    }
    for (int64_t k = best = 0; k < t; k++)
      if (want[k] > want[best] + 1e-4) best = k; /* equal scores: the first */
    assert_int_equal(((int64_t *)r.out[0].data)[i], labels[best]);
    transformed(post, want, t);
    for (int64_t k = 0; k < t; k++) assert_true(fabs(((float *)r.out[1].data)[i * t + k] - want[k]) < 1e-4);
  }
  one_node_deinit(&r);
}

static void test_classifier_transforms_rows(void **state) {
  (void)state;
  static const char *const posts[] = {"NONE", "LOGISTIC", "SOFTMAX"};
  static const int64_t sizes[][3] = {{0, 3, 2}, {1, 1, 2}, {9, 5, 3}, {70, 19, 17}, {65, 4, 40}};
  fill();
  for (size_t p = 0; p < OX_COUNT(posts); p++)
    for (size_t s = 0; s < OX_COUNT(sizes); s++)
      for (int64_t run_tiles = 0; run_tiles < 2; run_tiles++)
        check_classifier(posts[p], sizes[s][0], sizes[s][1], sizes[s][2], run_tiles);
}

static void test_features_must_fit(void **state) {
  (void)state;
  one_node r;
  one_node_init(&r, "ai.onnx.ml", "LinearRegressor", 1, 1);
  one_node_floats(&r, "coefficients", 4, x);
  one_node_input(&r, OX_F32, 2, (int64_t[]){1, 5}, x);
  CHECK_FAILS(one_node_run(&r), OX_SHAPE_MISMATCH, "X has 5 features, the model 4");
  one_node_deinit(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_regressor_multiplies),
      cmocka_unit_test(test_one_score_for_two_labels),
      cmocka_unit_test(test_classifier_transforms_rows),
      cmocka_unit_test(test_features_must_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
