/* SPDX-License-Identifier: Apache-2.0
 * ops/batch_norm_test.c - BatchNormalization of float64 against long double, with a mean that dwarfs the rest. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
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

/* [N, C]: channels are lanes. A NaN, infinities and the neighbours of both. */
static void test_float32_without_plane(void **state) {
  (void)state;
  enum { IMAGES = 3, MOST = 37 };
  for (int64_t c = 1; c <= MOST; c++) {
    float x[IMAGES * MOST], p[4][MOST];
    for (int64_t i = 0; i < IMAGES * c; i++) x[i] = (float)(1000 + sin((double)i * 0.7));
    for (int i = 0; i < c; i++)
      p[0][i] = (float)(1 + i % 5) / 4, p[1][i] = (float)i, p[2][i] = 1000, p[3][i] = (float)(i % 3) + 0.5f;
    x[0] = NAN, x[c] = INFINITY, x[2 * c] = -INFINITY;
    one_node n;
    one_node_init(&n, "", "BatchNormalization", 15, 1);
    one_node_input(&n, OX_F32, 2, (int64_t[]){IMAGES, c}, x);
    for (int i = 0; i < 4; i++) one_node_input(&n, OX_F32, 1, (int64_t[]){c}, p[i]);
    CHECK_OK(one_node_run(&n));
    for (int64_t i = 0; i < IMAGES * c; i++) {
      int64_t ch = i % c;
      double want = ((double)x[i] - (double)p[2][ch]) / sqrt((double)p[3][ch] + (double)1e-5f) * (double)p[0][ch] +
                    (double)p[1][ch];
      double got = (double)((const float *)n.out[0].data)[i];
      bool same = isfinite(want) ? fabs(got - want) <= 1e-6 * (1 + fabs(want)) : isnan(want) ? isnan(got) : got == want;
      if (!same) fail_msg("%lld channels: [%lld] is %.9g, wanted %.9g", (long long)c, (long long)i, got, want);
    }
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float64_keeps_its_digits),
      cmocka_unit_test(test_float32_without_plane),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
