/* SPDX-License-Identifier: Apache-2.0
 * ops/softmax_test.c - along every axis against a loop over the elements: ties, NaN, infinities, in place or not, all
 * levels. Rows and columns of Softmax themselves: kern/softmax_test.c. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

static double value_of(int filling, int64_t i) {
  switch (filling) {
    case 0:
      return (double)(i * 7919 % 1009) - 500;
    case 1:
      return (double)(i * 31 % 3);
    case 2:
      return i * 37 % 11 == 3 ? NAN : (double)(i * 7919 % 101);
    default:
      return i % 7 ? -INFINITY : i % 2;
  }
}

static void check(size_t level, uint32_t dtype, const int64_t *dims, int axis, int filling) {
  enum { MOST = 2 * 70 * 100 };
  static uint64_t x[MOST];
  static double seen[MOST];
  const ox_convert *cv = ox_convert_select(test_levels[level].have);
  int64_t outer = 1, inner = 1, n = dims[axis];
  for (int d = 0; d < 3; d++) *(d < axis ? &outer : &inner) *= d == axis ? 1 : dims[d];
  for (int64_t i = 0; i < outer * n * inner; i++)
    seen[i] = value_of(filling, i), cv->store_f64[dtype](&seen[i], x, (size_t)i, 1, NULL);
  one_node node;
  one_node_init(&node, "", "Hardmax", 13, 1);
  node.isa = test_levels[level].have;
  one_node_int(&node, "axis", axis);
  one_node_input(&node, dtype, 3, dims, x);
  CHECK_OK(one_node_run(&node));
  for (int64_t o = 0; o < outer * inner; o++) {
    const double *column = seen + o / inner * n * inner + o % inner;
    int64_t best = 0;
    for (int64_t r = 1; r < n; r++) {
      double v = column[r * inner], b = column[best * inner];
      if (v > b || (isnan(v) && !isnan(b))) best = r;
    }
    for (int64_t r = 0; r < n; r++) {
      double got;
      cv->load_f64[dtype](node.out[0].data, (size_t)(o / inner * n * inner + r * inner + o % inner), 1, &got);
      if (got != (r == best))
        fail_msg("%s, type %u, axis %d of %d, filling %d, column %d, row %d: %g", test_levels[level].name, dtype, axis,
                 (int)n, filling, (int)o, (int)r, got);
    }
  }
  one_node_deinit(&node);
}

static void test_hardmax(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
  static const int64_t shapes[][3] = {{1, 1, 1},  {2, 3, 10}, {2, 70, 100}, {2, 5, 33},
                                      {3, 64, 1}, {2, 70, 4}, {70, 2, 65},  {65, 9, 2}};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t s = 0; s < OX_COUNT(shapes); s++)
      for (int k = 0; k < 12; k++)
        for (size_t t = 0; t < OX_COUNT(types); t++) check(l, types[t], shapes[s], k / 4, k % 4);
}

/* Every way to get at the columns: narrow and wide, short and long, of one slice and of many. */
static void check_softmax(size_t level, uint32_t dtype, const int64_t *dims, bool is_log) {
  enum { MOST = 1 << 17 };
  static uint64_t x[MOST], y[MOST];
  static double seen[MOST];
  const ox_convert *cv = ox_convert_select(0);
  int64_t n = dims[1], inner = dims[2], count = dims[0] * n * inner;
  assert_true(count <= MOST);
  for (int64_t i = 0; i < count; i++) {
    double v = i == 5 ? NAN : i == 11 ? -INFINITY : (double)(i * 7919 % 1009) / 50 - 10;
    cv->store_f64[dtype](&v, x, (size_t)i, 1, NULL), cv->load_f64[dtype](x, (size_t)i, 1, &seen[i]);
  }
  one_node node;
  one_node_init(&node, "", is_log ? "LogSoftmax" : "Softmax", 13, 1);
  node.isa = test_levels[level].have, node.run_tiles = 1;
  one_node_int(&node, "axis", 1);
  one_node_input(&node, dtype, 3, dims, x);
  CHECK_OK(one_node_run(&node));
  memcpy(y, node.out[0].data, (size_t)count * ox_dtype_bits(dtype) / 8);
  double least = dtype == OX_F16 ? 0x1p-14 : 0; /* below it, halves are denormal */
  double most = dtype == OX_F64 ? 1e-14 : dtype == OX_F32 ? 3e-6 : 2e-3;
  for (int64_t o = 0; o < dims[0] * inner; o++) {
    const double *column = seen + o / inner * n * inner + o % inner;
    double high = -INFINITY, sum = 0, got;
    for (int64_t r = 0; r < n; r++) high = fmax(high, column[r * inner]);
    for (int64_t r = 0; r < n; r++) sum += exp(column[r * inner] - high);
    for (int64_t r = 0; r < n; r++) {
      double off = column[r * inner] - high, want = is_log ? off - log(sum) : exp(off) / sum;
      cv->load_f64[dtype](y, (size_t)(o / inner * n * inner + r * inner + o % inner), 1, &got);
      if (!(got == want) && !(isnan(want) && isnan(got)) &&
          !(fabs(got - want) <= most * fmax(fabs(want), is_log ? 1 : least)))
        fail_msg("%s, type %u, [%d, %d, %d], log %d: column %d, row %d is %.9g, wanted %.9g", test_levels[level].name,
                 dtype, (int)dims[0], (int)n, (int)inner, is_log, (int)o, (int)r, got, want);
    }
  }
  one_node_deinit(&node);
}

static void test_softmax(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16};
  static const int64_t outers[] = {1, 2, 9, 70}, lengths[] = {1, 2, 3, 15, 16, 17, 100},
                       inners[] = {1, 2, 3, 5, 8, 9, 17};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (size_t o = 0; o < OX_COUNT(outers); o++)
        for (size_t n = 0; n < OX_COUNT(lengths); n++)
          for (size_t i = 0; i < OX_COUNT(inners); i++)
            for (int is_log = 0; is_log < 2; is_log++)
              check_softmax(l, types[t], (int64_t[]){outers[o], lengths[n], inners[i]}, is_log);
  for (size_t l = 0; level_next(&l); l++) check_softmax(l, OX_F32, (int64_t[]){1, 20000, 5}, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_hardmax), cmocka_unit_test(test_softmax)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
