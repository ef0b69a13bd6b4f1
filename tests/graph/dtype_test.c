/* SPDX-License-Identifier: Apache-2.0
 * graph/dtype_test.c - facts about types; every 16-bit float against arithmetic in double. */
#include "graph/dtype.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"

/* The value of a code with |exp_bits| and |man_bits|, by the definition. */
static double value_of(uint32_t code, int exp_bits, int man_bits) {
  int bias = (1 << (exp_bits - 1)) - 1, exp = (int)(code >> man_bits) & ((1 << exp_bits) - 1);
  double man = (double)(code & ((1u << man_bits) - 1)), sign = code >> (exp_bits + man_bits) & 1 ? -1 : 1;
  if (exp == (1 << exp_bits) - 1) return man != 0 ? NAN : sign * INFINITY;
  if (exp == 0) return sign * ldexp(man, 1 - bias - man_bits);
  return sign * ldexp(man + ldexp(1, man_bits), exp - bias - man_bits);
}

/* The code whose value is nearest to |x|, ties to even, by search over ordered positive codes. */
static uint32_t nearest(double x, int exp_bits, int man_bits) {
  uint32_t sign = signbit(x) ? 1u << (exp_bits + man_bits) : 0, lo = 0, hi = ((1u << exp_bits) - 1) << man_bits;
  double mag = fabs(x);
  while (hi - lo > 1) {
    uint32_t mid = (lo + hi) / 2;
    if (value_of(mid, exp_bits, man_bits) <= mag)
      lo = mid;
    else
      hi = mid;
  }
  /* infinity stands where the next binade would begin */
  double low = value_of(lo, exp_bits, man_bits);
  double high =
      isinf(value_of(hi, exp_bits, man_bits)) ? ldexp(1, 1 << (exp_bits - 1)) : value_of(hi, exp_bits, man_bits);
  double to_low = mag - low, to_high = high - mag;
  return sign | (to_low < to_high || (to_low == to_high && !(lo & 1)) ? lo : hi);
}

typedef struct kind {
  int exp_bits, man_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
} kind;
static const kind kinds[] = {{5, 10, ox_f16_to_f32, ox_f16_from_f32}, {8, 7, ox_bf16_to_f32, ox_bf16_from_f32}};

static void test_every_code_widens_exactly(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(kinds); k++)
    for (uint32_t code = 0; code < 65536; code++) {
      double want = value_of(code, kinds[k].exp_bits, kinds[k].man_bits);
      float got = kinds[k].widen((uint16_t)code);
      if (isnan(want) ? !isnan(got) : (double)got != want || !signbit(got) != !signbit(want))
        fail_msg("kind %zu, code %04x: got %a, wanted %a", k, code, (double)got, want);
    }
}

static void test_every_code_survives_the_round_trip(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(kinds); k++)
    for (uint32_t code = 0; code < 65536; code++) {
      float f = kinds[k].widen((uint16_t)code);
      uint16_t back = kinds[k].narrow(f);
      if (isnan(f) ? !isnan(kinds[k].widen(back)) : back != code) fail_msg("kind %zu: %04x became %04x", k, code, back);
    }
}

/* Around every code and every midpoint between two codes. */
static void test_narrowing_rounds_to_nearest_even(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(kinds); k++)
    for (uint32_t code = 0; code < 65535; code++) {
      float a = kinds[k].widen((uint16_t)code), b = kinds[k].widen((uint16_t)(code + 1));
      if (isnan(a) || isnan(b) || !signbit(a) != !signbit(b)) continue;
      float top = (float)ldexp(signbit(a) ? -1 : 1, 1 << (kinds[k].exp_bits - 1));
      float mid = isinf(b) ? (isinf(top) ? a : (a + top) / 2) : (float)(((double)a + (double)b) / 2);
      float near[] = {mid, nextafterf(mid, INFINITY), nextafterf(mid, -INFINITY), nextafterf(a, b), nextafterf(b, a)};
      for (size_t i = 0; i < OX_COUNT(near); i++) {
        if (isinf(near[i])) continue;
        uint32_t want = nearest((double)near[i], kinds[k].exp_bits, kinds[k].man_bits), got = kinds[k].narrow(near[i]);
        if (got != want) fail_msg("kind %zu: %a became %04x, wanted %04x", k, (double)near[i], got, want);
      }
    }
}

static void test_special_values(void **state) {
  (void)state;
  assert_int_equal(ox_f16_from_f32(INFINITY), 0x7c00);
  assert_int_equal(ox_f16_from_f32(-INFINITY), 0xfc00);
  assert_int_equal(ox_f16_from_f32(65519.996f), 0x7bff);
  assert_int_equal(ox_f16_from_f32(65520.f), 0x7c00);
  assert_int_equal(ox_f16_from_f32(1e30f), 0x7c00);
  assert_int_equal(ox_f16_from_f32(-0.f), 0x8000);
  assert_true(isnan(ox_f16_to_f32(ox_f16_from_f32(NAN))));
  assert_true(isnan(ox_bf16_to_f32(ox_bf16_from_f32(NAN))));
}

static void test_names_and_sizes(void **state) {
  (void)state;
  for (uint32_t d = 1; d < OX_DTYPE_COUNT; d++) {
    assert_int_equal(ox_dtype_find(ox_dtype_name(d)), d);
    assert_true(ox_dtype_bits(d) > 0);
  }
  assert_int_equal(ox_dtype_find("float"), OX_UNDEFINED);
  assert_string_equal(ox_dtype_name(99), "undefined");
  assert_int_equal(ox_dtype_bits(99), 0);
  assert_string_equal(ox_kind_name(OX_TENSOR), "tensor");
  assert_string_equal(ox_kind_name(OX_SPARSE), "sparse tensor");
  assert_string_equal(ox_kind_name(99), "unknown");
  static const struct {
    uint32_t dtype;
    int64_t count;
    size_t bytes;
  } rows[] = {{OX_F32, 0, 0},
              {OX_F32, 3, 12},
              {OX_I4, 0, 0},
              {OX_I4, 1, 1},
              {OX_U4, 2, 1},
              {OX_I4, 3, 2},
              {OX_U2, 4, 1},
              {OX_I2, 5, 2},
              {OX_C128, 1, 16},
              {OX_BOOL, 7, 7},
              {OX_F16, 3, 6},
              {OX_F4E2M1, 9, 5},
              {OX_STRING, 2, 2 * sizeof(ox_str)}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    size_t bytes;
    assert_true(ox_dtype_bytes(rows[i].dtype, rows[i].count, &bytes));
    assert_int_equal(bytes, rows[i].bytes);
  }
  size_t bytes;
  assert_false(ox_dtype_bytes(OX_F32, -1, &bytes));
  assert_false(ox_dtype_bytes(OX_UNDEFINED, 1, &bytes));
  assert_false(ox_dtype_bytes(OX_F64, INT64_MAX, &bytes));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_code_widens_exactly),
      cmocka_unit_test(test_every_code_survives_the_round_trip),
      cmocka_unit_test(test_narrowing_rounds_to_nearest_even),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_names_and_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
