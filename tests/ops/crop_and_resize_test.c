/* SPDX-License-Identifier: Apache-2.0
 * ops/crop_and_resize_test.c - CropAndResize against the definition, an element at a time. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { IMAGES = 2, C = 19, H = 5, W = 6, REGIONS = 6, MOST = REGIONS * C * 16 };
static const float region[REGIONS][4] = {
    {0, 0, 1, 1},                 /* the whole image, to its last row and column */
    {0.1f, 0.2f, 0.7f, 0.9f},     /* inside */
    {0.8f, 0.9f, 0.2f, 0.1f},     /* turned over */
    {-0.3f, 0.5f, 0.4f, 1.6f},    /* partly outside */
    {NAN, 0, 1, 1},               /* nowhere */
    {0.5f, 0.5f, 0.5f, INFINITY}, /* nowhere but at most its first column */
};
static const int32_t image_of[REGIONS] = {0, 1, 1, 0, 1, 0};

static double pixel(const double *x, int64_t image, int64_t ch, int64_t y, int64_t col) {
  return x[((image * C + ch) * H + y) * W + col];
}

static double wanted(const double *x, const char *mode, int r, int64_t ch, const int32_t size[2], int i, int j) {
  double at[2];
  int from[2] = {i, j}, n[2] = {H, W};
  for (int d = 0; d < 2; d++) {
    double lo = (double)region[r][d] * (n[d] - 1), hi = (double)region[r][d + 2] * (n[d] - 1);
    at[d] = size[d] > 1 ? lo + from[d] * (hi - lo) / (size[d] - 1) : (lo + hi) / 2;
    if (!(at[d] >= 0 && at[d] <= n[d] - 1)) return 0.5;
  }
  int64_t image = image_of[r];
  if (strcmp(mode, "nearest") == 0) return pixel(x, image, ch, (int64_t)round(at[0]), (int64_t)round(at[1]));
  double sum = 0;
  for (int y = 0; y < H; y++) /* a tent of width 2 around the position */
    for (int col = 0; col < W; col++)
      sum += fmax(0, 1 - fabs(at[0] - y)) * fmax(0, 1 - fabs(at[1] - col)) * pixel(x, image, ch, y, col);
  return sum;
}

static void test_definition(void **state) {
  (void)state;
  static double x[IMAGES * C * H * W];
  static float narrow[IMAGES * C * H * W];
  const char *modes[] = {"bilinear", "nearest"};
  const int32_t sizes[][2] = {{4, 4}, {1, 3}, {3, 1}, {1, 1}};
  for (int i = 0; i < IMAGES * C * H * W; i++) narrow[i] = (float)(x[i] = (i * 37 % 101) / 16.0);
  for (int f = 0; f < 2; f++)
    for (int m = 0; m < 2; m++)
      for (int k = 0; k < 4; k++) {
        one_node n;
        one_node_init(&n, "com.microsoft", "CropAndResize", 1, 1);
        one_node_str(&n, "mode", modes[m]);
        one_node_float(&n, "extrapolation_value", 0.5f);
        one_node_input(&n, f ? OX_F64 : OX_F32, 4, (int64_t[]){IMAGES, C, H, W}, f ? (void *)x : narrow);
        double wide[REGIONS * 4];
        for (int i = 0; i < REGIONS * 4; i++) wide[i] = (double)region[i / 4][i % 4];
        one_node_input(&n, f ? OX_F64 : OX_F32, 2, (int64_t[]){REGIONS, 4}, f ? (void *)wide : (void *)region);
        one_node_input(&n, OX_I32, 1, (int64_t[]){REGIONS}, image_of);
        one_node_input(&n, OX_I32, 1, (int64_t[]){2}, sizes[k]);
        CHECK_OK(one_node_run(&n));
        for (int r = 0, o = 0; r < REGIONS; r++)
          for (int ch = 0; ch < C; ch++)
            for (int i = 0; i < sizes[k][0]; i++)
              for (int j = 0; j < sizes[k][1]; j++, o++) {
                double got = f ? ((double *)n.out[0].data)[o] : (double)((float *)n.out[0].data)[o];
                double want = wanted(x, modes[m], r, ch, sizes[k], i, j);
                if (!(fabs(got - want) <= 1e-5))
                  fail_msg("%s %s region %d channel %d [%d,%d]: %g, wanted %g", f ? "double" : "float", modes[m], r, ch,
                           i, j, got, want);
              }
        one_node_deinit(&n);
      }
}

static void test_an_image_that_is_not_there(void **state) {
  (void)state;
  float x[4] = {0}, r[4] = {0, 0, 1, 1};
  one_node n;
  one_node_init(&n, "com.microsoft", "CropAndResize", 1, 1);
  one_node_input(&n, OX_F32, 4, (int64_t[]){1, 1, 2, 2}, x);
  one_node_input(&n, OX_F32, 2, (int64_t[]){1, 4}, r);
  one_node_input(&n, OX_I32, 1, (int64_t[]){1}, (int32_t[]){1});
  one_node_input(&n, OX_I32, 1, (int64_t[]){2}, (int32_t[]){2, 2});
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "region 0 is of image 1, there are 1");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_definition),
      cmocka_unit_test(test_an_image_that_is_not_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
