/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f32_neon.h - the vocabulary of 32-bit lanes on AArch64's baseline: 4 lanes.
 * The contract of every name is in f32_scalar.h; this file has the instructions. */
#ifndef OX_SIMD_F32_NEON_H
#define OX_SIMD_F32_NEON_H

#include <arm_neon.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

#define VF32_LANES 4
#define VF32_HAS_FMA 1
typedef float32x4_t vf32;
typedef int32x4_t vi32;
typedef uint32x4_t vm32; /* all ones or all zeros per lane */

OX_INLINE vi32 vi32_iota(void) {
  static const int32_t lanes[4] = {0, 1, 2, 3};
  return vld1q_s32(lanes);
}
OX_INLINE vm32 vm32_first(size_t n) { return vcltq_s32(vi32_iota(), vdupq_n_s32((int32_t)n)); }

/* ---- loads, stores: ragged ends go through the stack ---- */
OX_INLINE vf32 vf32_zero(void) { return vdupq_n_f32(0); }
OX_INLINE vf32 vf32_splat(float x) { return vdupq_n_f32(x); }
OX_INLINE vf32 vf32_load(const float *p) { return vld1q_f32(p); }
OX_INLINE void vf32_store(float *p, vf32 v) { vst1q_f32(p, v); }
OX_INLINE vf32 vf32_load_n(const float *p, size_t n) {
  float t[4] = {0};
  memcpy(t, p, n * 4);
  return vld1q_f32(t);
}
OX_INLINE void vf32_store_n(float *p, vf32 v, size_t n) {
  float t[4];
  vst1q_f32(t, v);
  memcpy(p, t, n * 4);
}
OX_INLINE vf32 vf32_load_even(const float *p) { return vld2q_f32(p).val[0]; }
OX_INLINE vf32 vf32_load_even_n(const float *p, size_t n) {
  float t[4] = {0};
  for (size_t i = 0; i < n; i++) t[i] = p[2 * i];
  return vld1q_f32(t);
}
OX_INLINE vf32 vf32_pick16(const float *p, vi32 at) { /* a table of 64 bytes; byte b of a lane is at 4 at + b */
  const uint8_t *b = (const uint8_t *)p;
  uint8x16x4_t table = {{vld1q_u8(b), vld1q_u8(b + 16), vld1q_u8(b + 32), vld1q_u8(b + 48)}};
  int32x4_t bytes = vaddq_s32(vmulq_n_s32(at, 0x04040404), vdupq_n_s32(0x03020100));
  return vreinterpretq_f32_u8(vqtbl4q_u8(table, vreinterpretq_u8_s32(bytes)));
}
OX_INLINE vi32 vi32_zero(void) { return vdupq_n_s32(0); }
OX_INLINE vi32 vi32_splat(int32_t x) { return vdupq_n_s32(x); }
OX_INLINE vi32 vi32_load(const int32_t *p) { return vld1q_s32(p); }
OX_INLINE void vi32_store(int32_t *p, vi32 v) { vst1q_s32(p, v); }
OX_INLINE vi32 vi32_load_n(const int32_t *p, size_t n) {
  int32_t t[4] = {0};
  memcpy(t, p, n * 4);
  return vld1q_s32(t);
}
OX_INLINE void vi32_store_n(int32_t *p, vi32 v, size_t n) {
  int32_t t[4];
  vst1q_s32(t, v);
  memcpy(p, t, n * 4);
}

/* ---- narrow types ---- */
OX_INLINE uint16x4_t f32_u16_n_(const uint16_t *p, size_t n) {
  uint16_t t[4] = {0};
  memcpy(t, p, n * 2);
  return vld1_u16(t);
}
OX_INLINE void f32_put16_(uint16_t *p, uint16x4_t v, size_t n) {
  uint16_t t[4];
  vst1_u16(t, v);
  memcpy(p, t, n * 2);
}
OX_INLINE vf32 f32_of_f16_(uint16x4_t h) { return vcvt_f32_f16(vreinterpret_f16_u16(h)); }
OX_INLINE uint16x4_t f32_to_f16_(vf32 v) { return vreinterpret_u16_f16(vcvt_f16_f32(v)); }
OX_INLINE vf32 f32_of_bf16_(uint16x4_t h) { return vreinterpretq_f32_u32(vshll_n_u16(h, 16)); }
OX_INLINE uint16x4_t f32_to_bf16_(vf32 v) {
  uint32x4_t b = vreinterpretq_u32_f32(v), odd = vandq_u32(vshrq_n_u32(b, 16), vdupq_n_u32(1));
  uint32x4_t r = vaddq_u32(b, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), r, vorrq_u32(b, vdupq_n_u32(0x400000))), 16);
}
OX_INLINE vf32 vf32_load_f16(const uint16_t *p) { return f32_of_f16_(vld1_u16(p)); }
OX_INLINE vf32 vf32_load_f16_n(const uint16_t *p, size_t n) { return f32_of_f16_(f32_u16_n_(p, n)); }
OX_INLINE void vf32_store_f16(uint16_t *p, vf32 v) { vst1_u16(p, f32_to_f16_(v)); }
OX_INLINE void vf32_store_f16_n(uint16_t *p, vf32 v, size_t n) { f32_put16_(p, f32_to_f16_(v), n); }
OX_INLINE vf32 vf32_load_bf16(const uint16_t *p) { return f32_of_bf16_(vld1_u16(p)); }
OX_INLINE vf32 vf32_load_bf16_n(const uint16_t *p, size_t n) { return f32_of_bf16_(f32_u16_n_(p, n)); }
OX_INLINE void vf32_store_bf16(uint16_t *p, vf32 v) { vst1_u16(p, f32_to_bf16_(v)); }
OX_INLINE void vf32_store_bf16_n(uint16_t *p, vf32 v, size_t n) { f32_put16_(p, f32_to_bf16_(v), n); }
OX_INLINE vi32 vi32_load_u8_n(const uint8_t *p, size_t n) {
  uint8_t t[8] = {0};
  memcpy(t, p, n);
  return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vld1_u8(t)))));
}
OX_INLINE vi32 vi32_load_i8_n(const int8_t *p, size_t n) {
  int8_t t[8] = {0};
  memcpy(t, p, n);
  return vmovl_s16(vget_low_s16(vmovl_s8(vld1_s8(t))));
}
OX_INLINE vi32 vi32_load_u8(const uint8_t *p) { return vi32_load_u8_n(p, 4); }
OX_INLINE vi32 vi32_load_i8(const int8_t *p) { return vi32_load_i8_n(p, 4); }
OX_INLINE void vi32_store_u8_n(uint8_t *p, vi32 v, size_t n) {
  uint8_t t[8];
  int16x4_t h = vqmovn_s32(v);
  vst1_u8(t, vqmovun_s16(vcombine_s16(h, h)));
  memcpy(p, t, n);
}
OX_INLINE void vi32_store_i8_n(int8_t *p, vi32 v, size_t n) {
  int8_t t[8];
  int16x4_t h = vqmovn_s32(v);
  vst1_s8(t, vqmovn_s16(vcombine_s16(h, h)));
  memcpy(p, t, n);
}
OX_INLINE void vi32_store_u8(uint8_t *p, vi32 v) { vi32_store_u8_n(p, v, 4); }
OX_INLINE void vi32_store_i8(int8_t *p, vi32 v) { vi32_store_i8_n(p, v, 4); }
OX_INLINE void vi32_store_low16(uint16_t *p, vi32 v) { vst1_u16(p, vmovn_u32(vreinterpretq_u32_s32(v))); }
OX_INLINE void vi32_store_low16_n(uint16_t *p, vi32 v, size_t n) {
  f32_put16_(p, vmovn_u32(vreinterpretq_u32_s32(v)), n);
}

/* ---- arithmetic ---- */
OX_INLINE vf32 vf32_add(vf32 a, vf32 b) { return vaddq_f32(a, b); }
OX_INLINE vf32 vf32_sub(vf32 a, vf32 b) { return vsubq_f32(a, b); }
OX_INLINE vf32 vf32_mul(vf32 a, vf32 b) { return vmulq_f32(a, b); }
OX_INLINE vf32 vf32_div(vf32 a, vf32 b) { return vdivq_f32(a, b); }
OX_INLINE vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return vfmaq_f32(c, a, b); }
OX_INLINE vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return vfmsq_f32(c, a, b); }
OX_INLINE vf32 vf32_min(vf32 a, vf32 b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
OX_INLINE vf32 vf32_max(vf32 a, vf32 b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
OX_INLINE vf32 vf32_sqrt(vf32 a) { return vsqrtq_f32(a); }
OX_INLINE vf32 vf32_round(vf32 a) { return vrndnq_f32(a); }
OX_INLINE vf32 vf32_floor(vf32 a) { return vrndmq_f32(a); }
OX_INLINE vf32 vf32_ceil(vf32 a) { return vrndpq_f32(a); }
OX_INLINE vf32 vf32_trunc(vf32 a) { return vrndq_f32(a); }

/* ---- bits and integers ---- */
OX_INLINE vi32 vf32_bits(vf32 a) { return vreinterpretq_s32_f32(a); }
OX_INLINE vf32 vi32_as_f32(vi32 a) { return vreinterpretq_f32_s32(a); }
OX_INLINE vi32 vf32_to_i32(vf32 a) { return vcvtnq_s32_f32(a); }
OX_INLINE vi32 vf32_to_i32_trunc(vf32 a) { return vcvtq_s32_f32(a); }
OX_INLINE vf32 vi32_to_f32(vi32 a) { return vcvtq_f32_s32(a); }
OX_INLINE vi32 vi32_add(vi32 a, vi32 b) { return vaddq_s32(a, b); }
OX_INLINE vi32 vi32_sub(vi32 a, vi32 b) { return vsubq_s32(a, b); }
OX_INLINE vi32 vi32_mul(vi32 a, vi32 b) { return vmulq_s32(a, b); }
OX_INLINE vi32 vi32_min(vi32 a, vi32 b) { return vminq_s32(a, b); }
OX_INLINE vi32 vi32_max(vi32 a, vi32 b) { return vmaxq_s32(a, b); }
OX_INLINE vi32 vi32_and(vi32 a, vi32 b) { return vandq_s32(a, b); }
OX_INLINE vi32 vi32_or(vi32 a, vi32 b) { return vorrq_s32(a, b); }
OX_INLINE vi32 vi32_xor(vi32 a, vi32 b) { return veorq_s32(a, b); }
OX_INLINE vi32 vi32_andnot(vi32 a, vi32 b) { return vbicq_s32(b, a); }
OX_INLINE vi32 vi32_shl(vi32 a, int n) { return vshlq_s32(a, vdupq_n_s32(n)); }
OX_INLINE vi32 vi32_shr(vi32 a, int n) {
  return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(-n)));
}
OX_INLINE vi32 vi32_sar(vi32 a, int n) { return vshlq_s32(a, vdupq_n_s32(-n)); }

/* ---- masks ---- */
OX_INLINE vm32 vf32_lt(vf32 a, vf32 b) { return vcltq_f32(a, b); }
OX_INLINE vm32 vf32_le(vf32 a, vf32 b) { return vcleq_f32(a, b); }
OX_INLINE vm32 vf32_eq(vf32 a, vf32 b) { return vceqq_f32(a, b); }
OX_INLINE vm32 vi32_lt(vi32 a, vi32 b) { return vcltq_s32(a, b); }
OX_INLINE vm32 vi32_eq(vi32 a, vi32 b) { return vceqq_s32(a, b); }
OX_INLINE vm32 vm32_and(vm32 a, vm32 b) { return vandq_u32(a, b); }
OX_INLINE vm32 vm32_or(vm32 a, vm32 b) { return vorrq_u32(a, b); }
OX_INLINE vm32 vm32_xor(vm32 a, vm32 b) { return veorq_u32(a, b); }
OX_INLINE vm32 vm32_not(vm32 a) { return vmvnq_u32(a); }
OX_INLINE int vm32_any(vm32 a) { return vmaxvq_u32(a) != 0; }
OX_INLINE int vm32_all(vm32 a) { return vminvq_u32(a) != 0; }
OX_INLINE vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return vbslq_f32(m, a, b); }
OX_INLINE vi32 vi32_select(vm32 m, vi32 a, vi32 b) { return vbslq_s32(m, a, b); }
OX_INLINE void vm32_store_u8_n(uint8_t *p, vm32 m, size_t n) {
  vi32_store_u8_n(p, vreinterpretq_s32_u32(vandq_u32(m, vdupq_n_u32(1))), n);
}
OX_INLINE vm32 vm32_load_u8_n(const uint8_t *p, size_t n) {
  vi32 b = vi32_load_u8_n(p, n);
  return vtstq_s32(b, b);
}

/* ---- reductions: 4 -> 2 -> 1, halves first ---- */
OX_INLINE float vf32_sum(vf32 v) {
  float32x2_t h = vadd_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(h, 0) + vget_lane_f32(h, 1);
}
OX_INLINE float vf32_hmin(vf32 v) {
  vf32 h = vf32_min(v, vextq_f32(v, v, 2));
  return vgetq_lane_f32(vf32_min(h, vextq_f32(h, h, 1)), 0);
}
OX_INLINE float vf32_hmax(vf32 v) {
  vf32 h = vf32_max(v, vextq_f32(v, v, 2));
  return vgetq_lane_f32(vf32_max(h, vextq_f32(h, h, 1)), 0);
}
OX_INLINE int32_t vi32_sum(vi32 v) { return vaddvq_s32(v); }

/* ---- squares ---- */
OX_INLINE vf32 f32_pair_lo_(vf32 a, vf32 b) {
  return vreinterpretq_f32_f64(vtrn1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}
OX_INLINE vf32 f32_pair_hi_(vf32 a, vf32 b) {
  return vreinterpretq_f32_f64(vtrn2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}
OX_INLINE void vf32_transpose(vf32 *v) {
  vf32 a = vtrn1q_f32(v[0], v[1]), b = vtrn2q_f32(v[0], v[1]);
  vf32 c = vtrn1q_f32(v[2], v[3]), d = vtrn2q_f32(v[2], v[3]);
  v[0] = f32_pair_lo_(a, c), v[1] = f32_pair_lo_(b, d), v[2] = f32_pair_hi_(a, c), v[3] = f32_pair_hi_(b, d);
}
OX_INLINE vf32 vf32_pick(vf32 a, vf32 b, vi32 lane) {
  uint8x16_t bytes = vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100), vreinterpretq_u32_s32(lane), 0x04040404));
  uint8x16_t kept = vreinterpretq_u8_u32(vcltq_s32(lane, vdupq_n_s32(0)));
  return vreinterpretq_f32_u8(vbslq_u8(kept, vreinterpretq_u8_f32(a), vqtbl1q_u8(vreinterpretq_u8_f32(b), bytes)));
}

#include "kern/simd/f32_derived.h"

#endif
