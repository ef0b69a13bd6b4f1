/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_f32_body.h - the float functions over the vocabulary. a and b are the parameters, splat. */
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
/* As vf32_sigmoid and vf32_tanh, but with a division: in a loop of its own it runs beside the other instructions. */
static inline vf32 sigmoid_of(vf32 x) {
  vf32 one = vf32_splat(1.0f), z = vf32_exp_flush(vf32_neg(vf32_abs(x)));
  return vf32_div(vf32_select(vf32_lt(x, vf32_zero()), z, one), vf32_add(one, z));
}
static inline vf32 hard_swish_of(vf32 x) {
  return vf32_mul(x, clamp01(vf32_fma(x, vf32_splat(1.0f / 6.0f), vf32_splat(0.5f))));
}
static inline vf32 softplus_of(vf32 x) {
  return vf32_add(vf32_max(vf32_zero(), x), vf32_log1p(vf32_exp_flush(vf32_neg(vf32_abs(x)))));
}
static inline vf32 softsign_of(vf32 x) { return vf32_div(x, vf32_add(vf32_splat(1.0f), vf32_abs(x))); }
static inline vf32 tanh_of(vf32 x) {
  vf32 a = vf32_abs(x), t = vf32_expm1_le88(vf32_at_most(vf32_add(a, a), 20.0f));
  return vf32_copysign(vf32_div(t, vf32_add(t, vf32_splat(2.0f))), x);
}
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
static inline vf32 trig_of(vf32 x, int quarter) {
  vf32 n = vf32_round(vf32_mul(x, vf32_splat(0x1.45f306p-1f)));
  vf32 r = vf32_fnma(n, vf32_splat(0x1.92p+0f), x);
  r = vf32_fnma(n, vf32_splat(0x1.fb4p-12f), r);
  r = vf32_fnma(n, vf32_splat(0x1.444p-24f), r);
  r = vf32_fnma(n, vf32_splat(0x1.68c234p-39f), r);
  vf32 z = vf32_mul(r, r);
  vf32 s = vf32_fma(vf32_splat(-0x1.994b4p-13f), z, vf32_splat(0x1.110756p-7f));
  s = vf32_fma(vf32_fma(s, z, vf32_splat(-0x1.555546p-3f)), vf32_mul(z, r), r);
  vf32 c = vf32_fma(vf32_splat(0x1.99e86ap-16f), z, vf32_splat(-0x1.6c0c28p-10f));
  c = vf32_fma(vf32_fma(c, z, vf32_splat(0x1.55554ap-5f)), z, vf32_splat(-0.5f));
  c = vf32_fma(c, z, vf32_splat(1.0f));
  vi32 q = vi32_add(vf32_to_i32(n), vi32_splat(quarter)), one = vi32_splat(1);
  vf32 y = vf32_select(vi32_eq(vi32_and(q, one), one), c, s);
  return vi32_as_f32(vi32_xor(vf32_bits(y), vi32_shl(vi32_and(q, vi32_splat(2)), 30)));
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
  return vf32_mul(x, sigmoid_of(vf32_mul(a, x)));
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
PLAIN(atan)
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
#define TRIG(name, quarter)                                                     \
  static void name##_f32(const float *in, float *y, size_t n, const float *p) { \
    for (size_t i = 0; i < n; i += VF32_LANES) {                                \
      size_t k = vf32_lanes_at(i, n);                                           \
      vf32 x = vf32_load_n(in + i, k);                                          \
      if (vm32_all(vf32_lt(vf32_abs(x), vf32_splat(TRIG_LIMIT))))               \
        vf32_store_n(y + i, trig_of(x, quarter), k);                            \
      else                                                                      \
        ox_##name##_f32(in + i, y + i, k, p);                                   \
    }                                                                           \
  }
TRIG(sin, 0)
TRIG(cos, 1)

#define tan_f32 ox_tan_f32
#define asin_f32 ox_asin_f32
#define acos_f32 ox_acos_f32
#define sinh_f32 ox_sinh_f32
#define cosh_f32 ox_cosh_f32
#define asinh_f32 ox_asinh_f32
#define acosh_f32 ox_acosh_f32
#define atanh_f32 ox_atanh_f32

extern ox_unary_f32_fn *const UNARY_NAME[OX_UN_COUNT];
ox_unary_f32_fn *const UNARY_NAME[OX_UN_COUNT] = {
#define OX_UNARY(id, name) [OX_UN_##id] = name##_f32,
#include "kern/unary/unary_ops.inc"
#undef OX_UNARY
};
