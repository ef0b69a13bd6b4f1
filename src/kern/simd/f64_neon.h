/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f64_neon.h - the vocabulary of doubles on NEON: 2 lanes. The contract of every name is in f64_scalar.h;
 * this file has the instructions. */
#ifndef OX_SIMD_F64_NEON_H
#define OX_SIMD_F64_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define VF64_LANES 2
typedef float64x2_t vf64;

OX_INLINE vf64 vf64_zero(void) { return vdupq_n_f64(0); }
OX_INLINE vf64 vf64_splat(double x) { return vdupq_n_f64(x); }
OX_INLINE vf64 vf64_load(const double *p) { return vld1q_f64(p); }
OX_INLINE void vf64_store(double *p, vf64 v) { vst1q_f64(p, v); }
OX_INLINE vf64 vf64_load_n(const double *p, size_t n) {
  return n == 2 ? vld1q_f64(p) : n ? vsetq_lane_f64(*(const ox_f64u *)p, vdupq_n_f64(0), 0) : vdupq_n_f64(0);
}
OX_INLINE void vf64_store_n(double *p, vf64 v, size_t n) {
  if (n == 2)
    vst1q_f64(p, v);
  else if (n)
    *(ox_f64u *)p = vgetq_lane_f64(v, 0);
}
OX_INLINE void vf64_store_f32(float *p, vf64 v) { vst1_f32(p, vcvt_f32_f64(v)); }
OX_INLINE void vf64_load_pairs(const float *p, const int64_t *at, vf64 *first, vf64 *second) {
  float32x2_t a = vld1_f32(p + at[0]), b = vld1_f32(p + at[1]);
  *first = vcvt_f64_f32(vtrn1_f32(a, b)), *second = vcvt_f64_f32(vtrn2_f32(a, b));
}
OX_INLINE vf64 vf64_add(vf64 a, vf64 b) { return vaddq_f64(a, b); }
OX_INLINE vf64 vf64_mul(vf64 a, vf64 b) { return vmulq_f64(a, b); }
OX_INLINE vf64 vf64_sub(vf64 a, vf64 b) { return vsubq_f64(a, b); }
OX_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) { return vfmaq_f64(c, a, b); }

typedef int64x2_t vi64;
OX_INLINE vi64 vi64_zero(void) { return vdupq_n_s64(0); }
OX_INLINE vi64 vi64_splat(int64_t x) { return vdupq_n_s64(x); }
OX_INLINE vi64 vi64_load(const int64_t *p) { return vld1q_s64(p); }
OX_INLINE void vi64_store(int64_t *p, vi64 v) { vst1q_s64(p, v); }
OX_INLINE vi64 vi64_load_n(const int64_t *p, size_t n) {
  return n == 2 ? vld1q_s64(p) : n ? vsetq_lane_s64(*(const ox_i64u *)p, vdupq_n_s64(0), 0) : vdupq_n_s64(0);
}
OX_INLINE void vi64_store_n(int64_t *p, vi64 v, size_t n) {
  if (n == 2)
    vst1q_s64(p, v);
  else if (n)
    *(ox_i64u *)p = vgetq_lane_s64(v, 0);
}
OX_INLINE vi64 vi64_add(vi64 a, vi64 b) { return vaddq_s64(a, b); }
OX_INLINE vi64 vi64_mul(vi64 a, vi64 b) { /* low halves, and what the high ones add above them */
  uint64x2_t x = vreinterpretq_u64_s64(a), y = vreinterpretq_u64_s64(b);
  uint32x2_t xl = vmovn_u64(x), xh = vshrn_n_u64(x, 32), yl = vmovn_u64(y), yh = vshrn_n_u64(y, 32);
  uint64x2_t cross = vmlal_u32(vmull_u32(xl, yh), xh, yl);
  return vreinterpretq_s64_u64(vmlal_u32(vshlq_n_u64(cross, 32), xl, yl));
}

#endif
