/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f32_scalar.h - the vocabulary of 32-bit lanes in plain C: one lane. This file is the contract:
 * - vf32, vi32: VF32_LANES floats, int32s; vm32: a truth value per lane. Pointers need no vector alignment.
 * - *_n handles the first n lanes, 0 <= n <= VF32_LANES: touches no memory past them, loads zeros into the rest.
 * - min, max return b if either is NaN (and for -0 against +0), as on x86; min_nan, max_nan propagate NaN.
 * - fma rounds once where VF32_HAS_FMA, else twice: results may differ in the last bit between instruction sets.
 * - round: to nearest even. to_i32 the same; outside int32 (and NaN) the result is INT32_MIN or saturated: clamp
 * before.
 * - ldexp(a, n): a x 2^n, n integral, -252 <= n <= 254. shl, shr (logical), sar (arithmetic): 0 <= n < 32.
 * - load_even: p[0], p[2], p[4] ...; may read 2 x VF32_LANES floats; load_even_n reads only what it needs.
 * - load_even_mixed_n: as load_even_n, in an order of its own, which is cheaper; unmixed puts the lanes in order.
 * - even_mixed(a, b), odd_mixed(a, b), where VF32_HAS_MIXED: lanes of a, then b, in the same order of its own.
 * - join_halves(a, b): the first half of a, the second of b. swap_halves. Of 16 lanes only.
 * - pick16: p[at] for each lane of |at|, from 0 to 15; may read all 16.
 * - pick8, where VF32_HAS_PICK8: p[at & 7].
 * - of_groups(p, g, c), where VF32_HAS_OF_GROUPS: lane l is p[l / g * g + c], the c-th element of its group of g (2, 4, 8
 * or 16; g and c are constants after inlining); may read VF32_LANES floats.
 * - int arithmetic wraps. store_u8, store_i8 saturate. select(m, a, b): m ? a : b. andnot(a, b): ~a & b.
 * - sum, hmin, hmax combine lanes in a fixed tree order.
 * - transpose: VF32_LANES vectors as the rows of a square. pick(a, b, l): lane i is b[l[i]], or a[i] if l[i] is -1. */
#ifndef OX_SIMD_F32_SCALAR_H
#define OX_SIMD_F32_SCALAR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

#define VF32_LANES 1
#define VF32_HAS_FMA 0
typedef float vf32;
typedef int32_t vi32;
typedef uint32_t vm32; /* 0 or 1 */

OX_INLINE vm32 vm32_first(size_t n) { return n > 0; }
OX_INLINE vi32 vf32_bits(vf32 a) {
  vi32 i;
  memcpy(&i, &a, sizeof i);
  return i;
}
OX_INLINE vf32 vi32_as_f32(vi32 a) {
  vf32 f;
  memcpy(&f, &a, sizeof f);
  return f;
}
OX_INLINE vi32 i32_of_(uint32_t u) {
  vi32 i;
  memcpy(&i, &u, sizeof i);
  return i;
}

/* ---- loads, stores ---- */
OX_INLINE vf32 vf32_zero(void) { return 0.0f; }
OX_INLINE vf32 vf32_splat(float x) { return x; }
OX_INLINE vf32 vf32_load(const float *p) { return *(const ox_f32u *)p; }
OX_INLINE void vf32_store(float *p, vf32 v) { *(ox_f32u *)p = v; }
OX_INLINE vf32 vf32_load_n(const float *p, size_t n) { return n ? *(const ox_f32u *)p : 0.0f; }
OX_INLINE void vf32_store_n(float *p, vf32 v, size_t n) {
  if (n) *(ox_f32u *)p = v;
}
OX_INLINE vf32 vf32_load_even(const float *p) { return *(const ox_f32u *)p; }
OX_INLINE vf32 vf32_load_even_n(const float *p, size_t n) { return n ? *(const ox_f32u *)p : 0.0f; }
OX_INLINE vf32 vf32_pick16(const float *p, vi32 at) { return ((const ox_f32u *)p)[at]; }
OX_INLINE vi32 vi32_zero(void) { return 0; }
OX_INLINE vi32 vi32_splat(int32_t x) { return x; }
OX_INLINE vi32 vi32_load(const int32_t *p) { return *(const ox_i32u *)p; }
OX_INLINE void vi32_store(int32_t *p, vi32 v) { *(ox_i32u *)p = v; }
OX_INLINE vi32 vi32_load_n(const int32_t *p, size_t n) { return n ? *(const ox_i32u *)p : 0; }
OX_INLINE void vi32_store_n(int32_t *p, vi32 v, size_t n) {
  if (n) *(ox_i32u *)p = v;
}
OX_INLINE vi32 vi32_iota(void) { return 0; }

/* ---- narrow types ---- */
OX_INLINE vf32 f32_of_f16_(uint32_t h) {
  uint32_t sign = (h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
  if (e == 0) { /* zero or denormal: m x 2^-24, exact */
    vf32 f = (vf32)m * 0x1p-24f;
    return sign ? -f : f;
  }
  if (e == 31) return vi32_as_f32(i32_of_(sign | 0x7f800000 | m << 13 | (m ? 0x400000 : 0)));
  return vi32_as_f32(i32_of_(sign | (e + 112) << 23 | m << 13));
}
OX_INLINE uint16_t f32_to_f16_(vf32 f) {
  uint32_t b = (uint32_t)vf32_bits(f), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
  if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* rounds to 2^16 or is infinite */
  if (a < 0x38800000) {                                  /* denormal: adding 0.5 rounds at 2^-24 */
    vf32 d = vi32_as_f32(i32_of_(a)) + 0.5f;
    return (uint16_t)(sign | ((uint32_t)vf32_bits(d) - 0x3f000000));
  }
  return (uint16_t)(sign | ((a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13));
}
OX_INLINE uint16_t f32_to_bf16_(vf32 f) {
  uint32_t b = (uint32_t)vf32_bits(f);
  if (f != f) return (uint16_t)(b >> 16 | 0x40);
  return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
OX_INLINE vf32 vf32_load_f16(const uint16_t *p) { return f32_of_f16_(*(const ox_u16u *)p); }
OX_INLINE vf32 vf32_load_f16_n(const uint16_t *p, size_t n) { return n ? vf32_load_f16(p) : 0.0f; }
OX_INLINE void vf32_store_f16(uint16_t *p, vf32 v) { *(ox_u16u *)p = f32_to_f16_(v); }
OX_INLINE void vf32_store_f16_n(uint16_t *p, vf32 v, size_t n) {
  if (n) vf32_store_f16(p, v);
}
OX_INLINE vf32 vf32_load_bf16(const uint16_t *p) { return vi32_as_f32(i32_of_((uint32_t) * (const ox_u16u *)p << 16)); }
OX_INLINE vf32 vf32_load_bf16_n(const uint16_t *p, size_t n) { return n ? vf32_load_bf16(p) : 0.0f; }
OX_INLINE void vf32_store_bf16(uint16_t *p, vf32 v) { *(ox_u16u *)p = f32_to_bf16_(v); }
OX_INLINE void vf32_store_bf16_n(uint16_t *p, vf32 v, size_t n) {
  if (n) vf32_store_bf16(p, v);
}
OX_INLINE vi32 vi32_load_u8(const uint8_t *p) { return *p; }
OX_INLINE vi32 vi32_load_i8(const int8_t *p) { return *p; }
OX_INLINE vi32 vi32_load_u8_n(const uint8_t *p, size_t n) { return n ? *p : 0; }
OX_INLINE vi32 vi32_load_i8_n(const int8_t *p, size_t n) { return n ? *p : 0; }
OX_INLINE void vi32_store_u8(uint8_t *p, vi32 v) { *p = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }
OX_INLINE void vi32_store_i8(int8_t *p, vi32 v) { *p = (int8_t)(v < -128 ? -128 : v > 127 ? 127 : v); }
OX_INLINE void vi32_store_u8_n(uint8_t *p, vi32 v, size_t n) {
  if (n) vi32_store_u8(p, v);
}
OX_INLINE void vi32_store_i8_n(int8_t *p, vi32 v, size_t n) {
  if (n) vi32_store_i8(p, v);
}
OX_INLINE void vi32_store_low16(uint16_t *p, vi32 v) { *(ox_u16u *)p = (uint16_t)v; }
OX_INLINE void vi32_store_low16_n(uint16_t *p, vi32 v, size_t n) {
  if (n) vi32_store_low16(p, v);
}

/* ---- arithmetic ---- */
OX_INLINE vf32 vf32_add(vf32 a, vf32 b) { return a + b; }
OX_INLINE vf32 vf32_sub(vf32 a, vf32 b) { return a - b; }
OX_INLINE vf32 vf32_mul(vf32 a, vf32 b) { return a * b; }
OX_INLINE vf32 vf32_div(vf32 a, vf32 b) { return a / b; }
OX_INLINE vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return a * b + c; }  /* a*b + c */
OX_INLINE vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return c - a * b; } /* c - a*b */
OX_INLINE vf32 vf32_min(vf32 a, vf32 b) { return a < b ? a : b; }
OX_INLINE vf32 vf32_max(vf32 a, vf32 b) { return a > b ? a : b; }
OX_INLINE vf32 vf32_sqrt(vf32 a) { return sqrtf(a); }
OX_INLINE vf32 vf32_round(vf32 a) { return rintf(a); }
OX_INLINE vf32 vf32_floor(vf32 a) { return floorf(a); }
OX_INLINE vf32 vf32_ceil(vf32 a) { return ceilf(a); }
OX_INLINE vf32 vf32_trunc(vf32 a) { return truncf(a); }

/* ---- bits and integers ---- */
OX_INLINE vi32 vf32_to_i32_trunc(vf32 a) { return a >= -0x1p31f && a < 0x1p31f ? (vi32)a : INT32_MIN; }
OX_INLINE vi32 vf32_to_i32(vf32 a) { return vf32_to_i32_trunc(rintf(a)); }
OX_INLINE vf32 vi32_to_f32(vi32 a) { return (vf32)a; }
OX_INLINE vi32 vi32_add(vi32 a, vi32 b) { return i32_of_((uint32_t)a + (uint32_t)b); }
OX_INLINE vi32 vi32_sub(vi32 a, vi32 b) { return i32_of_((uint32_t)a - (uint32_t)b); }
OX_INLINE vi32 vi32_mul(vi32 a, vi32 b) { return i32_of_((uint32_t)a * (uint32_t)b); }
OX_INLINE vi32 vi32_min(vi32 a, vi32 b) { return a < b ? a : b; }
OX_INLINE vi32 vi32_max(vi32 a, vi32 b) { return a > b ? a : b; }
OX_INLINE vi32 vi32_and(vi32 a, vi32 b) { return a & b; }
OX_INLINE vi32 vi32_or(vi32 a, vi32 b) { return a | b; }
OX_INLINE vi32 vi32_xor(vi32 a, vi32 b) { return a ^ b; }
OX_INLINE vi32 vi32_andnot(vi32 a, vi32 b) { return ~a & b; }
OX_INLINE vi32 vi32_shl(vi32 a, int n) { return i32_of_((uint32_t)a << n); }
OX_INLINE vi32 vi32_shr(vi32 a, int n) { return i32_of_((uint32_t)a >> n); }
OX_INLINE vi32 vi32_sar(vi32 a, int n) { return a >> n; }

/* ---- masks ---- */
OX_INLINE vm32 vf32_lt(vf32 a, vf32 b) { return a < b; } /* false if either is NaN, as le and eq */
OX_INLINE vm32 vf32_le(vf32 a, vf32 b) { return a <= b; }
OX_INLINE vm32 vf32_eq(vf32 a, vf32 b) { return a == b; }
OX_INLINE vm32 vi32_lt(vi32 a, vi32 b) { return a < b; }
OX_INLINE vm32 vi32_eq(vi32 a, vi32 b) { return a == b; }
OX_INLINE vm32 vm32_and(vm32 a, vm32 b) { return a & b; }
OX_INLINE vm32 vm32_or(vm32 a, vm32 b) { return a | b; }
OX_INLINE vm32 vm32_xor(vm32 a, vm32 b) { return a ^ b; }
OX_INLINE vm32 vm32_not(vm32 a) { return a ^ 1; }
OX_INLINE int vm32_any(vm32 a) { return (int)a; }
OX_INLINE int vm32_all(vm32 a) { return (int)a; }
OX_INLINE vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return m ? a : b; }
OX_INLINE vi32 vi32_select(vm32 m, vi32 a, vi32 b) { return m ? a : b; }
OX_INLINE void vm32_store_u8_n(uint8_t *p, vm32 m, size_t n) { /* truth values as bytes 0 and 1 */
  if (n) *p = (uint8_t)m;
}
OX_INLINE vm32 vm32_load_u8_n(const uint8_t *p, size_t n) { return n && *p; } /* byte != 0 */

/* ---- reductions ---- */
OX_INLINE float vf32_sum(vf32 v) { return v; }
OX_INLINE float vf32_hmin(vf32 v) { return v; }
OX_INLINE float vf32_hmax(vf32 v) { return v; }
OX_INLINE int32_t vi32_sum(vi32 v) { return v; }

OX_INLINE void vf32_transpose(vf32 *v) { (void)v; }
OX_INLINE vf32 vf32_pick(vf32 a, vf32 b, vi32 lane) { return lane < 0 ? a : b; }

#include "kern/simd/f32_derived.h"

#endif
