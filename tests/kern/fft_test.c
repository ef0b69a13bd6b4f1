/* SPDX-License-Identifier: Apache-2.0
 * kern/fft_test.c - every kind of length against the sum that defines the transform. */
#include "kern/signal/fft.h"

#include <math.h>
#include <stdlib.h>

#include "base/macros.h"
#include "support/check.h"

static const double two_pi = 6.283185307179586476925;

static double signal_at(int64_t i) { return sin(0.37 * (double)(i * i % 101)) + 0.1 * (double)(i % 7); }

static double error_f64(int64_t n) {
  ox_fft_shape s;
  ox_fft_f64 p;
  assert_true(ox_fft_shape_init(&s, n));
  double *table = calloc((size_t)ox_fft_table_len(&s), 8), *work = calloc((size_t)ox_fft_work_len(&s), 8);
  double *re = malloc((size_t)n * 8), *im = malloc((size_t)n * 8), worst = 0;
  ox_fft_f64_init(&p, &s, table, work, NULL);
  for (int64_t i = 0; i < n; i++) re[i] = signal_at(i), im[i] = signal_at(3 * i + 5);
  ox_fft_f64_run(&p, re, im, work, NULL);
  for (int64_t k = 0; k < n; k++) {
    double r = 0, j = 0;
    for (int64_t i = 0; i < n; i++) {
      double a = -two_pi * (double)(i * k % n) / (double)n, x = signal_at(i), y = signal_at(3 * i + 5);
      r += x * cos(a) - y * sin(a), j += x * sin(a) + y * cos(a);
    }
    worst = fmax(worst, fmax(fabs(r - re[k]), fabs(j - im[k])));
  }
  free(table), free(work), free(re), free(im);
  return worst;
}

/* float against double, and back by the inverse. */
static double error_f32(int64_t n) {
  ox_fft_shape s;
  ox_fft_f32 p;
  assert_true(ox_fft_shape_init(&s, n));
  float *table = calloc((size_t)ox_fft_table_len(&s), 4), *work = calloc((size_t)ox_fft_work_len(&s), 4);
  float *re = malloc((size_t)n * 4), *im = malloc((size_t)n * 4);
  double worst = 0;
  ox_fft_f32_init(&p, &s, table, work, NULL);
  for (int64_t i = 0; i < n; i++) re[i] = (float)signal_at(i), im[i] = (float)signal_at(3 * i + 5);
  ox_fft_f32_run(&p, re, im, work, NULL);
  ox_fft_f32_run(&p, im, re, work, NULL);
  for (int64_t i = 0; i < n; i++)
    worst = fmax(worst, fmax(fabs(re[i] / (double)n - signal_at(i)), fabs(im[i] / (double)n - signal_at(3 * i + 5))));
  free(table), free(work), free(re), free(im);
  return worst;
}

static void test_equals_the_defining_sum(void **state) {
  (void)state;
  const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 25, 31, 32, 37, 49, 60, 64, 74, 97, 100, 128, 400, 511, 1021};
  for (size_t i = 0; i < OX_COUNT(lengths); i++) {
    double e = error_f64(lengths[i]), f = error_f32(lengths[i]);
    if (!(e < 1e-10 * (double)lengths[i] + 1e-11)) fail_msg("length %d: error %g", (int)lengths[i], e);
    if (!(f < 1e-5)) fail_msg("length %d in float: error %g", (int)lengths[i], f);
  }
}

static void test_impossible_lengths_are_refused(void **state) {
  (void)state;
  ox_fft_shape s;
  assert_false(ox_fft_shape_init(&s, 0));
  assert_false(ox_fft_shape_init(&s, -3));
  assert_false(ox_fft_shape_init(&s, INT64_MAX));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equals_the_defining_sum),
      cmocka_unit_test(test_impossible_lengths_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
