/* SPDX-License-Identifier: Apache-2.0
 * ops/batch_norm_test.c - BatchNormalization of float64 against long double, with a mean that dwarfs the rest;
 * all types and shapes against double. */
#include <math.h>

#include "base/macros.h"
#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { N = 2, C = 3, AREA = 7 };
static const double scale[C] = {1.25, -0.3, 2}, bias[C] = {0.1, 5, -1}, variance[C] = {0.7, 3, 1e-3};

static void check(double mean, bool training, long double tolerance) {
  double x[N * C * AREA], means[C];
  for (int i = 0; i < N * C * AREA; i++) x[i] = mean + sin(i * 0.7) * 2;
  for (int i = 0; i < C; i++) means[i] = mean + i * 0.1;
  one_node n;
  one_node_init(&n, "", "BatchNormalization", 15, training ? 3 : 1);
  one_node_int(&n, "training_mode", training);
  one_node_input(&n, OX_F64, 3, (int64_t[]){N, C, AREA}, x);
  const double *const rest[] = {scale, bias, means, variance};
  for (int i = 0; i < 4; i++) one_node_input(&n, OX_F64, 1, (int64_t[]){C}, rest[i]);
  CHECK_OK(one_node_run(&n));
  for (int ch = 0; ch < C; ch++) {
    long double m = means[ch], v = variance[ch], epsilon = (long double)(double)1e-5f, sum = 0, squares = 0;
    for (int i = 0; i < N * AREA; i++) sum += (long double)x[(i / AREA * C + ch) * AREA + i % AREA];
    if (training) m = sum / (N * AREA);
    for (int i = 0; i < N * AREA; i++) {
      long double d = (long double)x[(i / AREA * C + ch) * AREA + i % AREA] - m;
      squares += d * d;
    }
    if (training) v = squares / (N * AREA);
    for (int i = 0; i < N * AREA; i++) {
      int at = (i / AREA * C + ch) * AREA + i % AREA;
      long double want = ((long double)x[at] - m) / sqrtl(v + epsilon) * (long double)scale[ch] + (long double)bias[ch];
      double got = ((const double *)n.out[0].data)[at];
      if (!(fabsl((long double)got - want) <= tolerance * (1 + fabsl(want))))
        fail_msg("mean %g, training %d: [%d] is %.17g, wanted %.17g", mean, training, at, got, (double)want);
    }
  }
  one_node_deinit(&n);
}

static void test_float64_keeps_its_digits(void **state) {
  (void)state;
  check(0, false, 1e-15L);
  check(1e6, false, 1e-15L);
  check(1e12, false, 1e-15L);
  check(0, true, 4e-15L);
  check(3, true, 4e-15L);
}

/* Every type on every level, in training and not: [N, C], whose channels are lanes, and planes. A NaN, infinities and
 * their neighbours. */
enum { IMAGES = 3, WIDEST = 1100 * IMAGES * 2 };

static void fill(const ox_convert *cv, uint32_t dtype, int64_t n, double (*value)(int64_t i), void *stored,
                 double *seen) {
  for (int64_t i = 0; i < n; i++) {
    double v = value(i);
    cv->store_f64[dtype](&v, stored, (size_t)i, 1, NULL);
    cv->load_f64[dtype](stored, (size_t)i, 1, &seen[i]);
  }
}
static double x_of(int64_t i) { return i == 0 ? NAN : i == 7 ? INFINITY : i == 16 ? -INFINITY : 100 + sin(i * 0.7); }
static double scale_of(int64_t i) { return (double)(1 + i % 5) / 4; }
static double bias_of(int64_t i) { return (double)(i % 11); }
static double mean_of(int64_t i) { return 100 + (double)(i % 2); }
static double variance_of(int64_t i) { return (double)(i % 3) + 0.5; }

static void check_types(size_t level, uint32_t dtype, int64_t c, int64_t area) {
  static double x[WIDEST], p[4][WIDEST];
  static uint64_t raw[5][WIDEST];
  const ox_convert *cv = ox_convert_select(test_levels[level].have);
  double (*const values[])(int64_t) = {scale_of, bias_of, mean_of, variance_of};
  fill(cv, dtype, IMAGES * c * area, x_of, raw[4], x);
  one_node n;
  one_node_init(&n, "", "BatchNormalization", 15, 1);
  n.isa = test_levels[level].have;
  one_node_input(&n, dtype, area > 1 ? 3 : 2, (int64_t[]){IMAGES, c, area}, raw[4]);
  for (int i = 0; i < 4; i++) {
    fill(cv, dtype, c, values[i], raw[i], p[i]);
    one_node_input(&n, dtype, 1, (int64_t[]){c}, raw[i]);
  }
  CHECK_OK(one_node_run(&n));
  double least = dtype == OX_F64 ? 2e-15 : dtype == OX_F32 ? 1e-6 : dtype == OX_F16 ? 1e-3 : 8e-3;
  for (int64_t i = 0; i < IMAGES * c * area; i++) {
    int64_t ch = i / area % c;
    double want = (x[i] - p[2][ch]) / sqrt(p[3][ch] + (double)1e-5f) * p[0][ch] + p[1][ch], got;
    cv->load_f64[dtype](n.out[0].data, (size_t)i, 1, &got);
    bool same = isfinite(want) ? fabs(got - want) <= least * (1 + fabs(want)) : isnan(want) ? isnan(got) : got == want;
    if (!same)
      fail_msg("%s, type %u, %lld channels of %lld: [%lld] is %.17g, wanted %.17g", test_levels[level].name, dtype,
               (long long)c, (long long)area, (long long)i, got, want);
  }
  one_node_deinit(&n);
}

static void test_types_and_shapes(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
  static const int64_t shapes[][2] = {{1, 1},    {2, 1}, {7, 1}, {8, 1},  {33, 1}, {512, 1},
                                      {1100, 1}, {3, 2}, {5, 9}, {2, 64}, {2, 601}};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (size_t s = 0; s < OX_COUNT(shapes); s++) check_types(l, types[t], shapes[s][0], shapes[s][1]);
}

/* The statistics of [N, C] itself. */
static void test_training_without_plane(void **state) {
  (void)state;
  enum { CHANNELS = 5 };
  double x[IMAGES * CHANNELS], one[CHANNELS] = {1, 1, 1, 1, 1}, none[CHANNELS] = {0};
  for (int i = 0; i < IMAGES * CHANNELS; i++) x[i] = i * i % 17;
  one_node n;
  one_node_init(&n, "", "BatchNormalization", 15, 3);
  one_node_int(&n, "training_mode", 1);
  one_node_input(&n, OX_F64, 2, (int64_t[]){IMAGES, CHANNELS}, x);
  for (int i = 0; i < 4; i++) one_node_input(&n, OX_F64, 1, (int64_t[]){CHANNELS}, i == 0 ? one : none);
  CHECK_OK(one_node_run(&n));
  for (int ch = 0; ch < CHANNELS; ch++) {
    double mean = 0, squares = 0;
    for (int b = 0; b < IMAGES; b++) mean += x[b * CHANNELS + ch] / IMAGES;
    for (int b = 0; b < IMAGES; b++) squares += (x[b * CHANNELS + ch] - mean) * (x[b * CHANNELS + ch] - mean);
    for (int b = 0; b < IMAGES; b++) {
      double want = (x[b * CHANNELS + ch] - mean) / sqrt(squares / IMAGES + (double)1e-5f);
      assert_true(fabs(((const double *)n.out[0].data)[b * CHANNELS + ch] - want) <= 1e-14);
    }
  }
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float64_keeps_its_digits),
      cmocka_unit_test(test_types_and_shapes),
      cmocka_unit_test(test_training_without_plane),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
