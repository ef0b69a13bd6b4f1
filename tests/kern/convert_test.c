/* SPDX-License-Identifier: Apache-2.0
 * kern/convert_test.c - conversions: every code of the narrow formats there and back, rounding against a search for the
 * nearest value, integers and ranges, packed types, all instruction sets alike. */
#include <stdbool.h>

#include "graph/dtype.h"
#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/levels.h"

static const ox_narrow_how plain = {false, OX_E8M0_NEAREST};

static void test_codes_survive(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F8E4M3FN, OX_F8E4M3FNUZ, OX_F8E5M2, OX_F8E5M2FNUZ, OX_F8E8M0};
  for (size_t l = 0; level_next(&l); l++) {
    const ox_convert *cv = ox_convert_select(test_levels[l].have);
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (int code = 0; code < 256; code++) {
        uint8_t in = (uint8_t)code, out;
        float f;
        cv->load_f32[types[t]](&in, 0, 1, &f);
        cv->store_f32[types[t]](&f, &out, 0, 1, &plain);
        if (isnan(f) || (types[t] == OX_F8E8M0 && code == 0)) continue; /* many NaN codes; 0 rounds from below */
        if (out != in)
          fail_msg("%s: code %d is %g and comes back as %d", ox_dtype_name(types[t]), code, (double)f, out);
      }
    for (uint32_t code = 0; code < 65536; code++) {
      uint16_t in = (uint16_t)code, out;
      float f;
      for (uint32_t t = OX_F16; t <= OX_BF16; t += OX_BF16 - OX_F16) {
        cv->load_f32[t](&in, 0, 1, &f);
        cv->store_f32[t](&f, &out, 0, 1, NULL);
        float want = t == OX_F16 ? ox_f16_to_f32(in) : ox_bf16_to_f32(in);
        if (!(f == want || (isnan(f) && isnan(want)))) fail_msg("%s: code %x is %g", ox_dtype_name(t), code, (double)f);
        if (!isnan(f) && out != in) fail_msg("%s: code %x comes back as %x", ox_dtype_name(t), code, out);
      }
    }
  }
}

/* The nearest finite value, the even code of two equally near ones. */
static void test_small_floats_round_to_nearest(void **state) {
  (void)state;
  const ox_small_float formats[] = {OX_E4M3FN, OX_E4M3FNUZ, OX_E5M2, OX_E5M2FNUZ};
  uint32_t seed = 3;
  for (size_t t = 0; t < OX_COUNT(formats); t++)
    for (int i = 0; i < 3000; i++) {
      float x = test_uniform(&seed, 0, 1) * ldexpf(1, (int)(test_random(&seed) % 30) - 20);
      float top = ox_widen_small(formats[t].max, formats[t]);
      if (x > top) x = top;
      int best = 0;
      for (int c = 1; c <= formats[t].max; c++) {
        double d = fabs((double)ox_widen_small((uint8_t)c, formats[t]) - (double)x);
        double b = fabs((double)ox_widen_small((uint8_t)best, formats[t]) - (double)x);
        if (d < b || (d == b && c % 2 == 0)) best = c;
      }
      uint8_t got = ox_narrow_small(x, formats[t], true);
      if (got != best) fail_msg("format %zu: %a became %d, wanted %d", t, (double)x, got, best);
    }
}

static void test_small_floats_out_of_range(void **state) {
  (void)state;
  assert_int_equal(ox_narrow_small(1e9f, OX_E4M3FN, true), 0x7e);
  assert_int_equal(ox_narrow_small(-1e9f, OX_E4M3FN, true), 0xfe);
  assert_int_equal(ox_narrow_small(1e9f, OX_E4M3FN, false), 0x7f);
  assert_int_equal(ox_narrow_small(INFINITY, OX_E5M2, false), 0x7c);
  assert_int_equal(ox_narrow_small(-INFINITY, OX_E5M2, true), 0xfb);
  assert_int_equal(ox_narrow_small(-0.0f, OX_E4M3FNUZ, true), 0);
  assert_int_equal(ox_narrow_small(NAN, OX_E5M2FNUZ, true), 0x80);
  assert_int_equal(ox_narrow_e8m0(3.0f, OX_E8M0_UP, true), 129);
  assert_int_equal(ox_narrow_e8m0(3.0f, OX_E8M0_DOWN, true), 128);
  assert_int_equal(ox_narrow_e8m0(2.9f, OX_E8M0_NEAREST, true), 128);
  assert_int_equal(ox_narrow_e8m0(0, OX_E8M0_UP, false), 255);
}

/* A double halfway between two float16 values of which float sees only the tie. */
static void test_double_rounds_once(void **state) {
  (void)state;
  const ox_convert *cv = ox_convert_select(0);
  double above = 1 + 0x1p-11 + 0x1p-40, below = 1 + 0x1p-11 - 0x1p-40;
  uint16_t h;
  cv->store_f64[OX_F16](&above, &h, 0, 1, NULL);
  assert_int_equal(h, 0x3c01);
  cv->store_f64[OX_F16](&below, &h, 0, 1, NULL);
  assert_int_equal(h, 0x3c00);
}

/* 32-bit integers that float does not hold round to smaller types as their doubles do. */
static void test_integers_round_once(void **state) {
  (void)state;
  enum { N = 4000 };
  static const uint32_t to[] = {OX_BF16, OX_F16, OX_F8E4M3FN, OX_F8E5M2, OX_F8E8M0}, from[] = {OX_U32, OX_I32};
  static uint32_t x[N];
  static float odd[N];
  static double exact[N];
  static uint8_t want[2 * N], got[2 * N];
  uint32_t seed = 9;
  for (int i = 0; i < N; i++) {
    uint32_t bit = 1u << (i % 32), tie = bit | bit >> 8 | bit >> 11 | bit >> 3;
    x[i] = i % 5 == 0 ? test_random(&seed) : i % 5 == 1 ? tie + (uint32_t)(i % 3) - 1 : bit + (uint32_t)(i % 7) - 3;
    if (i & 1) x[i] = 0 - x[i];
  }
  for (size_t l = 0; level_next(&l); l++)
    for (size_t f = 0; f < OX_COUNT(from); f++)
      for (size_t t = 0; t < OX_COUNT(to); t++) {
        const ox_convert *cv = ox_convert_select(test_levels[l].have);
        cv->load_odd[from[f]](x, 3, N - 3, odd), cv->load_f64[from[f]](x, 3, N - 3, exact);
        cv->store_f32[to[t]](odd, got, 0, N - 3, NULL), cv->store_f64[to[t]](exact, want, 0, N - 3, NULL);
        assert_memory_equal(got, want, (N - 3) * ox_dtype_bits(to[t]) / 8);
      }
}

static void test_float_to_integer_is_total(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_convert *cv = ox_convert_select(test_levels[l].have);
    const float x[] = {NAN, INFINITY, -INFINITY, 3e9f, -3e9f, 300.7f, -1.9f, 1e20f};
    const int32_t want[] = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, 300, -1, INT32_MIN};
    int32_t y[8];
    uint8_t b[8];
    cv->store_f32[OX_I32](x, y, 0, 8, NULL);
    assert_memory_equal(y, want, sizeof y);
    cv->store_f32[OX_U8](x, b, 0, 8, NULL);
    assert_int_equal(b[5], 44);
    assert_int_equal(b[6], 255);
    cv->store_f32[OX_BOOL](x, b, 0, 8, NULL);
    assert_int_equal(b[0], 1);
  }
}

static uint64_t wide_int(uint32_t dtype, double d) {
  return dtype == OX_U64 ? ox_f64_to_u64(d) : (uint64_t)ox_f64_to_i64(d);
}

/* Blocks of small numbers with none, one or some that need 64 bits, at any place. */
static void test_float_to_wide_integers(void **state) {
  (void)state;
  enum { N = 770, AT = 1 };
  static const uint32_t types[] = {OX_I64, OX_U64, OX_U32};
  static const double far[] = {0x1p31,   -0x1p31, -0x1.000002p31, 0x1p32, 1e18, -1e18,    0x1p63,
                               0x1.8p63, 0x1p64,  -0x1p63,        1e30,   NAN,  INFINITY, -INFINITY};
  static const size_t counts[] = {1, 7, 255, 256, 257, N - AT};
  static float f[N];
  static double d[N];
  static uint64_t y32[N + 1], y64[N + 1];
  for (size_t l = 0; level_next(&l); l++)
    for (size_t k = 0; k < OX_COUNT(far) * OX_COUNT(types) * OX_COUNT(counts); k++) {
      const ox_convert *cv = ox_convert_select(test_levels[l].have);
      uint32_t t = types[k % OX_COUNT(types)];
      size_t n = counts[k / OX_COUNT(types) % OX_COUNT(counts)], size = ox_dtype_bits(t) / 8;
      for (int i = 0; i < N; i++) d[i] = f[i] = (float)(i % 9 - 4) * 0.7f + (i % 50 == 3 ? 2147483520.0f : 0);
      d[n / 2] = f[n / 2] = (float)far[k / OX_COUNT(types) / OX_COUNT(counts)];
      memset(y32, 0x55, sizeof y32), memset(y64, 0x55, sizeof y64);
      cv->store_f32[t](f, y32, AT, n, NULL), cv->store_f64[t](d, y64, AT, n, NULL);
      for (size_t i = 0; i < n; i++) {
        uint64_t want = wide_int(t, d[i]); /* low bytes come first */
        assert_memory_equal((char *)y32 + (AT + i) * size, &want, size);
        assert_memory_equal((char *)y64 + (AT + i) * size, &want, size);
      }
      assert_int_equal(((uint8_t *)y32)[(AT + n) * size], 0x55);
    }
}

static void test_wide_integers_to_double(void **state) {
  (void)state;
  static const int64_t ends[] = {0,
                                 -1,
                                 INT64_MAX,
                                 INT64_MIN,
                                 INT64_MAX - 511,
                                 (1ll << 53) + 1,
                                 -(1ll << 53) - 1,
                                 (1ll << 32) - 1,
                                 1ll << 32,
                                 -(1ll << 32),
                                 (1ll << 54) + 2,
                                 (1ll << 54) + 6};
  enum { N = 1003 };
  static int64_t x[N];
  static double y[N];
  uint32_t seed = 11;
  for (int i = 0; i < N; i++)
    x[i] = i < (int)OX_COUNT(ends) ? ends[i]
                                   : (int64_t)((uint64_t)test_random(&seed) << 32 | test_random(&seed)) >> i % 64;
  for (size_t l = 0; level_next(&l); l++) {
    ox_convert_select(test_levels[l].have)->load_f64[OX_I64](x, 1, N - 1, y);
    for (int i = 1; i < N; i++) {
      double want = (double)x[i];
      assert_memory_equal(&y[i - 1], &want, sizeof want);
    }
    ox_convert_select(test_levels[l].have)->load_f64[OX_I64](x, 0, 1, y);
    assert_true(y[0] == 0 && !signbit(y[0]));
  }
}

static void test_packed_types(void **state) {
  (void)state;
  const ox_convert *cv = ox_convert_select(0);
  const int64_t in[] = {-8, 7, 3, -1, 5};
  uint8_t packed[4] = {0, 0, 0, 0xee};
  int64_t out[5];
  cv->store_i64[OX_I4](in, packed, 0, 5, NULL);
  assert_int_equal(packed[0], 0x78);
  assert_int_equal(packed[2], 0x05); /* the spare half is zero */
  assert_int_equal(packed[3], 0xee);
  cv->load_i64[OX_I4](packed, 0, 5, out);
  assert_memory_equal(in, out, sizeof in);
  cv->load_i64[OX_I4](packed, 3, 2, out);
  assert_int_equal(out[0], -1);
  const float f[] = {0.5f, -6, 5.1f, 1e9f}, want[] = {0.5f, -6, 6, 6};
  float g[4];
  cv->store_f32[OX_F4E2M1](f, packed, 0, 4, NULL);
  cv->load_f32[OX_F4E2M1](packed, 0, 4, g);
  assert_memory_equal(g, want, sizeof g);
}

/* Every integer type into every width, as C converts; ends of the ranges, more of them than a vector holds. */
static void test_integers_of_other_widths(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_U8, OX_I8, OX_U16, OX_I16, OX_U32, OX_I32, OX_U64, OX_I64, OX_BOOL};
  static const int64_t values[] = {0, 1, -1, 127, 128, -128, 255, 256, 32767, -32768, 65535, INT32_MAX, INT32_MIN};
  enum { N = 83, AT = 3 };
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++) {
      const ox_convert *cv = ox_convert_select(test_levels[l].have);
      uint64_t x[AT + N], y[AT + N + 1];
      int64_t in[AT + N], wide[AT + N];
      for (int i = 0; i < AT + N; i++) in[i] = values[i % (int)OX_COUNT(values)];
      cv->store_i64[types[t] == OX_BOOL ? OX_U8 : types[t]](in, x, 0, AT + N, NULL);
      cv->load_i64[types[t]](x, 0, AT + N, wide);
      size_t size = ox_dtype_bits(types[t]) / 8;
      for (size_t w = 0; w < 4; w++) {
        ox_resize_int_fn *fn = cv->resize_int[types[t]][w];
        assert_true((fn == NULL) == (size == (size_t)1 << w));
        memset(y, 0xa5, sizeof y);
        if (fn) fn(x, y, AT, N);
        for (size_t i = AT; i < AT + N && fn; i++)
          assert_memory_equal((char *)y + (i << w), (char *)&wide[i], (size_t)1 << w); /* low bytes come first */
        assert_int_equal(((uint8_t *)y)[(AT + N) << w], 0xa5);
      }
      memset(y, 0xa5, sizeof y);
      cv->truth[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3](x, y, AT, N);
      for (size_t i = AT; i < AT + N; i++) assert_int_equal(((uint8_t *)y)[i], wide[i] != 0);
      assert_int_equal(((uint8_t *)y)[AT + N], 0xa5);
    }
}

/* Four 6-bit elements fill three bytes, low bits first. */
static void test_six_bits(void **state) {
  (void)state;
  const ox_convert *cv = ox_convert_select(0);
  for (uint32_t t = OX_F6E2M3; t <= OX_F6E3M2; t++) {
    uint8_t codes[48] = {0}, back[49];
    float f[64];
    for (unsigned i = 0; i < 64; i++)
      codes[i * 6 / 8] |= (uint8_t)(i << i * 6 % 8),
          codes[(i * 6 + 5) / 8] |= (uint8_t)(i * 6 % 8 > 2 ? i >> (8 - i * 6 % 8) : 0);
    cv->load_f32[t](codes, 0, 64, f);
    assert_true(f[31] == (t == OX_F6E2M3 ? 7.5f : 28.0f) && f[32] == 0 && signbit(f[32]));
    memset(back, 0x55, sizeof back);
    cv->store_f32[t](f, back, 0, 64, NULL);
    assert_memory_equal(back, codes, sizeof codes);
    assert_int_equal(back[48], 0x55);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_codes_survive),
      cmocka_unit_test(test_small_floats_round_to_nearest),
      cmocka_unit_test(test_small_floats_out_of_range),
      cmocka_unit_test(test_double_rounds_once),
      cmocka_unit_test(test_integers_round_once),
      cmocka_unit_test(test_float_to_integer_is_total),
      cmocka_unit_test(test_float_to_wide_integers),
      cmocka_unit_test(test_wide_integers_to_double),
      cmocka_unit_test(test_packed_types),
      cmocka_unit_test(test_six_bits),
      cmocka_unit_test(test_integers_of_other_widths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
