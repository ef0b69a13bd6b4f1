/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/core/tail_test.c - operands whose place is a division and a remainder: as broadcasting has it. */
#include "plugins/device/tail.h"

#include "base/macros.h"
#include "support/check.h"

static const struct {
  ox_shape o, y;
  int div, mod; /* 0: takes more than these two */
} rows[] = {
    {{0, {0}}, {0, {0}}, 1, 1},
    {{0, {0}}, {3, {2, 3, 4}}, 1, 1},
    {{1, {4}}, {3, {2, 3, 4}}, 1, 4},
    {{1, {1}}, {3, {2, 3, 4}}, 1, 1},
    {{3, {2, 3, 4}}, {3, {2, 3, 4}}, 1, 24},
    {{3, {1, 3, 1}}, {3, {2, 3, 4}}, 4, 3},
    {{2, {3, 1}}, {3, {2, 3, 4}}, 4, 3},
    {{3, {2, 1, 1}}, {3, {2, 3, 4}}, 12, 2},
    {{3, {2, 3, 1}}, {3, {2, 3, 4}}, 4, 6},
    {{3, {1, 3, 4}}, {3, {2, 3, 4}}, 1, 12},
    {{3, {2, 1, 4}}, {3, {2, 3, 4}}, 0, 0},
    {{4, {1, 2, 3, 4}}, {3, {2, 3, 4}}, 0, 0},
    {{4, {1, 8, 1, 1}}, {4, {5, 8, 7, 7}}, 49, 8},
    {{4, {5, 8, 1, 1}}, {4, {5, 8, 7, 7}}, 49, 40},
};

static void test_places(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    tail_step s = {0};
    bool fits = dev_tail_place(&rows[i].o, &rows[i].y, &s);
    if (fits != (rows[i].mod != 0)) fail_msg("row %zu: %d", i, fits);
    if (!fits) continue;
    int64_t n = 1, stride[4], at_stride = 1;
    for (int d = rows[i].y.rank - 1; d >= 0; d--) {
      int k = d - (rows[i].y.rank - rows[i].o.rank);
      int64_t dim = k >= 0 ? rows[i].o.dim[k] : 1;
      stride[d] = dim == 1 ? 0 : at_stride;
      at_stride *= dim, n *= rows[i].y.dim[d];
    }
    for (int64_t e = 0; e < n; e++) {
      int64_t left = e, at = 0;
      for (int d = rows[i].y.rank - 1; d >= 0; d--) at += left % rows[i].y.dim[d] * stride[d], left /= rows[i].y.dim[d];
      if (e / s.div % s.mod != at) fail_msg("row %zu, element %d", i, (int)e);
    }
    assert_int_equal(s.mod, rows[i].mod);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
