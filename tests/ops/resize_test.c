/* SPDX-License-Identifier: Apache-2.0
 * ops/resize_test.c - Resize of float64 against sums over all pixels in long double; what types interpolation takes. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "support/check.h"
#include "support/one_node.h"

typedef struct resize_case {
  const char *name, *mode, *coord;
  int antialias, exclude;
  int64_t in, out;
  float scale; /* 0: sizes are given instead */
} resize_case;

static const resize_case cases[] = {
    {"one pixel", "linear", "half_pixel", 0, 0, 1, 3, 0},
    {"to one pixel", "linear", "align_corners", 0, 0, 7, 1, 0},
    {"to one pixel, pytorch", "cubic", "pytorch_half_pixel", 0, 0, 7, 1, 0},
    {"sizes", "linear", "half_pixel", 0, 0, 7, 12, 0},
    {"scales", "linear", "half_pixel", 0, 0, 7, 16, 2.3f},
    {"symmetric", "linear", "half_pixel_symmetric", 0, 0, 7, 16, 2.3f},
    {"corners", "linear", "align_corners", 0, 0, 7, 11, 0},
    {"asymmetric", "linear", "asymmetric", 0, 0, 7, 13, 0},
    {"pytorch", "linear", "pytorch_half_pixel", 0, 0, 7, 3, 0},
    {"region", "linear", "tf_crop_and_resize", 0, 0, 7, 10, 0},
    {"cubic", "cubic", "half_pixel", 0, 0, 7, 12, 0},
    {"cubic, scales", "cubic", "asymmetric", 0, 0, 7, 4, 0.7f},
    {"cubic, inside only", "cubic", "half_pixel", 0, 1, 7, 12, 0},
    {"smooth", "linear", "half_pixel", 1, 0, 13, 5, 0},
    {"smooth by a third", "linear", "half_pixel", 1, 0, 12, 4, 0},
    {"smooth to nothing", "linear", "half_pixel", 1, 0, 13, 0, 0},
    {"smooth to nothing, scales", "cubic", "half_pixel", 1, 0, 13, 0, 1e-30f},
    {"smooth cubic", "cubic", "half_pixel", 1, 0, 13, 5, 0},
    {"smooth cubic, inside only", "cubic", "half_pixel", 1, 1, 13, 5, 0},
};
static const double roi[4] = {0, 0.1, 1, 1.3}; /* begins, then ends */
static const float outside_value = 2.5f;

static long double position(const resize_case *c, long double scale, int64_t o) {
  long double in = (long double)c->in, at = (long double)o, wide = scale * in;
  if (!strcmp(c->coord, "half_pixel")) return (at + 0.5L) / scale - 0.5L;
  if (!strcmp(c->coord, "half_pixel_symmetric"))
    return in / 2 * (1 - (long double)c->out / wide) + (at + 0.5L) / scale - 0.5L;
  if (!strcmp(c->coord, "pytorch_half_pixel")) return c->out > 1 ? (at + 0.5L) / scale - 0.5L : 0;
  if (!strcmp(c->coord, "align_corners")) return c->out > 1 ? at * (in - 1) / (wide - 1) : 0;
  if (!strcmp(c->coord, "asymmetric")) return at / scale;
  return (long double)roi[1] * (in - 1) + at * ((long double)roi[3] - (long double)roi[1]) * (in - 1) / (wide - 1);
}

static long double filter(const char *mode, long double d) {
  long double x = fabsl(d), a = -0.75L;
  if (!strcmp(mode, "linear")) return x < 1 ? 1 - x : 0;
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

/* Of |inner| elements that stand for one pixel each, the one at |x|. */
static long double wanted(const resize_case *c, const double *x, int64_t inner, int64_t o) {
  long double scale = c->scale != 0 ? (long double)c->scale : (long double)c->out / (long double)c->in;
  long double at = position(c, scale, o), sum = 0, weights = 0, squeeze = c->antialias && scale < 1 ? scale : 1;
  if (!strcmp(c->coord, "tf_crop_and_resize") && (at < 0 || at > (long double)(c->in - 1)))
    return (long double)outside_value;
  for (int64_t p = -40; p < c->in + 40; p++) {
    bool inside = p >= 0 && p < c->in;
    long double w = c->exclude && !inside ? 0 : filter(c->mode, ((long double)p - at) * squeeze);
    sum += w * (long double)x[OX_MIN(OX_MAX(p, 0), c->in - 1) * inner], weights += w;
  }
  return sum / weights;
}

static void check_doubles(const resize_case *c, int64_t inner) {
  enum { OUTER = 2, MOST = OUTER * 13 * 3 };
  double x[MOST];
  int64_t dims[] = {OUTER, c->in, inner}, sizes[] = {c->out}, axes[] = {1}, one = 1, two = 2;
  for (int i = 0; i < MOST; i++) x[i] = sin(i * 1.7) * 3 + 1.0 / 3;
  one_node n;
  one_node_init(&n, "", "Resize", 18, 1);
  one_node_str(&n, "mode", c->mode);
  one_node_str(&n, "coordinate_transformation_mode", c->coord);
  one_node_int(&n, "antialias", c->antialias);
  one_node_int(&n, "exclude_outside", c->exclude);
  one_node_float(&n, "extrapolation_value", outside_value);
  one_node_ints(&n, "axes", 1, axes);
  one_node_input(&n, OX_F64, 3, dims, x);
  one_node_input(&n, OX_F64, 1, &two, (double[]){roi[1], roi[3]});
  one_node_const(&n, OX_F32, c->scale != 0 ? 1 : -1, &one, c->scale != 0 ? &c->scale : NULL);
  if (c->scale == 0) one_node_const(&n, OX_I64, 1, &one, sizes);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].shape.dim[1], c->out);
  for (int64_t i = 0; i < OUTER * c->out * inner; i++) {
    long double want = wanted(c, x + i / (c->out * inner) * c->in * inner + i % inner, inner, i / inner % c->out);
    double got = ((const double *)n.out[0].data)[i];
    if (!(fabsl((long double)got - want) <= 2e-14L))
      fail_msg("%s, inner %d: [%d] is %.17g, wanted %.17g", c->name, (int)inner, (int)i, got, (double)want);
  }
  one_node_deinit(&n);
}

static void test_float64_is_interpolated_in_double(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (int64_t inner = 1; inner <= 3; inner += 2) check_doubles(&cases[i], inner);
}

/* The last of the axes that keep their shape is longer than asked for: the larger ratio, not its float, is the scale.
 */
static void test_float64_with_kept_aspect(void **state) {
  (void)state;
  const resize_case c = {"", "linear", "half_pixel", 0, 0, 3, 7, 0};
  double x[6] = {1, 5, 2, -3, 8, 0.1};
  const int64_t dims[] = {2, 3}, sizes[] = {1, 7}, two = 2;
  one_node n;
  one_node_init(&n, "", "Resize", 18, 1);
  one_node_str(&n, "mode", "linear");
  one_node_str(&n, "keep_aspect_ratio_policy", "not_smaller");
  one_node_input(&n, OX_F64, 2, dims, x);
  one_node_input(&n, OX_F32, -1, NULL, NULL);
  one_node_input(&n, OX_F32, -1, NULL, NULL);
  one_node_const(&n, OX_I64, 1, &two, sizes);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].shape.dim[0], 5);
  assert_int_equal(n.out[0].shape.dim[1], 7);
  for (int64_t o = 0; o < 7; o++) /* the first row lies at or above the first pixel: it is the first row's alone */
    if (!(fabsl((long double)((const double *)n.out[0].data)[o] - wanted(&c, x, 1, o)) <= 1e-14L))
      fail_msg("[%d] is %.17g", (int)o, ((const double *)n.out[0].data)[o]);
  one_node_deinit(&n);
}

/* A float coordinate that should be 1 lies a little below it, and an integer is cut off. */
static void test_integers_at_pixels_are_those_pixels(void **state) {
  (void)state;
  static const int32_t x[] = {3, -1, 1, -5, 7};
  const int64_t five = 5, one = 1, sizes[] = {13};
  one_node n;
  one_node_init(&n, "", "Resize", 13, 1);
  one_node_str(&n, "mode", "linear");
  one_node_str(&n, "coordinate_transformation_mode", "align_corners");
  one_node_input(&n, OX_I32, 1, &five, x);
  one_node_input(&n, OX_F32, -1, NULL, NULL);
  one_node_input(&n, OX_F32, -1, NULL, NULL);
  one_node_const(&n, OX_I64, 1, &one, sizes);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < 5; i++) assert_int_equal(((const int32_t *)n.out[0].data)[3 * i], x[i]);
  one_node_deinit(&n);
}

/* The last pixel is the last, also where the ratio of the sizes is no float. */
static void test_corners_are_aligned(void **state) {
  (void)state;
  static const char *const rounds[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  for (int64_t in = 2; in < 12; in++)
    for (int64_t out = 2; out < 30; out++)
      for (size_t r = 0; r < OX_COUNT(rounds); r++) {
        float x[12];
        int64_t one = 1;
        for (int i = 0; i < 12; i++) x[i] = (float)i;
        one_node n;
        one_node_init(&n, "", "Resize", 13, 1);
        one_node_str(&n, "coordinate_transformation_mode", "align_corners");
        one_node_str(&n, "nearest_mode", rounds[r]);
        one_node_input(&n, OX_F32, 1, &in, x);
        one_node_input(&n, OX_F32, -1, NULL, NULL);
        one_node_input(&n, OX_F32, -1, NULL, NULL);
        one_node_const(&n, OX_I64, 1, &one, &out);
        CHECK_OK(one_node_run(&n));
        for (int64_t o = 0; o < out; o++)
          if (o * (in - 1) % (out - 1) == 0 && ((float *)n.out[0].data)[o] != (float)(o * (in - 1) / (out - 1)))
            fail_msg("%s, %d to %d: [%d] is %g", rounds[r], (int)in, (int)out, (int)o,
                     (double)((float *)n.out[0].data)[o]);
        one_node_deinit(&n);
      }
}

/* ---- types ---- */

static void resize_planes(one_node *n, uint32_t dtype, const char *mode, const void *x) {
  static const float scales[] = {1, 1.7f, 0.6f};
  static const int64_t dims[] = {2, 3, 7}, three = 3;
  one_node_init(n, "", "Resize", 13, 1);
  one_node_str(n, "mode", mode);
  one_node_input(n, dtype, 3, dims, x);
  one_node_input(n, OX_F32, -1, NULL, NULL);
  one_node_const(n, OX_F32, 1, &three, scales);
  CHECK_OK(one_node_run(n));
}

/* Their parts are what the same numbers give one by one. */
static void test_complex_numbers(void **state) {
  (void)state;
  enum { N = 2 * 3 * 7 };
  static const char *const modes[] = {"linear", "cubic", "nearest"};
  double x[2 * N], part[2][N];
  float x32[2 * N], part32[2][N];
  for (int i = 0; i < 2 * N; i++)
    x32[i] = (float)(x[i] = sin(i)), part32[i % 2][i / 2] = (float)(part[i % 2][i / 2] = x[i]);
  for (int wide = 0; wide < 2; wide++)
    for (size_t m = 0; m < OX_COUNT(modes); m++) {
      one_node c, r[2];
      resize_planes(&c, wide ? OX_C128 : OX_C64, modes[m], wide ? (const void *)x : x32);
      for (int k = 0; k < 2; k++)
        resize_planes(&r[k], wide ? OX_F64 : OX_F32, modes[m], wide ? (const void *)part[k] : part32[k]);
      assert_true(ox_shape_equal(&c.out[0].shape, &r[0].out[0].shape));
      for (int64_t i = 0; i < ox_shape_count(&c.out[0].shape); i++)
        for (int k = 0; k < 2; k++)
          assert_true(wide ? ((const double *)c.out[0].data)[2 * i + k] == ((const double *)r[k].out[0].data)[i]
                           : ((const float *)c.out[0].data)[2 * i + k] == ((const float *)r[k].out[0].data)[i]);
      one_node_deinit(&c), one_node_deinit(&r[0]), one_node_deinit(&r[1]);
    }
}

/* What lies between equal integers is that integer, whatever the weights' last bits. */
static void test_an_even_image_stays_even(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_U8, OX_I8, OX_U16, OX_I32, OX_I64};
  static const char *const modes[] = {"linear", "cubic"};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int64_t size = 1; size < 30; size++)
      for (int m = 0; m < 2; m++) {
        int64_t x[7], in = 7, one = 1;
        unsigned bytes = ox_dtype_bits(types[t]) / 8;
        for (int i = 0; i < 7; i++) memcpy((char *)x + (unsigned)i * bytes, &(int64_t){101}, bytes);
        one_node n;
        one_node_init(&n, "", "Resize", 13, 1);
        one_node_str(&n, "mode", modes[m]);
        one_node_input(&n, types[t], 1, &in, x);
        one_node_input(&n, OX_F32, -1, NULL, NULL);
        one_node_input(&n, OX_F32, -1, NULL, NULL);
        one_node_const(&n, OX_I64, 1, &one, &size);
        CHECK_OK(one_node_run(&n));
        for (int64_t i = 0; i < size; i++)
          if (memcmp((char *)n.out[0].data + i * bytes, &(int64_t){101}, bytes) != 0)
            fail_msg("%s of %s to %d: [%d]", modes[m], ox_dtype_name(types[t]), (int)size, (int)i);
        one_node_deinit(&n);
      }
}

static void crop(one_node *n, const char *mode, uint32_t dtype, const void *x, const float *region) {
  const int64_t three = 3, two = 2, one = 1, sizes[] = {4};
  one_node_init(n, "", "Resize", 13, 1);
  one_node_str(n, "mode", mode);
  one_node_str(n, "coordinate_transformation_mode", "tf_crop_and_resize");
  one_node_float(n, "extrapolation_value", -1.5f);
  one_node_input(n, dtype, 1, &three, x);
  one_node_input(n, OX_F32, 1, &two, region);
  one_node_input(n, OX_F32, -1, NULL, NULL);
  one_node_const(n, OX_I64, 1, &one, sizes);
}

static void test_nearest_of_strings_and_complex_numbers(void **state) {
  (void)state;
  const ox_str words[3] = {{"a", 1}, {"bc", 2}, {"", 0}};
  const double numbers[6] = {1, 2, 3, 4, 5, 6};
  one_node n;
  crop(&n, "nearest", OX_STRING, words, (float[]){0, 1});
  CHECK_OK(one_node_run(&n));
  const ox_str *y = n.out[0].data;
  assert_memory_equal(y[0].p, "a", 1);
  assert_memory_equal(y[1].p, "bc", 2);
  assert_memory_equal(y[2].p, "bc", 2);
  assert_int_equal(y[3].n, 0);
  one_node_deinit(&n);
  crop(&n, "nearest", OX_C128, numbers, (float[]){0, 3});
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((double[]){1, 2, 5, 6, -1.5, 0, -1.5, 0}), 64);
  one_node_deinit(&n);
}

static void test_no_value_between_strings_or_outside_of_complex_numbers(void **state) {
  (void)state;
  const ox_str words[3] = {{"a", 1}, {"bc", 2}, {"", 0}};
  const float numbers[6] = {1, 2, 3, 4, 5, 6};
  one_node n;
  crop(&n, "linear", OX_STRING, words, (float[]){0, 1});
  CHECK_FAILS(one_node_run(&n), OX_NOT_IMPLEMENTED, "mode linear of string");
  one_node_deinit(&n);
  crop(&n, "cubic", OX_C64, numbers, (float[]){0, 1});
  CHECK_FAILS(one_node_run(&n), OX_NOT_IMPLEMENTED, "extrapolation_value -1.5 for complex");
  one_node_deinit(&n);
  crop(&n, "nearest", OX_STRING, words, (float[]){0, 3});
  CHECK_FAILS(one_node_run(&n), OX_NOT_IMPLEMENTED, "leaves a tensor of strings");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float64_is_interpolated_in_double),
      cmocka_unit_test(test_float64_with_kept_aspect),
      cmocka_unit_test(test_corners_are_aligned),
      cmocka_unit_test(test_integers_at_pixels_are_those_pixels),
      cmocka_unit_test(test_complex_numbers),
      cmocka_unit_test(test_an_even_image_stays_even),
      cmocka_unit_test(test_nearest_of_strings_and_complex_numbers),
      cmocka_unit_test(test_no_value_between_strings_or_outside_of_complex_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
