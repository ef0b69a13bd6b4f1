/* SPDX-License-Identifier: Apache-2.0
 * ops/norm_mean_test.c - every operator that takes a mean off, against long double, with a mean that dwarfs the rest:
 * what is left of the values there is exact, and so the result must be. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

enum { N = 2, C = 4, AREA = 35, COUNT = N * C * AREA, GROUPS = 2 };
typedef enum { BY_ROW, BY_CHANNEL, BY_GROUP, OVER_BATCH } kind;

static const struct {
  const char *domain, *op;
  int version;
  kind over;
  bool affine, skip;
} ops[] = {
    {"", "LayerNormalization", 17, BY_ROW, true, false},
    {"", "InstanceNormalization", 6, BY_CHANNEL, true, false},
    {"", "GroupNormalization", 21, BY_GROUP, true, false},
    {"", "MeanVarianceNormalization", 13, OVER_BATCH, false, false},
    {"", "BatchNormalization", 15, OVER_BATCH, true, false},
    {"com.microsoft", "SkipLayerNormalization", 1, BY_ROW, true, true},
};

/* Which of the means element |i| counts to; all have the same size. */
static int mean_of(kind over, int i) {
  int n = i / (C * AREA), ch = i / AREA % C;
  if (over == BY_ROW) return i / AREA;
  if (over == BY_CHANNEL) return n * C + ch;
  if (over == BY_GROUP) return n * GROUPS + ch / (C / GROUPS);
  return ch;
}

/* Scale and bias: one per channel, or per element of a row. */
static int param_of(kind over, int i) { return over == BY_ROW ? i % AREA : i / AREA % C; }

static const int64_t dims[] = {N, C, 5, 7}, rows[] = {N, C, AREA};

/* |x| less its rough mean, which is exact: sums of x itself would round in long double, too. */
static void expect(size_t op, const double *x, const double *scale, const double *bias, long double *want) {
  long double sum[N * C] = {0}, squares[N * C] = {0};
  int size[N * C] = {0};
  kind over = ops[op].over;
  long double epsilon = ops[op].skip ? (long double)(double)1e-12f : (long double)(double)1e-5f;
  for (int i = 0; i < COUNT; i++) sum[mean_of(over, i)] += (long double)x[i], size[mean_of(over, i)]++;
  for (int i = 0; i < COUNT; i++) {
    int m = mean_of(over, i);
    long double d = (long double)x[i] - sum[m] / size[m];
    squares[m] += d * d;
  }
  for (int i = 0; i < COUNT; i++) {
    int m = mean_of(over, i), p = param_of(over, i);
    long double var = squares[m] / size[m];
    long double deviation = ops[op].affine ? sqrtl(var + epsilon) : sqrtl(var) + 1e-9L;
    want[i] = ((long double)x[i] - sum[m] / size[m]) / deviation;
    if (ops[op].affine) want[i] = want[i] * (long double)scale[p] + (long double)bias[p];
  }
}

static void input(one_node *n, uint32_t dtype, int rank, const int64_t *shape, const double *v, float *narrow,
                  int count) {
  for (int i = 0; i < count; i++) narrow[i] = (float)v[i];
  one_node_input(n, dtype, rank, shape, dtype == OX_F64 ? (const void *)v : narrow);
}

static void check(size_t op, uint32_t dtype, double mean, double tolerance) {
  static double x[COUNT], moved[COUNT], zeros[COUNT], scale[AREA], bias[AREA];
  static float narrow[6][COUNT];
  static long double want[COUNT];
  bool by_row = ops[op].over == BY_ROW;
  int params = by_row ? AREA : C;
  for (int i = 0; i < COUNT; i++) {
    x[i] = mean + sin(i * 0.7) * 2;
    if (dtype == OX_F32) x[i] = (double)(float)x[i];
    moved[i] = x[i] - mean;
  }
  for (int i = 0; i < AREA; i++) scale[i] = (double)(float)(1 + i * 0.05), bias[i] = (double)(float)(i * 0.1 - 1);
  expect(op, moved, scale, bias, want);
  one_node n;
  bool batch = ops[op].over == OVER_BATCH && ops[op].affine;
  one_node_init(&n, ops[op].domain, ops[op].op, ops[op].version, batch ? 3 : 1);
  if (ops[op].over == BY_GROUP) one_node_int(&n, "num_groups", GROUPS);
  if (batch) one_node_int(&n, "training_mode", 1);
  input(&n, dtype, by_row ? 3 : 4, by_row ? rows : dims, x, narrow[0], COUNT);
  if (ops[op].skip) input(&n, dtype, 3, rows, zeros, narrow[1], COUNT);
  int64_t length = params;
  if (ops[op].affine) {
    input(&n, dtype, 1, &length, scale, narrow[2], params);
    input(&n, dtype, 1, &length, bias, narrow[3], params);
  }
  for (int i = 0; i < 2 && batch; i++) input(&n, dtype, 1, &length, scale, narrow[4 + i], params);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < COUNT; i++) {
    double got = dtype == OX_F64 ? ((const double *)n.out[0].data)[i] : (double)((const float *)n.out[0].data)[i];
    double away = (double)fabsl((long double)got - want[i]);
    if (!(away <= tolerance * (1 + (double)fabsl(want[i]))))
      fail_msg("%s of %s about %g: [%d] is %.17g, wanted %.17g", ops[op].op, ox_dtype_name(dtype), mean, i, got,
               (double)want[i]);
  }
  one_node_deinit(&n);
}

static void test_float64(void **state) {
  (void)state;
  static const double means[] = {0, 1, -1e6, 1e6, 1e12};
  for (size_t op = 0; op < OX_COUNT(ops); op++)
    for (size_t m = 0; m < OX_COUNT(means); m++) check(op, OX_F64, means[m], 4e-15);
}

static void test_float32(void **state) {
  (void)state;
  static const double means[] = {0, 1, -1e3, 1e6};
  for (size_t op = 0; op < OX_COUNT(ops); op++)
    for (size_t m = 0; m < OX_COUNT(means); m++) check(op, OX_F32, means[m], 2e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float64),
      cmocka_unit_test(test_float32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
