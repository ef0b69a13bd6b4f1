/* SPDX-License-Identifier: Apache-2.0
 * ops/softmax_test.c - Hardmax along every axis against a loop over the elements: ties, NaN, infinities, in place or
 * not, all levels. Softmax itself: kern/softmax_test.c. */
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
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16};
  static const int64_t shapes[][3] = {{1, 1, 1}, {2, 3, 10}, {2, 70, 100}, {2, 5, 33}, {3, 64, 1}};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t s = 0; s < OX_COUNT(shapes); s++)
      for (int k = 0; k < 12; k++)
        for (size_t t = 0; t < OX_COUNT(types); t++) check(l, types[t], shapes[s], k / 4, k % 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_hardmax)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
