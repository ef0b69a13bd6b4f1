/* SPDX-License-Identifier: Apache-2.0
 * kern/norm_test.c - moments of rows against long double, where the beginning of a row is like the rest of it and where
 * it is not. */
#include "kern/norm/norm.h"

#include "support/check.h"
#include "support/levels.h"

enum { MOST = 20000 };
static float x[MOST];

typedef enum { ALIKE, FAR_OFF, FLAT, TWO_VALUES, KINDS } kind;

static void fill(kind k, size_t n, float mean) {
  uint32_t seed = 5;
  for (size_t i = 0; i < n; i++) {
    float v = test_uniform(&seed, -1, 1);
    if (k == FAR_OFF) v += i < 1000 ? 300.0f : 0.0f;
    if (k == FLAT) v = 0;
    if (k == TWO_VALUES) v = i < 1024 ? 0.0f : 1.0f;
    x[i] = mean + v;
  }
}

static void check(size_t level, kind k, size_t n, float mean) {
  long double sum = 0, squares = 0;
  fill(k, n, mean);
  for (size_t i = 0; i < n; i++) sum += (long double)(x[i] - mean); /* exact */
  long double off = sum / (long double)n;
  for (size_t i = 0; i < n; i++) squares += ((long double)(x[i] - mean) - off) * ((long double)(x[i] - mean) - off);
  double variance = (double)(squares / (long double)n), deviation = sqrt(variance);
  ox_moments m = ox_norm_moments(ox_norm_select(test_levels[level].have), x, n);
  if (!(fabs(m.mean - (double)mean - (double)off) <= 1e-6 * deviation) ||
      !(fabs(m.variance - variance) <= 2e-6 * variance))
    fail_msg("%s: %zu elements of kind %d about %g have mean %.9g and variance %.9g, wanted %.9g and %.9g",
             test_levels[level].name, n, k, (double)mean, m.mean, m.variance, (double)mean + (double)off, variance);
}

static void test_moments(void **state) {
  (void)state;
  static const size_t lengths[] = {1, 7, 33, 1000, 4096, 4097, 5003, 16384, MOST};
  static const float means[] = {0, -1e3f, 0x1p20f};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(lengths); i++)
      for (int k = 0; k < KINDS; k++)
        for (size_t m = 0; m < OX_COUNT(means); m++) check(l, (kind)k, lengths[i], means[m]);
}

/* Anywhere: NaN, or an infinite mean. Squares that leave float's range do so whichever way is taken. */
static void test_moments_of_what_is_not_finite(void **state) {
  (void)state;
  static const size_t places[] = {0, 2000, MOST - 1};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(places); i++) {
      const ox_norm_table *t = ox_norm_select(test_levels[l].have);
      fill(ALIKE, MOST, 3);
      x[places[i]] = NAN;
      ox_moments m = ox_norm_moments(t, x, MOST);
      assert_true(m.mean != m.mean && m.variance != m.variance);
      x[places[i]] = -INFINITY;
      m = ox_norm_moments(t, x, MOST);
      assert_true(m.mean == -INFINITY && m.variance != m.variance);
      x[places[i]] = 1e30f;
      m = ox_norm_moments(t, x, MOST);
      assert_true(isinf(m.variance) && fabs(m.mean * MOST / 1e30 - 1) < 1e-5);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments),
                                     cmocka_unit_test(test_moments_of_what_is_not_finite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
