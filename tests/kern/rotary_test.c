/* SPDX-License-Identifier: Apache-2.0
 * kern/rotary_test.c - rows of all types and lengths against double, in place and not, on every instruction set. */
#include "kern/attention/rotary.h"

#include <stdlib.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/levels.h"

enum { MOST = 2 * 300 + 5 };
static const int64_t halves[] = {0, 1, 3, 8, 15, 16, 17, 32, 64, 127, 128, 129, 300};

static double at(uint32_t dtype, const void *x, int64_t i) {
  double v;
  ox_convert_select(0)->load_f64[dtype](x, (size_t)i, 1, &v);
  return v;
}

static void check(const ox_rotary *r, uint32_t dtype, int64_t half, int64_t rest, bool pairs) {
  int64_t d = 2 * half + rest;
  size_t item = dtype == OX_F32 ? 4 : 2;
  float numbers[3][MOST];
  uint32_t seed = (uint32_t)half;
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < MOST; i++) numbers[k][i] = test_uniform(&seed, -1, 1);
  char *part[3], *y = malloc((size_t)d * item + 1);
  for (int k = 0; k < 3; k++) { /* of their sizes, so that a sanitizer sees the ends */
    size_t n = (size_t)(k ? half : d);
    part[k] = malloc(n * item + 1);
    ox_convert_select(0)->store_f32[dtype](numbers[k], part[k], 0, n, NULL);
  }
  y[(size_t)d * item] = 77;
  r->row(dtype, part[0], part[1], part[2], half, d, pairs, y);
  assert_int_equal(y[(size_t)d * item], 77);
  double most = dtype == OX_F32 ? 2e-7 : dtype == OX_F16 ? 1e-3 : 8e-3;
  for (int64_t i = 0; i < half; i++) {
    int64_t p = pairs ? 2 * i : i, q = pairs ? p + 1 : i + half;
    double a = at(dtype, part[0], p), b = at(dtype, part[0], q), c = at(dtype, part[1], i), s = at(dtype, part[2], i);
    if (fabs(at(dtype, y, p) - (a * c - b * s)) > most || fabs(at(dtype, y, q) - (a * s + b * c)) > most)
      fail_msg("%s, type %u, %d of %d pairs, interleaved %d", r->name, dtype, (int)i, (int)half, pairs);
  }
  assert_memory_equal(y + 2 * (size_t)half * item, part[0] + 2 * (size_t)half * item, (size_t)rest * item);
  r->row(dtype, part[0], part[1], part[2], half, d, pairs, part[0]);
  assert_memory_equal(part[0], y, (size_t)d * item);
  free(part[0]), free(part[1]), free(part[2]), free(y);
}

static void test_rows(void **state) {
  (void)state;
  size_t n;
  const ox_rotary *const *all = ox_rotary_list(&n);
  static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};
  for (size_t v = 0; v < n; v++)
    for (size_t h = 0; h < OX_COUNT(halves) && !(all[v]->needs & ~ox_isa_host()); h++)
      for (int k = 0; k < 12; k++) check(all[v], types[k % 3], halves[h], k / 6 ? 5 : 0, k / 3 % 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
