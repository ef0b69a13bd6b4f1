/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_plain_body.h - plain loops, which the compiler vectorises at the includer's instruction set: the
 * functions that the standard also defines on integers (wrap-around, never undefined), and those of doubles that need
 * not go through the C library. y may be x. */
#include <math.h>

#include "kern/quant/narrow.h"
#include "kern/unary/math_f64.h"
#include "kern/unary/unary.h"

#define LOOP(name, ctype, expr)                                              \
  static void name(const void *in, void *out, size_t n, const void *param) { \
    const ctype *xs = in;                                                    \
    ctype *ys = out;                                                         \
    (void)param;                                                             \
    OX_IVDEP for (size_t i = 0; i < n; i++) {                                \
      ctype x = xs[i];                                                       \
      ys[i] = (ctype)(expr);                                                 \
    }                                                                        \
  }
#define P(k) ((const double *)param)[k]
#define LOW(ctype) ((const ctype *)param)[0]
#define HIGH(ctype) ((const ctype *)param)[1]
#define SHRUNK(wide) (double)x<-P(1) ? wide((double)x + P(0)) : (double)x> P(1) ? wide((double)x - P(0)) : 0

/* erf is cast to the integer type: 0 wherever its float value stays below 1. */
#define SIGNED(tag, ctype, utype)                                    \
  LOOP(abs_##tag, ctype, x < 0 ? (ctype)(utype)(0 - (utype)x) : x)   \
  LOOP(neg_##tag, ctype, (utype)(0 - (utype)x))                      \
  LOOP(sign_##tag, ctype, (x > 0) - (x < 0))                         \
  LOOP(relu_##tag, ctype, x > 0 ? x : 0)                             \
  LOOP(erf_##tag, ctype, erff((float)x))                             \
  LOOP(shrink_##tag, ctype, SHRUNK(ox_f64_to_i64))                   \
  LOOP(clip_##tag, ctype,                                            \
       (x < LOW(ctype) ? LOW(ctype) : x) > HIGH(ctype) ? HIGH(ctype) \
       : x < LOW(ctype)                                ? LOW(ctype)  \
                                                       : x)
#define UNSIGNED(tag, ctype)                                         \
  LOOP(abs_##tag, ctype, x)                                          \
  LOOP(sign_##tag, ctype, x > 0)                                     \
  LOOP(erf_##tag, ctype, erff((float)x))                             \
  LOOP(shrink_##tag, ctype, SHRUNK(ox_f64_to_u64))                   \
  LOOP(clip_##tag, ctype,                                            \
       (x < LOW(ctype) ? LOW(ctype) : x) > HIGH(ctype) ? HIGH(ctype) \
       : x < LOW(ctype)                                ? LOW(ctype)  \
                                                       : x)
SIGNED(i8, int8_t, uint8_t)
SIGNED(i16, int16_t, uint16_t)
SIGNED(i32, int32_t, uint32_t)
SIGNED(i64, int64_t, uint64_t)
UNSIGNED(u8, uint8_t)
UNSIGNED(u16, uint16_t)
UNSIGNED(u32, uint32_t)
UNSIGNED(u64, uint64_t)

#define BOTH(op) \
  {op##_u8, op##_u16, op##_u32, op##_u64}, { op##_i8, op##_i16, op##_i32, op##_i64 }
#define ONLY_SIGNED(op) \
  {NULL}, { op##_i8, op##_i16, op##_i32, op##_i64 }

static void bitwise_not(const void *x, void *y, size_t n) {
  const uint8_t *s = x;
  uint8_t *d = y;
  OX_IVDEP for (size_t i = 0; i < n; i++) d[i] = (uint8_t)~s[i];
}

static void logical_not(const void *x, void *y, size_t n) {
  const uint8_t *s = x;
  uint8_t *d = y;
  OX_IVDEP for (size_t i = 0; i < n; i++) d[i] = !s[i];
}

/* ---- doubles ---- */
#define F64(name, expr)                                                            \
  static void name##_f64(const double *in, double *y, size_t n, const double *p) { \
    double a = p ? p[0] : 0, b = p ? p[1] : 0;                                     \
    (void)a, (void)b;                                                              \
    OX_IVDEP for (size_t i = 0; i < n; i++) {                                      \
      double x = in[i];                                                            \
      y[i] = (expr);                                                               \
    }                                                                              \
  }
#define CLAMP(x, lo, hi) ox_f64_at_most(ox_f64_at_least(x, lo), hi)
static const double sqrt_2_over_pi = 0.79788456080286535588;

F64(abs, fabs(x))
F64(neg, -x)
F64(ceil, ceil(x))
F64(floor, floor(x))
F64(round, rint(x))
F64(sqrt, sqrt(x))
F64(reciprocal, 1 / x)
F64(sign, x > 0 ? 1.0 : x < 0 ? -1.0 : x)
F64(relu, x < 0 ? 0 : x)
F64(leaky_relu, x < 0 ? a * x : x)
F64(thresholded_relu, x > a ? x : 0)
F64(hard_sigmoid, CLAMP(a *x + b, 0, 1))
F64(hard_swish, x *CLAMP(x / 6 + 0.5, 0, 1))
F64(softsign, x / (1 + fabs(x)))
F64(shrink, x<-b ? x + a : x> b ? x - a : 0)
F64(clip, CLAMP(x, a, b))
F64(affine, a *x + b)
F64(exp, ox_f64_exp(x))
F64(sigmoid, ox_f64_sigmoid(x))
F64(tanh, ox_f64_tanh(x))
F64(scaled_tanh, a *ox_f64_tanh(b *x))
F64(elu, x < 0 ? a * ox_f64_expm1(ox_f64_at_most(x, 0)) : x)
F64(selu, b *(x < 0 ? a * ox_f64_expm1(ox_f64_at_most(x, 0)) : x))
F64(swish, x *ox_f64_sigmoid(a *x))
F64(mish, x *ox_f64_tanh_softplus(x))
F64(gelu_tanh, x *ox_f64_sigmoid(2 * sqrt_2_over_pi * (x + 0.044715 * x * x * x)))

/* Sines of numbers too large for vectors, of infinities and NaN are the C library's; most blocks have none. */
OX_INLINE void trig(const double *x, double *y, size_t n, uint64_t quarter, double (*exact)(double)) {
  enum { BLOCK = 64 };
  double v[BLOCK];
  for (size_t at = 0; at < n; at += BLOCK) {
    size_t m = n - at < BLOCK ? n - at : BLOCK, far = 0;
    memcpy(v, x + at, m * sizeof *v);
    for (size_t i = 0; i < m; i++) {
      far += !(fabs(v[i]) <= OX_F64_TRIG_LIMIT);
      y[at + i] = ox_f64_trig(v[i], quarter);
    }
    for (size_t i = 0; far && i < m; i++)
      if (!(fabs(v[i]) <= OX_F64_TRIG_LIMIT)) y[at + i] = exact(v[i]);
  }
}
static void sin_f64(const double *x, double *y, size_t n, const double *p) { (void)p, trig(x, y, n, 0, sin); }
static void cos_f64(const double *x, double *y, size_t n, const double *p) { (void)p, trig(x, y, n, 1, cos); }

const ox_unary_plain UNARY_PLAIN = {
    .ints =
        {
            [OX_UN_ABS] = {BOTH(abs)},
            [OX_UN_NEG] = {ONLY_SIGNED(neg)},
            [OX_UN_SIGN] = {BOTH(sign)},
            [OX_UN_RELU] = {ONLY_SIGNED(relu)},
            [OX_UN_ERF] = {BOTH(erf)},
            [OX_UN_SHRINK] = {BOTH(shrink)},
            [OX_UN_CLIP] = {BOTH(clip)},
        },
    .bitwise_not = bitwise_not,
    .logical_not = logical_not,
    .f64 =
        {
            [OX_UN_ABS] = abs_f64,
            [OX_UN_NEG] = neg_f64,
            [OX_UN_CEIL] = ceil_f64,
            [OX_UN_FLOOR] = floor_f64,
            [OX_UN_ROUND] = round_f64,
            [OX_UN_SQRT] = sqrt_f64,
            [OX_UN_EXP] = exp_f64,
            [OX_UN_RECIPROCAL] = reciprocal_f64,
            [OX_UN_SIGN] = sign_f64,
            [OX_UN_RELU] = relu_f64,
            [OX_UN_LEAKY_RELU] = leaky_relu_f64,
            [OX_UN_ELU] = elu_f64,
            [OX_UN_SELU] = selu_f64,
            [OX_UN_THRESHOLDED_RELU] = thresholded_relu_f64,
            [OX_UN_SIGMOID] = sigmoid_f64,
            [OX_UN_HARD_SIGMOID] = hard_sigmoid_f64,
            [OX_UN_HARD_SWISH] = hard_swish_f64,
            [OX_UN_SOFTSIGN] = softsign_f64,
            [OX_UN_TANH] = tanh_f64,
            [OX_UN_GELU_TANH] = gelu_tanh_f64,
            [OX_UN_MISH] = mish_f64,
            [OX_UN_SWISH] = swish_f64,
            [OX_UN_SHRINK] = shrink_f64,
            [OX_UN_CLIP] = clip_f64,
            [OX_UN_AFFINE] = affine_f64,
            [OX_UN_SCALED_TANH] = scaled_tanh_f64,
            [OX_UN_SIN] = sin_f64,
            [OX_UN_COS] = cos_f64,
        },
};
