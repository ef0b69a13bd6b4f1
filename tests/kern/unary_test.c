/* SPDX-License-Identifier: Apache-2.0
 * kern/unary_test.c - every float function at every instruction set against the double version, which is itself held
 * against the C library; integers against wide arithmetic. */
#include <stdbool.h>

#include "kern/unary/unary.h"
#include "support/check.h"
#include "support/levels.h"

typedef struct {
  ox_unary fn;
  const char *name;
  float low, high; /* where it is sampled, besides the edges */
  float p[2];
  double ulps; /* bound; a second bound is absolute, for functions that cancel */
  double absolute;
} row;

static const row rows[] = {
    {OX_UN_ABS, "abs", -10, 10, {0, 0}, 0, 0},
    {OX_UN_NEG, "neg", -10, 10, {0, 0}, 0, 0},
    {OX_UN_CEIL, "ceil", -10, 10, {0, 0}, 0, 0},
    {OX_UN_FLOOR, "floor", -10, 10, {0, 0}, 0, 0},
    {OX_UN_ROUND, "round", -10, 10, {0, 0}, 0, 0},
    {OX_UN_SQRT, "sqrt", 0, 100, {0, 0}, 0.5001, 0},
    {OX_UN_EXP, "exp", -90, 90, {0, 0}, 2.5, 0},
    {OX_UN_LOG, "log", 0, 100, {0, 0}, 2.5, 0},
    {OX_UN_RECIPROCAL, "reciprocal", -10, 10, {0, 0}, 0.5001, 0},
    {OX_UN_SIGN, "sign", -1, 1, {0, 0}, 0, 0},
    {OX_UN_RELU, "relu", -1, 1, {0, 0}, 0, 0},
    {OX_UN_LEAKY_RELU, "leaky_relu", -9, 9, {0.01f, 0}, 0.5001, 0},
    {OX_UN_ELU, "elu", -20, 5, {1.7f, 0}, 3.5, 0},
    {OX_UN_SELU, "selu", -20, 5, {1.67f, 1.05f}, 4, 0},
    {OX_UN_CELU, "celu", -20, 5, {1.3f, 0}, 8, 2e-7},
    {OX_UN_THRESHOLDED_RELU, "thresholded_relu", -3, 3, {1, 0}, 0, 0},
    {OX_UN_SIGMOID, "sigmoid", -100, 100, {0, 0}, 3, 2e-38},
    {OX_UN_HARD_SIGMOID, "hard_sigmoid", -5, 5, {0.2f, 0.5f}, 2, 1e-7},
    {OX_UN_HARD_SWISH, "hard_swish", -5, 5, {0, 0}, 4, 1e-6},
    {OX_UN_SOFTPLUS, "softplus", -100, 100, {0, 0}, 4, 2e-38},
    {OX_UN_SOFTSIGN, "softsign", -9, 9, {0, 0}, 1.5, 0},
    {OX_UN_TANH, "tanh", -12, 12, {0, 0}, 4, 0},
    {OX_UN_ERF, "erf", -5, 5, {0, 0}, 4, 0},
    {OX_UN_GELU, "gelu", -8, 8, {0, 0}, 4, 6e-7},
    {OX_UN_GELU_TANH, "gelu_tanh", -8, 8, {0, 0}, 24, 6e-7},
    {OX_UN_MISH, "mish", -40, 40, {0, 0}, 6, 2e-36},
    {OX_UN_SWISH, "swish", -50, 50, {1.702f, 0}, 100, 2e-36},
    {OX_UN_SHRINK, "shrink", -3, 3, {0.5f, 1.5f}, 0.5001, 0},
    {OX_UN_CLIP, "clip", -3, 3, {-1.5f, 2.5f}, 0, 0},
    {OX_UN_AFFINE, "affine", -3, 3, {0.5f, 1.5f}, 1, 1e-6},
    {OX_UN_SCALED_TANH, "scaled_tanh", -3, 3, {0.5f, 1.5f}, 5, 0},
    {OX_UN_PARAMETRIC_SOFTPLUS, "parametric_softplus", -30, 30, {0.5f, 1.5f}, 60, 2e-38},
    {OX_UN_SIN, "sin", -100, 100, {0, 0}, 2, 1e-9},
    {OX_UN_COS, "cos", -100, 100, {0, 0}, 2, 1e-9},
    {OX_UN_SIN, "sin, large", -40000, 40000, {0, 0}, 2, 1e-9},
    {OX_UN_TAN, "tan", -3, 3, {0, 0}, 2, 0},
    {OX_UN_ASIN, "asin", -1, 1, {0, 0}, 2, 0},
    {OX_UN_ACOS, "acos", -1, 1, {0, 0}, 2, 0},
    {OX_UN_ATAN, "atan", -9, 9, {0, 0}, 2, 0},
    {OX_UN_ATAN, "atan, around one", 0.9f, 1.1f, {0, 0}, 2, 0},
    {OX_UN_ATAN, "atan, small", -1e-3f, 1e-3f, {0, 0}, 2, 0},
    {OX_UN_ATAN, "atan, large", -1e9f, 1e9f, {0, 0}, 2, 0},
    {OX_UN_SINH, "sinh", -9, 9, {0, 0}, 3, 0},
    {OX_UN_COSH, "cosh", -9, 9, {0, 0}, 3, 0},
    {OX_UN_ASINH, "asinh", -9, 9, {0, 0}, 3, 0},
    {OX_UN_ACOSH, "acosh", 1, 9, {0, 0}, 3, 0},
    {OX_UN_ATANH, "atanh", -1, 1, {0, 0}, 3, 0},
    {OX_UN_TAN, "tan, large", -40000, 40000, {0, 0}, 2, 0},
    {OX_UN_ASIN, "asin, around a half", 0.45f, 0.55f, {0, 0}, 2, 0},
    {OX_UN_ASIN, "asin, near one", 0.999f, 1, {0, 0}, 2, 0},
    {OX_UN_ACOS, "acos, near one", 0.999f, 1, {0, 0}, 2, 0},
    {OX_UN_ACOS, "acos, near minus one", -1, -0.999f, {0, 0}, 2, 0},
    {OX_UN_SINH, "sinh, large", 80, 90, {0, 0}, 3, 0},
    {OX_UN_SINH, "sinh, small", -1e-3f, 1e-3f, {0, 0}, 3, 0},
    {OX_UN_COSH, "cosh, large", -90, -80, {0, 0}, 3, 0},
    {OX_UN_ASINH, "asinh, large", 1e8f, 1e10f, {0, 0}, 3, 0},
    {OX_UN_ASINH, "asinh, around a half", 0.45f, 0.55f, {0, 0}, 3, 0},
    {OX_UN_ACOSH, "acosh, near one", 1, 1.001f, {0, 0}, 3, 0},
    {OX_UN_ACOSH, "acosh, large", 1e8f, 1e10f, {0, 0}, 3, 0},
    {OX_UN_ATANH, "atanh, around a half", 0.45f, 0.55f, {0, 0}, 3, 0},
    {OX_UN_ATANH, "atanh, near one", 0.999f, 1, {0, 0}, 3, 0},
};

/* Results of these at an infinity or beyond the parameters' range depend on the order of operations. */
static bool finite_only(ox_unary fn) {
  return fn == OX_UN_GELU || fn == OX_UN_GELU_TANH || fn == OX_UN_MISH || fn == OX_UN_SWISH || fn == OX_UN_HARD_SWISH ||
         fn == OX_UN_AFFINE || fn == OX_UN_PARAMETRIC_SOFTPLUS;
}

enum { SAMPLES = 4001 };

static void check_row(const row *r, size_t level) {
  static float x[SAMPLES], y[SAMPLES];
  uint32_t seed = 7;
  const ox_unary_f32 *t = ox_unary_f32_select(test_levels[level].have);
  for (size_t i = 0; i < SAMPLES; i++)
    x[i] = i < OX_COUNT(test_edges) ? test_edges[i] : test_uniform(&seed, r->low, r->high);
  t->fn[r->fn](x, y, SAMPLES, r->p);
  double p[2] = {(double)r->p[0], (double)r->p[1]};
  for (size_t i = 0; i < SAMPLES; i++) {
    double in = (double)x[i], want;
    if (finite_only(r->fn) && !(fabs(in) < 1e9) && !isnan(in)) continue;
    ox_unary_f64[r->fn](&in, &want, 1, p);
    double error = test_ulps(y[i], want);
    if (!(error <= r->ulps) && !(fabs((double)y[i] - want) <= r->absolute))
      fail_msg("%s at %s: x = %a (%g), got %a, wanted %a, %g ulp", r->name, test_levels[level].name, (double)x[i],
               (double)x[i], (double)y[i], want, error);
  }
}

static void test_float_matches_double(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(rows); i++) check_row(&rows[i], l);
}

/* Far below 0, where 1 + erf and 1 + tanh have no digits left. */
static void test_double_gelu_keeps_its_digits(void **state) {
  (void)state;
  for (double x = -9; x < 3; x += 0.37) {
    double none, tanh_kind;
    ox_unary_f64[OX_UN_GELU](&x, &none, 1, NULL);
    ox_unary_f64[OX_UN_GELU_TANH](&x, &tanh_kind, 1, NULL);
    long double v = x, want = v / 2 * erfcl(-v / sqrtl(2)), inner = v + 0.044715L * v * v * v;
    if (!(fabsl((long double)none - want) <= 4e-14L * fabsl(want))) fail_msg("x = %g: %.17g", x, none);
    want = v / (1 + expl(-2 * sqrtl(2 / 3.14159265358979323846264338327950288L) * inner));
    if (!(fabsl((long double)tanh_kind - want) <= 4e-14L * fabsl(want))) fail_msg("tanh, x = %g: %.17g", x, tanh_kind);
  }
}

/* Where the standard gives a value to what no comparison holds for, NaN gets it. */
/* Where its pieces meet, and where none is left. */
static void test_float_gelu_ends_in_x_or_0(void **state) {
  (void)state;
  static const struct {
    float x, want;
  } t[] = {{0.0f, 0.0f},
           {-0.0f, 0.0f},
           {7.0f, 7.0f},
           {-7.0f, 0.0f},
           {1e30f, 1e30f},
           {-1e30f, 0.0f},
           {0.1953125f, 0.11277849f},
           {-0.1953125f, -0.08253401f},
           {0.375f, 0.24231366f},
           {-0.375f, -0.13268634f},
           {-1.125f, -0.14658133f},
           {-4.875f, -2.6522061e-06f},
           {5.6f, 5.5999998f},
           {-5.6f, -6.0018537e-08f},
           {5.6640625f, 5.6640625f},
           {-5.6640625f, 0},
           {1e-30f, 0.5e-30f}};
  for (size_t l = 0; level_next(&l); l++) {
    const ox_unary_f32 *table = ox_unary_f32_select(test_levels[l].have);
    for (size_t i = 0; i < OX_COUNT(t); i++) {
      float y;
      table->fn[OX_UN_GELU](&t[i].x, &y, 1, NULL);
      if (!(fabsf(y - t[i].want) <= 2e-7f + 4e-7f * fabsf(t[i].want)))
        fail_msg("%s: gelu(%g) is %g, wanted %g", test_levels[l].name, (double)t[i].x, (double)y, (double)t[i].want);
    }
    float nan = NAN, inf = INFINITY, y[2];
    table->fn[OX_UN_GELU](&nan, &y[0], 1, NULL), table->fn[OX_UN_GELU](&inf, &y[1], 1, NULL);
    assert_true(isnan(y[0]) && y[1] == INFINITY);
  }
}

static void test_nan_is_on_no_side_of_a_threshold(void **state) {
  (void)state;
  const ox_unary cut[] = {OX_UN_THRESHOLDED_RELU, OX_UN_SHRINK};
  const float x[3] = {NAN, 5, NAN}, p[2] = {0.5f, 1.5f};
  const double x64 = (double)NAN, p64[2] = {0.5, 1.5};
  for (size_t i = 0; i < OX_COUNT(cut); i++) {
    double y64 = -1;
    for (size_t l = 0; level_next(&l); l++) {
      float y[3] = {-1, -1, -1};
      ox_unary_f32_select(test_levels[l].have)->fn[cut[i]](x, y, 3, p);
      assert_true(y[0] == 0 && y[1] > 4 && y[2] == 0);
    }
    ox_unary_f64[cut[i]](&x64, &y64, 1, p64);
    assert_true(y64 == 0);
  }
}

static void test_every_function_is_listed(void **state) {
  (void)state;
  for (int f = 0; f < OX_UN_COUNT; f++) {
    bool found = false;
    for (size_t i = 0; i < OX_COUNT(rows); i++) found |= (int)rows[i].fn == f;
    if (!found) fail_msg("function %d has no row", f);
  }
}

/* Any length, in place, and not a byte beyond the end. */
static void test_lengths_and_in_place(void **state) {
  (void)state;
  const float p[2] = {0.5f, 1.5f};
  for (size_t l = 0; level_next(&l); l++)
    for (int f = 0; f < OX_UN_COUNT; f++)
      for (size_t n = 0; n < 67; n++) {
        float x[80], y[80];
        for (size_t i = 0; i < 80; i++) x[i] = 0.01f * (float)i + 0.1f, y[i] = -77;
        ox_unary_f32_fn *fn = ox_unary_f32_select(test_levels[l].have)->fn[f];
        fn(x, y, n, p);
        for (size_t i = n; i < 80; i++)
          if (y[i] != -77) fail_msg("function %d at %s writes beyond %zu", f, test_levels[l].name, n);
        fn(x, x, n, p);
        if (memcmp(x, y, n * sizeof *x) != 0) fail_msg("function %d at %s differs in place", f, test_levels[l].name);
      }
}

static void test_integers_wrap(void **state) {
  (void)state;
  const int8_t x8[] = {INT8_MIN, -1, 0, 1, INT8_MAX}, abs8[] = {INT8_MIN, 1, 0, 1, INT8_MAX};
  const int64_t x64[] = {INT64_MIN, -5, 0, INT64_MAX}, neg64[] = {INT64_MIN, 5, 0, -INT64_MAX};
  const uint8_t limits[] = {3, 9}, u8[] = {0, 3, 5, 9, 200}, clipped[] = {3, 3, 5, 9, 9};
  int8_t y8[5];
  int64_t y64[4];
  uint8_t v8[5];
  for (size_t l = 0; level_next(&l); l++) {
    ox_isa have = test_levels[l].have;
    ox_unary_int(have, OX_UN_ABS, 1, 1)(x8, y8, 5, NULL);
    assert_memory_equal(y8, abs8, sizeof y8);
    ox_unary_int(have, OX_UN_NEG, 8, 1)(x64, y64, 4, NULL);
    assert_memory_equal(y64, neg64, sizeof y64);
    ox_unary_int(have, OX_UN_CLIP, 1, 0)(u8, v8, 5, limits);
    assert_memory_equal(v8, clipped, sizeof v8);
    assert_null(ox_unary_int(have, OX_UN_NEG, 4, 0));
    assert_null(ox_unary_int(have, OX_UN_EXP, 4, 1));
  }
}

/* Long integers in place, against the loop for one; and the two kinds of not. */
static void test_integers_of_any_length(void **state) {
  (void)state;
  const ox_unary fns[] = {OX_UN_ABS, OX_UN_SIGN, OX_UN_RELU, OX_UN_NEG};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t f = 0; f < OX_COUNT(fns); f++)
      for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        uint64_t v[37], want[37];
        uint32_t seed = 5;
        for (size_t i = 0; i < 37; i++) v[i] = (uint64_t)test_random(&seed) << 32 | test_random(&seed);
        ox_unary_int_fn *fn = ox_unary_int(test_levels[l].have, fns[f], bytes, 1);
        size_t n = sizeof v / bytes;
        for (size_t i = 0; i < n; i++) fn((char *)v + i * bytes, (char *)want + i * bytes, 1, NULL);
        fn(v, v, n, NULL);
        assert_memory_equal(v, want, sizeof v);
      }
  for (size_t l = 0; level_next(&l); l++) {
    const ox_unary_plain *u = ox_unary_plain_select(test_levels[l].have);
    uint8_t x[99], y[99];
    for (size_t i = 0; i < 99; i++) x[i] = (uint8_t)(i % 3 ? 0 : i);
    u->bitwise_not(x, y, 98), y[98] = 7;
    for (size_t i = 0; i < 98; i++) assert_int_equal(y[i], 255 - x[i]);
    u->logical_not(x, x, 98);
    for (size_t i = 0; i < 98; i++) assert_int_equal(x[i], y[i] == 255);
    assert_int_equal(y[98], 7);
  }
}

static const struct {
  ox_unary fn;
  const char *name;
  double low, high;
  long double (*exact)(long double); /* NULL: the C library's double, to the bit */
  double ulps;
} doubles[] = {
    {OX_UN_EXP, "exp", -745, 709.5, expl, 1},
    {OX_UN_EXP, "exp, small", -1, 1, expl, 1},
    {OX_UN_TANH, "tanh", -25, 25, tanhl, 3},
    {OX_UN_TANH, "tanh, small", -0.5, 0.5, tanhl, 3},
    {OX_UN_TANH, "tanh, tiny", -1e-300, 1e-300, tanhl, 1},
    {OX_UN_SIN, "sin", -10, 10, sinl, 1},
    {OX_UN_SIN, "sin, large", -1e6, 1e6, sinl, 1},
    {OX_UN_SIN, "sin, larger", -1e9, 1e9, sinl, 1},
    {OX_UN_COS, "cos", -10, 10, cosl, 1},
    {OX_UN_COS, "cos, large", -1e6, 1e6, cosl, 1},
    {OX_UN_FLOOR, "floor", -10, 10, NULL, 0},
    {OX_UN_CEIL, "ceil", -10, 10, NULL, 0},
    {OX_UN_ROUND, "round", -10, 10, NULL, 0},
    {OX_UN_ABS, "abs", -10, 10, NULL, 0},
    {OX_UN_NEG, "neg", -10, 10, NULL, 0},
    {OX_UN_SIGN, "sign", -10, 10, NULL, 0},
    {OX_UN_RELU, "relu", -10, 10, NULL, 0},
    {OX_UN_LEAKY_RELU, "leaky_relu", -10, 10, NULL, 0},
    {OX_UN_SQRT, "sqrt", 0, 10, NULL, 0},
    {OX_UN_RECIPROCAL, "reciprocal", -10, 10, NULL, 0},
    {OX_UN_CLIP, "clip", -10, 10, NULL, 0},
    {OX_UN_SHRINK, "shrink", -10, 10, NULL, 0},
    {OX_UN_THRESHOLDED_RELU, "thresholded_relu", -10, 10, NULL, 0},
    {OX_UN_HARD_SIGMOID, "hard_sigmoid", -10, 10, NULL, 0},
    {OX_UN_HARD_SWISH, "hard_swish", -10, 10, NULL, 0},
    {OX_UN_SOFTSIGN, "softsign", -10, 10, NULL, 0},
    {OX_UN_AFFINE, "affine", -10, 10, NULL, 0},
    {OX_UN_SIGMOID, "sigmoid", -800, 800, NULL, 3},
    {OX_UN_SWISH, "swish", -40, 40, NULL, 3},
    {OX_UN_MISH, "mish", -40, 40, NULL, 4},
    {OX_UN_MISH, "mish, small", -1, 1, NULL, 4},
    {OX_UN_ELU, "elu", -40, 5, NULL, 3},
    {OX_UN_SELU, "selu", -40, 5, NULL, 3},
    {OX_UN_SCALED_TANH, "scaled_tanh", -5, 5, NULL, 4},
    {OX_UN_GELU_TANH, "gelu_tanh", -8, 8, NULL, 3},
};

/* Distance in units of |want|'s last place. */
static double ulps_f64(double got, long double want) {
  double near = (double)want, next = nextafter(near, (double)INFINITY);
  if (got == near || (isnan(got) && isnan(near))) return 0;
  if (!isfinite(got) || !isfinite(next)) return (double)INFINITY;
  return (double)(fabsl((long double)got - want) / ((long double)next - (long double)near));
}

/* At every instruction set the bits of the plain build, which are held against more digits or the C library. */
static void test_doubles(void **state) {
  (void)state;
  static const double edges[] = {0,       -0.0, 1,   -1,   0.5,    -0.5,    710,  -746,   1e300, -1e300,
                                 1048576, 1e7,  2.5, -3.5, 5e-324, -1e-310, 1e-8, -1e-17, 22.7,  1.5707963267948966};
  static const double p[2] = {0.75, 1.25};
  static double x[SAMPLES + 3], first[SAMPLES], y[SAMPLES];
  for (size_t r = 0; r < OX_COUNT(doubles); r++) {
    uint32_t seed = 9;
    for (size_t i = 0; i < SAMPLES; i++)
      x[i] = i < OX_COUNT(edges)
                 ? edges[i]
                 : doubles[r].low + (doubles[r].high - doubles[r].low) *
                                        ((double)test_random(&seed) + (double)test_random(&seed) * 0x1p-32) * 0x1p-32;
    x[SAMPLES - 1] = (double)NAN, x[SAMPLES - 2] = (double)INFINITY, x[SAMPLES - 3] = -(double)INFINITY;
    ox_unary_f64_select(0, doubles[r].fn)(x, first, SAMPLES, p);
    for (size_t i = 0; i < SAMPLES; i++) {
      double ours = first[i], theirs;
      ox_unary_f64[doubles[r].fn](&x[i], &theirs, 1, p);
      long double want = doubles[r].exact ? doubles[r].exact(x[i]) : theirs;
      if (!(ulps_f64(ours, want) <= doubles[r].ulps) || (ours == 0 && want == 0 && !signbit(ours) != !signbit(want)))
        fail_msg("%s of %a: got %a, wanted %La, %g ulp", doubles[r].name, x[i], ours, want, ulps_f64(ours, want));
    }
    for (size_t l = 0; level_next(&l); l++) {
      memcpy(y, x, sizeof y);
      ox_unary_f64_select(test_levels[l].have, doubles[r].fn)(y, y, SAMPLES, p);
      for (size_t i = 0; i < SAMPLES; i++)
        if (memcmp(&y[i], &first[i], 8) != 0 && !(isnan(y[i]) && isnan(first[i])))
          fail_msg("%s of %a at %s: %a, not %a", doubles[r].name, x[i], test_levels[l].name, y[i], first[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float_matches_double),
      cmocka_unit_test(test_double_gelu_keeps_its_digits),
      cmocka_unit_test(test_float_gelu_ends_in_x_or_0),
      cmocka_unit_test(test_nan_is_on_no_side_of_a_threshold),
      cmocka_unit_test(test_every_function_is_listed),
      cmocka_unit_test(test_lengths_and_in_place),
      cmocka_unit_test(test_integers_wrap),
      cmocka_unit_test(test_integers_of_any_length),
      cmocka_unit_test(test_doubles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
