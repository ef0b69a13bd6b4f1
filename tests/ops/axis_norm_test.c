/* SPDX-License-Identifier: Apache-2.0
 * ops/axis_norm_test.c - LpNormalization along every axis, of floats and doubles, against loops over coordinates; what
 * is all zeros stays so. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

enum { MOST = 8192 };

static void check(uint32_t dtype, int rank, const int64_t *dims, int axis, int power, int64_t tiles) {
  static float x32[MOST];
  static double x64[MOST];
  int64_t outer = 1, inner = 1, n = dims[axis];
  for (int d = 0; d < rank; d++) *(d < axis ? &outer : &inner) *= d == axis ? 1 : dims[d];
  for (int64_t i = 0; i < outer * n * inner; i++) {
    bool zero = i / inner / n == 0 && i % inner == 1;
    x32[i] = zero ? 0 : (float)(sin((double)i * 1.7) * 3), x64[i] = (double)x32[i];
  }
  one_node t;
  one_node_init(&t, "", "LpNormalization", 22, 1);
  t.run_tiles = tiles;
  one_node_int(&t, "axis", axis - (power == 1 ? rank : 0)), one_node_int(&t, "p", power);
  one_node_input(&t, dtype, rank, dims, dtype == OX_F32 ? (void *)x32 : x64);
  CHECK_OK(one_node_run(&t));
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++) {
      double norm = 0;
      for (int64_t k = 0; k < n; k++) {
        double v = x64[(o * n + k) * inner + i];
        norm += power == 1 ? fabs(v) : v * v;
      }
      if (power == 2) norm = sqrt(norm);
      for (int64_t k = 0; k < n; k++) {
        int64_t at = (o * n + k) * inner + i;
        double got = dtype == OX_F32 ? (double)((const float *)t.out[0].data)[at] : ((const double *)t.out[0].data)[at];
        double want = norm == 0 ? 0 : x64[at] / norm;
        if (!(fabs(got - want) <= (dtype == OX_F32 ? 5e-7 : 1e-14) * fabs(want)))
          fail_msg("type %u, axis %d of %d, p %d: [%d] is %.9g, wanted %.9g", dtype, axis, rank, power, (int)at, got,
                   want);
      }
    }
  one_node_deinit(&t);
}

static void test_every_axis(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t dims[4];
  } shapes[] = {{1, {7}},          {2, {3, 5}},        {2, {70, 3}},       {2, {3, 70}},
                {3, {2, 100, 17}}, {4, {2, 9, 5, 33}}, {4, {3, 4, 1, 90}}, {2, {1, 1}}};
  for (size_t s = 0; s < OX_COUNT(shapes); s++)
    for (int axis = 0; axis < shapes[s].rank; axis++)
      for (int how = 0; how < 8; how++)
        check(how & 1 ? OX_F64 : OX_F32, shapes[s].rank, shapes[s].dims, axis, how & 2 ? 1 : 2, how >> 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_axis)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
