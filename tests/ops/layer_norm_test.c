/* SPDX-License-Identifier: Apache-2.0
 * ops/layer_norm_test.c - row normalizations and LpNormalization of rows around what a vector holds, against double, at
 * every level, with and without bias; rows of infinities and of nothing but one number. LpNormalization of columns. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { ROWS = 5, MOST = 300 };
static const int64_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 96, 127, 128, 129, 300};

/* want[n] and want[n + 1]: the mean and the factor. */
static void expect(const char *op, const float *x, int64_t n, const float *scale, const float *bias, double *want) {
  bool lp = op[1] == 'p', plain = lp || op[0] == 'S';
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n && !plain; i++) mean += (double)x[i] / (double)n;
  for (int64_t i = 0; i < n; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
  double norm = lp ? sqrt(squares) : sqrt(squares / (double)n + (double)1e-5f);
  want[n] = mean, want[n + 1] = 1 / norm;
  for (int64_t i = 0; i < n; i++) {
    want[i] = norm == 0 ? 0 : ((double)x[i] - mean) / norm;
    if (!lp) want[i] = want[i] * (double)scale[i] + (bias ? (double)bias[i] : 0);
  }
}

/* Output |o| for row |r| is |want|. */
static void check_stat(size_t level, const one_node *node, uint32_t o, int64_t r, int64_t n, double want) {
  double got = (double)((const float *)node->out[o].data)[r];
  if (!(fabs(got - want) <= 4e-6 * (1 + fabs(want))) && !(isnan(got) && isnan(want)) && !isinf(want))
    fail_msg("%s, row %d of %d: output %u is %.9g, wanted %.9g", test_levels[level].name, (int)r, (int)n, o, got, want);
}

/* |n_out| outputs: the last ones are statistics. */
static void check(size_t level, const char *op, int64_t n, bool with_bias, uint32_t n_out, const float *x) {
  float scale[MOST], bias[MOST];
  double want[MOST + 2];
  for (int i = 0; i < MOST; i++) scale[i] = (float)(i * 37 % 11) / 4, bias[i] = (float)(i * 31 % 7) / 8;
  one_node node;
  one_node_init(&node, "", op, 17, n_out);
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
    bool plain = op[0] == 'S';
    for (uint32_t o = 1; o < n_out; o++) check_stat(level, &node, o, r, n, want[plain || o == 2 ? n + 1 : n]);
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
      for (uint32_t n_out = 1; n_out <= 3; n_out++) {
        check(l, "LayerNormalization", n, true, n_out, x), check(l, "LayerNormalization", n, false, n_out, x);
        if (n_out < 3) check(l, "SimplifiedLayerNormalization", n, false, n_out, x);
      }
      if (n > 1) x[2 * n + n / 2] = 1;
      check(l, "LpNormalization", n, false, 1, x);
    }
}

/* LpNormalization along the middle of [2, length, columns]: column 1 is zeros, 2 has an infinity, 3 NaN, 4 is tiny. */
static void check_columns(size_t level, int64_t length, int64_t columns, int p, const float *x) {
  one_node n;
  one_node_init(&n, "", "LpNormalization", 1, 1);
  n.isa = test_levels[level].have, n.run_tiles = 1;
  one_node_int(&n, "axis", 1), one_node_int(&n, "p", p);
  one_node_input(&n, OX_F32, 3, (int64_t[]){2, length, columns}, x);
  CHECK_OK(one_node_run(&n));
  const float *y = n.out[0].data;
  for (int64_t o = 0; o < 2 * columns; o++) {
    if (p == 2 && o % columns == 4) continue; /* squares leave the range of floats */
    int64_t base = o / columns * length * columns + o % columns;
    double sum = 0;
    for (int64_t i = 0; i < length; i++) {
      double v = (double)x[base + i * columns];
      sum += p == 1 ? fabs(v) : v * v;
    }
    double norm = p == 1 ? sum : sqrt(sum);
    for (int64_t i = 0; i < length; i++) {
      double want = norm == 0 ? 0 : (double)x[base + i * columns] / norm;
      if (isinf(norm)) want = (double)x[base + i * columns] * 0; /* what is finite becomes 0 */
      double off = test_ulps(y[base + i * columns], want);
      if (!(off <= 4))
        fail_msg("%s, %d by %d, p %d: column %d, %d: %g, not %g", test_levels[level].name, (int)length, (int)columns, p,
                 (int)o, (int)i, (double)y[base + i * columns], want);
    }
  }
  one_node_deinit(&n);
}

static void test_columns(void **state) {
  (void)state;
  static const int64_t widths[] = {2, 5, 15, 16, 17, 63, 64, 65, 130};
  static float x[2 * 9 * 130];
  uint32_t seed = 5;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t w = 0; w < OX_COUNT(widths); w++)
      for (int64_t length = 1; length <= 9; length += 4) {
        int64_t wide = widths[w];
        for (int64_t i = 0; i < 2 * length * wide; i++) {
          x[i] = test_uniform(&seed, -3, 3);
          if (i % wide == 1) x[i] = 0;
          if (i % wide == 2 && i / wide % length == length / 2) x[i] = INFINITY;
          if (i % wide == 3 && i / wide % length == 0) x[i] = NAN;
          if (i % wide == 4) x[i] *= 1e-39f;
        }
        check_columns(l, length, wide, 1, x), check_columns(l, length, wide, 2, x);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_columns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
