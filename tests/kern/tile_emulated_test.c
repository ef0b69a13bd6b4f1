/* SPDX-License-Identifier: Apache-2.0
 * kern/tile_emulated_test.c - the emulated matrix unit does what Intel's manual says of the real one: order of sums,
 * rounding, denormals; and exact bytes. */
#include "kern/simd/tile_emulated.h"

#include <float.h>

#include "support/check.h"

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
static float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
/* |first| and |second| are bfloat16 already */
static uint32_t pair(float first, float second) { return bits_of(first) >> 16 | bits_of(second); }

/* c + a row of three pairs by a column of three: only element (3, 5) of the tiles is in use. */
static void test_sums_round_in_the_order_of_the_manual(void **state) {
  (void)state;
  static const struct {
    const char *name;
    float c, a[3][2], b[3][2], want;
  } rows[] = {
      {"nothing", 0, {{0}}, {{0}}, 0},
      {"all products", 1, {{2, 3}, {4, 5}, {6, 7}}, {{1, 10}, {100, 1000}, {-1, -2}}, 5413},
      {"firsts from zero on, one by one",
       0,
       {{1, 0}, {0x1p-12f, 0}, {0x1p-12f, 0}},
       {{1, 0}, {0x1p-12f, 0}, {0x1p-12f, 0}},
       1},
      {"firsts apart from seconds", 0, {{1, 0x1p-12f}, {0, 0x1p-12f}}, {{1, 0x1p-12f}, {0, 0x1p-12f}}, 1 + 0x1p-23f},
      {"c comes last", 0x1p24f, {{1, 0}, {1, 0}}, {{1, 0}, {1, 0}}, 0x1p24f + 2},
      {"a tie goes to even", 0, {{1, 0}, {0x1p-24f, 0}}, {{1, 0}, {3, 0}}, 1 + 0x1p-22f},
      {"denormal bfloat16 is zero", 1, {{0x1p-130f, 0x1p-127f}}, {{0x1p127f, 0x1p127f}}, 1},
      {"infinity by a denormal is NaN", 0, {{INFINITY, 0}}, {{0x1p-130f, 0}}, NAN},
      {"denormal c is zero", 0x1.8p-127f, {{0}}, {{0}}, 0},
      {"denormal product is zero", 0, {{0x1p-63f, 0}, {0x1p-63f, 0}}, {{0x1p-64f, 0}, {0x1p-64f, 0}}, 0},
      {"least normal", 0, {{0x1p-63f, 0}}, {{0x1p-63f, 0}}, FLT_MIN},
      {"below the least normal", 0, {{0x1p-63f, 0}, {-0x1p-75f, 0}}, {{0x1p-63f, 0}, {0x1p-75f, 0}}, 0},
      {"rounded to the least normal", 0, {{0x1p-63f, 0}, {-0x1p-76f, 0}}, {{0x1p-63f, 0}, {0x1p-75f, 0}}, FLT_MIN},
      {"overflow stays", 0, {{0x1p100f, 0}, {-0x1p100f, 0}}, {{0x1p100f, 0}, {0x1p100f, 0}}, INFINITY},
      {"infinity", 1, {{INFINITY, 0}}, {{-2, 0}}, -INFINITY},
      {"infinity less infinity", 0, {{INFINITY, INFINITY}}, {{1, -1}}, NAN},
      {"NaN", 0, {{NAN, 0}}, {{0, 0}}, NAN},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    VT_TILES;
    vt_zero(0);
    vt_zero(4);
    vt_zero(6);
    vt_tiles_[0].row[3][5] = bits_of(rows[i].c);
    for (size_t p = 0; p < 3; p++) {
      vt_tiles_[4].row[3][p] = pair(rows[i].a[p][0], rows[i].a[p][1]);
      vt_tiles_[6].row[p][5] = pair(rows[i].b[p][0], rows[i].b[p][1]);
    }
    vt_dot_bf16(0, 4, 6);
    float got = float_of(vt_tiles_[0].row[3][5]);
    if (!(isnan(rows[i].want) ? isnan(got) : got == rows[i].want))
      fail_msg("%s: %a, wanted %a", rows[i].name, (double)got, (double)rows[i].want);
  }
}

static uint32_t seed = 1;
static uint32_t next(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed >> 8;
}
/* bfloat16 of every class; most near 1, so that sums round */
static uint32_t any_bf16(void) {
  uint32_t r = next() % 64, exponent = r == 0 ? 255 : r == 1 ? 0 : r < 8 ? next() % 256 : 118 + next() % 16;
  return (next() % 2 << 15) | exponent << 7 | next() % 128;
}
static float flushed(float f) { return fabsf(f) < FLT_MIN ? copysignf(0, f) : f; }

/* The manual's pseudo-code in fmaf. It tells denormal after rounding to 2^-149, which for no input here differs. */
static float manual(float c, const uint32_t *a, const uint32_t *b) {
  float sum[2] = {0, 0};
  for (size_t p = 0; p < 16; p++)
    for (size_t h = 0; h < 2; h++) {
      uint32_t x = h ? a[p] & 0xffff0000 : a[p] << 16, y = h ? b[p] & 0xffff0000 : b[p] << 16;
      sum[h] = flushed(fmaf(flushed(float_of(x)), flushed(float_of(y)), sum[h]));
    }
  return flushed(flushed(c) + flushed(sum[0] + sum[1]));
}

static void test_any_bfloat16(void **state) {
  (void)state;
  static uint32_t a[16][16], b[16][16], column[16], c[16][16], got[16][16];
  for (int turn = 0; turn < 100; turn++) {
    for (size_t i = 0; i < 256; i++) {
      a[i / 16][i % 16] = any_bf16() | any_bf16() << 16, b[i / 16][i % 16] = any_bf16() | any_bf16() << 16;
      c[i / 16][i % 16] = any_bf16() << 16 | next() % 65536;
    }
    VT_TILES;
    vt_load(1, c, 64);
    vt_load(2, a, 64);
    vt_load(3, b, 64);
    vt_dot_bf16(1, 2, 3);
    vt_store(1, got, 64);
    for (size_t i = 0; i < 16; i++)
      for (size_t j = 0; j < 16; j++) {
        for (size_t p = 0; p < 16; p++) column[p] = b[p][j];
        float want = manual(float_of(c[i][j]), a[i], column);
        if (isnan(want) ? !isnan(float_of(got[i][j])) : bits_of(want) != got[i][j])
          fail_msg("turn %d (%zu, %zu): %a, wanted %a", turn, i, j, (double)float_of(got[i][j]), (double)want);
      }
  }
}

static void test_bytes_are_exact(void **state) {
  (void)state;
  static uint8_t a[16][64], b[16][64];
  static int32_t c[16][16], got[16][16];
  for (size_t i = 0; i < 1024; i++) {
    a[i / 64][i % 64] = (uint8_t)(next() % 3 ? next() : 255), b[i / 64][i % 64] = (uint8_t)(next() % 3 ? next() : 128);
    c[i / 64][i % 16] = (int32_t)next() - 8388608;
  }
  c[2][7] = INT32_MAX;
  VT_TILES;
  vt_load(0, c, 64);
  vt_load(4, a, 64);
  vt_load(7, b, 64);
  vt_dot_u8s8(0, 4, 7);
  vt_store(0, got, 64);
  for (size_t i = 0; i < 16; i++)
    for (size_t j = 0; j < 16; j++) {
      int64_t want = c[i][j];
      for (size_t k = 0; k < 64; k++) want += a[i][k] * (int8_t)b[k / 4][4 * j + k % 4];
      assert_int_equal((uint32_t)got[i][j], (uint32_t)want);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_round_in_the_order_of_the_manual),
      cmocka_unit_test(test_any_bfloat16),
      cmocka_unit_test(test_bytes_are_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
