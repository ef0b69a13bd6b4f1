/* SPDX-License-Identifier: Apache-2.0
 * ops/grid_sample_test.c - GridSample of float64 against sums over all pixels in long double; of types without a
 * middle. AffineGrid. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"
#include "support/typed.h"

enum { H = 4, W = 5, POINTS = 6 };

static long double filter(bool cubic, long double d) {
  long double x = fabsl(d), a = -0.75L;
  if (!cubic) return x < 1 ? 1 - x : 0;
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

static long double pixels(double g, int n, bool align) {
  return align ? ((long double)g + 1) / 2 * (n - 1) : (((long double)g + 1) * n - 1) / 2;
}

static long double wanted(const double *x, const double *g, bool cubic, bool border, bool align) {
  long double px = pixels(g[0], W, align), py = pixels(g[1], H, align), sum = 0;
  for (int i = -20; i < 25; i++)
    for (int j = -20; j < 25; j++) {
      bool inside = i >= 0 && i < H && j >= 0 && j < W;
      int row = OX_MIN(OX_MAX(i, 0), H - 1), column = OX_MIN(OX_MAX(j, 0), W - 1);
      if (inside || border) sum += filter(cubic, i - py) * filter(cubic, j - px) * (long double)x[row * W + column];
    }
  return sum;
}

static void test_float64_is_sampled_in_double(void **state) {
  (void)state;
  double x[2 * H * W],
      grid[2 * POINTS] = {0, 0, -0.7, 0.3, 0.123456789, -0.987654321, 1.0 / 3, -1, -1.25, 0.9, 1.3, 1.4};
  for (int i = 0; i < 2 * H * W; i++) x[i] = cos(i * 1.3) * 4 + 1.0 / 3;
  for (int how = 0; how < 8; how++) {
    bool cubic = how & 1, border = how & 2, align = how & 4;
    one_node n;
    one_node_init(&n, "", "GridSample", 20, 1);
    one_node_str(&n, "mode", cubic ? "cubic" : "linear");
    one_node_str(&n, "padding_mode", border ? "border" : "zeros");
    one_node_int(&n, "align_corners", align);
    one_node_input(&n, OX_F64, 4, (int64_t[]){1, 2, H, W}, x);
    one_node_input(&n, OX_F64, 4, (int64_t[]){1, 2, POINTS / 2, 2}, grid);
    CHECK_OK(one_node_run(&n));
    for (int i = 0; i < 2 * POINTS; i++) {
      double got = ((const double *)n.out[0].data)[i];
      long double want = wanted(x + i / POINTS * H * W, grid + i % POINTS * 2, cubic, border, align);
      if (!(fabsl((long double)got - want) <= 2e-14L))
        fail_msg("cubic %d, border %d, align %d: [%d] is %.17g, wanted %.17g", cubic, border, align, i, got,
                 (double)want);
    }
    one_node_deinit(&n);
  }
}

/* More points than are taken together, inside, on pixels, at the borders and outside, of two images and three channels.
 */
static void test_floats_are_those_of_doubles(void **state) {
  (void)state;
  enum { IMAGES = 2, CHANNELS = 3, MANY = 1190 };
  static double x64[IMAGES * CHANNELS * H * W], grid64[IMAGES * MANY * 2];
  static float x[IMAGES * CHANNELS * H * W], grid[IMAGES * MANY * 2];
  static const float borders[] = {-1, 1, 0, -1.0001f, 1.0001f, -0.5f, 0.6f, 1.2f, -3, 0.2f, -0.75f};
  for (size_t i = 0; i < OX_COUNT(x); i++) x[i] = (float)(cos((double)i * 1.3) * 4), x64[i] = (double)x[i];
  for (size_t i = 0; i < OX_COUNT(grid); i++) {
    grid[i] = i % 5 == 3 ? borders[i / 5 % OX_COUNT(borders)] : (float)sin((double)i * 0.77) * (i % 7 ? 1 : 1.6f);
    grid64[i] = (double)grid[i];
  }
  for (int how = 0; how < 4; how++) {
    bool border = how & 1, align = how & 2;
    one_node n;
    one_node_init(&n, "", "GridSample", 20, 1);
    one_node_str(&n, "mode", "linear");
    one_node_str(&n, "padding_mode", border ? "border" : "zeros");
    one_node_int(&n, "align_corners", align);
    one_node_input(&n, OX_F32, 4, (int64_t[]){IMAGES, CHANNELS, H, W}, x);
    one_node_input(&n, OX_F32, 4, (int64_t[]){IMAGES, MANY / 10, 10, 2}, grid);
    CHECK_OK(one_node_run(&n));
    for (int i = 0; i < IMAGES * CHANNELS * MANY; i++) {
      int plane = i / MANY, point = plane / CHANNELS * MANY + i % MANY;
      double got = (double)((const float *)n.out[0].data)[i];
      long double want = wanted(x64 + plane * H * W, grid64 + point * 2, false, border, align);
      if (!(fabsl((long double)got - want) <= 1e-5L))
        fail_msg("border %d, align %d: [%d] is %g, wanted %g", border, align, i, got, (double)want);
    }
    one_node_deinit(&n);
  }
}

/* ---- one row of three pixels, read at the third, the first and outside ---- */
static void sample(one_node *n, const char *mode, uint32_t dtype, const void *x) {
  static const float grid[] = {1, 0, -1, 0, 5, 0, -0.5f, 0};
  one_node_init(n, "", "GridSample", 20, 1);
  one_node_str(n, "mode", mode);
  one_node_int(n, "align_corners", 1);
  one_node_input(n, dtype, 4, (int64_t[]){1, 1, 1, 3}, x);
  one_node_input(n, OX_F32, 4, (int64_t[]){1, 1, 4, 2}, grid);
}

static void test_nearest_copies_any_type(void **state) {
  (void)state;
  const ox_str words[3] = {{"a", 1}, {"bc", 2}, {"def", 3}};
  const int64_t whole[3] = {INT64_MAX, 2, INT64_MIN + 1}; /* no double holds these */
  one_node n;
  sample(&n, "nearest", OX_STRING, words);
  CHECK_OK(one_node_run(&n));
  const ox_str *y = n.out[0].data;
  assert_memory_equal(y[0].p, "def", 3);
  assert_memory_equal(y[1].p, "a", 1);
  assert_int_equal(y[2].n, 0);
  one_node_deinit(&n);
  sample(&n, "nearest", OX_I64, whole);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((int64_t[]){INT64_MIN + 1, INT64_MAX, 0}), 24);
  one_node_deinit(&n);
  sample(&n, "nearest", OX_BOOL, (bool[]){0, 0, 1});
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((bool[]){1, 0, 0}), 3);
  one_node_deinit(&n);
}

/* Planes of elements of some sizes, beside the same as volumes of one slice, which go another way. */
static void test_nearest_of_planes(void **state) {
  (void)state;
  enum { CHANNELS = 3, MANY = 150, PH = 5, PW = 7 };
  static const uint32_t types[] = {OX_U8, OX_F16, OX_F32, OX_F64};
  static const char *const pads[] = {"zeros", "border", "reflection"};
  static const float odd[] = {-1, 1, 0, -1.2f, 1.2f, NAN, INFINITY, -INFINITY, -1.0001f, 3e30f, 0.4285714f};
  static unsigned char x[2 * CHANNELS * PH * PW * 8];
  static float flat[2 * MANY * 2], deep[2 * MANY * 3];
  uint32_t seed = 11;
  for (size_t i = 0; i < sizeof x; i++) x[i] = (unsigned char)(i * 7);
  for (int i = 0; i < 2 * MANY; i++)
    for (int k = 0; k < 2; k++)
      deep[3 * i + k] = flat[2 * i + k] =
          i % 4 == k ? odd[i / 4 % (int)OX_COUNT(odd)] : test_uniform(&seed, -1.4f, 1.4f);
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int how = 0; how < 6; how++) {
      one_node n[2];
      for (int v = 0; v < 2; v++) {
        one_node_init(&n[v], "", "GridSample", 20, 1);
        one_node_str(&n[v], "mode", "nearest"), one_node_str(&n[v], "padding_mode", pads[how / 2]);
        one_node_int(&n[v], "align_corners", how % 2);
      }
      one_node_input(&n[0], types[t], 4, (int64_t[]){2, CHANNELS, PH, PW}, x);
      one_node_input(&n[0], OX_F32, 4, (int64_t[]){2, MANY / 10, 10, 2}, flat);
      one_node_input(&n[1], types[t], 5, (int64_t[]){2, CHANNELS, 1, PH, PW}, x);
      one_node_input(&n[1], OX_F32, 5, (int64_t[]){2, MANY / 10, 10, 1, 3}, deep);
      CHECK_OK(one_node_run(&n[0]));
      CHECK_OK(one_node_run(&n[1]));
      assert_memory_equal(n[0].out[0].data, n[1].out[0].data, 2 * CHANNELS * MANY * (ox_dtype_bits(types[t]) / 8));
      one_node_deinit(&n[0]), one_node_deinit(&n[1]);
    }
}

static void test_complex_numbers_are_sampled_by_parts(void **state) {
  (void)state;
  const float narrow[6] = {1, 2, 3, 4, 5, 6};
  const double wide[6] = {1, 2, 3, 4, 5, 6};
  one_node n;
  sample(&n, "linear", OX_C64, narrow);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((float[]){5, 6, 1, 2, 0, 0, 2, 3}), 32);
  one_node_deinit(&n);
  sample(&n, "linear", OX_C128, wide);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((double[]){5, 6, 1, 2, 0, 0, 2, 3}), 64);
  one_node_deinit(&n);
  sample(&n, "linear", OX_STRING, (ox_str[3]){{"a", 1}, {"b", 1}, {"c", 1}});
  CHECK_FAILS(one_node_run(&n), OX_NOT_IMPLEMENTED, "mode linear of string");
  one_node_deinit(&n);
}

/* ---- AffineGrid ---- */

/* Two images of |width| x |height| (x |depth|, if it is not 0), with a size that is known before the run or comes then.
 */
static void grid_of(uint32_t dtype, int64_t depth, int64_t height, int64_t width, bool align, bool known) {
  int axes = depth ? 3 : 2;
  int64_t size[] = {2, 1, height, width, 0};
  if (depth) size[2] = depth, size[3] = height, size[4] = width;
  one_node n;
  one_node_init(&n, "", "AffineGrid", 20, 1);
  one_node_int(&n, "align_corners", align);
  const ox_tensor *m = typed_input(&n, dtype, 3, (int64_t[]){2, axes, axes + 1}, 2);
  (known ? one_node_const : one_node_input)(&n, OX_I64, 1, (int64_t[]){axes + 2}, size);
  CHECK_OK(one_node_run(&n));
  const int64_t *dims = size + 2; /* the last axis is the first coordinate */
  int64_t points = OX_MAX(depth, 1) * height * width;
  for (int64_t i = 0; i < 2 * points; i++) {
    double at[4] = {0};
    int64_t rest = i % points;
    for (int a = axes - 1; a >= 0; rest /= dims[a--]) {
      double k = (double)(rest % dims[a]), many = (double)dims[a];
      at[axes - 1 - a] = align ? dims[a] > 1 ? 2 * k / (many - 1) - 1 : -1 : (2 * k + 1) / many - 1;
    }
    at[axes] = 1;
    for (int r = 0; r < axes; r++) {
      double want = 0;
      for (int k = 0; k <= axes; k++) want += typed_at(m, (i / points * axes + r) * (axes + 1) + k) * at[k];
      typed_near(&n.out[0], i * axes + r, want, 2);
    }
  }
  one_node_deinit(&n);
}

static void test_affine_grids(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
  static const int64_t widths[] = {1, 2, 5, 6, 7, 12, 13, 64, 129, 200};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (size_t w = 0; w < OX_COUNT(widths); w++)
      for (int how = 0; how < 8; how++) grid_of(types[t], how & 4 ? 2 : 0, 3, widths[w], how & 1, how & 2);
  grid_of(OX_F32, 0, 1, 1, true, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float64_is_sampled_in_double),
      cmocka_unit_test(test_floats_are_those_of_doubles),
      cmocka_unit_test(test_nearest_copies_any_type),
      cmocka_unit_test(test_nearest_of_planes),
      cmocka_unit_test(test_affine_grids),
      cmocka_unit_test(test_complex_numbers_are_sampled_by_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
