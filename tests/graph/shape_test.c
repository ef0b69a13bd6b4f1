/* SPDX-License-Identifier: Apache-2.0
 * graph/shape_test.c - shape arithmetic with known, unknown and symbolic dimensions. */
#include "graph/shape.h"

#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "support/check.h"

enum { U = -1, S0 = -2, S1 = -3, END = -99, NO_RANK = -98 };

static ox_shape make(const int64_t *dims) {
  ox_shape s = {.rank = 0};
  if (dims[0] == NO_RANK) return ox_shape_unknown();
  while (dims[s.rank] != END) s.dim[s.rank] = dims[s.rank], s.rank++;
  return s;
}

static void test_sizes_that_fit(void **state) {
  (void)state;
  static const struct {
    int64_t dims[5];
    bool fits;
  } rows[] = {
      {{END}, true},
      {{NO_RANK}, true},
      {{INT64_C(1) << 56, 1, END}, true},
      {{INT64_C(1) << 57, END}, false},
      {{INT64_C(1) << 30, INT64_C(1) << 26, END}, true},
      {{INT64_C(1) << 30, INT64_C(1) << 27, END}, false},
      {{0, INT64_C(1) << 56, END}, true},
      {{0, INT64_C(1) << 62, END}, false}, /* nobody should have to think of offsets that are never used */
      {{INT64_C(1) << 40, 0, INT64_C(1) << 40, END}, false},
      {{INT64_MAX, INT64_MAX, END}, false},
      {{INT64_C(1) << 56, U, S0, END}, true},
      {{INT64_C(1) << 57, U, END}, false},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_shape s = make(rows[i].dims);
    if (ox_shape_fits(&s) != rows[i].fits) fail_msg("row %zu", i);
  }
}

static void test_broadcast(void **state) {
  (void)state;
  static const struct {
    int64_t a[5], b[5], want[5]; /* want[0] == NO_RANK with a known rank on both sides: must fail */
    bool fails;
  } rows[] = {
      {{END}, {END}, {END}, false},
      {{2, 3, END}, {END}, {2, 3, END}, false},
      {{2, 3, END}, {3, END}, {2, 3, END}, false},
      {{2, 1, END}, {1, 4, END}, {2, 4, END}, false},
      {{0, END}, {1, END}, {0, END}, false},
      {{S0, END}, {S0, END}, {S0, END}, false},
      {{S0, END}, {1, END}, {S0, END}, false},
      {{S0, END}, {5, END}, {5, END}, false},
      {{S0, END}, {S1, END}, {U, END}, false},
      {{U, END}, {1, END}, {U, END}, false},
      {{NO_RANK}, {2, END}, {NO_RANK}, false},
      {{2, END}, {3, END}, {END}, true},
      {{0, END}, {2, END}, {END}, true},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_shape a = make(rows[i].a), b = make(rows[i].b), want = make(rows[i].want), got;
    for (int swap = 0; swap < 2; swap++) {
      ox_status *st = swap ? ox_shape_broadcast(&b, &a, &got) : ox_shape_broadcast(&a, &b, &got);
      if (rows[i].fails) {
        CHECK_FAILS(st, OX_SHAPE_MISMATCH, "do not broadcast");
        continue;
      }
      CHECK_OK(st);
      if (!ox_shape_equal(&got, &want)) fail_msg("row %zu", i);
    }
  }
}

static void test_counts(void **state) {
  (void)state;
  static const struct {
    int64_t dims[5], count;
    bool known;
  } rows[] = {
      {{END}, 1, true},
      {{2, 3, END}, 6, true},
      {{2, 0, END}, 0, true},
      {{2, U, END}, -1, false},
      {{0, U, END}, -1, false},
      {{S0, END}, -1, false},
      {{INT64_MAX, 2, END}, -1, true},
      {{INT64_MAX, 2, 0, END}, -1, true},
      {{NO_RANK}, -1, false},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_shape s = make(rows[i].dims);
    if (ox_shape_known(&s) != rows[i].known) fail_msg("row %zu: known", i);
    int64_t got = ox_shape_count(&s);
    if (got != rows[i].count && !(i == 7 && got == 0)) fail_msg("row %zu: count %lld", i, (long long)got);
  }
}

static void test_dimensions(void **state) {
  (void)state;
  assert_int_equal(ox_dim_mul(3, 4), 12);
  assert_int_equal(ox_dim_mul(1, S0), S0);
  assert_int_equal(ox_dim_mul(2, S0), -1);
  assert_int_equal(ox_dim_mul(INT64_MAX, 2), -1);
  assert_int_equal(ox_dim_add(0, S1), S1);
  assert_int_equal(ox_dim_add(2, 3), 5);
  assert_int_equal(ox_dim_add(INT64_MAX, 1), -1);
  int axis;
  assert_true(ox_axis_ok(-1, 3, &axis) && axis == 2);
  assert_true(ox_axis_ok(0, 1, &axis) && axis == 0);
  assert_false(ox_axis_ok(3, 3, &axis) || ox_axis_ok(-4, 3, &axis) || ox_axis_ok(0, 0, &axis));
  assert_false(ox_axis_ok(INT64_MIN, 3, &axis));
}

static void test_splits_and_strides(void **state) {
  (void)state;
  ox_shape s = ox_shape_of(3, (int64_t[]){2, 3, 4});
  int64_t outer, at, inner, strides[OX_MAX_RANK];
  CHECK_OK(ox_axis_split(&s, -2, &outer, &at, &inner));
  assert_true(outer == 2 && at == 3 && inner == 4);
  CHECK_FAILS(ox_axis_split(&s, 3, &outer, &at, &inner), OX_INVALID_MODEL, "axis 3 is outside rank 3");
  ox_shape_strides(&s, strides);
  assert_true(strides[0] == 12 && strides[1] == 4 && strides[2] == 1);
  assert_int_equal(ox_shape_span(&s, 1, 3), 12);
  assert_int_equal(ox_shape_span(&s, 1, 1), 1);
}

static void test_text_and_views(void **state) {
  (void)state;
  char buf[OX_SHAPE_TEXT];
  ox_shape s = make((int64_t[]){2, U, S0, S1, END}), none = ox_shape_unknown(), big = ox_shape_scalar();
  assert_string_equal(ox_shape_text(&s, buf), "[2,?,s0,s1]");
  assert_string_equal(ox_shape_text(&none, buf), "[...]");
  assert_string_equal(ox_shape_text(&big, buf), "[]");
  big.rank = OX_MAX_RANK;
  for (int i = 0; i < OX_MAX_RANK; i++) big.dim[i] = INT64_MIN;
  assert_true(strlen(ox_shape_text(&big, buf)) < OX_SHAPE_TEXT);
  ox_shape v = ox_shape_of(1, (int64_t[]){3});
  assert_int_equal(ox_tensor_view(OX_F32, &v, NULL).bytes, 12);
  assert_int_equal(ox_tensor_view(OX_I4, &v, NULL).bytes, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_that_fit),
      cmocka_unit_test(test_broadcast),      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_dimensions),     cmocka_unit_test(test_splits_and_strides),
      cmocka_unit_test(test_text_and_views),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
