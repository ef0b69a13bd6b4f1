/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_f32_body.h - the float functions over the SIMD vocabulary. a and b are the parameters, in all lanes.
 */
#include "kern/unary/unary_f32.h"

static inline vf32 abs_of(vf32 x) { return vf32_abs(x); }
static inline vf32 neg_of(vf32 x) { return vf32_neg(x); }
static inline vf32 ceil_of(vf32 x) { return vf32_ceil(x); }
static inline vf32 floor_of(vf32 x) { return vf32_floor(x); }
static inline vf32 round_of(vf32 x) { return vf32_round(x); }
static inline vf32 sqrt_of(vf32 x) { return vf32_sqrt(x); }
static inline vf32 exp_of(vf32 x) { return vf32_exp(x); }
static inline vf32 log_of(vf32 x) { return vf32_log(x); }
static inline vf32 reciprocal_of(vf32 x) { return vf32_div(vf32_splat(1.0f), x); }
static inline vf32 sign_of(vf32 x) { /* NaN and zeros stay */
  vf32 one = vf32_copysign(vf32_splat(1.0f), x);
  return vf32_select(vf32_gt(vf32_abs(x), vf32_zero()), one, x);
}
/* max and min return their second argument for NaN, so the data goes there */
static inline vf32 relu_of(vf32 x) { return vf32_max(vf32_zero(), x); }
static inline vf32 clamp01(vf32 x) { return vf32_at_most(vf32_at_least(x, 0.0f), 1.0f); }
#if defined(VF32_HAS_PICK8) || defined(VF32_HAS_PICK16)
static inline vf32 sigmoid_of(vf32 x) { return vf32_sigmoid(x); }
#else
/* As vf32_sigmoid, by exp(-|x|). */
static inline vf32 sigmoid_of(vf32 x) {
  vf32 one = vf32_splat(1.0f), z = vf32_exp_flush(vf32_neg(vf32_abs(x)));
  return vf32_div(vf32_select(vf32_lt(x, vf32_zero()), z, one), vf32_add(one, z));
}
#endif
static inline vf32 hard_swish_of(vf32 x) {
  return vf32_mul(x, clamp01(vf32_fma(x, vf32_splat(1.0f / 6.0f), vf32_splat(0.5f))));
}
static inline vf32 softplus_of(vf32 x) {
  return vf32_add(vf32_max(vf32_zero(), x), vf32_log1p(vf32_exp_flush(vf32_neg(vf32_abs(x)))));
}
static inline vf32 softsign_of(vf32 x) { return vf32_div(x, vf32_add(vf32_splat(1.0f), vf32_abs(x))); }
static inline vf32 tanh_of(vf32 x) { return vf32_tanh(x); }
static inline vf32 erf_of(vf32 x) { return vf32_erf(x); }
static inline vf32 gelu_of(vf32 x) { return vf32_gelu(x); }
/* 0.5 x (1 + tanh u) is x sigmoid(2u): one exponential, no cancellation for negative x */
static inline vf32 gelu_tanh_of(vf32 x) {
  vf32 u = vf32_mul(x, vf32_fma(vf32_mul(x, x), vf32_splat(2 * 0.79788456f * 0.044715f), vf32_splat(2 * 0.79788456f)));
  return vf32_mul(x, sigmoid_of(u));
}
/* tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2); from x = 20 on it is 1 */
static inline vf32 mish_of(vf32 x) {
  vf32 e = vf32_exp_flush(vf32_at_most(x, 20.0f)), n = vf32_mul(e, vf32_add(e, vf32_splat(2.0f)));
  return vf32_mul(x, vf32_div(n, vf32_add(n, vf32_splat(2.0f))));
}

/* x = n pi/2 + r, |r| <= pi/4. Each part of pi/2 but the last has 11 bits, so its product with n < 2^13 is exact, with
 * or without FMA. Sine and cosine of r are minimax polynomials; n picks one and its sign. */
#define TRIG_LIMIT 12000.0f
static inline vf32 rest_of(vf32 x, vf32 n) {
  vf32 r = vf32_fnma(n, vf32_splat(0x1.92p+0f), x);
  r = vf32_fnma(n, vf32_splat(0x1.fb4p-12f), r);
  r = vf32_fnma(n, vf32_splat(0x1.444p-24f), r);
  return vf32_fnma(n, vf32_splat(0x1.68c234p-39f), r);
}
static inline vf32 trig_of(vf32 x, int quarter) {
  vf32 n = vf32_round(vf32_mul(x, vf32_splat(0x1.45f306p-1f))), r = rest_of(x, n), z = vf32_mul(r, r);
  vf32 s = vf32_fma(vf32_splat(-0x1.994b4p-13f), z, vf32_splat(0x1.110756p-7f));
  s = vf32_fma(vf32_fma(s, z, vf32_splat(-0x1.555546p-3f)), vf32_mul(z, r), r);
  vf32 c = vf32_fma(vf32_splat(0x1.99e86ap-16f), z, vf32_splat(-0x1.6c0c28p-10f));
  c = vf32_fma(vf32_fma(c, z, vf32_splat(0x1.55554ap-5f)), z, vf32_splat(-0.5f));
  c = vf32_fma(c, z, vf32_splat(1.0f));
  vi32 q = vi32_add(vf32_to_i32(n), vi32_splat(quarter)), one = vi32_splat(1);
  vf32 y = vf32_select(vi32_eq(vi32_and(q, one), one), c, s);
  return vi32_as_f32(vi32_xor(vf32_bits(y), vi32_shl(vi32_and(q, vi32_splat(2)), 30)));
}

/* The polynomials below were fitted for this file; their relative errors are below 5e-9. */
#if VF32_HAS_FMA
/* x = n pi/2 + r; the tangent of r or, for odd n, -1 / that. |off|, the rounding error of r, is multiplied by the
 * slope, about 1 + r^2. */
static inline vf32 tan_of(vf32 x) {
  vf32 n = vf32_round(vf32_mul(x, vf32_splat(0x1.45f306p-1f))), part = vf32_splat(0x1.444p-24f);
  vf32 most = vf32_fnma(n, vf32_splat(0x1.fb4p-12f), vf32_fnma(n, vf32_splat(0x1.92p+0f), x));
  vf32 r = vf32_fnma(n, part, most), off = vf32_fnma(n, part, vf32_sub(most, r)), z = vf32_mul(r, r);
  off = vf32_fnma(n, vf32_splat(0x1.68c234p-39f), off);
  vf32 p = vf32_fma(vf32_splat(0x1.219fa6p-8f), z, vf32_splat(-0x1.52db2p-20f));
  p = vf32_fma(p, z, vf32_splat(0x1.65858ap-7f));
  p = vf32_fma(p, z, vf32_splat(0x1.5c309ep-6f));
  p = vf32_fma(p, z, vf32_splat(0x1.bae8e8p-5f));
  p = vf32_fma(p, z, vf32_splat(0x1.110d4p-3f));
  p = vf32_fma(p, z, vf32_splat(0x1.555562p-2f));
  vf32 t = vf32_add(r, vf32_fma(p, vf32_mul(z, r), vf32_fma(off, z, off)));
  vm32 odd = vi32_eq(vi32_and(vf32_to_i32(n), vi32_splat(1)), vi32_splat(1));
  return vf32_select(vf32_eq(x, vf32_zero()), x, vf32_select(odd, vf32_div(vf32_splat(-1.0f), t), t));
}
#endif

/* x / (2 root), where root^2 is about z. With AVX2 the reciprocal is that of the well-known integer subtraction, with
 * an error of 3.5 %: x corrects the last bit only, and a division is slow beside the root. */
static inline vf32 over_twice(vf32 x, vf32 root, vf32 z) {
#ifdef VF32_HAS_PICK8
  (void)root;
  return vf32_mul(x, vi32_as_f32(vi32_sub(vi32_splat(0x5eb759df), vi32_shr(vf32_bits(z), 1))));
#else
  (void)z;
  return vf32_div(x, vf32_add(root, root));
#endif
}

/* For s from 0 to 1/2, asin(s) = s + *rest. For larger |x|, asin(|x|) = pi/2 - 2 asin(s) with s = sqrt((1 - |x|) / 2),
 * whose rounding error is part of *rest; *far is then set. NaN outside of [-1, 1]. */
static inline vf32 asin_parts(vf32 x, vm32 *far, vf32 *rest) {
  vf32 a = vf32_abs(x), half = vf32_splat(0.5f);
  *far = vf32_gt(a, half);
  vf32 z = vf32_select(*far, vf32_mul(vf32_sub(vf32_splat(1.0f), a), half), vf32_mul(a, a));
  vf32 root = vf32_sqrt(z), s = vf32_select(*far, root, a);
  vf32 p = vf32_fma(vf32_splat(0x1.59dacp-5f), z, vf32_splat(0x1.8ba262p-6f));
  p = vf32_fma(p, z, vf32_splat(0x1.748c64p-5f));
  p = vf32_fma(p, z, vf32_splat(0x1.33014ep-4f));
  p = vf32_fma(p, z, vf32_splat(0x1.5555cap-3f));
  vm32 inexact = vm32_and(*far, vf32_gt(z, vf32_zero()));
  vf32 lost = over_twice(vf32_fnma(root, root, z), root, z);
  *rest = vf32_fma(vf32_mul(p, z), s, vf32_select(inexact, lost, vf32_zero()));
  return s;
}
#define HALF_PI 0x1.921fb6p+0f
#define HALF_PI_REST -0x1.777a5cp-25f
static inline vf32 from_half_pi(vf32 s, vf32 rest) { /* pi/2 - 2 (s + rest) */
  vf32 near = vf32_sub(vf32_splat(HALF_PI), vf32_add(s, s));
  return vf32_add(near, vf32_sub(vf32_splat(HALF_PI_REST), vf32_add(rest, rest)));
}
static inline vf32 asin_of(vf32 x) {
  vm32 far;
  vf32 rest, s = asin_parts(x, &far, &rest);
  return vf32_copysign(vf32_select(far, from_half_pi(s, rest), vf32_add(s, rest)), x);
}
static inline vf32 acos_of(vf32 x) {
  vm32 far;
  vf32 rest, s = asin_parts(x, &far, &rest), sum = vf32_add(s, rest), twice = vf32_add(sum, sum);
  vf32 left = vf32_add(vf32_splat(HALF_PI), from_half_pi(s, vf32_sub(rest, vf32_splat(0.5f * HALF_PI_REST))));
  vf32 signed_rest = vf32_sub(vf32_copysign(rest, vf32_mul(x, rest)), vf32_splat(HALF_PI_REST));
  vf32 middle = vf32_sub(vf32_splat(HALF_PI), vf32_add(x, signed_rest));
  return vf32_select(far, vf32_select(vf32_lt(x, vf32_zero()), left, twice), middle);
}

/* Below 1 a polynomial; above it from expm1(|x|) or, where that overflows, from exp(|x| / 2) twice. */
#define LARGE_EXP 88.0f
static inline vf32 sinh_of(vf32 x) {
  vf32 a = vf32_abs(x), half = vf32_splat(0.5f), one = vf32_splat(1.0f), z = vf32_mul(x, x);
  vf32 p = vf32_fma(vf32_splat(0x1.7a267cp-19f), z, vf32_splat(0x1.9ffe12p-13f));
  p = vf32_fma(p, z, vf32_splat(0x1.111136p-7f));
  p = vf32_fma(p, z, vf32_splat(0x1.555556p-3f));
  vf32 near = vf32_fma(vf32_mul(p, z), x, x);
  vf32 t = vf32_expm1_le88(vf32_at_most(a, LARGE_EXP)),
       far = vf32_mul(half, vf32_add(t, vf32_div(t, vf32_add(t, one))));
  vf32 e = vf32_exp(vf32_mul(half, a)), large = vf32_mul(vf32_mul(half, e), e);
  far = vf32_select(vf32_gt(a, vf32_splat(LARGE_EXP)), large, far);
  return vf32_select(vf32_lt(a, one), near, vf32_copysign(far, x));
}
static inline vf32 cosh_of(vf32 x) {
  vf32 a = vf32_abs(x), half = vf32_splat(0.5f), t = vf32_mul(half, vf32_exp(vf32_at_most(a, LARGE_EXP)));
  vf32 e = vf32_exp(vf32_mul(half, a)), large = vf32_mul(vf32_mul(half, e), e);
  return vf32_select(vf32_gt(a, vf32_splat(LARGE_EXP)), large, vf32_add(t, vf32_div(vf32_splat(0.25f), t)));
}

/* Below 1/2 a polynomial; then log1p of what keeps the digits; of numbers whose square is too large, log(2 a). */
#define LARGE_SQUARE 1e9f
static inline vf32 log_twice(vf32 a) { return vf32_add(vf32_log(a), vf32_splat(0x1.62e43p-1f)); }
static inline vf32 asinh_of(vf32 x) {
  vf32 a = vf32_abs(x), one = vf32_splat(1.0f), z = vf32_mul(a, a);
  vf32 p = vf32_fma(vf32_splat(0x1.2ca8bcp-7f), z, vf32_splat(-0x1.4771d4p-6f));
  p = vf32_fma(p, z, vf32_splat(0x1.ebc1fp-6f));
  p = vf32_fma(p, z, vf32_splat(-0x1.6d792cp-5f));
  p = vf32_fma(p, z, vf32_splat(0x1.33320cp-4f));
  p = vf32_fma(p, z, vf32_splat(-0x1.555554p-3f));
  vf32 near = vf32_fma(vf32_mul(p, z), a, a), root = vf32_sqrt(vf32_add(z, one));
  vf32 far = vf32_log1p(vf32_add(a, vf32_div(z, vf32_add(one, root))));
  far = vf32_select(vf32_gt(a, vf32_splat(LARGE_SQUARE)), log_twice(a), far);
  return vf32_copysign(vf32_select(vf32_lt(a, vf32_splat(0.5f)), near, far), x);
}
static inline vf32 acosh_of(vf32 x) {
  vf32 t = vf32_sub(x, vf32_splat(1.0f)),
       y = vf32_log1p(vf32_add(t, vf32_sqrt(vf32_mul(t, vf32_add(t, vf32_splat(2.0f))))));
  y = vf32_select(vf32_gt(x, vf32_splat(LARGE_SQUARE)), log_twice(x), y);
  return vf32_select(vf32_lt(t, vf32_zero()), vf32_splat(NAN), y);
}
static inline vf32 atanh_of(vf32 x) {
  vf32 a = vf32_abs(x), half = vf32_splat(0.5f), z = vf32_mul(a, a);
  vf32 p = vf32_fma(vf32_splat(0x1.6ae5fcp-3f), z, vf32_splat(0x1.a1ac62p-5f));
  p = vf32_fma(p, z, vf32_splat(0x1.e4b81p-4f));
  p = vf32_fma(p, z, vf32_splat(0x1.23418cp-3f));
  p = vf32_fma(p, z, vf32_splat(0x1.99a72ap-3f));
  p = vf32_fma(p, z, vf32_splat(0x1.55553ep-2f));
  vf32 near = vf32_fma(vf32_mul(p, z), a, a);
  vf32 far = vf32_mul(half, vf32_log1p(vf32_div(vf32_add(a, a), vf32_sub(vf32_splat(1.0f), a))));
  return vf32_copysign(vf32_select(vf32_lt(a, half), near, far), x);
}

/* Of t in [0, 1] a polynomial of t^2 (a fit of our own, relative error 2.4e-9); of a larger |x|, pi/2 less that of its
 * reciprocal, which is rounded where the result no longer minds. */
static inline vf32 atan_of(vf32 x) {
  vf32 a = vf32_abs(x), one = vf32_splat(1.0f);
  vm32 far = vf32_gt(a, one);
  vf32 t = vf32_select(far, vf32_div(one, a), a), z = vf32_mul(t, t);
  vf32 p = vf32_fma(vf32_splat(-0x1.cbc6cap-10f), z, vf32_splat(0x1.5f7f54p-7f));
  p = vf32_fma(p, z, vf32_splat(-0x1.f8b31ep-6f));
  p = vf32_fma(p, z, vf32_splat(0x1.d77728p-5f));
  p = vf32_fma(p, z, vf32_splat(-0x1.57226cp-4f));
  p = vf32_fma(p, z, vf32_splat(0x1.c02f7ap-4f));
  p = vf32_fma(p, z, vf32_splat(-0x1.24159ap-3f));
  p = vf32_fma(p, z, vf32_splat(0x1.999082p-3f));
  p = vf32_fma(p, z, vf32_splat(-0x1.555534p-2f));
  vf32 y = vf32_fma(p, vf32_mul(t, z), t);
  vf32 rest = vf32_add(vf32_splat(0x1.921fb6p+0f), vf32_sub(vf32_splat(-0x1.777a5cp-25f), y));
  return vf32_copysign(vf32_select(far, rest, y), x);
}

static inline vf32 leaky_relu_of(vf32 x, vf32 a, vf32 b) {
  (void)b;
  return vf32_select(vf32_lt(x, vf32_zero()), vf32_mul(a, x), x);
}
static inline vf32 elu_of(vf32 x, vf32 a, vf32 b) {
  (void)b;
  return vf32_select(vf32_lt(x, vf32_zero()), vf32_mul(a, vf32_expm1_le88(vf32_at_most(x, 0.0f))), x);
}
static inline vf32 selu_of(vf32 x, vf32 a, vf32 b) { return vf32_mul(b, elu_of(x, a, b)); }
static inline vf32 celu_of(vf32 x, vf32 a, vf32 b) {
  (void)b;
  return vf32_select(vf32_lt(x, vf32_zero()), vf32_mul(a, vf32_expm1(vf32_div(x, a))), x);
}
static inline vf32 thresholded_relu_of(vf32 x, vf32 a, vf32 b) {
  (void)b;
  return vf32_select(vf32_gt(x, a), x, vf32_zero()); /* NaN gives 0 */
}
static inline vf32 hard_sigmoid_of(vf32 x, vf32 a, vf32 b) { return clamp01(vf32_fma(a, x, b)); }
static inline vf32 swish_of(vf32 x, vf32 a, vf32 b) {
  (void)b;
#ifdef VF32_HAS_PICK8
  return vf32_div(x, math_one_and_exp_neg_(vf32_mul(a, x)));
#else
  return vf32_mul(x, sigmoid_of(vf32_mul(a, x)));
#endif
}
static inline vf32 shrink_of(vf32 x, vf32 a, vf32 b) {
  vf32 high = vf32_select(vf32_gt(x, b), vf32_sub(x, a), vf32_zero());
  return vf32_select(vf32_lt(x, vf32_neg(b)), vf32_add(x, a), high);
}
static inline vf32 clip_of(vf32 x, vf32 a, vf32 b) { return vf32_min(b, vf32_max(a, x)); }
static inline vf32 affine_of(vf32 x, vf32 a, vf32 b) { return vf32_fma(a, x, b); }
static inline vf32 scaled_tanh_of(vf32 x, vf32 a, vf32 b) { return vf32_mul(a, tanh_of(vf32_mul(b, x))); }
static inline vf32 parametric_softplus_of(vf32 x, vf32 a, vf32 b) { return vf32_mul(a, softplus_of(vf32_mul(b, x))); }

#define LOOP(name, call)                                                        \
  static void name##_f32(const float *in, float *y, size_t n, const float *p) { \
    SPLAT;                                                                      \
    size_t i = 0;                                                               \
    for (; i + VF32_LANES <= n; i += VF32_LANES) {                              \
      vf32 x = vf32_load(in + i);                                               \
      vf32_store(y + i, call);                                                  \
    }                                                                           \
    if (i < n) {                                                                \
      vf32 x = vf32_load_n(in + i, n - i);                                      \
      vf32_store_n(y + i, call, n - i);                                         \
    }                                                                           \
  }
#define PLAIN(name) LOOP(name, name##_of(x))
#define WITH_PARAMS(name) LOOP(name, name##_of(x, a, b))
#define SPLAT (void)p
PLAIN(abs)
PLAIN(neg)
PLAIN(ceil)
PLAIN(floor)
PLAIN(round)
PLAIN(sqrt)
PLAIN(exp)
PLAIN(log)
PLAIN(reciprocal)
PLAIN(sign)
PLAIN(relu)
PLAIN(sigmoid)
PLAIN(hard_swish)
PLAIN(softplus)
PLAIN(softsign)
PLAIN(tanh)
PLAIN(erf)
PLAIN(gelu)
PLAIN(gelu_tanh)
PLAIN(mish)
PLAIN(asin)
PLAIN(acos)
PLAIN(atan)
PLAIN(sinh)
PLAIN(cosh)
PLAIN(asinh)
PLAIN(acosh)
PLAIN(atanh)
#undef SPLAT
#define SPLAT vf32 a = vf32_splat(p[0]), b = vf32_splat(p[1])
WITH_PARAMS(leaky_relu)
WITH_PARAMS(elu)
WITH_PARAMS(selu)
WITH_PARAMS(celu)
WITH_PARAMS(thresholded_relu)
WITH_PARAMS(hard_sigmoid)
WITH_PARAMS(swish)
WITH_PARAMS(shrink)
WITH_PARAMS(clip)
WITH_PARAMS(affine)
WITH_PARAMS(scaled_tanh)
WITH_PARAMS(parametric_softplus)

/* Vectors with a large argument go through libm as a whole. */
#define TRIG(name, call)                                                        \
  static void name##_f32(const float *in, float *y, size_t n, const float *p) { \
    for (size_t i = 0; i < n; i += VF32_LANES) {                                \
      size_t k = vf32_lanes_at(i, n);                                           \
      vf32 x = vf32_load_n(in + i, k);                                          \
      if (vm32_all(vf32_lt(vf32_abs(x), vf32_splat(TRIG_LIMIT))))               \
        vf32_store_n(y + i, call, k);                                           \
      else                                                                      \
        ox_##name##_f32(in + i, y + i, k, p);                                   \
    }                                                                           \
  }
TRIG(sin, trig_of(x, 0))
TRIG(cos, trig_of(x, 1))
#if VF32_HAS_FMA
TRIG(tan, tan_of(x))
#else /* without, its last digit would be lost */
#define tan_f32 ox_tan_f32
#endif

extern ox_unary_f32_fn *const UNARY_NAME[OX_UN_COUNT];
ox_unary_f32_fn *const UNARY_NAME[OX_UN_COUNT] = {
#define OX_UNARY(id, name) [OX_UN_##id] = name##_f32,
#include "kern/unary/unary_ops.inc"
#undef OX_UNARY
};
