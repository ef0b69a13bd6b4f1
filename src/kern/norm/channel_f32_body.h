/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/channel_f32_body.h - channel.h over the SIMD vocabulary. */
#include "kern/norm/channel.h"
#include "kern/simd/math_f32.h"

enum { L = VF32_LANES, WAYS = 4 }; /* four independent sums hide the latency of an addition */

static float sum(const float *x, size_t n) {
  vf32 s[WAYS] = {vf32_zero(), vf32_zero(), vf32_zero(), vf32_zero()};
  size_t i = 0;
  for (; i + WAYS * L <= n; i += WAYS * L)
    OX_UNROLL for (int j = 0; j < WAYS; j++) s[j] = vf32_add(s[j], vf32_load(x + i + j * L));
  for (; i < n; i += L) s[0] = vf32_add(s[0], vf32_load_n(x + i, vf32_lanes_at(i, n)));
  return vf32_sum(vf32_add(vf32_add(s[0], s[1]), vf32_add(s[2], s[3])));
}

static float max(const float *x, size_t n) {
  vf32 low = vf32_splat(-__builtin_inff()), m = low, nan = vf32_zero();
  size_t i = 0;
  for (; i + L <= n; i += L) {
    vf32 v = vf32_load(x + i);
    m = vf32_max(m, v), nan = vf32_add(nan, vf32_mul(v, vf32_zero())); /* NaN for NaN and infinities */
  }
  float best = vf32_hmax(m);
  for (; i < n; i++) best = x[i] > best || x[i] != x[i] ? x[i] : best;
  if (vf32_sum(nan) == 0) return best;
  for (i = 0; i < n; i++) /* rare: NaN or infinity somewhere */
    if (x[i] != x[i]) return x[i];
  best = -__builtin_inff();
  for (i = 0; i < n; i++) best = x[i] > best ? x[i] : best;
  return best;
}

/* Whole vectors have loops of their own: one loop that also loads the last lanes takes 1.13 times as long with AVX2. */
static void scale_shift(float *y, const float *x, float center, float scale, float shift, size_t n) {
  vf32 vc = vf32_splat(center), va = vf32_splat(scale), vb = vf32_splat(shift);
  size_t i = 0;
  for (; i + L <= n; i += L) vf32_store(y + i, vf32_fma(va, vf32_sub(vf32_load(x + i), vc), vb));
  if (i < n) vf32_store_n(y + i, vf32_fma(va, vf32_sub(vf32_load_n(x + i, n - i), vc), vb), n - i);
}

static void scale_shift_each(float *y, const float *x, const float *center, const float *scale, const float *shift,
                             size_t n) {
  size_t i = 0;
  for (; i + L <= n; i += L) {
    vf32 off = vf32_sub(vf32_load(x + i), vf32_load(center + i));
    vf32_store(y + i, vf32_fma(vf32_load(scale + i), off, vf32_load(shift + i)));
  }
  if (i == n) return;
  size_t k = n - i;
  vf32 off = vf32_sub(vf32_load_n(x + i, k), vf32_load_n(center + i, k));
  vf32_store_n(y + i, vf32_fma(vf32_load_n(scale + i, k), off, vf32_load_n(shift + i, k)), k);
}

OX_INLINE vf64 scaled(vf64 x, vf64 mean, vf64 low, vf64 scale, vf64 shift) {
  return vf64_fma(scale, vf64_sub(vf64_sub(x, mean), low), shift);
}

static void scale_shift_f64(double *y, const double *x, double mean, double low, double scale, double shift, size_t n) {
  enum { LANES = VF64_LANES };
  vf64 m = vf64_splat(mean), l = vf64_splat(low), a = vf64_splat(scale), b = vf64_splat(shift);
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) vf64_store(y + i, scaled(vf64_load(x + i), m, l, a, b));
  if (i < n) vf64_store_n(y + i, scaled(vf64_load_n(x + i, n - i), m, l, a, b), n - i);
}

static void scale_shift_each_f64(double *y, const double *x, const double *mean, const double *low, const double *scale,
                                 const double *shift, size_t n) {
  enum { LANES = VF64_LANES };
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    vf64_store(y + i, scaled(vf64_load(x + i), vf64_load(mean + i), vf64_load(low + i), vf64_load(scale + i),
                             vf64_load(shift + i)));
  if (i == n) return;
  size_t k = n - i;
  vf64 m = vf64_load_n(mean + i, k), l = vf64_load_n(low + i, k), a = vf64_load_n(scale + i, k);
  vf64_store_n(y + i, scaled(vf64_load_n(x + i, k), m, l, a, vf64_load_n(shift + i, k)), k);
}

static void add_squares(float *y, const float *x, size_t n) {
  size_t i = 0;
  for (; i + L <= n; i += L) {
    vf32 v = vf32_load(x + i);
    vf32_store(y + i, vf32_fma(v, v, vf32_load(y + i)));
  }
  if (i == n) return;
  vf32 v = vf32_load_n(x + i, n - i);
  vf32_store_n(y + i, vf32_fma(v, v, vf32_load_n(y + i, n - i)), n - i);
}

static void response_norm(float *y, const float *x, const float *s, float a, float b, float power, size_t n) {
  vf32 va = vf32_splat(a), vb = vf32_splat(b), p = vf32_splat(power);
  for (size_t i = 0; i < n; i += L) {
    size_t k = vf32_lanes_at(i, n);
    vf32 base = vf32_fma(va, vf32_load_n(s + i, k), vb);
    vf32_store_n(y + i, vf32_mul(vf32_load_n(x + i, k), vf32_exp(vf32_mul(p, vf32_log(base)))), k);
  }
}

extern const ox_channel_variant OX_PASTE(ox_channel_f32__, CHANNEL_ISA);
const ox_channel_variant OX_PASTE(ox_channel_f32__, CHANNEL_ISA) = {CHANNEL_NEEDS,
                                                                    "channel_f32_" OX_QUOTE(CHANNEL_ISA),
                                                                    sum,
                                                                    max,
                                                                    scale_shift,
                                                                    scale_shift_each,
                                                                    scale_shift_f64,
                                                                    scale_shift_each_f64,
                                                                    add_squares,
                                                                    response_norm};
