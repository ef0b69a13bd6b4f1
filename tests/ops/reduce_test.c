/* SPDX-License-Identifier: Apache-2.0
 * ops/reduce_test.c - rows of doubles, from shorter than the lanes to longer, against plain sums. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { ROWS = 5, MOST = 70 };
static double x[ROWS * MOST];

static double folded(const char *op, const double *row, int64_t n) {
  double sum = 0, most = -INFINITY, least = INFINITY;
  for (int64_t i = 0; i < n; i++) {
    double v = row[i];
    sum += strstr(op, "Square") || strstr(op, "L2") ? v * v
           : strstr(op, "L1")                       ? fabs(v)
           : strstr(op, "Exp")                      ? exp(v)
                                                    : v;
    most = fmax(most, v), least = fmin(least, v);
  }
  if (strstr(op, "Max")) return most;
  if (strstr(op, "Min")) return least;
  if (strstr(op, "Mean")) return sum / (double)n;
  return strstr(op, "L2") ? sqrt(sum) : strstr(op, "Exp") ? log(sum) : sum;
}

static void check_rows(const char *op, int64_t n, int64_t run_tiles) {
  one_node r;
  one_node_init(&r, "", op, 1, 1);
  r.run_tiles = run_tiles;
  one_node_ints(&r, "axes", 1, (int64_t[]){1});
  one_node_int(&r, "keepdims", 0);
  one_node_input(&r, OX_F64, 2, (int64_t[]){ROWS, n}, x);
  CHECK_OK(one_node_run(&r));
  for (int64_t i = 0; i < ROWS; i++) {
    double want = folded(op, x + i * n, n), got = ((double *)r.out[0].data)[i];
    if (!(fabs(got - want) <= 1e-13 * (1 + fabs(want)))) fail_msg("%s of %d: %g, wanted %g", op, (int)n, got, want);
  }
  one_node_deinit(&r);
}

static void test_rows_of_doubles(void **state) {
  (void)state;
  static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceL1",        "ReduceL2",
                                    "ReduceMax", "ReduceMin",  "ReduceSumSquare", "ReduceLogSumExp"};
  for (int i = 0; i < ROWS * MOST; i++) x[i] = (double)((i * 29 + 3) % 41 - 20) / 6;
  for (size_t k = 0; k < OX_COUNT(ops); k++)
    for (int64_t n = 1; n <= MOST; n = n < 9 ? n + 1 : n * 5 / 4)
      for (int64_t run_tiles = 0; run_tiles < 2; run_tiles++) check_rows(ops[k], n, run_tiles);
}

static void test_not_a_number_passes(void **state) {
  (void)state;
  static const char *const ops[] = {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceLogSumExp"};
  double row[6] = {1, NAN, 3, 4, 5, 6};
  for (size_t k = 0; k < OX_COUNT(ops); k++) {
    one_node r;
    one_node_init(&r, "", ops[k], 1, 1);
    one_node_ints(&r, "axes", 1, (int64_t[]){1});
    one_node_input(&r, OX_F64, 2, (int64_t[]){2, 3}, row);
    CHECK_OK(one_node_run(&r));
    const double *y = r.out[0].data;
    assert_true(isnan(y[0]) && !isnan(y[1]));
    one_node_deinit(&r);
  }
}

/* An axis of one element: the same elements, of each type; -0 and NaN stay in extremes. */
static void test_axes_of_one(void **state) {
  (void)state;
  static const char *const ops[] = {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd"};
  const int64_t integers[6] = {-7, INT64_MAX, INT64_MIN, 0, 5, 9};
  const double reals[6] = {-0.0, NAN, INFINITY, -INFINITY, 2.5, -1};
  for (size_t k = 0; k < OX_COUNT(ops); k++)
    for (int real = 0; real < (k < 2 ? 2 : 1); real++) {
      one_node r;
      one_node_init(&r, "", ops[k], 1, 1);
      r.run_tiles = 1;
      one_node_ints(&r, "axes", 1, (int64_t[]){1});
      one_node_int(&r, "keepdims", 0);
      one_node_input(&r, real ? OX_F64 : OX_I64, 3, (int64_t[]){2, 1, 3}, real ? (const void *)reals : integers);
      CHECK_OK(one_node_run(&r));
      assert_int_equal(r.out[0].bytes, sizeof integers);
      assert_memory_equal(r.out[0].data, real ? (const void *)reals : integers, sizeof integers);
      one_node_deinit(&r);
    }
}

/* Down columns so long that they are cut into segments, more of them than a batch of outputs. */
static void test_columns_in_segments(void **state) {
  (void)state;
  enum { LONG = 300, WIDE = 601 };
  static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceL1",        "ReduceL2",
                                    "ReduceMax", "ReduceMin",  "ReduceSumSquare", "ReduceLogSumExp"};
  static float m[LONG * WIDE];
  for (int i = 0; i < LONG * WIDE; i++) m[i] = (float)((i * 29 + i / 37 + 3) % 41 - 20) / 8;
  for (size_t k = 0; k < 2 * OX_COUNT(ops); k++) {
    const char *op = ops[k / 2];
    one_node r;
    one_node_init(&r, "", op, 1, 1);
    r.run_tiles = k % 2;
    one_node_ints(&r, "axes", 1, (int64_t[]){0});
    one_node_input(&r, OX_F32, 2, (int64_t[]){LONG, WIDE}, m);
    CHECK_OK(one_node_run(&r));
    for (int i = 0; i < WIDE; i++) {
      double column[LONG], got = (double)((float *)r.out[0].data)[i];
      for (int j = 0; j < LONG; j++) column[j] = (double)m[j * WIDE + i];
      double want = folded(op, column, LONG);
      if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want)))) fail_msg("%s, column %d: %g, wanted %g", op, i, got, want);
    }
    one_node_deinit(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_of_doubles),
      cmocka_unit_test(test_not_a_number_passes),
      cmocka_unit_test(test_axes_of_one),
      cmocka_unit_test(test_columns_in_segments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
