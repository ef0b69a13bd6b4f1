/* SPDX-License-Identifier: Apache-2.0
 * kern/corners_test.c - points between four pixels: every instruction set has the bits of plain sums in double, for all
 * counts that end within a vector, at the edges of a plane of just its size, with infinity and NaN in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/resize/corners.h"
#include "support/check.h"
#include "support/levels.h"

enum { H = 5, W = 7 };

static float wanted(const ox_corners *c, size_t i, const float *x) {
  const float *v = x + c->at[i], *below = v + W;
  double r = c->right[i], d = c->down[i];
  double sum = (1 - d) * (1 - r) * (double)v[0] + (1 - d) * r * (double)v[1];
  return (float)(sum + d * (1 - r) * (double)below[0] + d * r * (double)below[1]);
}

static void check(const ox_corners_kernel *k, size_t n, const float *x) {
  static ox_corners c;
  float *y = malloc((n + 1) * sizeof *y);
  uint32_t seed = (uint32_t)n;
  assert_non_null(y);
  c.n = n, y[n] = -7;
  for (size_t i = 0; i < n; i++) {
    uint32_t row = i % 5 == 0 ? H - 2 : test_random(&seed) >> 8, column = i % 5 == 0 ? W - 2 : test_random(&seed) >> 8;
    c.at[i] = row % (H - 1) * W + column % (W - 1);
    c.right[i] = i % 3 ? (double)test_uniform(&seed, 0, 1) : 0;
    c.down[i] = i % 4 ? (double)test_uniform(&seed, 0, 1) : 0;
  }
  k->blend(&c, x, W, y);
  for (size_t i = 0; i < n; i++) {
    float want = wanted(&c, i, x);
    if (memcmp(&y[i], &want, sizeof want) != 0 && !(isnan(y[i]) && isnan(want)))
      fail_msg("%s, %zu of %zu: %a, wanted %a", k->name, i, n, (double)y[i], (double)want);
  }
  assert_true(y[n] == -7);
  free(y);
}

static void test_sums_of_four_pixels(void **state) {
  (void)state;
  static const size_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 17, OX_CORNERS - 1, OX_CORNERS};
  size_t n = 0;
  const ox_corners_kernel *const *all = ox_corners_list(&n);
  float *x = malloc(H * W * sizeof *x); /* a sanitizer sees its end */
  assert_non_null(x);
  for (size_t v = 0; v < n; v++) {
    if (all[v]->needs & ~ox_isa_host()) continue;
    for (int special = 0; special < 2; special++) {
      for (int i = 0; i < H * W; i++) x[i] = cosf((float)i * 1.7f) * 30;
      if (special) x[9] = INFINITY, x[20] = NAN, x[H * W - 1] = -INFINITY;
      for (size_t i = 0; i < OX_COUNT(counts); i++) check(all[v], counts[i], x);
    }
  }
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_of_four_pixels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
