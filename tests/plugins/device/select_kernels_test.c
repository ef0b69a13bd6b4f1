/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/select_kernels_test.c - the kernels of ArgMax, TopK, CumSum, Trilu, OneHot and of scatters with a
 * reduction beside plain loops, NaN and equal elements among them. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/move_params.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/select_params.h"
#include "support/check.h"

KERNEL_OF(arg_items);
KERNEL_OF(arg_rows);
KERNEL_OF(topk);
KERNEL_OF(cumulate_items);
KERNEL_OF(cumulate_rows);
KERNEL_OF(cumulate_items_int);
KERNEL_OF(cumulate_rows_long);
KERNEL_OF(triangle1);
KERNEL_OF(triangle8);
KERNEL_OF(one_hot4);
KERNEL_OF(scatter_elements_reduce);
KERNEL_OF(scatter_nd_reduce);

static const int lengths[] = {1, 2, 3, 64, 127, 128, 129, 257, 700};
static const float specials[] = {0, NAN, INFINITY, -INFINITY};

static int element(int row, int i, int n, int inner) { return row / inner * n * inner + row % inner + i * inner; }

static numbers rows_make(int rows, int n, int half, float special) {
  numbers x = numbers_make(rows * n, half, 1);
  if (special != 0) number_set(&x, rows * n / 2, special), number_set(&x, rows * n - 1, special);
  return x;
}

/* ---- ArgMax, ArgMin ---- */

/* NaN before all others. */
static bool before(float a, float b, int smallest) {
  if (isnan(a) || isnan(b)) return isnan(a) && !isnan(b);
  return smallest ? a < b : a > b;
}

static void check_arg(int n, int inner, int form, float special) {
  int rows = 2 * inner, half = form & 1, by_rows = form >> 3;
  arg_params p = {.rows = rows, .n = n, .inner = inner, .smallest = form >> 1 & 1, .last = form >> 2 & 1};
  numbers x = rows_make(rows, n, half, special);
  int64_t *y = malloc((size_t)rows * sizeof *y);
  kernel_fn *fn = by_rows ? half ? arg_rows_f16 : arg_rows_f32 : half ? arg_items_f16 : arg_items_f32;
  run_groups(fn, by_rows ? rows : 1, (void *[]){x.data, y}, &p);
  for (int row = 0; row < rows; row++) {
    int best = 0;
    for (int i = 1; i < n; i++) {
      float v = number_at(&x, element(row, i, n, inner)), b = number_at(&x, element(row, best, n, inner));
      if (before(v, b, p.smallest) || (p.last && !before(b, v, p.smallest))) best = i;
    }
    if (y[row] != best)
      fail_msg("arg of %d, inner %d, form %d: row %d is %d, wanted %d", n, inner, form, row, (int)y[row], best);
  }
  free(x.data), free(y);
}

static void test_arg(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(lengths); i++)
    for (size_t s = 0; s < OX_COUNT(specials); s++)
      for (int form = 0; form < 16; form++)
        check_arg(lengths[i], 1, form, specials[s]), check_arg(lengths[i], 3, form, specials[s]);
}

/* ---- TopK ---- */

/* Of two places of a row: the larger (smaller) first, NaN above infinity, then the first. */
static const numbers *sorted;
static int sorted_smallest, sorted_first, sorted_inner;
static int by_rank(const void *a, const void *b) {
  int i = *(const int *)a, j = *(const int *)b;
  float u = number_at(sorted, sorted_first + i * sorted_inner), v = number_at(sorted, sorted_first + j * sorted_inner);
  int up = isnan(u) || isnan(v) ? isnan(u) - isnan(v) : (u > v) - (u < v);
  if (sorted_smallest) up = -up;
  return up ? -up : (i > j) - (i < j);
}

static void check_topk(int n, int inner, int k, int form, float special) {
  int rows = 2 * inner, half = form & 1;
  topk_params p = {.rows = rows, .n = n, .inner = inner, .k = k, .size = 2, .smallest = form >> 1};
  while (p.size < n && p.size < TOPK_SIZE) p.size *= 2;
  numbers x = rows_make(rows, n, half, special), y = numbers_make(rows * k, half, 2);
  int64_t *at = malloc((size_t)(rows * k) * sizeof *at);
  int *order = malloc((size_t)n * sizeof *order);
  run_groups(half ? topk_f16 : topk_f32, rows, (void *[]){x.data, y.data, at}, &p);
  for (int row = 0; row < rows; row++) {
    for (int i = 0; i < n; i++) order[i] = i;
    sorted = &x, sorted_smallest = p.smallest, sorted_first = element(row, 0, n, inner), sorted_inner = inner;
    qsort(order, (size_t)n, sizeof *order, by_rank);
    for (int i = 0; i < k; i++) {
      int to = element(row, i, k, inner);
      float wanted = number_at(&x, element(row, order[i], n, inner)), got = number_at(&y, to);
      if (at[to] != order[i] || !(got == wanted || (isnan(got) && isnan(wanted))))
        fail_msg("%d of %d, inner %d, form %d: row %d, %d is %g at %d, wanted %g at %d", k, n, inner, form, row, i,
                 (double)got, (int)at[to], (double)wanted, order[i]);
    }
  }
  free(x.data), free(y.data), free(at), free(order);
}

static void test_topk(void **state) {
  (void)state;
  static const int sizes[][2] = {{1, 1}, {2, 1}, {5, 5}, {100, 7}, {2048, 2048}, {2049, 1024}, {3072, 3}, {5000, 1024}};
  for (size_t i = 0; i < OX_COUNT(sizes); i++)
    for (int form = 0; form < 4; form++)
      for (size_t s = 0; s < 2; s++) {
        check_topk(sizes[i][0], 1, sizes[i][1], form, specials[s]);
        check_topk(sizes[i][0], 3, sizes[i][1], form, specials[s]);
      }
}

/* ---- CumSum ---- */

static void check_cumulate(int n, int inner, int form) {
  int rows = 3 * inner, half = form & 1, by_rows = form >> 3;
  cumulate_params p = {.rows = rows, .n = n, .inner = inner, .exclusive = form >> 1 & 1, .reverse = form >> 2 & 1};
  numbers x = numbers_make(rows * n, half, 1), y = numbers_make(rows * n, half, 2);
  int *i32 = malloc((size_t)(rows * n) * 4), *o32 = malloc((size_t)(rows * n) * 4);
  int64_t *i64 = malloc((size_t)(rows * n) * 8), *o64 = malloc((size_t)(rows * n) * 8);
  for (int i = 0; i < rows * n; i++) i32[i] = i * 7919 % 1000 - 500, i64[i] = i32[i] * ((int64_t)1 << 33);
  kernel_fn *fn = by_rows ? half ? cumulate_rows_f16 : cumulate_rows_f32
                  : half  ? cumulate_items_f16
                          : cumulate_items_f32;
  run_groups(fn, by_rows ? rows : 1, (void *[]){x.data, y.data}, &p);
  run_groups(cumulate_items_int_f32, 1, (void *[]){i32, o32}, &p);
  run_groups(cumulate_rows_long_f32, rows, (void *[]){i64, o64}, &p);
  for (int row = 0; row < rows; row++) {
    double sum = 0;
    int64_t whole = 0;
    for (int j = 0; j < n; j++) {
      int at = element(row, p.reverse ? n - 1 - j : j, n, inner);
      double next = sum + (double)number_at(&x, at), wanted = p.exclusive ? sum : next;
      int64_t of = p.exclusive ? whole : whole + i32[at];
      if (fabs((double)number_at(&y, at) - wanted) > (half ? 1e-3 * fabs(wanted) : 0) || o32[at] != of ||
          o64[at] != of * ((int64_t)1 << 33))
        fail_msg("sums of %d, inner %d, form %d: row %d, %d is %g, %d, wanted %g, %d", n, inner, form, row, j,
                 (double)number_at(&y, at), o32[at], wanted, (int)of);
      sum = next, whole += i32[at];
    }
  }
  free(x.data), free(y.data), free(i32), free(o32), free(i64), free(o64);
}

static void test_cumulate(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(lengths); i++)
    for (int form = 0; form < 16; form++) check_cumulate(lengths[i], 1, form), check_cumulate(lengths[i], 4, form);
}

/* ---- Trilu, OneHot ---- */

static void test_triangles(void **state) {
  (void)state;
  for (int k = -5; k <= 6; k++)
    for (int upper = 0; upper < 2; upper++) {
      unsigned char x[40], y[40];
      int64_t wide[40], out[40];
      triangle_params p = {.n = 40, .rows = 4, .columns = 5, .k = k, .upper = upper};
      for (int i = 0; i < 40; i++) x[i] = (unsigned char)(i + 1), wide[i] = -i - 1;
      run_groups(triangle1_f32, 1, (void *[]){x, y}, &p);
      run_groups(triangle8_f32, 1, (void *[]){wide, out}, &p);
      for (int i = 0; i < 40; i++) {
        int row = i / 5 % 4, column = i % 5;
        bool stays = upper ? column - row >= k : column - row <= k;
        if (y[i] != (stays ? x[i] : 0) || out[i] != (stays ? wide[i] : 0))
          fail_msg("k %d, upper %d: element %d", k, upper, i);
      }
    }
}

static void test_one_hot(void **state) {
  (void)state;
  const int values[2] = {3, -4}, narrow[6] = {0, 1, 4, -1, -5, 7};
  int64_t wide[6];
  for (int i = 0; i < 6; i++) wide[i] = narrow[i];
  for (int inner = 1; inner <= 3; inner += 2)
    for (int form = 0; form < 2; form++) {
      int y[30];
      one_hot_params p = {.n = 30, .depth = 5, .inner = inner, .wide = form};
      run_groups(one_hot4_f32, 1, (void *[]){form ? (void *)wide : (void *)narrow, (void *)values, y}, &p);
      for (int i = 0; i < 30; i++) {
        int hot = narrow[i / inner / 5 * inner + i % inner];
        int wanted = values[(hot < 0 ? hot + 5 : hot) == i / inner % 5];
        if (y[i] != wanted) fail_msg("inner %d, wide %d: element %d is %d, wanted %d", inner, form, i, y[i], wanted);
      }
    }
}

/* ---- scatters ---- */

static double reduced(int op, double v, double u) {
  if (isnan(v) || isnan(u)) return NAN;
  return op == SCATTER_ADD ? v + u : op == SCATTER_MUL ? v * u : op == SCATTER_MIN ? fmin(v, u) : fmax(v, u);
}

static void compare(const char *what, int op, int half, const numbers *y, const double *wanted) {
  for (int i = 0; i < y->n; i++) {
    double got = (double)number_at(y, i), tolerance = half ? fabs(wanted[i]) / 200 + 0.01 : 1e-5 * fabs(wanted[i]);
    if (isnan(wanted[i]) ? !isnan(got) : !(fabs(got - wanted[i]) <= tolerance))
      fail_msg("%s, op %d, half %d: element %d is %g, wanted %g", what, op, half, i, got, wanted[i]);
  }
}

/* Indices [2, 5, 3] along |axis| of data [3, 6, 4]. */
static void check_elements(int op, int axis, int half, float special) {
  static const int size[3] = {2, 5, 3}, stride[3] = {24, 4, 1}, sizes[3] = {3, 6, 4};
  numbers y = numbers_make(72, half, 1), u = numbers_make(30, half, 2);
  int64_t index[30];
  double wanted[72];
  scatter_elements_params p = {.op = op, .of = {.n = 30, .wide = 1, .axis = 5 + axis, .axis_size = sizes[axis]}};
  for (int d = 0; d < MOVE_DIMS; d++)
    p.of.size[d] = d < 5 ? 1 : size[d - 5], p.of.stride[d] = d < 5 ? 0 : stride[d - 5];
  p.lanes = 30 / size[axis];
  if (special != 0) number_set(&u, 7, special);
  for (int i = 0; i < 30; i++) index[i] = i * 5 % 2 - (i % 4 == 0); /* many meet; some count from the end */
  for (int i = 0; i < 72; i++) wanted[i] = (double)number_at(&y, i);
  for (int i = 0; i < 30; i++) {
    int at[3] = {i / 15, i / 3 % 5, i % 3};
    at[axis] = (int)(index[i] < 0 ? index[i] + sizes[axis] : index[i]);
    double *v = &wanted[at[0] * 24 + at[1] * 4 + at[2]];
    *v = reduced(op, *v, (double)number_at(&u, i));
  }
  run_groups(half ? scatter_elements_reduce_f16 : scatter_elements_reduce_f32, 1, (void *[]){u.data, index, y.data},
             &p);
  compare("elements", op, half, &y, wanted);
  free(y.data), free(u.data);
}

/* Seven tuples of two for slices of |inner| of data [3, 2, inner]. */
static void check_tuples(int op, int inner, int half, float special) {
  numbers y = numbers_make(6 * inner, half, 1), u = numbers_make(7 * inner, half, 2);
  const int index[14] = {0, 1, 2, 0, 0, 1, 0, -1, 1, 1, -3, 1, 2, 0};
  double *wanted = malloc((size_t)(6 * inner) * sizeof *wanted);
  scatter_nd_params p = {.op = op, .tuples = 7, .of = {.n = 7 * inner, .k = 2, .inner = inner, .size = {3, 2}}};
  if (special != 0) number_set(&u, inner, special);
  for (int i = 0; i < 6 * inner; i++) wanted[i] = (double)number_at(&y, i);
  for (int i = 0; i < 7 * inner; i++) {
    int t = i / inner, a = index[2 * t], b = index[2 * t + 1];
    double *v = &wanted[((a < 0 ? a + 3 : a) * 2 + (b < 0 ? b + 2 : b)) * inner + i % inner];
    *v = reduced(op, *v, (double)number_at(&u, i));
  }
  run_groups(half ? scatter_nd_reduce_f16 : scatter_nd_reduce_f32, OX_CEIL_DIV(inner, 256),
             (void *[]){u.data, (void *)index, y.data}, &p);
  compare("tuples", op, half, &y, wanted);
  free(y.data), free(u.data), free(wanted);
}

static void test_scatters(void **state) {
  (void)state;
  for (int op = SCATTER_ADD; op <= SCATTER_MAX; op++)
    for (int half = 0; half < 2; half++)
      for (size_t s = 0; s < 2; s++) {
        for (int axis = 0; axis < 3; axis++) check_elements(op, axis, half, specials[s]);
        check_tuples(op, 1, half, specials[s]), check_tuples(op, 300, half, specials[s]);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_arg),      cmocka_unit_test(test_topk),
                                     cmocka_unit_test(test_cumulate), cmocka_unit_test(test_triangles),
                                     cmocka_unit_test(test_one_hot),  cmocka_unit_test(test_scatters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
