/* SPDX-License-Identifier: Apache-2.0
 * ops/roi_test.c - MaxRoiPool's bins; RoiAlign against the standard's sampling in double: channels in any number,
 * regions that reach over the image and such whose bins touch many elements, fixed and adaptive samples. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

enum { H = 23, W = 19, ROIS = 6, OUT_H = 3, OUT_W = 2, MOST_CHANNELS = 9, IMAGES = 2 };
static const float regions[ROIS][4] = {{1.5f, 2.25f, 9, 8}, {0, 0, 18, 22},     {-3, -2, 4, 5},
                                       {10, 12, 40, 31},    {5, 5, 5.2f, 5.1f}, {30, 30, 35, 33}};
static const int64_t images[ROIS] = {0, 1, 0, 1, 1, 0};

/* The sum of what four neighbours contribute, or the largest of that. */
static double sample(const float *plane, double y, double x, bool largest) {
  if (y < -1 || y > H || x < -1 || x > W) return 0;
  y = fmax(y, 0), x = fmax(x, 0);
  int y0 = (int)y, x0 = (int)x, y1, x1;
  if (y0 >= H - 1) y = y0 = H - 1;
  if (x0 >= W - 1) x = x0 = W - 1;
  y1 = OX_MIN(y0 + 1, H - 1), x1 = OX_MIN(x0 + 1, W - 1);
  double ly = y - y0, lx = x - x0;
  double a = (1 - ly) * (1 - lx) * (double)plane[y0 * W + x0], b = (1 - ly) * lx * (double)plane[y0 * W + x1];
  double c = ly * (1 - lx) * (double)plane[y1 * W + x0], d = ly * lx * (double)plane[y1 * W + x1];
  return largest ? fmax(fmax(a, b), fmax(c, d)) : a + b + c + d;
}

static double naive(const float *plane, const float *r, int i, int j, bool half, int64_t ratio, bool largest) {
  double shift = half ? 0.5 : 0, x0 = (double)r[0] - shift, y0 = (double)r[1] - shift;
  double w = (double)r[2] - shift - x0, h = (double)r[3] - shift - y0, sum = 0, most = -INFINITY;
  if (!half) w = fmax(w, 1), h = fmax(h, 1);
  double bw = w / OUT_W, bh = h / OUT_H;
  int nx = ratio > 0 ? (int)ratio : (int)ceil(bw), ny = ratio > 0 ? (int)ratio : (int)ceil(bh);
  for (int a = 0; a < ny; a++)
    for (int b = 0; b < nx; b++) {
      double v = sample(plane, y0 + i * bh + (a + 0.5) * bh / ny, x0 + j * bw + (b + 0.5) * bw / nx, largest);
      sum += v, most = fmax(most, v);
    }
  return nx > 0 && ny > 0 ? largest ? most : sum / (nx * ny) : 0;
}

static void check(int64_t channels, bool half, int64_t ratio, bool largest) {
  static float x[IMAGES * MOST_CHANNELS * H * W];
  for (int64_t i = 0; i < IMAGES * channels * H * W; i++) x[i] = (float)(i * 7919 % 1009) / 100 - 5;
  one_node n;
  one_node_init(&n, "", "RoiAlign", 16, 1);
  one_node_str(&n, "mode", largest ? "max" : "avg");
  one_node_int(&n, "output_height", OUT_H), one_node_int(&n, "output_width", OUT_W);
  one_node_int(&n, "sampling_ratio", ratio);
  one_node_str(&n, "coordinate_transformation_mode", half ? "half_pixel" : "output_half_pixel");
  one_node_input(&n, OX_F32, 4, (const int64_t[]){IMAGES, channels, H, W}, x);
  one_node_input(&n, OX_F32, 2, (const int64_t[]){ROIS, 4}, regions);
  one_node_input(&n, OX_I64, 1, (const int64_t[]){ROIS}, images);
  CHECK_OK(one_node_run(&n));
  const float *y = n.out[0].data;
  for (int64_t r = 0; r < ROIS; r++)
    for (int64_t ch = 0; ch < channels; ch++)
      for (int i = 0; i < OUT_H; i++)
        for (int j = 0; j < OUT_W; j++, y++) {
          double want = naive(x + (images[r] * channels + ch) * H * W, regions[r], i, j, half, ratio, largest);
          if (!(fabs((double)*y - want) <= 2e-6 * (1 + fabs(want))))
            fail_msg("%d channels, half %d, ratio %d, max %d: region %d, channel %d, bin %d %d is %g, wanted %g",
                     (int)channels, half, (int)ratio, largest, (int)r, (int)ch, i, j, (double)*y, want);
        }
  one_node_deinit(&n);
}

static void test_samples(void **state) {
  (void)state;
  static const int64_t channels[] = {1, 3, 4, 5, 8, 9};
  for (size_t c = 0; c < OX_COUNT(channels); c++)
    for (int64_t ratio = 0; ratio < 8; ratio++)
      for (int how = 0; how < 4; how++) check(channels[c], how & 1, ratio, how & 2);
}

/* A row that rises: the largest element of a bin is its last one. Bins of whole columns end where they do. */
static void test_bins_of_max_roi_pool(void **state) {
  (void)state;
  enum { COLUMNS = 56, BINS = 7 };
  float x[COLUMNS];
  for (int i = 0; i < COLUMNS; i++) x[i] = (float)i;
  for (int size = 1; size <= COLUMNS; size++) {
    one_node n;
    one_node_init(&n, "", "MaxRoiPool", 1, 1);
    one_node_ints(&n, "pooled_shape", 2, (const int64_t[]){1, BINS});
    one_node_input(&n, OX_F32, 4, (const int64_t[]){1, 1, 1, COLUMNS}, x);
    one_node_input(&n, OX_F32, 2, (const int64_t[]){1, 5}, (const float[]){0, 0, 0, (float)size - 1, 0});
    CHECK_OK(one_node_run(&n));
    for (int j = 0; j < BINS; j++) {
      int last = ((j + 1) * size + BINS - 1) / BINS - 1;
      if (((const float *)n.out[0].data)[j] != (float)last)
        fail_msg("%d columns: bin %d does not end at %d", size, j, last);
    }
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples), cmocka_unit_test(test_bins_of_max_roi_pool)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
