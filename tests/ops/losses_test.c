/* SPDX-License-Identifier: Apache-2.0
 * ops/losses_test.c - SoftmaxCrossEntropyLoss of floats and doubles against loops over classes: one sample behind the
 * other and side by side, its loss and the logarithms beside it. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

enum { MOST = 6000 };

static void check(uint32_t dtype, int64_t batch, int64_t classes, int64_t inner, const char *reduction) {
  static float x32[MOST];
  static double x64[MOST];
  static int64_t target[MOST];
  int64_t samples = batch * inner;
  for (int64_t i = 0; i < batch * classes * inner; i++)
    x32[i] = (float)(sin((double)i * 1.7) * 30 + (double)(i % 3)), x64[i] = (double)x32[i];
  for (int64_t i = 0; i < samples; i++) target[i] = i * 7 % classes;
  one_node n;
  one_node_init(&n, "", "SoftmaxCrossEntropyLoss", 13, 2);
  one_node_str(&n, "reduction", reduction);
  one_node_input(&n, dtype, 3, (int64_t[]){batch, classes, inner}, dtype == OX_F32 ? (void *)x32 : x64);
  one_node_input(&n, OX_I64, 2, (int64_t[]){batch, inner}, target);
  CHECK_OK(one_node_run(&n));
  double total = 0, close = dtype == OX_F32 ? 2e-6 : 1e-13;
  for (int64_t s = 0; s < samples; s++) {
    const double *x = x64 + s / inner * classes * inner + s % inner;
    double high = -INFINITY, sum = 0;
    for (int64_t k = 0; k < classes; k++) high = fmax(high, x[k * inner]);
    for (int64_t k = 0; k < classes; k++) sum += exp(x[k * inner] - high);
    for (int64_t k = 0; k < classes; k++) {
      int64_t at = x + k * inner - x64;
      double want = x[k * inner] - high - log(sum);
      double got = dtype == OX_F32 ? (double)((const float *)n.out[1].data)[at] : ((const double *)n.out[1].data)[at];
      if (!(fabs(got - want) <= close * fmax(fabs(want), 1)))
        fail_msg("type %u, %d classes: logarithm %d is %g, wanted %g", dtype, (int)classes, (int)at, got, want);
    }
    double loss = high + log(sum) - x[target[s] * inner];
    total += loss;
    if (reduction[0] != 'n') continue;
    double got = dtype == OX_F32 ? (double)((const float *)n.out[0].data)[s] : ((const double *)n.out[0].data)[s];
    if (!(fabs(got - loss) <= close * fmax(loss, 1))) fail_msg("loss %d is %g, wanted %g", (int)s, got, loss);
  }
  double got = dtype == OX_F32 ? (double)*(const float *)n.out[0].data : *(const double *)n.out[0].data;
  if (reduction[0] != 'n' && !(fabs(got - total / (double)samples) <= close * total / (double)samples))
    fail_msg("type %u: the mean is %g, wanted %g", dtype, got, total / (double)samples);
  one_node_deinit(&n);
}

static void test_samples(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{3, 1, 1}, {4, 5, 1}, {2, 1000, 1}, {2, 7, 3}, {1, 40, 70}, {3, 33, 17}};
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (int how = 0; how < 4; how++)
      check(how & 1 ? OX_F64 : OX_F32, shapes[i][0], shapes[i][1], shapes[i][2], how & 2 ? "mean" : "none");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
