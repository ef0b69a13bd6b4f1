/* SPDX-License-Identifier: Apache-2.0
 * kern/quantize_test.c - quantization to 8 and 16 bits against rounding in double: exact, ties and specials included.
 */
#include <stdbool.h>
#include <string.h>

#include "kern/quant/quantize.h"
#include "support/check.h"
#include "support/levels.h"

/* What one float division and one rounding give: the definition. */
static int oracle(float x, float scale, int zero, int low, int high) {
  volatile float q = x / scale;
  double r = rint((double)q) + zero;
  return isnan(q) ? low : r < low ? low : r > high ? high : (int)r;
}

enum { N = 1003 };

/* Unsigned and signed ones of so many bits; zero is the unsigned one's, the other's lies half the range below. */
static void quantize(const ox_quantize_table *t, int bits, const float *x, float scale, int zero, int32_t *out_u,
                     int32_t *out_s) {
  static uint8_t u8[N];
  static int8_t s8[N];
  static uint16_t u16[N];
  static int16_t s16[N];
  int below = 1 << (bits - 1);
  if (bits == 8)
    t->f32_u8(x, u8, N, scale, zero), t->f32_i8(x, s8, N, scale, zero - below);
  else
    t->f32_u16(x, u16, N, scale, zero), t->f32_i16(x, s16, N, scale, zero - below);
  for (size_t i = 0; i < N; i++) out_u[i] = bits == 8 ? u8[i] : u16[i], out_s[i] = bits == 8 ? s8[i] : s16[i];
}

static void check_quantize(const ox_quantize_table *t, const char *isa, int bits, const float *x, float scale,
                           int zero) {
  static int32_t u[N], s[N];
  int all = 1 << bits, half = all / 2;
  quantize(t, bits, x, scale, zero, u, s);
  for (size_t i = 0; i < N; i++) {
    int wu = oracle(x[i], scale, zero, 0, all - 1), ws = oracle(x[i], scale, zero - half, -half, half - 1);
    if (u[i] != wu || s[i] != ws)
      fail_msg("%s, %d bits: %a / %a, zero %d: got %d and %d, wanted %d and %d", isa, bits, (double)x[i], (double)scale,
               zero, u[i], s[i], wu, ws);
  }
}

/* Edges, ties, their neighbours, and whatever lies between, a little beyond the range. */
static void draw(uint32_t *seed, int bits, float scale, float *x) {
  uint32_t most = bits == 8 ? 300 : 70000;
  for (size_t i = 0; i < N; i++) {
    float ties = ((float)(test_random(seed) % (2 * most)) - (float)most) * 0.5f * scale;
    float between = test_uniform(seed, -(float)most, (float)most) * scale;
    x[i] = i < OX_COUNT(test_edges) ? test_edges[i] : i % 2 ? ties : between;
    if (i % 4 == 3) x[i] = nextafterf(x[i], i % 8 == 3 ? INFINITY : -INFINITY);
  }
}

static void test_quantize_is_exact(void **state) {
  (void)state;
  static const float scales[] = {0.1f, 1.0f, 0.013f, 3e-39f, 1e30f, 7.77f, 0x1p-125f, 0.33f};
  static float x[N];
  uint32_t seed = 5;
  for (size_t l = 0; level_next(&l); l++)
    for (int bits = 8; bits <= 16; bits += 8)
      for (size_t k = 0; k < OX_COUNT(scales); k++) {
        const int zeros[] = {0, 1 << (bits - 1), (1 << bits) - 1, 3};
        draw(&seed, bits, scales[k], x);
        for (size_t z = 0; z < OX_COUNT(zeros); z++)
          check_quantize(ox_quantize_select(test_levels[l].have), test_levels[l].name, bits, x, scales[k], zeros[z]);
      }
}

static void test_map(void **state) {
  (void)state;
  uint8_t table[256], x[600], y[601];
  for (int i = 0; i < 256; i++) table[i] = (uint8_t)(i * 167 + 13);
  for (int i = 0; i < 600; i++) x[i] = (uint8_t)(i * 37 + i / 256);
  for (size_t l = 0; level_next(&l); l++)
    for (size_t n = 0; n <= 600; n += n < 140 ? 1 : 115) {
      memset(y, 77, sizeof y);
      ox_quantize_select(test_levels[l].have)->map(table, x, y, n);
      for (size_t i = 0; i < n; i++) assert_int_equal(y[i], table[x[i]]);
      assert_int_equal(y[n], 77);
    }
}

/* Every pair of bytes: near the sum or product as a real number, and the same bits everywhere. */
static void check_pairs(const float *scale, const int *zero, bool is_signed, bool product) {
  static uint8_t a[65536], b[65536], y[65537], first[65536];
  int low = is_signed ? -128 : 0;
  ox_byte_sum s = ox_byte_sum_of(scale[0], zero[0] + low, scale[1], zero[1] + low, scale[2], zero[2] + low);
  ox_byte_product p = ox_byte_product_of(scale[0], zero[0] + low, scale[1], zero[1] + low, scale[2], zero[2] + low);
  for (int i = 0; i < 65536; i++) a[i] = (uint8_t)(i >> 8), b[i] = (uint8_t)i;
  size_t l = 0;
  for (bool other = false; level_next(&l); l++, other = true) {
    const ox_quantize_table *t = ox_quantize_select(test_levels[l].have);
    y[65536] = 77;
    for (size_t at = 0, n = 65535; n; at += n, n = at < 65536) { /* all but one, then one */
      const int8_t *u = (const int8_t *)a + at, *v = (const int8_t *)b + at;
      if (is_signed && product)
        t->mul_i8(u, v, (int8_t *)y + at, n, &p);
      else if (is_signed)
        t->add_i8(u, v, (int8_t *)y + at, n, &s);
      else if (product)
        t->mul_u8(a + at, b + at, y + at, n, &p);
      else
        t->add_u8(a + at, b + at, y + at, n, &s);
    }
    assert_int_equal(y[65536], 77);
    if (other) assert_memory_equal(y, first, sizeof first);
    memcpy(first, y, sizeof first);
    for (int i = 0; i < 65536; i++) {
      int u = is_signed ? (int8_t)a[i] : a[i], v = is_signed ? (int8_t)b[i] : b[i];
      double x = (u - zero[0] - low) * (double)scale[0], z = (v - zero[1] - low) * (double)scale[1];
      double want = (product ? x * z : x + z) / (double)scale[2] + zero[2] + low;
      want = fmin(fmax(want, low), low + 255);
      int got = is_signed ? (int8_t)y[i] : y[i];
      if (!(fabs(got - want) <= 0.5001))
        fail_msg("%s, product %d: %d and %d are %d, wanted %g", test_levels[l].name, product, u, v, got, want);
    }
  }
}

static void test_pairs(void **state) {
  (void)state;
  static const float scales[][3] = {{1, 1, 1}, {0.5f, 0.5f, 1}, {0.013f, 0.05f, 0.044f}, {7, 0.001f, 0.3f}};
  static const int zeros[][3] = {{0, 0, 0}, {128, 128, 128}, {255, 3, 77}};
  for (size_t s = 0; s < OX_COUNT(scales); s++)
    for (size_t z = 0; z < OX_COUNT(zeros); z++)
      for (int how = 0; how < 4; how++) check_pairs(scales[s], zeros[z], how & 1, how & 2);
}

/* Ties go to even, NaN to the low end, beyond the range to its ends: in whole vectors and behind them. */
static void test_sums_at_the_edges(void **state) {
  (void)state;
  enum { SET = 7, ALL = 19 * SET };
  static const uint8_t x[SET] = {0, 1, 2, 3, 255, 255, 0}, z[SET] = {1, 2, 3, 4, 255, 254, 0},
                       even[SET] = {0, 2, 2, 4, 255, 254, 0}, ends[SET] = {255, 255, 255, 255, 255, 255, 1},
                       halves[SET] = {0, 1, 3, 6, 255, 255, 0}, quarters[SET] = {0, 0, 2, 3, 255, 255, 0};
  uint8_t a[ALL], b[ALL], y[ALL];
  for (int i = 0; i < ALL; i++) a[i] = x[i % SET], b[i] = z[i % SET];
  for (size_t l = 0; level_next(&l); l++) {
    const ox_quantize_table *t = ox_quantize_select(test_levels[l].have);
#define EACH_IS(want) \
  for (int i = 0; i < ALL; i++) assert_int_equal(y[i], want)
    t->add_u8(a, b, y, ALL, &(ox_byte_sum){0.5f, 0.5f, 0});
    EACH_IS(even[i % SET]);
    t->add_u8(a, b, y, ALL, &(ox_byte_sum){1e30f, 1e30f, 1});
    EACH_IS(ends[i % SET]);
    t->add_i8((const int8_t *)a, (const int8_t *)b, (int8_t *)y, ALL, &(ox_byte_sum){1, 1, NAN});
    EACH_IS(128); /* as int8, -128 */
    t->mul_u8(a, b, y, ALL, &(ox_byte_product){0.5f, 0, 0, 0});
    EACH_IS(halves[i % SET]);
    t->mul_u8(a, b, y, ALL, &(ox_byte_product){0.25f, 0, 0, 0});
    EACH_IS(quarters[i % SET]);
    t->mul_i8((const int8_t *)a, (const int8_t *)b, (int8_t *)y, ALL, &(ox_byte_product){NAN, 0, 0, 0});
    EACH_IS(128);
#undef EACH_IS
  }
}

static void test_dequantize_and_range(void **state) {
  (void)state;
  uint8_t u[300];
  float y[300], low, high;
  for (int i = 0; i < 300; i++) u[i] = (uint8_t)i;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_quantize_table *t = ox_quantize_select(test_levels[l].have);
    t->u8_f32(u, y, 300, 0.3f, 7);
    for (int i = 0; i < 300; i++) assert_true(y[i] == (float)((i & 255) - 7) * 0.3f);
    t->i8_f32((const int8_t *)u, y, 300, 0.3f, -7);
    for (int i = 0; i < 300; i++) assert_true(y[i] == (float)((int8_t)u[i] + 7) * 0.3f);
    uint16_t wide[300];
    for (int i = 0; i < 300; i++) wide[i] = (uint16_t)(i * 219);
    t->u16_f32(wide, y, 300, 0.3f, 40007);
    for (int i = 0; i < 300; i++) assert_true(y[i] == (float)(wide[i] - 40007) * 0.3f);
    t->i16_f32((const int16_t *)wide, y, 299, 0.3f, -7);
    for (int i = 0; i < 299; i++) assert_true(y[i] == (float)((int16_t)wide[i] + 7) * 0.3f);
    assert_true(y[299] == (float)(wide[299] - 40007) * 0.3f);
    int32_t large[300];
    for (int i = 0; i < 300; i++) large[i] = i == 5 ? INT32_MIN : (int32_t)((uint32_t)i * 14316557u);
    t->i32_f32(large, y, 299, 0.3f);
    for (int i = 0; i < 299; i++) assert_true(y[i] == (float)large[i] * 0.3f);
    for (size_t n = 0; n < 40; n++) {
      float x[40];
      for (size_t i = 0; i < n; i++) x[i] = i == 3 ? NAN : (float)((i * 7) % 11) - 5;
      low = high = 0;
      t->range(x, n, &low, &high);
      float wl = 0, wh = 0;
      for (size_t i = 0; i < n; i++) wl = x[i] < wl ? x[i] : wl, wh = x[i] > wh ? x[i] : wh;
      if (low != wl || high != wh) fail_msg("%s, n = %zu: %g to %g", test_levels[l].name, n, (double)low, (double)high);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quantize_is_exact),
      cmocka_unit_test(test_map),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_sums_at_the_edges),
      cmocka_unit_test(test_dequantize_and_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
