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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float64_keeps_its_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
