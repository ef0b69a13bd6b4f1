/* SPDX-License-Identifier: Apache-2.0
 * ops/pool_quant_test.c - means of bytes beside those in double, both layouts: QLinearGlobalAveragePool over planes
 * long and short, QLinearAveragePool over one, two and three axes. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

enum { IMAGES = 2, MOST_CHANNELS = 67, MOST_PIXELS = 1100 };

static void check(int channels, int pixels, bool last, bool is_signed) {
  static uint8_t x[IMAGES * MOST_CHANNELS * MOST_PIXELS];
  float xs = 0.05f, ys = 0.03f;
  uint8_t xz = is_signed ? (uint8_t)-9 : 119, yz = is_signed ? 5 : 130;
  uint32_t type = is_signed ? OX_I8 : OX_U8;
  int64_t first[] = {IMAGES, channels, pixels}, behind[] = {IMAGES, pixels, channels};
  for (int i = 0; i < IMAGES * channels * pixels; i++) x[i] = pixels > 500 ? 255 : (uint8_t)(i * 89 + i / 7);
  if (is_signed && pixels > 500) memset(x, 128, sizeof x); /* the least of all sums */
  one_node n;
  one_node_init(&n, "com.microsoft", "QLinearGlobalAveragePool", 1, 1);
  one_node_int(&n, "channels_last", last);
  one_node_input(&n, type, 3, last ? behind : first, x);
  one_node_input(&n, OX_F32, 0, NULL, &xs), one_node_input(&n, type, 0, NULL, &xz);
  one_node_input(&n, OX_F32, 0, NULL, &ys), one_node_input(&n, type, 0, NULL, &yz);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < IMAGES * channels; i++) {
    double sum = 0;
    for (int j = 0; j < pixels; j++) {
      uint8_t b = last ? x[(i / channels * pixels + j) * channels + i % channels] : x[i * pixels + j];
      sum += is_signed ? (int8_t)b - (int8_t)xz : b - xz;
    }
    double q = nearbyint((double)(float)(sum / pixels * (double)xs / (double)ys)) + (is_signed ? (int8_t)yz : yz);
    double want = fmin(fmax(q, is_signed ? -128 : 0), is_signed ? 127 : 255);
    uint8_t got = ((const uint8_t *)n.out[0].data)[i];
    if ((is_signed ? (int8_t)got : got) != want)
      fail_msg("%d channels of %d, last %d, signed %d: [%d] is %d, wanted %g", channels, pixels, last, is_signed, i,
               is_signed ? (int8_t)got : got, want);
  }
  one_node_deinit(&n);
}

static void test_means(void **state) {
  (void)state;
  static const int channels[] = {1, 3, 64, MOST_CHANNELS}, pixels[] = {1, 7, 49, 257, MOST_PIXELS};
  for (size_t c = 0; c < OX_COUNT(channels); c++)
    for (size_t p = 0; p < OX_COUNT(pixels); p++)
      for (int how = 0; how < 4; how++) check(channels[c], pixels[p], how & 1, how & 2);
}

/* 3 wide windows, stride 2, padding of 1 on both sides, on |axes| axes of 7. */
static void check_windows(int axes, bool last, bool is_signed, bool include) {
  enum { SIDE = 7, OUT = 4, CHANNELS = 5, MOST = IMAGES * CHANNELS * SIDE * SIDE * SIDE };
  static uint8_t x[MOST];
  float xs = 0.05f, ys = 0.03f;
  uint8_t xz = is_signed ? (uint8_t)-9 : 119, yz = is_signed ? 5 : 130;
  uint32_t type = is_signed ? OX_I8 : OX_U8;
  int64_t dims[5] = {IMAGES}, three[] = {3, 3, 3}, two[] = {2, 2, 2}, ones[] = {1, 1, 1, 1, 1, 1}, outs = 1, ins = 1;
  for (int a = 0; a < axes; a++) dims[a + (last ? 1 : 2)] = SIDE, outs *= OUT, ins *= SIDE;
  dims[last ? axes + 1 : 1] = CHANNELS;
  for (int i = 0; i < MOST; i++) x[i] = (uint8_t)(i * 89 + i / 7);
  one_node n;
  one_node_init(&n, "com.microsoft", "QLinearAveragePool", 1, 1);
  one_node_ints(&n, "kernel_shape", (size_t)axes, three), one_node_ints(&n, "strides", (size_t)axes, two);
  one_node_ints(&n, "pads", (size_t)axes * 2, ones);
  one_node_int(&n, "channels_last", last), one_node_int(&n, "count_include_pad", include);
  one_node_input(&n, type, axes + 2, dims, x);
  one_node_input(&n, OX_F32, 0, NULL, &xs), one_node_input(&n, type, 0, NULL, &xz);
  one_node_input(&n, OX_F32, 0, NULL, &ys), one_node_input(&n, type, 0, NULL, &yz);
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < IMAGES * CHANNELS * outs; i++) {
    int64_t image = i / (CHANNELS * outs), c = last ? i % CHANNELS : i / outs % CHANNELS;
    int64_t o = last ? i / CHANNELS % outs : i % outs, taps = axes == 1 ? 3 : axes == 2 ? 9 : 27, seen = 0;
    double sum = 0;
    for (int64_t t = 0; t < taps; t++) {
      int64_t at = 0, unit = 1, rest = o, tap = t;
      bool inside = true;
      for (int a = 0; a < axes; a++, unit *= SIDE, rest /= OUT, tap /= 3) {
        int64_t k = rest % OUT * 2 - 1 + tap % 3;
        inside = inside && k >= 0 && k < SIDE, at += k * unit;
      }
      if (!inside) continue;
      uint8_t b = x[last ? (image * ins + at) * CHANNELS + c : (image * CHANNELS + c) * ins + at];
      sum += is_signed ? (int8_t)b - (int8_t)xz : b - xz, seen++;
    }
    double want = sum / (double)(include ? taps : seen) * (double)xs / (double)ys + (is_signed ? (int8_t)yz : yz);
    want = fmin(fmax(want, is_signed ? -128 : 0), is_signed ? 127 : 255);
    uint8_t got = ((const uint8_t *)n.out[0].data)[i];
    if (!(fabs((is_signed ? (int8_t)got : got) - want) <= 0.50001))
      fail_msg("%d axes, last %d, signed %d, padding %d: [%d] is %d, wanted %g", axes, last, is_signed, include, (int)i,
               is_signed ? (int8_t)got : got, want);
  }
  one_node_deinit(&n);
}

static void test_windows(void **state) {
  (void)state;
  for (int axes = 1; axes <= 3; axes++)
    for (int how = 0; how < 8; how++) check_windows(axes, how & 1, how & 2, how & 4);
}

/* No channels: no scratch and no output to touch. */
static void test_no_channels(void **state) {
  (void)state;
  float scale = 1;
  uint8_t zero = 0;
  for (int last = 0; last < 2; last++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "QLinearAveragePool", 1, 1);
    one_node_ints(&n, "kernel_shape", 2, (const int64_t[]){2, 2}), one_node_int(&n, "channels_last", last);
    one_node_input(&n, OX_U8, 4, last ? (const int64_t[]){2, 5, 5, 0} : (const int64_t[]){2, 0, 5, 5}, &zero);
    one_node_input(&n, OX_F32, 0, NULL, &scale), one_node_input(&n, OX_U8, 0, NULL, &zero);
    one_node_input(&n, OX_F32, 0, NULL, &scale), one_node_input(&n, OX_U8, 0, NULL, &zero);
    CHECK_OK(one_node_run(&n));
    assert_int_equal(n.out[0].shape.dim[1], last ? 4 : 0);
    assert_int_equal(n.out[0].bytes, 0);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_means), cmocka_unit_test(test_windows),
                                     cmocka_unit_test(test_no_channels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
