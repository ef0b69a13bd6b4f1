/* SPDX-License-Identifier: Apache-2.0
 * ops/layer_norm_test.c - row normalizations and LpNormalization of rows around what a vector holds, against double, at
 * every level, with and without bias; rows of infinities and of nothing but one number. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { ROWS = 5, MOST = 300 };
static const int64_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 96, 127, 128, 129, 300};

static void expect(const char *op, const float *x, int64_t n, const float *scale, const float *bias, double *want) {
  bool lp = op[1] == 'p', plain = lp || op[0] == 'S';
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n && !plain; i++) mean += (double)x[i] / (double)n;
  for (int64_t i = 0; i < n; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
  double norm = lp ? sqrt(squares) : sqrt(squares / (double)n + (double)1e-5f);
  for (int64_t i = 0; i < n; i++) {
    want[i] = norm == 0 ? 0 : ((double)x[i] - mean) / norm;
    if (!lp) want[i] = want[i] * (double)scale[i] + (bias ? (double)bias[i] : 0);
  }
}

static void check(size_t level, const char *op, int64_t n, bool with_bias, const float *x) {
  float scale[MOST], bias[MOST];
  double want[MOST];
  for (int i = 0; i < MOST; i++) scale[i] = (float)(i * 37 % 11) / 4, bias[i] = (float)(i * 31 % 7) / 8;
  one_node node;
  one_node_init(&node, "", op, 17, 1);
  node.isa = test_levels[level].have;
  one_node_input(&node, OX_F32, 2, (const int64_t[]){ROWS, n}, x);
  if (op[1] != 'p') one_node_input(&node, OX_F32, 1, &n, scale);
  if (with_bias) one_node_input(&node, OX_F32, 1, &n, bias);
  CHECK_OK(one_node_run(&node));
  for (int64_t r = 0; r < ROWS; r++) {
    expect(op, x + r * n, n, scale, with_bias ? bias : NULL, want);
    for (int64_t i = 0; i < n; i++) {
      double got = (double)((const float *)node.out[0].data)[r * n + i];
      if (!(fabs(got - want[i]) <= 4e-6 * (1 + fabs(want[i]))) && !(isnan(got) && isnan(want[i])))
        fail_msg("%s, %s of %d, bias %d, row %d: [%d] is %.9g, wanted %.9g", test_levels[level].name, op, (int)n,
                 with_bias, (int)r, (int)i, got, want[i]);
    }
  }
  one_node_deinit(&node);
}

static void test_rows(void **state) {
  (void)state;
  static float x[ROWS * MOST];
  for (size_t l = 0; level_next(&l); l++)
    for (size_t k = 0; k < OX_COUNT(lengths); k++) {
      int64_t n = lengths[k];
      for (int64_t i = 0; i < ROWS * n; i++) x[i] = (float)(i * 7919 % 1009) / 100 - 3;
      for (int64_t i = 0; i < n; i++) x[n + i] = 2, x[3 * n + i] = 0; /* no variance; no norm */
      if (n > 1) x[2 * n + n / 2] = INFINITY;
      check(l, "LayerNormalization", n, true, x), check(l, "LayerNormalization", n, false, x);
      check(l, "SimplifiedLayerNormalization", n, false, x);
      if (n > 1) x[2 * n + n / 2] = 1;
      check(l, "LpNormalization", n, false, x);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
