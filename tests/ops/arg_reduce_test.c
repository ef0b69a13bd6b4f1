/* SPDX-License-Identifier: Apache-2.0
 * ops/arg_reduce_test.c - ArgMax and ArgMin along every axis, against a loop over the elements: ties, NaN, infinities,
 * columns of any number, at every level. */
#include <math.h>
#include <stdlib.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { MOST = 3 * 21 * 150 };

static float value_of(int filling, int64_t i) {
  switch (filling) {
    case 0:
      return (float)(i * 7919 % 10007) - 5000;
    case 1: /* ties */
      return (float)(i * 31 % 3);
    case 2:
      return i * 37 % 11 == 3 ? NAN : (float)(i * 7919 % 101);
    case 3:
      return i % 7 ? (i % 3 ? -INFINITY : 1.0f) : INFINITY;
    default:
      return i % 2 ? 0.0f : -0.0f;
  }
}

static int64_t wanted(const float *x, int64_t n, int64_t step, bool smallest, bool last) {
  int64_t at = 0;
  for (int64_t r = 1; r < n; r++) {
    float v = x[r * step], b = x[at * step];
    bool better = smallest ? v < b : v > b, equal = v == b || (isnan(v) && isnan(b));
    if ((isnan(v) && !isnan(b)) || (!isnan(b) && better) || (equal && last)) at = r;
  }
  return at;
}

static void check(size_t level, const int64_t *dims, int axis, bool smallest, bool last, const float *x, int filling) {
  one_node n;
  int64_t inner = 1, outer = 1;
  for (int d = 0; d < 3; d++) *(d < axis ? &outer : &inner) *= d == axis ? 1 : dims[d];
  one_node_init(&n, "", smallest ? "ArgMin" : "ArgMax", 13, 1);
  n.isa = test_levels[level].have;
  one_node_int(&n, "axis", axis), one_node_int(&n, "select_last_index", last);
  one_node_input(&n, OX_F32, 3, dims, x);
  CHECK_OK(one_node_run(&n));
  for (int64_t o = 0; o < outer * inner; o++) {
    int64_t want = wanted(x + o / inner * dims[axis] * inner + o % inner, dims[axis], inner, smallest, last);
    int64_t got = ((const int64_t *)n.out[0].data)[o];
    if (got != want)
      fail_msg("%s, filling %d, axis %d, smallest %d, last %d, output %d: %d, not %d", test_levels[level].name, filling,
               axis, smallest, last, (int)o, (int)got, (int)want);
  }
  one_node_deinit(&n);
}

static void test_every_axis(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{3, 21, 150}, {2, 1, 7}, {1, 5, 1}, {2, 19, 64}, {1, 2, 65}, {3, 4, 16}};
  float *x = malloc(MOST * sizeof *x);
  assert_non_null(x);
  for (size_t l = 0; level_next(&l); l++)
    for (int filling = 0; filling < 5; filling++) {
      for (int64_t i = 0; i < MOST; i++) x[i] = value_of(filling, i);
      for (size_t s = 0; s < OX_COUNT(shapes); s++)
        for (int k = 0; k < 12; k++) check(l, shapes[s], k / 4, k & 1, k & 2, x, filling);
    }
  free(x);
}

/* Rows of other types, whose blocks have ends of their own; ends of the ranges, and order without a sign. */
static void test_rows_of_other_types(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F64, OX_F16, OX_U8, OX_I8, OX_I32, OX_I64, OX_U64, OX_I16};
  static const int64_t lengths[] = {1, 2, 7, 16, 33, 64, 65, 511, 512, 513, 1300};
  enum { ROWS = 35, LONGEST = 1300 };
  static uint64_t x[ROWS * LONGEST];
  static float seen[ROWS * LONGEST];
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (size_t s = 0; s < OX_COUNT(lengths); s++)
        for (int k = 0; k < 4; k++) {
          const ox_convert *cv = ox_convert_select(test_levels[l].have);
          for (size_t i = 0; i < ROWS * LONGEST; i++) {
            float v =
                types[t] == OX_F64 ? value_of(2, (int64_t)i) : (float)(i * 37 % 101) - (types[t] == OX_U8 ? 0 : 50);
            cv->store_f32[types[t]](&v, x, i, 1, NULL), seen[i] = v;
            if (types[t] == OX_U64 && v < 0) seen[i] = v + 0x1p20f; /* beyond the others */
          }
          one_node n;
          one_node_init(&n, "", k & 1 ? "ArgMin" : "ArgMax", 13, 1);
          n.isa = test_levels[l].have;
          one_node_int(&n, "axis", -1), one_node_int(&n, "select_last_index", k / 2);
          one_node_input(&n, types[t], 2, (const int64_t[]){ROWS, lengths[s]}, x);
          CHECK_OK(one_node_run(&n));
          for (int64_t r = 0; r < ROWS; r++)
            if (((const int64_t *)n.out[0].data)[r] != wanted(seen + r * lengths[s], lengths[s], 1, k & 1, k / 2))
              fail_msg("%s, type %u, %d elements, case %d", test_levels[l].name, types[t], (int)lengths[s], k);
          one_node_deinit(&n);
        }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_axis), cmocka_unit_test(test_rows_of_other_types)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
