/* SPDX-License-Identifier: Apache-2.0
 * ops/unary_bits_test.c - IsNaN and IsInf against C's own, of numbers at all borders, in every width. */
#include <math.h>
#include <stdlib.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

static const double numbers[] = {0,   -0.0, 1,        -1,        65504,          -65504, 5.9604645e-8, -5.9604645e-8,
                                 NAN, -NAN, INFINITY, -INFINITY, 6.103515625e-5, 1024,   -2.5,         0.125};
static const uint16_t halves[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x0001, 0x8001,
                                  0x7e00, 0xfe01, 0x7c00, 0xfc00, 0x0400, 0x6400, 0xc100, 0x3000};
enum { N = OX_COUNT(numbers), MOST = 3 * N + 5 };
_Static_assert(OX_COUNT(halves) == N, "the same numbers");

/* |n| numbers in turn, in the width of |dtype|. */
static void check(const char *op, uint32_t dtype, int64_t n, int64_t low, int64_t high) {
  float f32[MOST];
  double f64[MOST];
  uint16_t f16[MOST];
  for (int64_t i = 0; i < n; i++) f64[i] = numbers[i % N], f32[i] = (float)f64[i], f16[i] = halves[i % N];
  one_node t;
  one_node_init(&t, "", op, 20, 1);
  if (op[2] == 'I') one_node_int(&t, "detect_negative", low), one_node_int(&t, "detect_positive", high);
  one_node_input(&t, dtype, 1, &n, dtype == OX_F32 ? (void *)f32 : dtype == OX_F64 ? (void *)f64 : (void *)f16);
  CHECK_OK(one_node_run(&t));
  for (int64_t i = 0; i < n; i++) {
    double x = numbers[i % N];
    int want = op[2] == 'N' ? isnan(x) != 0 : isinf(x) && (x < 0 ? low : high);
    int got = ((const uint8_t *)t.out[0].data)[i];
    if (got != want) fail_msg("%s of type %u, %d %d: [%d] is %d", op, dtype, (int)low, (int)high, (int)i, got);
  }
  one_node_deinit(&t);
}

static void test_borders(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int64_t n = 0; n <= MOST; n += n < N ? 1 : 7) {
      check("IsNaN", types[t], n, 1, 1);
      for (int both = 0; both < 4; both++) check("IsInf", types[t], n, both & 1, both >> 1);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_borders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
