/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/sampling_kernels_test.c - the kernels that look for places, beside loops in double: taps of deformed
 * convolutions, crops, tables of few bits, sequences turned around, norms of windows. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/deform_params.h"
#include "plugins/device/kernels/gather_nbits_params.h"
#include "plugins/device/kernels/pool_params.h"
#include "plugins/device/kernels/roi_params.h"
#include "plugins/device/kernels/select_params.h"
#include "support/check.h"

KERNEL_OF(deform_columns);
KERNEL_OF(roi_crop);
KERNEL_OF(gather_nbits);
KERNEL_OF(reverse1);
KERNEL_OF(reverse8);
KERNEL_OF(pool);

static void compare(const char *what, const numbers *y, int i, double wanted) {
  double got = (double)number_at(y, i), tolerance = y->half ? fabs(wanted) / 1024 + 1e-3 : fabs(wanted) * 2e-6 + 2e-6;
  if (isnan(wanted) ? !isnan(got) : !(fabs(got - wanted) <= tolerance))
    fail_msg("%s, half %d: element %d is %g, wanted %g", what, y->half, i, got, wanted);
}

/* ---- deform_columns: two axes ---- */

/* Between the pixels of a plane of h x w; 0 outside. */
static double sampled(const numbers *x, int plane, int h, int w, double v, double u) {
  double sum = 0;
  int top = (int)floor(v), left = (int)floor(u);
  for (int i = top; i <= top + 1; i++)
    for (int j = left; j <= left + 1; j++)
      if (i >= 0 && i < h && j >= 0 && j < w)
        sum += (1 - fabs(v - i)) * (1 - fabs(u - j)) * (double)number_at(x, (plane * h + i) * w + j);
  return sum;
}

/* Two images of |groups| x |channels| channels. */
static void check_deform(int groups, int channels, int extent, int stride, int dilation, int pad, int masked,
                         int half) {
  enum { H = 5, W = 7 };
  int reach = (extent - 1) * dilation + 1, oh = (H + 2 * pad - reach) / stride + 1,
      ow = (W + 2 * pad - reach) / stride + 1;
  deform_params p = {.channels = channels,
                     .axes = 2,
                     .taps = extent * extent,
                     .pixels = oh * ow,
                     .has_mask = masked,
                     .in = {1, H, W},
                     .out = {1, oh, ow},
                     .extent = {1, extent, extent},
                     .stride = {1, stride, stride},
                     .dilation = {1, dilation, dilation},
                     .pad = {0, pad, pad}};
  p.n = 2 * groups * p.taps * p.pixels;
  numbers x = numbers_make(2 * groups * channels * H * W, half, 1), offset = numbers_make(2 * p.n, half, 2);
  numbers mask = numbers_make(p.n, half, 3), y = numbers_make(p.n * channels, half, 4);
  run_groups(half ? deform_columns_f16 : deform_columns_f32, OX_CEIL_DIV(p.n, 256),
             (void *[]){x.data, offset.data, mask.data, y.data}, &p);
  for (int i = 0; i < p.n; i++)
    for (int c = 0; c < channels; c++) {
      int px = i % p.pixels, row = i / p.pixels, tap = row % p.taps, plane = row / p.taps * channels + c;
      double v = px / ow * stride - pad + tap / extent * dilation + (double)number_at(&offset, 2 * row * p.pixels + px);
      double u =
          px % ow * stride - pad + tap % extent * dilation + (double)number_at(&offset, (2 * row + 1) * p.pixels + px);
      double wanted = sampled(&x, plane, H, W, v, u) * (masked ? (double)number_at(&mask, i) : 1);
      compare("deformed taps", &y, (plane * p.taps + tap) * p.pixels + px, wanted);
    }
  free(x.data), free(offset.data), free(mask.data), free(y.data);
}

static void test_deform(void **state) {
  (void)state;
  for (int form = 0; form < 4; form++) {
    check_deform(1, 1, 1, 1, 1, 0, form & 1, form >> 1);
    check_deform(2, 3, 3, 1, 1, 1, form & 1, form >> 1);
    check_deform(1, 2, 2, 2, 2, 2, form & 1, form >> 1);
  }
}

/* ---- roi_crop ---- */

static void check_crop(int oh, int ow, int nearest, int half) {
  enum { IMAGES = 2, CHANNELS = 3, H = 4, W = 9, REGIONS = 5 };
  static const float boxes[REGIONS][4] = {
      {0, 0, 1, 1}, {0.25f, 0.125f, 0.75f, 0.875f}, {-0.5f, 0, 1.5f, 1}, {1, 1, 0, 0}, {0.5f, 0.5f, 0.5f, 0.5f}};
  int images[REGIONS] = {0, 1, 1, 0, 1};
  roi_params p = {.n = REGIONS * CHANNELS * oh * ow,
                  .images = IMAGES,
                  .channels = CHANNELS,
                  .in = {H, W},
                  .out = {oh, ow},
                  .scale = -7,
                  .nearest = nearest};
  numbers x = numbers_make(IMAGES * CHANNELS * H * W, half, 1), r = numbers_make(REGIONS * 4, half, 2);
  numbers y = numbers_make(p.n, half, 3);
  for (int i = 0; i < REGIONS * 4; i++) number_set(&r, i, boxes[i / 4][i % 4]);
  run_groups(half ? roi_crop_f16 : roi_crop_f32, OX_CEIL_DIV(p.n, 256), (void *[]){x.data, r.data, images, y.data}, &p);
  for (int i = 0; i < p.n; i++) {
    int region = i / (CHANNELS * oh * ow), plane = images[region] * CHANNELS + i / (oh * ow) % CHANNELS;
    const float *b = boxes[region];
    int at[2] = {i / ow % oh, i % ow}, out[2] = {oh, ow}, in[2] = {H, W};
    double v[2];
    bool inside = true;
    for (int a = 0; a < 2; a++) {
      double low = (double)b[a], high = (double)b[a + 2];
      v[a] = out[a] == 1 ? (low + high) / 2 : low + at[a] * (high - low) / (out[a] - 1);
      v[a] *= in[a] - 1, inside &= v[a] >= 0 && v[a] <= in[a] - 1;
    }
    if (nearest) v[0] = round(v[0]), v[1] = round(v[1]);
    compare("a crop", &y, i, inside ? sampled(&x, plane, H, W, v[0], v[1]) : -7);
  }
  free(x.data), free(r.data), free(y.data);
}

static void test_crops(void **state) {
  (void)state;
  for (int form = 0; form < 4; form++) {
    check_crop(1, 1, form & 1, form >> 1);
    check_crop(3, 5, form & 1, form >> 1);
    check_crop(1, 9, form & 1, form >> 1);
  }
}

/* ---- gather_nbits: [2, axis, 3, size, post], blocks along |size| ---- */

static int bits_at(const unsigned char *v, int bits, int i, bool is_signed) {
  int x = 0;
  for (int b = 0; b < bits; b++) x |= (v[(i * bits + b) / 8] >> ((i * bits + b) % 8) & 1) << b;
  return is_signed && x >= 1 << (bits - 1) ? x - (1 << bits) : x;
}

static void check_table(int bits, bool is_signed, bool has_zero, int wide, int half) {
  enum { OUTER = 2, AXIS = 5, MID = 3, SIZE = 6, POST = 4, BLOCK = 4, BLOCKS = 2, MANY = 4 };
  static const int index[MANY] = {4, 0, -2, 5}; /* the last is outside */
  int values = OUTER * AXIS * MID * SIZE * POST, inner = MID * SIZE * POST, scales = OUTER * AXIS * MID * BLOCKS * POST;
  gather_nbits_params p = {.n = OUTER * MANY * inner,
                           .wide = wide,
                           .many = MANY,
                           .axis = AXIS,
                           .inner = inner,
                           .post = POST,
                           .size = SIZE,
                           .block = BLOCK,
                           .pre_step = BLOCKS * POST,
                           .block_step = POST,
                           .post_step = 1,
                           .bits = bits,
                           .is_signed = is_signed,
                           .has_zero = has_zero,
                           .zero_row = POST,
                           .scale_row = POST,
                           .zero = 3};
  unsigned char table[OUTER * AXIS * MID * SIZE * POST], zeros[OUTER * AXIS * MID * BLOCKS * POST];
  int64_t long_index[MANY];
  int short_index[MANY];
  numbers scale = numbers_make(scales, half, 5), y = numbers_make(p.n, half, 6);
  for (int i = 0; i < values; i++) table[i] = (unsigned char)(i * 37 + i / 9);
  for (int i = 0; i < scales; i++) zeros[i] = (unsigned char)(i * 53 + i / 7);
  for (int i = 0; i < MANY; i++) long_index[i] = short_index[i] = index[i];
  run_groups(half ? gather_nbits_f16 : gather_nbits_f32, OX_CEIL_DIV(p.n, 256),
             (void *[]){table, wide ? (void *)long_index : (void *)short_index, scale.data, zeros, y.data}, &p);
  for (int i = 0; i < p.n; i++) {
    int which = index[i / inner % MANY], row = i / inner / MANY * AXIS + (which < 0 ? which + AXIS : which);
    int mid = i / (SIZE * POST) % MID, at = i / POST % SIZE, post = i % POST;
    int s = ((row * MID + mid) * BLOCKS + at / BLOCK) * POST + post;
    double wanted = 0;
    if (which < AXIS) {
      double zero = has_zero ? bits_at(zeros, bits, s, is_signed) : 3;
      wanted = (bits_at(table, bits, ((row * MID + mid) * SIZE + at) * POST + post, is_signed) - zero) *
               (double)number_at(&scale, s);
    }
    compare("a table of few bits", &y, i, wanted);
  }
  free(scale.data), free(y.data);
}

static void test_tables(void **state) {
  (void)state;
  for (int bits = 2; bits <= 8; bits *= 2)
    for (int form = 0; form < 16; form++) check_table(bits, form & 1, form >> 1 & 1, form >> 2 & 1, form >> 3);
}

/* ---- reverse ---- */

static void test_reverse(void **state) {
  (void)state;
  enum { TIMES = 6, BATCH = 4, INNER = 3, ALL = TIMES * BATCH * INNER };
  int64_t lengths[BATCH] = {0, 1, 6, 4}, x[ALL], y[ALL];
  unsigned char b[ALL], c[ALL];
  for (int i = 0; i < ALL; i++) x[i] = i * (int64_t)0x100000001, b[i] = (unsigned char)i;
  reverse_params p = {ALL, TIMES, BATCH * INNER, BATCH, INNER}, q = {ALL, TIMES, INNER, BATCH, TIMES * INNER};
  run_groups(reverse8_f32, 1, (void *[]){x, lengths, y}, &p);
  run_groups(reverse1_f32, 1, (void *[]){b, lengths, c}, &q);
  for (int t = 0; t < TIMES; t++)
    for (int n = 0; n < BATCH; n++)
      for (int i = 0; i < INNER; i++) {
        int from = t < lengths[n] ? (int)lengths[n] - 1 - t : t;
        assert_int_equal(y[(t * BATCH + n) * INNER + i], x[(from * BATCH + n) * INNER + i]);
        assert_int_equal(c[(n * TIMES + t) * INNER + i], b[(n * TIMES + from) * INNER + i]);
      }
}

/* ---- pool: roots of sums of powers ---- */

static void check_power(float power, int half) {
  enum { H = 6, W = 7, OH = 4, OW = 3 };
  pool_params p = {.n = 2 * OH * OW,
                   .inner = 1,
                   .power = power,
                   .in = {1, H, W},
                   .out = {1, OH, OW},
                   .extent = {1, 3, 2},
                   .stride = {1, 2, 3},
                   .dilation = {1, 1, 2},
                   .pad = {0, 1, 1},
                   .end = {1, H, W}};
  numbers x = numbers_make(2 * H * W, half, 1), y = numbers_make(p.n, half, 2);
  run_groups(half ? pool_f16 : pool_f32, 1, (void *[]){x.data, y.data, NULL, NULL, NULL}, &p);
  for (int i = 0; i < p.n; i++) {
    double sum = 0;
    for (int ky = 0; ky < 3; ky++)
      for (int kx = 0; kx < 2; kx++) {
        int row = i / OW % OH * 2 - 1 + ky, column = i % OW * 3 - 1 + kx * 2;
        if (row >= 0 && row < H && column >= 0 && column < W)
          sum += pow(fabs((double)number_at(&x, (i / (OH * OW) * H + row) * W + column)), (double)power);
      }
    compare("a norm of a window", &y, i, pow(sum, 1 / (double)power));
  }
  free(x.data), free(y.data);
}

static void test_powers(void **state) {
  (void)state;
  for (int half = 0; half < 2; half++) check_power(1, half), check_power(2, half), check_power(3, half);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_deform), cmocka_unit_test(test_crops),
                                     cmocka_unit_test(test_tables), cmocka_unit_test(test_reverse),
                                     cmocka_unit_test(test_powers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
