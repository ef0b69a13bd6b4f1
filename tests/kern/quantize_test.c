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

static void test_quantize_is_exact(void **state) {
  (void)state;
  static const float scales[] = {0.1f, 1.0f, 0.013f, 3e-39f, 1e30f, 7.77f, 0x1p-125f};
  static const int zeros[] = {0, 128, 255, 3};
  static float x[N];
  static uint8_t u[N];
  static int8_t s[N];
  uint32_t seed = 5;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_quantize_table *t = ox_quantize_select(test_levels[l].have);
    for (size_t k = 0; k < OX_COUNT(scales); k++)
      for (size_t z = 0; z < OX_COUNT(zeros); z++) {
        for (size_t i = 0; i < N; i++) {
          float ties = ((float)(test_random(&seed) % 600) - 300) * 0.5f * scales[k];
          x[i] = i < OX_COUNT(test_edges) ? test_edges[i] : i % 2 ? ties : test_uniform(&seed, -200, 200) * scales[k];
        }
        t->f32_u8(x, u, N, scales[k], zeros[z]);
        t->f32_i8(x, s, N, scales[k], zeros[z] - 128);
        for (size_t i = 0; i < N; i++) {
          int wu = oracle(x[i], scales[k], zeros[z], 0, 255), ws = oracle(x[i], scales[k], zeros[z] - 128, -128, 127);
          if (u[i] != wu || s[i] != ws)
            fail_msg("%s: %a / %a, zero %d: got %d and %d, wanted %d and %d", test_levels[l].name, (double)x[i],
                     (double)scales[k], zeros[z], u[i], s[i], wu, ws);
        }
      }
  }
}

static void test_quantize_to_16_bits_is_exact(void **state) {
  (void)state;
  static const float scales[] = {0.1f, 1.0f, 0.013f, 3e-39f, 1e30f, 7.77f, 0x1p-125f, 0.33f};
  static const int zeros[] = {0, 32768, 65535, 3};
  static float x[N];
  static uint16_t u[N];
  static int16_t s[N];
  uint32_t seed = 5;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_quantize_table *t = ox_quantize_select(test_levels[l].have);
    for (size_t k = 0; k < OX_COUNT(scales); k++)
      for (size_t z = 0; z < OX_COUNT(zeros); z++) {
        for (size_t i = 0; i < N; i++) {
          float ties = ((float)(test_random(&seed) % 140000) - 70000) * 0.5f * scales[k];
          x[i] = i < OX_COUNT(test_edges) ? test_edges[i] : i % 2 ? ties : test_uniform(&seed, -7e4f, 7e4f) * scales[k];
          if (i % 4 == 3) x[i] = nextafterf(x[i], i % 8 == 3 ? INFINITY : -INFINITY);
        }
        t->f32_u16(x, u, N, scales[k], zeros[z]);
        t->f32_i16(x, s, N, scales[k], zeros[z] - 32768);
        for (size_t i = 0; i < N; i++) {
          int wu = oracle(x[i], scales[k], zeros[z], 0, 65535),
              ws = oracle(x[i], scales[k], zeros[z] - 32768, -32768, 32767);
          if (u[i] != wu || s[i] != ws)
            fail_msg("%s: %a / %a, zero %d: got %d and %d, wanted %d and %d", test_levels[l].name, (double)x[i],
                     (double)scales[k], zeros[z], u[i], s[i], wu, ws);
        }
      }
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
      cmocka_unit_test(test_quantize_to_16_bits_is_exact),
      cmocka_unit_test(test_map),
      cmocka_unit_test(test_dequantize_and_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
