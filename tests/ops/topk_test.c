/* SPDX-License-Identifier: Apache-2.0
 * ops/topk_test.c - rows of floats, short and long, against a sort: the elements and which they were. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/one_node.h"

static const float *sorted_row;
static int sorted_largest;

/* NaN above all; of equals the earlier first. */
static int compare(const void *pa, const void *pb) {
  int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
  float x = sorted_row[a], y = sorted_row[b];
  int order = isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
  if (order) return sorted_largest ? -order : order;
  return (a > b) - (a < b);
}

static void check_rows(int64_t rows, int64_t n, int64_t k, int largest, const float *x, const char *what) {
  one_node node;
  int64_t *order = malloc((size_t)n * sizeof *order);
  assert_non_null(order);
  one_node_init(&node, "", "TopK", 11, 2);
  one_node_int(&node, "largest", largest);
  one_node_input(&node, OX_F32, 2, (const int64_t[]){rows, n}, x);
  one_node_const(&node, OX_I64, 1, (const int64_t[]){1}, &k);
  CHECK_OK(one_node_run(&node));
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t i = 0; i < n; i++) order[i] = i;
    sorted_row = x + r * n, sorted_largest = largest;
    qsort(order, (size_t)n, sizeof *order, compare);
    for (int64_t i = 0; i < k; i++) {
      int64_t at = ((const int64_t *)node.out[1].data)[r * k + i];
      float v = ((const float *)node.out[0].data)[r * k + i], want = sorted_row[order[i]];
      if (at != order[i] || (v != want && !(isnan(v) && isnan(want))))
        fail_msg("%s, %lld of %lld, largest %d, row %lld, place %lld: element %lld, not %lld", what, (long long)k,
                 (long long)n, largest, (long long)r, (long long)i, (long long)at, (long long)order[i]);
    }
  }
  one_node_deinit(&node);
  free(order);
}

enum { ROWS = 3, MOST = 5000 };

static float mixed(int64_t i) { return (float)(i * 7919 % 10007) - 5000; }
static float few_values(int64_t i) { return (float)(i * 31 % 7); }
static float equal(int64_t i) { return (void)i, -2.5f; }
static float rising(int64_t i) { return (float)i * 0.25f - 100; }
static float falling(int64_t i) { return -(float)i; }
static float zeros(int64_t i) { return i % 3 ? 0.0f : -0.0f; }
static float denormal(int64_t i) { return (float)(i * 13 % 101) * 1e-44f; }
static float huge(int64_t i) { return (i % 2 ? 1.0f : -1.0f) * (3.4e38f - (float)(i * 17 % 1009) * 1e35f); }
static float one_peak(int64_t i) { return i % 1000 == 777 ? 1e30f : (float)(i % 5); }
static float some_nan(int64_t i) { return i % 97 == 5 ? NAN : mixed(i); }
static float nan_first(int64_t i) { return i < 150 ? NAN : mixed(i); }
static float infinite(int64_t i) { return i % 11 ? mixed(i) : i % 2 ? INFINITY : -INFINITY; }

static const struct {
  const char *name;
  float (*value)(int64_t i);
} fillings[] = {
    {"mixed", mixed},       {"few values", few_values}, {"equal", equal},       {"rising", rising},
    {"falling", falling},   {"zeros", zeros},           {"denormal", denormal}, {"huge", huge},
    {"one peak", one_peak}, {"some NaN", some_nan},     {"infinite", infinite}, {"NaN first", nan_first},
};

static void test_rows_are_those_of_a_sort(void **state) {
  (void)state;
  static const struct {
    int64_t n, k;
  } sizes[] = {{1, 1},  {8, 2},    {255, 1},  {256, 1},  {257, 32},   {511, 33},   {1024, 20},  {1024, 1024},
               {64, 8}, {256, 16}, {257, 16}, {255, 17}, {5000, 512}, {5000, 513}, {4099, 100}, {5000, 0}};
  float *x = malloc(ROWS * MOST * sizeof *x);
  assert_non_null(x);
  for (size_t f = 0; f < OX_COUNT(fillings); f++) {
    for (int64_t i = 0; i < ROWS * MOST; i++) x[i] = fillings[f].value(i);
    for (size_t s = 0; s < OX_COUNT(sizes); s++)
      for (int largest = 0; largest < 2; largest++)
        check_rows(ROWS, sizes[s].n, sizes[s].k, largest, x, fillings[f].name);
  }
  free(x);
}

/* The same elements along another axis, in slices of |inner| columns: as many as become rows at a time, fewer, more. */
static void check_columns(int64_t n, int64_t inner, int64_t k, int largest, const float *rows, const char *what) {
  enum { SLICES = 2 };
  float *x = malloc((size_t)(SLICES * n * inner) * sizeof *x);
  int64_t *order = malloc((size_t)n * sizeof *order);
  assert_true(x && order);
  for (int64_t i = 0; i < SLICES * n * inner; i++)
    x[i] = rows[(i / (n * inner) * inner + i % inner) * n + i / inner % n]; /* column j of a slice is row j of |rows| */
  one_node node;
  one_node_init(&node, "", "TopK", 11, 2);
  one_node_int(&node, "largest", largest), one_node_int(&node, "axis", 1);
  one_node_input(&node, OX_F32, 3, (const int64_t[]){SLICES, n, inner}, x);
  one_node_const(&node, OX_I64, 1, (const int64_t[]){1}, &k);
  CHECK_OK(one_node_run(&node));
  for (int64_t r = 0; r < SLICES * inner; r++) {
    for (int64_t i = 0; i < n; i++) order[i] = i;
    sorted_row = rows + r * n, sorted_largest = largest;
    qsort(order, (size_t)n, sizeof *order, compare);
    for (int64_t i = 0; i < k; i++) {
      int64_t at = (r / inner * k + i) * inner + r % inner;
      float v = ((const float *)node.out[0].data)[at], want = sorted_row[order[i]];
      if (((const int64_t *)node.out[1].data)[at] != order[i] || (v != want && !(isnan(v) && isnan(want))))
        fail_msg("%s, %d of %d, largest %d, column %d of %d, place %d", what, (int)k, (int)n, largest, (int)r,
                 (int)inner, (int)i);
    }
  }
  one_node_deinit(&node);
  free(x), free(order);
}

static void test_columns(void **state) {
  (void)state;
  static const struct {
    int64_t n, inner, k;
  } sizes[] = {{1, 3, 1}, {9, 16, 4}, {300, 17, 5}, {300, 33, 200}, {400, 2, 30}};
  enum { ALL = 2 * 300 * 33 };
  float *x = malloc(ALL * sizeof *x);
  assert_non_null(x);
  for (size_t f = 0; f < OX_COUNT(fillings); f++) {
    for (int64_t i = 0; i < ALL; i++) x[i] = fillings[f].value(i);
    for (size_t s = 0; s < OX_COUNT(sizes); s++)
      for (int largest = 0; largest < 2; largest++)
        check_columns(sizes[s].n, sizes[s].inner, sizes[s].k, largest, x, fillings[f].name);
  }
  free(x);
}

/* ---- other types ---- */

static const ox_tensor *sorted_tensor;
static int64_t sorted_base, sorted_pitch;

static int order_of(int64_t i, int64_t j) {
  size_t a = (size_t)(sorted_base + i * sorted_pitch), b = (size_t)(sorted_base + j * sorted_pitch);
  const ox_convert *cv = ox_convert_select(0);
  uint32_t t = sorted_tensor->dtype;
  if (ox_dtype_is_float(t)) {
    double x, y;
    cv->load_f64[t](sorted_tensor->data, a, 1, &x), cv->load_f64[t](sorted_tensor->data, b, 1, &y);
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
  }
  int64_t x, y;
  cv->load_i64[t](sorted_tensor->data, a, 1, &x), cv->load_i64[t](sorted_tensor->data, b, 1, &y);
  if (t == OX_U64) return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
  return (x > y) - (x < y);
}

static int compare_typed(const void *pa, const void *pb) {
  int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
  int order = order_of(a, b);
  if (order) return sorted_largest ? -order : order;
  return (a > b) - (a < b);
}

static void check_typed(uint32_t dtype, int64_t n, int64_t inner, int64_t k, int largest, const void *data,
                        const char *what) {
  one_node node;
  int64_t *order = malloc((size_t)n * sizeof *order);
  size_t size = ox_dtype_bits(dtype) / 8;
  assert_non_null(order);
  one_node_init(&node, "", "TopK", 11, 2);
  one_node_int(&node, "largest", largest), one_node_int(&node, "axis", 0);
  one_node_input(&node, dtype, 2, (const int64_t[]){n, inner}, data);
  one_node_const(&node, OX_I64, 1, (const int64_t[]){1}, &k);
  CHECK_OK(one_node_run(&node));
  sorted_tensor = &node.in[0], sorted_pitch = inner, sorted_largest = largest;
  for (sorted_base = 0; sorted_base < inner; sorted_base++) {
    for (int64_t i = 0; i < n; i++) order[i] = i;
    qsort(order, (size_t)n, sizeof *order, compare_typed);
    for (int64_t i = 0; i < k; i++) {
      int64_t to = sorted_base + i * inner, at = ((const int64_t *)node.out[1].data)[to];
      size_t from = (size_t)(sorted_base + order[i] * inner);
      if (at != order[i] ||
          memcmp((const char *)node.out[0].data + (size_t)to * size, (const char *)data + from * size, size) != 0)
        fail_msg("%s of %s, %d of %d by %d, largest %d, place %d: element %d, not %d", what, ox_dtype_name(dtype),
                 (int)k, (int)n, (int)inner, largest, (int)i, (int)at, (int)order[i]);
    }
  }
  one_node_deinit(&node);
  free(order);
}

static void test_other_types(void **state) {
  (void)state;
  enum { SIZE = 5000 };
  static const uint32_t types[] = {OX_F64, OX_F16, OX_BF16, OX_I8,  OX_U8, OX_I16,
                                   OX_U16, OX_I32, OX_U32,  OX_I64, OX_U64};
  static const struct {
    int64_t n, inner, k;
  } sizes[] = {{1, 1, 1},   {33, 1, 3},   {255, 1, 200}, {300, 1, 7},    {300, 1, 40},
               {300, 5, 7}, {300, 5, 99}, {1000, 4, 64}, {5000, 1, 700}, {4999, 1, 20}};
  static double data[SIZE];
  const ox_convert *cv = ox_convert_select(0);
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (size_t f = 0; f < OX_COUNT(fillings); f++) {
      for (int64_t i = 0; i < SIZE; i++) {
        double v = (double)fillings[f].value(i);
        int64_t whole =
            fillings[f].value == huge ? (i % 2 ? INT64_MAX - i % 100 : INT64_MIN + i % 77) : ox_f64_to_i64(v);
        if (ox_dtype_is_float(types[t]))
          cv->store_f64[types[t]](&v, data, (size_t)i, 1, NULL);
        else
          cv->store_i64[types[t]](&whole, data, (size_t)i, 1, NULL);
      }
      for (size_t s = 0; s < OX_COUNT(sizes); s++)
        for (int largest = 0; largest < 2; largest++)
          check_typed(types[t], sizes[s].n, sizes[s].inner, sizes[s].k, largest, data, fillings[f].name);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_those_of_a_sort), cmocka_unit_test(test_columns),
                                     cmocka_unit_test(test_other_types)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
