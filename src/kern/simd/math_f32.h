/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/math_f32.h - exp, log, tanh, erf, sigmoid, gelu ... in the SIMD vocabulary: include a simd/f32_<isa>.h
 * first. Largest errors over all floats, in ulp (with FMA; the scalar build adds about one): exp 1.1, exp_flush 1.1,
 * expm1 1.4, log 0.8, log1p 1.5, sigmoid 2.4, silu 2.4, tanh 3.4 (NEON 2.4), erf 3.1. Infinities, NaN, signed zeros and
 * denormals come out as from C's libm. The coefficients are minimax fits of our own (Remez, relative error).
 */
#ifndef OX_SIMD_MATH_F32_H
#define OX_SIMD_MATH_F32_H

/* min and max with a constant; NaN is kept */
OX_INLINE vf32 vf32_at_most(vf32 x, float most) { return vf32_min(vf32_splat(most), x); }
OX_INLINE vf32 vf32_at_least(vf32 x, float least) { return vf32_max(vf32_splat(least), x); }

/* x = n ln2 + r with |r| <= ln2 / 2; n ln2's upper part is exact for |n| < 2^9 even without FMA */
OX_INLINE vf32 math_split_exp_(vf32 x, vf32 *n) {
  *n = vf32_round(vf32_mul(x, vf32_splat(0x1.715476p+0f)));
  return vf32_fnma(*n, vf32_splat(0x1.7f7d1cp-20f), vf32_fnma(*n, vf32_splat(0x1.62e4p-1f), x));
}

#ifdef VF32_HAS_PICK8
/* 2^(i/8), less i in bits 20 to 22. x + 1.5 x 2^20 is rounded to eighths, whose number n is in its low bits: shifted to
 * bit 20 and added to entry n & 7, it makes 2^(n/8). */
static const float math_eighths_[8] = {0x1.000000p+0f, 0x1.f72b84p-1f, 0x1.f06fe0p-1f, 0x1.ebfdaep-1f,
                                       0x1.ea09e6p-1f, 0x1.eace54p-1f, 0x1.ee89fap-1f, 0x1.f5818ep-1f};
/* x = n ln2 / 8 + r. The power is the product of two, so that denormal results round once and 2^128 does not overflow:
 * the second is 2^h, h the half of the whole part of n / 8. */
OX_INLINE vf32 vf32_exp(vf32 x) {
  vf32 c = vf32_at_least(vf32_at_most(x, 89.0f), -104.0f), magic = vf32_splat(0x1.8p20f);
  vf32 m = vf32_fma(c, vf32_splat(0x1.715476p+0f), magic), n = vf32_sub(m, magic);
  vf32 r = vf32_fnma(n, vf32_splat(0x1.7f7d1cp-20f), vf32_fnma(n, vf32_splat(0x1.62e4p-1f), c));
  vi32 shifted = vi32_shl(vf32_bits(m), 20), half = vi32_and(vi32_sar(shifted, 1), vi32_splat((int32_t)0xff800000));
  vi32 entry = vi32_add(vf32_bits(vf32_pick8(math_eighths_, vf32_bits(m))), shifted);
  vf32 first = vi32_as_f32(vi32_sub(entry, half)), second = vi32_as_f32(vi32_add(half, vi32_splat(0x3f800000)));
  vf32 p = vf32_fma(vf32_splat(0x1.55483cp-5f), r, vf32_splat(0x1.555c7ap-3f));
  p = vf32_fma(vf32_fma(p, r, vf32_splat(0.5f)), vf32_mul(r, r), r);
  return vf32_mul(vf32_fma(p, first, first), second);
}

/* 2^t from m = t + 1.5 x 2^20 and f = t - (m - 1.5 x 2^20), for t from -129 to 1: 0 below -127, and not exact below
 * -126. The relative error is 1.4 x 2^-24; of 0 it makes 1. */
OX_INLINE vf32 math_exp2_flush_(vf32 m, vf32 f) {
  vi32 bits = vi32_add(vf32_bits(vf32_pick8(math_eighths_, vf32_bits(m))), vi32_shl(vf32_bits(m), 20));
  vf32 power = vi32_as_f32(vi32_max(bits, vi32_zero()));
  vf32 p = vf32_fma(vf32_splat(0x1.c6a004p-5f), f, vf32_splat(0x1.ec0c32p-3f));
  return vf32_fma(vf32_mul(vf32_fma(p, f, vf32_splat(0x1.62e432p-1f)), f), power, power);
}
#else
OX_INLINE vf32 vf32_exp(vf32 x) {
  vf32 n, r = math_split_exp_(vf32_at_least(vf32_at_most(x, 89.0f), -104.0f), &n);
  vf32 p = vf32_fma(vf32_splat(0x1.6db5b2p-10f), r, vf32_splat(0x1.123c78p-7f));
  p = vf32_fma(p, r, vf32_splat(0x1.55545cp-5f));
  p = vf32_fma(p, r, vf32_splat(0x1.55548ep-3f));
  p = vf32_fma(p, r, vf32_splat(0.5f));
  p = vf32_fma(p, vf32_mul(r, r), r);
  return vf32_ldexp(vf32_add(p, vf32_splat(1.0f)), n);
}
#endif

/* x = n ln2 + r for |x| <= 88, and 2^n. Rounds by adding and subtracting 1.5 x 2^23: the sum's low bits are n. */
OX_INLINE vf32 math_split_exp_small_(vf32 x, vf32 *scale) {
  vf32 magic = vf32_splat(0x1.8p23f), m = vf32_fma(x, vf32_splat(0x1.715476p+0f), magic), n = vf32_sub(m, magic);
  *scale = vi32_as_f32(vi32_add(vi32_shl(vf32_bits(m), 23), vi32_splat(0x3f800000)));
  return vf32_fnma(n, vf32_splat(0x1.7f7d1cp-20f), vf32_fnma(n, vf32_splat(0x1.62e4p-1f), x));
}

/* exp for x <= 88, for uses that sum it or compare it with 1: it is 0 below -87, where exp would be denormal and slow.
 */
OX_INLINE vf32 vf32_exp_flush(vf32 x) {
  vf32 scale, r = math_split_exp_small_(vf32_at_least(x, -87.0f), &scale);
  vf32 p = vf32_fma(vf32_splat(0x1.6db5b2p-10f), r, vf32_splat(0x1.123c78p-7f));
  p = vf32_fma(p, r, vf32_splat(0x1.55545cp-5f));
  p = vf32_fma(p, r, vf32_splat(0x1.55548ep-3f));
  p = vf32_fma(p, r, vf32_splat(0.5f));
  p = vf32_fma(p, vf32_mul(r, r), r);
  return vf32_select(vf32_lt(x, vf32_splat(-87.0f)), vf32_zero(), vf32_fma(p, scale, scale));
}

/* exp(x) - 1 without cancellation, for x <= 88; zeros come out positive */
OX_INLINE vf32 math_expm1_(vf32 x) {
  vf32 scale, r = math_split_exp_small_(vf32_at_least(x, -30.0f), &scale); /* -1 already, and no denormals */
  vf32 p = vf32_fma(vf32_splat(0x1.a1a2e4p-13f), r, vf32_splat(0x1.6d75dcp-10f));
  p = vf32_fma(p, r, vf32_splat(0x1.11108ep-7f));
  p = vf32_fma(p, r, vf32_splat(0x1.5554acp-5f));
  p = vf32_fma(p, r, vf32_splat(0x1.555556p-3f));
  p = vf32_fma(p, r, vf32_splat(0.5f));
  p = vf32_fma(p, vf32_mul(r, r), r);
  return vf32_fma(scale, p, vf32_sub(scale, vf32_splat(1.0f)));
}

OX_INLINE vf32 vf32_expm1_le88(vf32 x) { return vf32_select(vf32_eq(x, vf32_zero()), x, math_expm1_(x)); }

OX_INLINE vf32 vf32_expm1(vf32 x) {
  return vf32_select(vf32_gt(x, vf32_splat(88.0f)), vf32_exp(x), vf32_expm1_le88(vf32_at_most(x, 88.0f)));
}

#ifdef VF32_HAS_LDEXP
/* 1 + exp(-x) for |x| <= 1000, infinite where exp(-x) is: exp(-x) = 2^n exp(-r), where n has 4 fractional bits and
 * |r| <= ln2 / 32. After rounding by adding a large number, bits 0 to 3 are the fraction of n, which indexes a table;
 * ldexp rounds n down. The table has 2^(i/16) / q and the polynomial is q exp(-r): q is chosen such that all entries
 * are within 0.3 x 2^-24 of their exact values, so that the table adds little error. */
OX_INLINE vf32 math_one_and_exp_neg_(vf32 x) {
  static const float table[16] = {0x1.1e3c44p+0f, 0x1.2ae87cp+0f, 0x1.382456p+0f, 0x1.45f62ep+0f,
                                  0x1.5464a8p+0f, 0x1.6376b4p+0f, 0x1.73339p+0f,  0x1.83a2cap+0f,
                                  0x1.94cc4ap+0f, 0x1.a6b84ep+0f, 0x1.b96f74p+0f, 0x1.ccfab8p+0f,
                                  0x1.e1638p+0f,  0x1.f6b39ap+0f, 0x1.067aa2p+1f, 0x1.121998p+1f};
  vf32 magic = vf32_splat(0x1.8p19f), m = vf32_fnma(x, vf32_splat(0x1.715476p+0f), magic), n = vf32_sub(m, magic);
  vf32 r = vf32_fma(n, vf32_splat(0x1.7f7d1cp-20f), vf32_fma(n, vf32_splat(0x1.62e4p-1f), x));
  vf32 p = vf32_fma(vf32_splat(-0x1.31454cp-3f), r, vf32_splat(0x1.c9ef48p-2f));
  p = vf32_fma(vf32_fma(p, r, vf32_splat(-0x1.c9eab2p-1f)), r, vf32_splat(0x1.c9eab2p-1f));
  return vf32_fma(vf32_ldexp(vf32_pick16(table, vf32_bits(m)), n), p, vf32_splat(1.0f));
}

/* 1 / (1 + exp(-x)); 0 below -87 */
OX_INLINE vf32 vf32_sigmoid(vf32 x) {
  vf32 over = vf32_select(vf32_lt(x, vf32_splat(-87.0f)), vf32_zero(), vf32_splat(1.0f));
  return vf32_div(over, math_one_and_exp_neg_(vf32_at_most(vf32_at_least(x, -1000.0f), 1000.0f)));
}

/* x / (1 + exp(-x)); NaN stays, by the numerator */
OX_INLINE vf32 vf32_silu(vf32 x) { return vf32_div(x, math_one_and_exp_neg_(vf32_within(x, 1000.0f))); }
#elif defined(VF32_HAS_PICK8)
/* 1 + exp(-x), infinite where exp(-x) is: as above with 3 fractional bits of n and |r| <= ln2 / 16. The entries for i,
 * 2^(i/8) / 2q, are smaller by i in bits 20 to 22, where the shifted sum has its fraction; the polynomial is
 * 2q exp(-r). So even their product with the largest power of two overflows as it should. */
OX_INLINE vf32 math_one_and_exp_neg_(vf32 x) {
  static const float table[8] = {0x1.0c0e82p-1f, 0x1.045160p-1f, 0x1.fec660p-2f, 0x1.fba062p-2f,
                                 0x1.fb16e2p-2f, 0x1.fd6660p-2f, 0x1.02d0d8p-1f, 0x1.0b9e3cp-1f};
  vf32 c = vf32_at_most(vf32_at_least(x, -89.0f), 64.0f), magic = vf32_splat(0x1.8p20f);
  vf32 m = vf32_fnma(c, vf32_splat(0x1.715476p+0f), magic), n = vf32_sub(m, magic);
  vf32 power = vi32_as_f32(vi32_add(vf32_bits(vf32_pick8(table, vf32_bits(m))), vi32_shl(vf32_bits(m), 20)));
  vf32 r = vf32_fma(n, vf32_splat(0x1.7f7d1cp-20f), vf32_fma(n, vf32_splat(0x1.62e4p-1f), c));
  vf32 p = vf32_fma(vf32_splat(-0x1.45f340p-2f), r, vf32_splat(0x1.e90c3ap-1f));
  p = vf32_fma(vf32_fma(p, r, vf32_splat(-0x1.e8f8a4p+0f)), r, vf32_splat(0x1.e8f8a2p+0f));
  return vf32_fma(power, p, vf32_splat(1.0f));
}

OX_INLINE vf32 vf32_sigmoid(vf32 x) { return vf32_div(vf32_splat(1.0f), math_one_and_exp_neg_(x)); }
OX_INLINE vf32 vf32_silu(vf32 x) { return vf32_div(x, math_one_and_exp_neg_(x)); }
#else
/* 1 + exp(-x), for x >= -87 as exact as exp, which dominates the sum where it is large. */
OX_INLINE vf32 math_one_and_exp_neg_(vf32 x) {
  vf32 one = vf32_splat(1.0f), scale;
  vf32 r = math_split_exp_small_(vf32_neg(vf32_at_most(vf32_at_least(x, -87.0f), 87.0f)), &scale);
  vf32 p = vf32_fma(vf32_splat(0x1.6db5b2p-10f), r, vf32_splat(0x1.123c78p-7f));
  p = vf32_fma(p, r, vf32_splat(0x1.55545cp-5f));
  p = vf32_fma(p, r, vf32_splat(0x1.55548ep-3f));
  p = vf32_fma(p, r, vf32_splat(0.5f));
  return vf32_fma(vf32_fma(vf32_fma(p, r, one), r, one), scale, one);
}

/* 1 / (1 + exp(-x)); 0 below -87 */
OX_INLINE vf32 vf32_sigmoid(vf32 x) {
  vf32 over = vf32_select(vf32_lt(x, vf32_splat(-87.0f)), vf32_zero(), vf32_splat(1.0f));
  return vf32_div(over, math_one_and_exp_neg_(x));
}

/* x / (1 + exp(-x)), with x * 0 for the numerator below -87 */
OX_INLINE vf32 vf32_silu(vf32 x) {
  vf32 over = vf32_select(vf32_lt(x, vf32_splat(-87.0f)), vf32_mul(x, vf32_zero()), x);
  return vf32_div(over, math_one_and_exp_neg_(x));
}
#endif

#if defined(VF32_HAS_PICK8) || defined(VF32_HAS_PICK16)
/* 2 t / (1 + t^2) = 2 n q / (q^2 + n^2) for t = tanh(x / 2) = n / q, where n = x p(x^2): near 1, errors of t vanish.
 * p and q are a fit of our own, with a relative error of 1.4e-8 of the result. */
OX_INLINE vf32 vf32_tanh(vf32 x) {
  vf32 c = vf32_at_least(vf32_at_most(x, 9.0f), -9.0f), z = vf32_mul(c, c);
  vf32 q = vf32_fma(vf32_add(z, vf32_splat(0x1.a9718cp+6f)), z, vf32_splat(0x1.dc3024p+9f));
  vf32 p = vf32_fma(vf32_splat(-0x1.12fp-15f), z, vf32_splat(0x1.2af212p-5f));
  p = vf32_fma(vf32_fma(p, z, vf32_splat(0x1.aff0d8p+3f)), z, vf32_splat(0x1.dc3024p+8f));
  vf32 n = vf32_mul(c, p), half = vf32_mul(n, q);
  return vf32_div(vf32_add(half, half), vf32_fma(n, n, vf32_mul(q, q)));
}
#else
/* (e^2|x| - 1) / (e^2|x| + 1), 1 from 2|x| = 20 on */
OX_INLINE vf32 vf32_tanh(vf32 x) {
  vf32 a = vf32_abs(x), t = math_expm1_(vf32_at_most(vf32_add(a, a), 20.0f));
  return vf32_copysign(vf32_div(t, vf32_add(t, vf32_splat(2.0f))), x);
}
#endif

#ifdef VF32_HAS_PICK8
/* The polynomial of degree 6 of the interval that |a| is in, around its middle: of 8 that are |length| long. */
OX_INLINE vf32 math_piece8_(const float (*table)[8], vf32 a, float length) {
  vf32 magic = vf32_splat(0x1.8p23f), m = vf32_fma(a, vf32_splat(1.0f / length), magic);
  vf32 t = vf32_fnma(vf32_sub(m, magic), vf32_splat(length), a);
  vi32 piece = vf32_bits(m);
  vf32 p = vf32_fma(vf32_pick8(table[0], piece), t, vf32_pick8(table[1], piece));
  OX_UNROLL for (int i = 2; i < 7; i++) p = vf32_fma(p, t, vf32_pick8(table[i], piece));
  return p;
}

/* A polynomial of degree 6 around the middle of each of 8 intervals of length 0.525; odd, so the first is half as long
 * and its constant 0. The coefficients are our own fits, with relative errors of 2e-8. */
OX_INLINE vf32 vf32_erf(vf32 x) {
  static const float table[7][8] = {{-0x1.4d47eap-6f, -0x1.881136p-5f, 0x1.177dd8p-7f, 0x1.0bcf76p-6f, -0x1.46e73p-10f,
                                     -0x1.25a42p-9f, -0x1.bc7ebep-12f, -0x1.0f3dc4p-15f},
                                    {0x1.e64b8ap-4f, 0x1.8e9ae8p-11f, -0x1.0c2efcp-4f, -0x1.e92e12p-8f, 0x1.98f9aap-7f,
                                     0x1.19b182p-8f, 0x1.1c530ap-11f, 0x1.0ec3c6p-15f},
                                    {-0x1.9ed116p-11f, 0x1.77cd8ep-3f, 0x1.ab8568p-5f, -0x1.8e3686p-5f, -0x1.c9ee4cp-6f,
                                     -0x1.62da82p-8f, -0x1.003da2p-11f, -0x1.796dfap-16f},
                                    {-0x1.811aap-2f, -0x1.067638p-3f, 0x1.34188ap-3f, 0x1.fed754p-4f, 0x1.24f49ep-5f,
                                     0x1.40519cp-8f, 0x1.6b8af4p-12f, 0x1.bc01bap-17f},
                                    {-0x1.216958p-20f, -0x1.cc7b26p-2f, -0x1.92d7dap-2f, -0x1.309c28p-3f,
                                     -0x1.d7e732p-6f, -0x1.8af116p-9f, -0x1.6db6dep-13f, -0x1.7b8562p-18f},
                                    {0x1.20dd76p+0f, 0x1.b68dbcp-1f, 0x1.7fa8dp-2f, 0x1.82ce24p-4f, 0x1.c16e8ep-7f,
                                     0x1.2cea2ep-10f, 0x1.d07014p-15f, 0x1.9d2c9ap-20f},
                                    {0x0.0p+0f, 0x1.159a44p-1f, 0x1.b9913ap-1f, 0x1.f2ba6cp-1f, 0x1.fe797ap-1f,
                                     0x1.ffe514p-1f, 0x1.fffee6p-1f, 0x1.fffffap-1f}};
  return vf32_copysign(math_piece8_(table, vf32_at_most(vf32_abs(x), 3.925f), 0.525f), x);
}
#else
/* 1 - erfc(|x|), with -log erfc(a) = a Q(a): one expression for all a, without cancellation at 0 */
OX_INLINE vf32 vf32_erf(vf32 x) {
  vf32 a = vf32_at_most(vf32_abs(x), 3.95f);
  vf32 q = vf32_fma(vf32_splat(0x1.405208p-20f), a, vf32_splat(-0x1.6644aep-16f));
  q = vf32_fma(q, a, vf32_splat(0x1.5f3b4ep-13f));
  q = vf32_fma(q, a, vf32_splat(-0x1.8454f8p-11f));
  q = vf32_fma(q, a, vf32_splat(0x1.d7b074p-10f));
  q = vf32_fma(q, a, vf32_splat(-0x1.095a2p-12f));
  q = vf32_fma(q, a, vf32_splat(-0x1.39396ep-6f));
  q = vf32_fma(q, a, vf32_splat(0x1.a4f37ep-4f));
  q = vf32_fma(q, a, vf32_splat(0x1.45f308p-1f));
  q = vf32_fma(q, a, vf32_splat(0x1.20dd76p+0f));
  return vf32_copysign(math_expm1_(vf32_neg(vf32_mul(a, q))), x);
}
#endif

#ifdef VF32_HAS_PICK16
/* x Phi(x) = max(x, 0) - r(|x|), r(a) = a erfc(a / sqrt(2)) / 2: a polynomial of degree 5 around the middle of each of
 * 15 intervals of length 25 / 64, and 0 beyond them (where r is at most 4e-8). The coefficients are our own fits at
 * Chebyshev points; those of the first interval begin with 0 and 1 / 2. Errors: 2.5e-7, and 3 ulp above -1. */
OX_INLINE vf32 vf32_gelu(vf32 x) {
  static const float table[6][16] = {
      {-0x1.fae4c8p-9f, -0x1.3f784ep-6f, -0x1.6b2dacp-6f, -0x1.32fd78p-7f, 0x1.1cbf1ep-8f, 0x1.26f026p-7f,
       0x1.90a52ep-8f, 0x1.de81bap-10f, -0x1.d84b4p-12f, -0x1.b6ac7ep-11f, -0x1.12d9aap-11f, -0x1.cc1872p-13f,
       -0x1.225b22p-14f, -0x1.218f3p-16f, -0x1.d35d58p-19f, 0.0f},
      {0x1.124596p-4f, 0x1.725086p-5f, 0x1.6e41cep-10f, -0x1.f87ae8p-6f, -0x1.1c731cp-5f, -0x1.49a372p-6f,
       -0x1.322adp-8f, 0x1.7cfa1ep-9f, 0x1.fc2de6p-9f, 0x1.3d63a8p-9f, 0x1.15af7ap-10f, 0x1.75b85cp-12f,
       0x1.921a1ap-14f, 0x1.60fb6cp-16f, 0x1.ffdc5cp-19f, 0.0f},
      {-0x1.33e348p-16f, 0x1.7b3ac6p-4f, 0x1.09c2a4p-3f, 0x1.a5e564p-4f, 0x1.875a72p-5f, 0x1.d4704cp-9f,
       -0x1.e919c2p-7f, -0x1.ecd1dcp-7f, -0x1.2965fep-7f, -0x1.09341cp-8f, -0x1.7483eep-10f, -0x1.a8298p-12f,
       -0x1.8dc0eep-14f, -0x1.3630e2p-16f, -0x1.94fb1ep-19f, 0.0f},
      {-0x1.98844cp-2f, -0x1.5da058p-2f, -0x1.a26482p-3f, -0x1.01b6c2p-4f, 0x1.a98944p-6f, 0x1.b84644p-5f,
       0x1.6e2ab4p-5f, 0x1.a9df6cp-6f, 0x1.808a7ap-7f, 0x1.1870e4p-8f, 0x1.50e182p-10f, 0x1.51078ap-12f,
       0x1.1acc34p-14f, 0x1.8ff0e2p-17f, 0x1.de4276p-20f, 0.0f},
      {0x1p-1f, 0x1.a111fcp-3f, -0x1.957718p-7f, -0x1.d5a1ecp-4f, -0x1.ff3f8cp-4f, -0x1.71cf8cp-4f, -0x1.9d25cep-5f,
       -0x1.7606fcp-6f, -0x1.1858fep-7f, -0x1.5feec2p-9f, -0x1.7477eap-11f, -0x1.4dc7dap-13f, -0x1.fc03c6p-16f,
       -0x1.48fc58p-18f, -0x1.6b268ep-21f, 0.0f},
      {0.0f, 0x1.166e04p-3f, 0x1.5bb972p-3f, 0x1.217f28p-3f, 0x1.7a2512p-4f, 0x1.967034p-5f, 0x1.6e8be4p-6f,
       0x1.17feap-7f, 0x1.6c2508p-9f, 0x1.945318p-11f, 0x1.7ff52ap-13f, 0x1.3830c2p-15f, 0x1.b2fffap-18f,
       0x1.03ce64p-20f, 0x1.0a244p-23f, 0.0f}};
  vf32 a = vf32_at_most(vf32_abs(x), 6.0f), magic = vf32_splat(0x1.8p23f);
  vf32 m = vf32_fma(a, vf32_splat(2.56f), magic);
  vf32 t = vf32_fnma(vf32_sub(m, magic), vf32_splat(0.390625f), a);
  vi32 piece = vf32_bits(m);
  vf32 p = vf32_fma(vf32_pick16(table[0], piece), t, vf32_pick16(table[1], piece));
  OX_UNROLL for (int i = 2; i < 6; i++) p = vf32_fma(p, t, vf32_pick16(table[i], piece));
  return vf32_sub(vf32_at_least(x, 0.0f), p);
}
#elif defined(VF32_HAS_PICK8)
/* The same with 8 intervals of length 3 / 4 and degree 6. From 5.6 on |x| is taken as 6, the middle of a ninth
 * interval: that wraps to the first one, whose value in the middle is 0. Errors: 2.5e-7, and 4 ulp above -1. */
OX_INLINE vf32 vf32_gelu(vf32 x) {
  static const float table[7][8] = {{-0x1.31139p-7f, 0x1.2c5d06p-9f, 0x1.3b309ep-8f, -0x1.ba52d4p-10f, -0x1.9c4e24p-11f,
                                     0x1.34d5f8p-13f, 0x1.04dcfap-14f, 0x1.af586ap-18f},
                                    {-0x1.2bc536p-12f, -0x1.6af7f4p-6f, 0x1.37146cp-9f, 0x1.cfc3bp-8f, 0x1.7343b2p-14f,
                                     -0x1.5e1312p-11f, -0x1.0d05dap-13f, -0x1.382364p-17f},
                                    {0x1.10849cp-4f, 0x1.383264p-8f, -0x1.279a82p-5f, -0x1.f7ceep-8f, 0x1.0a4a8p-8f,
                                     0x1.8e0a2p-10f, 0x1.7c30c2p-13f, 0x1.472b08p-17f},
                                    {-0x1.15d86ep-19f, 0x1.08e782p-3f, 0x1.d06566p-5f, -0x1.9e2964p-7f, -0x1.6b429ep-7f,
                                     -0x1.22b352p-9f, -0x1.97c2b4p-13f, -0x1.1bfb52p-17f},
                                    {-0x1.988452p-2f, -0x1.bb464ep-3f, 0x1.094024p-6f, 0x1.8e249cp-5f, 0x1.fc4786p-7f,
                                     0x1.16bc4cp-9f, 0x1.31e024p-13f, 0x1.6242f8p-18f},
                                    {0x1p-1f, 0x1.9660fcp-11f, -0x1.050eccp-3f, -0x1.e4e226p-5f, -0x1.876e7p-7f,
                                     -0x1.436f96p-10f, -0x1.1f758ap-14f, -0x1.18cf6cp-19f},
                                    {0.0f, 0x1.5c198p-3f, 0x1.9a76a4p-4f, 0x1.c2a49ap-6f, 0x1.096698p-8f,
                                     0x1.5babcp-12f, 0x1.008406p-16f, 0x1.acb10cp-22f}};
  vf32 size = vf32_abs(x), a = vf32_select(vf32_lt(size, vf32_splat(5.6f)), size, vf32_splat(6.0f));
  return vf32_sub(vf32_at_least(x, 0.0f), math_piece8_(table, a, 0.75f));
}
#else
OX_INLINE vf32 vf32_gelu(vf32 x) { /* x Phi(x) */
  vf32 h = vf32_mul(x, vf32_splat(0.5f));
  return vf32_fma(h, vf32_erf(vf32_mul(x, vf32_splat(0.70710678f))), h);
}
#endif

OX_INLINE vf32 vf32_log(vf32 x) {
  vm32 tiny = vf32_lt(x, vf32_splat(0x1p-126f));
  vi32 b = vf32_bits(vf32_select(tiny, vf32_mul(x, vf32_splat(0x1p23f)), x));
  vi32 e = vi32_sar(vi32_sub(b, vi32_splat(0x3f3504f3)), 23); /* m = x / 2^e in [sqrt(1/2), sqrt(2)) */
  vf32 f = vf32_sub(vi32_as_f32(vi32_sub(b, vi32_shl(e, 23))), vf32_splat(1.0f)), f2 = vf32_mul(f, f);
  vf32 n = vf32_sub(vi32_to_f32(e), vf32_select(tiny, vf32_splat(23.0f), vf32_zero()));
  vf32 p = vf32_fma(vf32_splat(-0x1.41edfap-4f), f, vf32_splat(0x1.07d0dap-3f));
  p = vf32_fma(p, f, vf32_splat(-0x1.0ce072p-3f));
  p = vf32_fma(p, f, vf32_splat(0x1.226e4cp-3f));
  p = vf32_fma(p, f, vf32_splat(-0x1.54788cp-3f));
  p = vf32_fma(p, f, vf32_splat(0x1.99a596p-3f));
  p = vf32_fma(p, f, vf32_splat(-0x1.00022p-2f));
  p = vf32_fma(p, f, vf32_splat(0x1.55554ap-2f));
  vf32 y = vf32_fma(n, vf32_splat(0x1.7f7d1cp-20f), vf32_mul(vf32_mul(f, f2), p));
  y = vf32_add(f, vf32_fnma(vf32_splat(0.5f), f2, y));
  y = vf32_fma(n, vf32_splat(0x1.62e4p-1f), y);
  y = vf32_select(vf32_lt(x, vf32_splat(INFINITY)), y, x); /* +inf and NaN stay */
  y = vf32_select(vf32_lt(x, vf32_zero()), vf32_splat(NAN), y);
  return vf32_select(vf32_eq(x, vf32_zero()), vf32_splat(-INFINITY), y);
}

/* log(1 + x): the rounding error of 1 + x is corrected to first order */
OX_INLINE vf32 vf32_log1p(vf32 x) {
  vf32 one = vf32_splat(1.0f), u = vf32_add(one, x), y = vf32_log(u);
  vf32 lost = vf32_div(vf32_sub(x, vf32_sub(u, one)), u);
  vm32 fix = vm32_and(vf32_gt(u, vf32_zero()), vf32_lt(u, vf32_splat(INFINITY)));
  return vf32_select(vf32_eq(x, vf32_zero()), x, vf32_select(fix, vf32_add(y, lost), y));
}

#endif
