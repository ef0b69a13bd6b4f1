/* SPDX-License-Identifier: Apache-2.0
 * base/cksize_test.c - arithmetic at the edges of its types. */
#include "base/cksize.h"

#include <math.h>

#include "base/macros.h"
#include "support/check.h"

static void test_floats_become_integers(void **state) {
  (void)state;
  static const struct {
    double v;
    int64_t i;
    uint64_t u;
  } rows[] = {
      {0, 0, 0},
      {-0.0, 0, 0},
      {0.99, 0, 0},
      {-0.99, 0, 0},
      {-1, -1, 0},
      {2.5, 2, 2},
      {-2.5, -2, 0},
      {0x1p53, (int64_t)1 << 53, (uint64_t)1 << 53},
      {0x1.fffffffffffffp62, INT64_MAX - 1023, (uint64_t)INT64_MAX - 1023}, /* the last double below 2^63 */
      {0x1p63, INT64_MAX, (uint64_t)1 << 63},
      {-0x1p63, INT64_MIN, 0},
      {-0x1.0000000000001p63, INT64_MIN, 0},
      {0x1.fffffffffffffp63, INT64_MAX, UINT64_MAX - 2047},
      {0x1p64, INT64_MAX, UINT64_MAX},
      {1e30, INT64_MAX, UINT64_MAX},
      {-1e30, INT64_MIN, 0},
      {INFINITY, INT64_MAX, UINT64_MAX},
      {-INFINITY, INT64_MIN, 0},
      {NAN, 0, 0},
  };
  for (size_t k = 0; k < OX_COUNT(rows); k++) {
    if (ox_i64_of(rows[k].v) != rows[k].i) fail_msg("%g: got %lld", rows[k].v, (long long)ox_i64_of(rows[k].v));
    if (ox_u64_of(rows[k].v) != rows[k].u)
      fail_msg("%g: got %llu", rows[k].v, (unsigned long long)ox_u64_of(rows[k].v));
  }
}

static void test_products_and_sums(void **state) {
  (void)state;
  static const struct {
    int64_t a, b;
    bool mul, add;
  } rows[] = {
      {0, INT64_MAX, true, true},
      {1, INT64_MAX, true, false},
      {2, INT64_MAX / 2, true, true},
      {2, INT64_MAX / 2 + 1, false, true},
      {-1, INT64_MIN, false, false},
      {1, INT64_MIN, true, true},
      {(int64_t)1 << 31, (int64_t)1 << 31, true, true},
      {(int64_t)1 << 32, (int64_t)1 << 31, false, true},
  };
  for (size_t k = 0; k < OX_COUNT(rows); k++) {
    int64_t a = rows[k].a, b = rows[k].b, n = 0;
    assert_int_equal(ox_mul_i64_ok(a, b, &n), rows[k].mul);
    if (rows[k].mul) assert_true((uint64_t)n == (uint64_t)a * (uint64_t)b);
    assert_int_equal(ox_add_i64_ok(a, b, &n), rows[k].add);
    if (rows[k].add) assert_true((uint64_t)n == (uint64_t)a + (uint64_t)b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_floats_become_integers),
      cmocka_unit_test(test_products_and_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
