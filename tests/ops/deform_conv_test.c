/* SPDX-License-Identifier: Apache-2.0
 * ops/deform_conv_test.c - DeformConv of float64 against sums in long double: groups, offsets outside, mask, bias;
 * of floats, whose channels share offsets, against sums in double. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { N = 2, C = 4, H = 5, W = 6, OC = 6, GROUPS = 2, OFFSETS = 2, K = 2, OH = 5, OW = 3, TAPS = K * K };

static double x[N * C * H * W], w[OC * C / GROUPS * TAPS], b[OC], mask[N * OFFSETS * TAPS * OH * OW];
static double offset[N * OFFSETS * TAPS * 2 * OH * OW];

static void fill(double *p, size_t n, double step, double range) {
  for (size_t i = 0; i < n; i++) p[i] = range * sin(step * (double)i + 1);
}

static long double pixel(int64_t plane, long double r, long double c) {
  long double y0 = floorl(r), x0 = floorl(c), sum = 0;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      long double row = y0 + i, column = x0 + j, weight = (1 - fabsl(r - row)) * (1 - fabsl(c - column));
      if (row >= 0 && row < H && column >= 0 && column < W)
        sum += weight * (long double)x[plane * H * W + (int64_t)row * W + (int64_t)column];
    }
  return sum;
}

/* Strides 1 and 2, dilations 2 and 1, pads 1, 0 and 1, 1. */
static long double wanted(int64_t n, int64_t oc, int64_t oh, int64_t ow, bool with_mask) {
  long double sum = b[oc];
  int64_t per = C / GROUPS, group = oc / (OC / GROUPS);
  for (int64_t i = 0; i < per; i++)
    for (int64_t t = 0; t < TAPS; t++) {
      int64_t ch = group * per + i, og = ch / (C / OFFSETS), px = oh * OW + ow;
      int64_t at = ((n * OFFSETS + og) * TAPS + t) * 2 * OH * OW + px,
              m = ((n * OFFSETS + og) * TAPS + t) * OH * OW + px;
      long double r = (long double)(oh - 1 + t / K * 2) + (long double)offset[at];
      long double c = (long double)(ow * 2 + t % K) + (long double)offset[at + OH * OW];
      sum +=
          pixel(n * C + ch, r, c) * (long double)w[(oc * per + i) * TAPS + t] * (with_mask ? (long double)mask[m] : 1);
    }
  return sum;
}

static void test_float64_is_computed_in_double(void **state) {
  (void)state;
  fill(x, OX_COUNT(x), 0.7, 2), fill(w, OX_COUNT(w), 1.1, 1), fill(b, OX_COUNT(b), 0.3, 1);
  fill(mask, OX_COUNT(mask), 0.9, 1), fill(offset, OX_COUNT(offset), 2.3, 3);
  for (int with_mask = 0; with_mask < 2; with_mask++)
    for (int64_t tiles = 0; tiles < 2; tiles++) {
      one_node n;
      one_node_init(&n, "", "DeformConv", 19, 1);
      n.run_tiles = tiles;
      one_node_int(&n, "group", GROUPS);
      one_node_int(&n, "offset_group", OFFSETS);
      one_node_ints(&n, "strides", 2, (int64_t[]){1, 2});
      one_node_ints(&n, "dilations", 2, (int64_t[]){2, 1});
      one_node_ints(&n, "pads", 4, (int64_t[]){1, 0, 1, 1});
      one_node_input(&n, OX_F64, 4, (int64_t[]){N, C, H, W}, x);
      one_node_input(&n, OX_F64, 4, (int64_t[]){OC, C / GROUPS, K, K}, w);
      one_node_input(&n, OX_F64, 4, (int64_t[]){N, OFFSETS * TAPS * 2, OH, OW}, offset);
      one_node_input(&n, OX_F64, 1, (int64_t[]){OC}, b);
      one_node_input(&n, OX_F64, with_mask ? 4 : -1, (int64_t[]){N, OFFSETS * TAPS, OH, OW}, with_mask ? mask : NULL);
      CHECK_OK(one_node_run(&n));
      assert_int_equal(ox_shape_count(&n.out[0].shape), N * OC * OH * OW);
      for (int64_t i = 0; i < N * OC * OH * OW; i++) {
        long double want = wanted(i / (OC * OH * OW), i / (OH * OW) % OC, i / OW % OH, i % OW, with_mask);
        double got = ((const double *)n.out[0].data)[i];
        if (!(fabsl((long double)got - want) <= 1e-14L))
          fail_msg("mask %d: [%d] is %.17g, wanted %.17g", with_mask, (int)i, got, (double)want);
      }
      one_node_deinit(&n);
    }
}

/* Floats of |channels| in |offsets| groups on 7 x 9, 3 x 3 taps, padding 1: inside, at the border, beyond it, on
 * pixels, nowhere (NaN, infinity). */
enum { FH = 7, FW = 9, FK = 3, FT = FK * FK, FP = FH * FW, FOC = 5, MOST = 48 };
static float fx[2 * MOST * FP], fw[FOC * MOST * FT], fo[2 * 4 * FT * 2 * FP], fm[2 * 4 * FT * FP];

static double float_pixel(const float *plane, double r, double c) {
  double y0 = floor(r), x0 = floor(c), sum = 0;
  for (int i = 0; i < 4 && isfinite(r) && isfinite(c); i++) {
    double row = y0 + i / 2, column = x0 + i % 2;
    if (row >= 0 && row < FH && column >= 0 && column < FW)
      sum += (1 - fabs(r - row)) * (1 - fabs(c - column)) * (double)plane[(int)row * FW + (int)column];
  }
  return sum;
}

static double wanted_float(int64_t channels, int64_t offsets, int64_t n, int64_t oc, int64_t px, bool with_mask) {
  double sum = 0;
  for (int64_t ch = 0; ch < channels; ch++)
    for (int64_t t = 0; t < FT; t++) {
      int64_t row = (n * offsets + ch / (channels / offsets)) * FT + t;
      double r = (double)(px / FW - 1 + t / FK) + (double)fo[2 * row * FP + px];
      double c = (double)(px % FW - 1 + t % FK) + (double)fo[(2 * row + 1) * FP + px];
      sum += float_pixel(fx + (n * channels + ch) * FP, r, c) * (double)fw[(oc * channels + ch) * FT + t] *
             (with_mask ? (double)fm[row * FP + px] : 1);
    }
  return sum;
}

static void check_floats(size_t level, int64_t channels, int64_t offsets, bool with_mask) {
  one_node n;
  one_node_init(&n, "", "DeformConv", 19, 1);
  n.isa = test_levels[level].have, n.run_tiles = 1;
  one_node_int(&n, "offset_group", offsets);
  one_node_ints(&n, "pads", 4, (int64_t[]){1, 1, 1, 1});
  one_node_input(&n, OX_F32, 4, (int64_t[]){2, channels, FH, FW}, fx);
  one_node_input(&n, OX_F32, 4, (int64_t[]){FOC, channels, FK, FK}, fw);
  one_node_input(&n, OX_F32, 4, (int64_t[]){2, offsets * FT * 2, FH, FW}, fo);
  one_node_input(&n, OX_F32, -1, NULL, NULL);
  one_node_input(&n, OX_F32, with_mask ? 4 : -1, (int64_t[]){2, offsets * FT, FH, FW}, with_mask ? fm : NULL);
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < 2 * FOC * FP; i++) {
    double want = wanted_float(channels, offsets, i / FOC / FP, i / FP % FOC, i % FP, with_mask);
    double got = (double)((const float *)n.out[0].data)[i];
    if (!(fabs(got - want) <= 2e-5))
      fail_msg("%s, %d channels, %d offsets, mask %d: [%d] is %.9g, wanted %.9g", test_levels[level].name,
               (int)channels, (int)offsets, with_mask, (int)i, got, want);
  }
  one_node_deinit(&n);
}

static void test_channels_that_share_offsets(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{1, 1}, {4, 1}, {16, 1}, {17, 1}, {48, 1}, {48, 3}, {20, 4}, {8, 4}};
  uint32_t seed = 3;
  for (size_t i = 0; i < OX_COUNT(fx); i++) fx[i] = test_uniform(&seed, -1, 1);
  for (size_t i = 0; i < OX_COUNT(fw); i++) fw[i] = test_uniform(&seed, -1, 1);
  for (size_t i = 0; i < OX_COUNT(fm); i++) fm[i] = test_uniform(&seed, 0, 1);
  for (size_t i = 0; i < OX_COUNT(fo); i++) {
    static const float odd[] = {0, 1, -1, -3, NAN, INFINITY, -INFINITY, 3e9f, -0.5f, 0x1p-20f, -0x1p-20f};
    fo[i] = i % 5 == 2 ? odd[i / 5 % OX_COUNT(odd)] : test_uniform(&seed, -3, 3);
  }
  for (size_t l = 0; level_next(&l); l++)
    for (size_t s = 0; s < OX_COUNT(sizes); s++)
      for (int with_mask = 0; with_mask < 2; with_mask++) check_floats(l, sizes[s][0], sizes[s][1], with_mask);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float64_is_computed_in_double),
      cmocka_unit_test(test_channels_that_share_offsets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
