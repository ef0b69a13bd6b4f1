/* SPDX-License-Identifier: Apache-2.0
 * ops/elementwise_test.c - what the conformance suite does not reach: late axes and k, tiles in any number, empty
 * tensors, mismatched types, old broadcasting, limits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void run_split(one_node *n, int64_t tiles) {
  n->run_tiles = tiles;
  CHECK_OK(one_node_run(n));
}

/* The same bits however many tiles a call gets. */
static void check_tiles(const char *op, int version, uint32_t dtype, int64_t rows, int64_t columns, const void *data) {
  one_node whole, single;
  one_node_init(&whole, "", op, version, 1);
  one_node_init(&single, "", op, version, 1);
  one_node_input(&whole, dtype, 2, DIMS(rows, columns), data);
  one_node_input(&single, dtype, 2, DIMS(rows, columns), data);
  run_split(&whole, 0), run_split(&single, 1);
  assert_int_equal(whole.out[0].bytes, single.out[0].bytes);
  assert_memory_equal(whole.out[0].data, single.out[0].data, whole.out[0].bytes);
  one_node_deinit(&whole), one_node_deinit(&single);
}

static void test_tiles_do_not_matter(void **state) {
  (void)state;
  static const char *const ops[] = {"Sigmoid", "ReduceSum", "ReduceLogSumExp", "ReduceMax", "Softmax",
                                    "ArgMax",  "Abs",       "LpNormalization", "ReduceMean"};
  enum { ROWS = 700, COLUMNS = 301 };
  float *x = malloc(ROWS * COLUMNS * sizeof *x);
  assert_non_null(x);
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i * 7919 % 1001) * 0.01f - 5;
  for (size_t i = 0; i < OX_COUNT(ops); i++) check_tiles(ops[i], 21, OX_F32, ROWS, COLUMNS, x);
  free(x);
}

static void test_empty_tensors(void **state) {
  (void)state;
  static const char *const ops[] = {"Sigmoid", "Neg", "Identity", "Softmax", "IsNaN", "Clip", "Hardmax", "Dropout"};
  for (size_t i = 0; i < OX_COUNT(ops); i++) {
    check_tiles(ops[i], 13, OX_F32, 0, 5, "");
    check_tiles(ops[i], 13, OX_F32, 5, 0, "");
  }
  one_node n;
  one_node_init(&n, "", "ReduceMin", 20, 1);
  one_node_input(&n, OX_I8, 2, DIMS(0, 2), "");
  one_node_const(&n, OX_I64, 1, DIMS(1), DIMS(0));
  CHECK_OK(one_node_run(&n));
  assert_int_equal(((int8_t *)n.out[0].data)[1], INT8_MAX);
  one_node_deinit(&n);
}

static void test_reductions_of_nothing(void **state) {
  (void)state;
  static const struct {
    const char *op;
    float want;
  } rows[] = {{"ReduceSum", 0},
              {"ReduceMean", 0},
              {"ReduceProd", 1},
              {"ReduceMax", -INFINITY},
              {"ReduceL1", 0},
              {"ReduceL2", 0},
              {"ReduceMin", INFINITY},
              {"ReduceSumSquare", 0},
              {"ReduceLogSum", -INFINITY},
              {"ReduceLogSumExp", -INFINITY}};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int64_t axis = 0; axis < 2; axis++) {
      one_node n;
      one_node_init(&n, "", rows[i].op, 18, 1);
      one_node_input(&n, OX_F32, 2, axis ? DIMS(3, 0) : DIMS(0, 3), "");
      one_node_const(&n, OX_I64, 1, DIMS(1), DIMS(axis));
      CHECK_OK(one_node_run(&n));
      for (int k = 0; k < 3; k++)
        if (((float *)n.out[0].data)[k] != rows[i].want) fail_msg("%s along axis %d", rows[i].op, (int)axis);
      one_node_deinit(&n);
    }
}

static void test_division_by_zero_is_defined(void **state) {
  (void)state;
  const int64_t a[] = {INT64_MIN, 5, -7}, b[] = {-1, 0, 2}, want[] = {INT64_MIN, 0, -3};
  one_node n;
  one_node_init(&n, "", "Div", 14, 1);
  one_node_input(&n, OX_I64, 1, DIMS(3), a);
  one_node_input(&n, OX_I64, 1, DIMS(3), b);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, want, sizeof want);
  one_node_deinit(&n);
}

static void test_mismatches_are_errors(void **state) {
  (void)state;
  const float a[6] = {0};
  one_node n;
  one_node_init(&n, "", "Add", 14, 1);
  one_node_input(&n, OX_F32, 1, DIMS(2), a);
  one_node_input(&n, OX_F64, 1, DIMS(2), a);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "float64");
  one_node_deinit(&n);
  one_node_init(&n, "", "Mul", 14, 1);
  one_node_input(&n, OX_F32, 1, DIMS(2), a);
  one_node_input(&n, OX_F32, 1, DIMS(3), a);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "[2]");
  one_node_deinit(&n);
  one_node_init(&n, "", "PRelu", 9, 1);
  one_node_input(&n, OX_F32, 1, DIMS(1), a);
  one_node_input(&n, OX_F32, 1, DIMS(3), a);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "");
  one_node_deinit(&n);
  one_node_init(&n, "", "Softmax", 13, 1);
  one_node_int(&n, "axis", 2);
  one_node_input(&n, OX_F32, 2, DIMS(2, 3), a);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "axis 2");
  one_node_deinit(&n);
  one_node_init(&n, "", "QuantizeLinear", 13, 1);
  one_node_input(&n, OX_F32, 2, DIMS(2, 3), a);
  one_node_input(&n, OX_F32, 1, DIMS(2), a);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "scale");
  one_node_deinit(&n);
}

static void test_late_k(void **state) {
  (void)state;
  const float x[] = {3, 1, 3, 2, 5, 4};
  const int64_t k[] = {2}, want[] = {0, 2, 1, 2};
  one_node n;
  one_node_init(&n, "", "TopK", 11, 2);
  one_node_input(&n, OX_F32, 2, DIMS(2, 3), x);
  one_node_input(&n, OX_I64, 1, DIMS(1), k);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[1].shape.dim[1], 2);
  assert_memory_equal(n.out[1].data, want, sizeof want);
  one_node_deinit(&n);
}

static void test_old_broadcasting(void **state) {
  (void)state;
  const float a[] = {0, 0, 0, 0, 0, 0, 0, 0}, b[] = {1, 2}, want[] = {1, 1, 2, 2, 1, 1, 2, 2};
  one_node n;
  one_node_init(&n, "", "Add", 6, 1);
  one_node_int(&n, "broadcast", 1);
  one_node_int(&n, "axis", 1);
  one_node_input(&n, OX_F32, 3, DIMS(2, 2, 2), a);
  one_node_input(&n, OX_F32, 1, DIMS(2), b);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, want, sizeof want);
  one_node_deinit(&n);
}

/* Rows that are shorter than a loop is worth, of every kind: the same in a whole plane, of a plane each, of a row each.
 */
static void test_short_rows_broadcast(void **state) {
  (void)state;
  static const struct {
    int64_t a[4], b[4];
  } rows[] = {
      {{3, 5, 700, 16}, {3, 5, 1, 16}}, {{2, 3, 7, 5}, {1, 3, 1, 5}},   {{2, 1, 1, 47}, {2, 3, 900, 47}},
      {{4, 3, 1, 3}, {4, 1, 1, 3}},     {{2, 3, 9, 16}, {2, 3, 9, 1}},  {{2, 3, 9, 1}, {1, 3, 1, 16}},
      {{1, 1, 1, 3}, {2, 2, 6000, 3}},  {{2, 1, 9, 16}, {1, 3, 1, 16}}, {{5, 2, 1, 16}, {5, 2, 1, 16}},
  };
  enum { MOST = 2 * 3 * 900 * 47 };
  float *x = malloc(MOST * sizeof *x);
  assert_non_null(x);
  for (int i = 0; i < MOST; i++) x[i] = (float)(i * 7919 % 100003);
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int64_t tiles = 0; tiles < 2; tiles++) {
      one_node n;
      one_node_init(&n, "", "Sub", 14, 1);
      one_node_input(&n, OX_F32, 4, rows[i].a, x);
      one_node_input(&n, OX_F32, 4, rows[i].b, x);
      run_split(&n, tiles);
      const int64_t *d = n.out[0].shape.dim;
      for (int64_t e = 0; e < ox_shape_count(&n.out[0].shape); e++) {
        int64_t rest = e, at[4], ia = 0, ib = 0;
        for (int k = 3; k >= 0; k--) at[k] = rest % d[k], rest /= d[k];
        for (int k = 0; k < 4; k++) {
          ia = ia * rows[i].a[k] + at[k] % rows[i].a[k];
          ib = ib * rows[i].b[k] + at[k] % rows[i].b[k];
        }
        if (((const float *)n.out[0].data)[e] != x[ia] - x[ib]) fail_msg("case %d, element %d", (int)i, (int)e);
      }
      one_node_deinit(&n);
    }
  free(x);
}

/* Sums down narrow columns, of none, few rows and many. */
static void test_narrow_columns_add_up(void **state) {
  (void)state;
  static const int64_t rows[][3] = {{3, 49, 0},     {0, 49, 16}, {3, 0, 16},    {3, 49, 16}, {2, 1, 16},
                                    {2, 12544, 16}, {5, 100, 3}, {1, 70000, 5}, {80, 49, 16}};
  float *x = malloc(70000 * 16 * sizeof *x);
  assert_non_null(x);
  for (int i = 0; i < 70000 * 16; i++) x[i] = (float)(i % 1009 * 7 % 1009) - 500;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int64_t tiles = 0; tiles < 2; tiles++) {
      one_node n;
      one_node_init(&n, "", "ReduceSum", 13, 1);
      one_node_input(&n, OX_F32, 3, rows[i], x);
      one_node_const(&n, OX_I64, 1, DIMS(1), DIMS(1));
      run_split(&n, tiles);
      for (int64_t o = 0; o < rows[i][0] * rows[i][2]; o++) {
        double want = 0; /* integers below 2^53: exact */
        for (int64_t r = 0; r < rows[i][1]; r++)
          want += (double)x[(o / rows[i][2] * rows[i][1] + r) * rows[i][2] + o % rows[i][2]];
        if (((const float *)n.out[0].data)[o] != (float)want) fail_msg("case %d, output %d", (int)i, (int)o);
      }
      one_node_deinit(&n);
    }
  free(x);
}

static void test_strings_cast_both_ways(void **state) {
  (void)state;
  const float f[] = {0.1f, -2.5f, 1e20f, INFINITY, NAN};
  static const char *const want[] = {"0.1", "-2.5", "1e+20", "INF", "NaN"};
  one_node n, back;
  one_node_init(&n, "", "Cast", 13, 1);
  one_node_int(&n, "to", OX_STRING);
  one_node_input(&n, OX_F32, 1, DIMS(5), f);
  CHECK_OK(one_node_run(&n));
  const ox_str *s = n.out[0].data;
  for (int i = 0; i < 5; i++) {
    assert_int_equal(s[i].n, strlen(want[i]));
    assert_memory_equal(s[i].p, want[i], s[i].n);
  }
  one_node_init(&back, "", "Cast", 13, 1);
  one_node_int(&back, "to", OX_F32);
  one_node_input(&back, OX_STRING, 1, DIMS(5), s);
  CHECK_OK(one_node_run(&back));
  assert_memory_equal(back.out[0].data, f, 4 * sizeof *f);
  assert_true(isnan(((float *)back.out[0].data)[4]));
  one_node_deinit(&back);
  const ox_str bad[] = {{"12x", 3}};
  one_node_init(&back, "", "Cast", 13, 1);
  one_node_int(&back, "to", OX_F32);
  one_node_input(&back, OX_STRING, 1, DIMS(1), bad);
  CHECK_FAILS(one_node_run(&back), OX_INVALID_ARGUMENT, "12x");
  one_node_deinit(&back), one_node_deinit(&n);
}

static void test_seeds_repeat(void **state) {
  (void)state;
  one_node a, b;
  one_node_init(&a, "", "RandomNormal", 22, 1);
  one_node_init(&b, "", "RandomNormal", 22, 1);
  one_node_ints(&a, "shape", 1, DIMS(5000));
  one_node_ints(&b, "shape", 1, DIMS(5000));
  one_node_float(&a, "seed", 3), one_node_float(&b, "seed", 3);
  run_split(&a, 0), run_split(&b, 1);
  assert_memory_equal(a.out[0].data, b.out[0].data, a.out[0].bytes);
  double mean = 0, square = 0;
  const float *x = a.out[0].data;
  for (int i = 0; i < 5000; i++) mean += (double)x[i] / 5000, square += (double)x[i] * (double)x[i] / 5000;
  assert_true(fabs(mean) < 0.06 && fabs(square - 1) < 0.08);
  one_node_deinit(&a), one_node_deinit(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tiles_do_not_matter),   cmocka_unit_test(test_empty_tensors),
      cmocka_unit_test(test_reductions_of_nothing), cmocka_unit_test(test_division_by_zero_is_defined),
      cmocka_unit_test(test_mismatches_are_errors), cmocka_unit_test(test_late_k),
      cmocka_unit_test(test_old_broadcasting),      cmocka_unit_test(test_short_rows_broadcast),
      cmocka_unit_test(test_narrow_columns_add_up), cmocka_unit_test(test_strings_cast_both_ways),
      cmocka_unit_test(test_seeds_repeat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
