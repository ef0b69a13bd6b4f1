/* SPDX-License-Identifier: Apache-2.0
 * ops/deform_conv_test.c - DeformConv of float64 against sums in long double: groups, offsets outside, mask, bias. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float64_is_computed_in_double),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
