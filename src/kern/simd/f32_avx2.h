/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f32_avx2.h - the vocabulary of 32-bit lanes on AVX2, FMA, F16C: 8 lanes.
 * The contract of every name is in f32_scalar.h; this file has the instructions. */
#ifndef OX_SIMD_F32_AVX2_H
#define OX_SIMD_F32_AVX2_H

#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

#define VF32_LANES 8
#define VF32_HAS_FMA 1
#define VF32_HAS_PICK8 1 /* one instruction */
#define VF32_HAS_OF_GROUPS 1
#define VF32_HAS_MIXED 1
typedef __m256 vf32;
typedef __m256i vi32;
typedef __m256 vm32; /* all ones or all zeros per lane */

OX_INLINE vi32 vi32_iota(void) { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
OX_INLINE __m256i f32_first_(size_t n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), vi32_iota()); }
OX_INLINE vm32 vm32_first(size_t n) { return _mm256_castsi256_ps(f32_first_(n)); }

/* ---- loads, stores ---- */
OX_INLINE vf32 vf32_zero(void) { return _mm256_setzero_ps(); }
OX_INLINE vf32 vf32_splat(float x) { return _mm256_set1_ps(x); }
OX_INLINE vf32 vf32_load(const float *p) { return _mm256_loadu_ps(p); }
OX_INLINE void vf32_store(float *p, vf32 v) { _mm256_storeu_ps(p, v); }
/* Is |n| known, at the latest after inlining, to be all lanes? Compilers keep masks of ones, which cost time. */
#ifdef __GNUC__
#define F32_ALL_(n) (__builtin_constant_p(n) && (n) >= 8)
#else
#define F32_ALL_(n) 0
#endif
OX_INLINE vf32 vf32_load_n(const float *p, size_t n) {
  return F32_ALL_(n) ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, f32_first_(n));
}
OX_INLINE void vf32_store_n(float *p, vf32 v, size_t n) { /* a masked store takes 12 cycles on Zen, a plain one 1 */
  if (n >= 8)
    _mm256_storeu_ps(p, v);
  else
    _mm256_maskstore_ps(p, f32_first_(n), v);
}
/* Mixed: 0, 2, 8, 10, 4, 6, 12, 14. */
OX_INLINE vf32 vf32_unmixed(vf32 v) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8)); }
OX_INLINE vf32 vf32_even_mixed(vf32 a, vf32 b) { return _mm256_shuffle_ps(a, b, 0x88); }
OX_INLINE vf32 vf32_odd_mixed(vf32 a, vf32 b) { return _mm256_shuffle_ps(a, b, 0xdd); }
OX_INLINE vf32 vf32_load_even(const float *p) {
  return vf32_unmixed(vf32_even_mixed(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)));
}
OX_INLINE vf32 vf32_load_even_mixed_n(const float *p, size_t n) {
  if (F32_ALL_(n)) return _mm256_shuffle_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 7), 0xd8); /* 15 floats */
  size_t all = n ? 2 * n - 1 : 0;
  __m256 lo = vf32_load_n(p, all < 8 ? all : 8), hi = vf32_load_n(p + 8, all < 8 ? 0 : all - 8);
  return vf32_even_mixed(lo, hi);
}
OX_INLINE vf32 vf32_load_even_n(const float *p, size_t n) { return vf32_unmixed(vf32_load_even_mixed_n(p, n)); }
OX_INLINE vf32 vf32_pick16(const float *p, vi32 at) { /* bit 3 of |at| as a sign: which half */
  __m256 lo = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), at);
  __m256 hi = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p + 8), at);
  return _mm256_blendv_ps(lo, hi, _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
}
OX_INLINE vf32 vf32_pick8(const float *p, vi32 at) { return _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), at); }
OX_INLINE vf32 vf32_of_groups(const float *p, int g, int c) { /* a shuffle needs a constant, which a parameter is not */
  if (g >= VF32_LANES) return vf32_splat(p[c]);
  __m256 v = _mm256_loadu_ps(p);
  if (g == 2) return c ? _mm256_permute_ps(v, 0xf5) : _mm256_permute_ps(v, 0xa0);
  return c == 0   ? _mm256_permute_ps(v, 0x00)
         : c == 1 ? _mm256_permute_ps(v, 0x55)
         : c == 2 ? _mm256_permute_ps(v, 0xaa)
                  : _mm256_permute_ps(v, 0xff);
}
OX_INLINE vi32 vi32_zero(void) { return _mm256_setzero_si256(); }
OX_INLINE vi32 vi32_splat(int32_t x) { return _mm256_set1_epi32(x); }
OX_INLINE vi32 vi32_load(const int32_t *p) { return _mm256_loadu_si256((const void *)p); }
OX_INLINE void vi32_store(int32_t *p, vi32 v) { _mm256_storeu_si256((void *)p, v); }
OX_INLINE vi32 vi32_load_n(const int32_t *p, size_t n) { return _mm256_castps_si256(vf32_load_n((const void *)p, n)); }
OX_INLINE void vi32_store_n(int32_t *p, vi32 v, size_t n) { vf32_store_n((void *)p, _mm256_castsi256_ps(v), n); }

/* ---- narrow types: ragged ends go through the stack ---- */
OX_INLINE __m128i f32_u16_n_(const uint16_t *p, size_t n) {
  uint16_t t[8] = {0};
  memcpy(t, p, n * 2);
  return _mm_loadu_si128((const void *)t);
}
OX_INLINE void f32_put_(void *p, __m128i v, size_t bytes) {
  char t[16];
  _mm_storeu_si128((void *)t, v);
  memcpy(p, t, bytes);
}
OX_INLINE vf32 f32_of_bf16_(__m128i h) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16)); }
OX_INLINE vf32 vf32_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p)); }
OX_INLINE vf32 vf32_load_f16_n(const uint16_t *p, size_t n) { return _mm256_cvtph_ps(f32_u16_n_(p, n)); }
OX_INLINE void vf32_store_f16(uint16_t *p, vf32 v) { _mm_storeu_si128((void *)p, _mm256_cvtps_ph(v, 0)); }
OX_INLINE void vf32_store_f16_n(uint16_t *p, vf32 v, size_t n) { f32_put_(p, _mm256_cvtps_ph(v, 0), n * 2); }
OX_INLINE vf32 vf32_load_bf16(const uint16_t *p) { return f32_of_bf16_(_mm_loadu_si128((const void *)p)); }
OX_INLINE vf32 vf32_load_bf16_n(const uint16_t *p, size_t n) { return f32_of_bf16_(f32_u16_n_(p, n)); }
OX_INLINE __m128i f32_to_bf16_(vf32 v) {
  __m256i b = _mm256_castps_si256(v), odd = _mm256_and_si256(_mm256_srli_epi32(b, 16), _mm256_set1_epi32(1));
  __m256i r = _mm256_add_epi32(b, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  __m256i quiet = _mm256_or_si256(b, _mm256_set1_epi32(0x400000));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  r = _mm256_srli_epi32(_mm256_blendv_epi8(r, quiet, nan), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}
OX_INLINE void vf32_store_bf16(uint16_t *p, vf32 v) { _mm_storeu_si128((void *)p, f32_to_bf16_(v)); }
OX_INLINE void vf32_store_bf16_n(uint16_t *p, vf32 v, size_t n) { f32_put_(p, f32_to_bf16_(v), n * 2); }
OX_INLINE vi32 vi32_load_u8(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)); }
OX_INLINE vi32 vi32_load_i8(const int8_t *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)); }
OX_INLINE vi32 vi32_load_u8_n(const uint8_t *p, size_t n) {
  uint8_t t[8] = {0};
  memcpy(t, p, n);
  return vi32_load_u8(t);
}
OX_INLINE vi32 vi32_load_i8_n(const int8_t *p, size_t n) {
  int8_t t[8] = {0};
  memcpy(t, p, n);
  return vi32_load_i8(t);
}
OX_INLINE __m128i f32_to_i16_(vi32 v) {
  return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}
OX_INLINE void vi32_store_u8(uint8_t *p, vi32 v) {
  _mm_storel_epi64((void *)p, _mm_packus_epi16(f32_to_i16_(v), _mm_setzero_si128()));
}
OX_INLINE void vi32_store_i8(int8_t *p, vi32 v) {
  _mm_storel_epi64((void *)p, _mm_packs_epi16(f32_to_i16_(v), _mm_setzero_si128()));
}
OX_INLINE void vi32_store_u8_n(uint8_t *p, vi32 v, size_t n) {
  f32_put_(p, _mm_packus_epi16(f32_to_i16_(v), _mm_setzero_si128()), n);
}
OX_INLINE void vi32_store_i8_n(int8_t *p, vi32 v, size_t n) {
  f32_put_(p, _mm_packs_epi16(f32_to_i16_(v), _mm_setzero_si128()), n);
}
OX_INLINE __m128i f32_low16_(vi32 v) {
  __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
  return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}
OX_INLINE void vi32_store_low16(uint16_t *p, vi32 v) { _mm_storeu_si128((void *)p, f32_low16_(v)); }
OX_INLINE void vi32_store_low16_n(uint16_t *p, vi32 v, size_t n) { f32_put_(p, f32_low16_(v), n * 2); }

/* ---- arithmetic ---- */
OX_INLINE vf32 vf32_add(vf32 a, vf32 b) { return _mm256_add_ps(a, b); }
OX_INLINE vf32 vf32_sub(vf32 a, vf32 b) { return _mm256_sub_ps(a, b); }
OX_INLINE vf32 vf32_mul(vf32 a, vf32 b) { return _mm256_mul_ps(a, b); }
OX_INLINE vf32 vf32_div(vf32 a, vf32 b) { return _mm256_div_ps(a, b); }
OX_INLINE vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return _mm256_fmadd_ps(a, b, c); }
OX_INLINE vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return _mm256_fnmadd_ps(a, b, c); }
OX_INLINE vf32 vf32_min(vf32 a, vf32 b) { return _mm256_min_ps(a, b); }
OX_INLINE vf32 vf32_max(vf32 a, vf32 b) { return _mm256_max_ps(a, b); }
OX_INLINE vf32 vf32_sqrt(vf32 a) { return _mm256_sqrt_ps(a); }
OX_INLINE vf32 vf32_round(vf32 a) { return _mm256_round_ps(a, 8); }
OX_INLINE vf32 vf32_floor(vf32 a) { return _mm256_round_ps(a, 9); }
OX_INLINE vf32 vf32_ceil(vf32 a) { return _mm256_round_ps(a, 10); }
OX_INLINE vf32 vf32_trunc(vf32 a) { return _mm256_round_ps(a, 11); }

/* ---- bits and integers ---- */
OX_INLINE vi32 vf32_bits(vf32 a) { return _mm256_castps_si256(a); }
OX_INLINE vf32 vi32_as_f32(vi32 a) { return _mm256_castsi256_ps(a); }
OX_INLINE vi32 vf32_to_i32(vf32 a) { return _mm256_cvtps_epi32(a); }
OX_INLINE vi32 vf32_to_i32_trunc(vf32 a) { return _mm256_cvttps_epi32(a); }
OX_INLINE vf32 vi32_to_f32(vi32 a) { return _mm256_cvtepi32_ps(a); }
OX_INLINE vi32 vi32_add(vi32 a, vi32 b) { return _mm256_add_epi32(a, b); }
OX_INLINE vi32 vi32_sub(vi32 a, vi32 b) { return _mm256_sub_epi32(a, b); }
OX_INLINE vi32 vi32_mul(vi32 a, vi32 b) { return _mm256_mullo_epi32(a, b); }
OX_INLINE vi32 vi32_min(vi32 a, vi32 b) { return _mm256_min_epi32(a, b); }
OX_INLINE vi32 vi32_max(vi32 a, vi32 b) { return _mm256_max_epi32(a, b); }
OX_INLINE vi32 vi32_and(vi32 a, vi32 b) { return _mm256_and_si256(a, b); }
OX_INLINE vi32 vi32_or(vi32 a, vi32 b) { return _mm256_or_si256(a, b); }
OX_INLINE vi32 vi32_xor(vi32 a, vi32 b) { return _mm256_xor_si256(a, b); }
OX_INLINE vi32 vi32_andnot(vi32 a, vi32 b) { return _mm256_andnot_si256(a, b); }
OX_INLINE vi32 vi32_shl(vi32 a, int n) { return _mm256_slli_epi32(a, n); }
OX_INLINE vi32 vi32_shr(vi32 a, int n) { return _mm256_srli_epi32(a, n); }
OX_INLINE vi32 vi32_sar(vi32 a, int n) { return _mm256_srai_epi32(a, n); }

/* ---- masks ---- */
OX_INLINE vm32 vf32_lt(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
OX_INLINE vm32 vf32_le(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
OX_INLINE vm32 vf32_eq(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
OX_INLINE vm32 vi32_lt(vi32 a, vi32 b) { return _mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a)); }
OX_INLINE vm32 vi32_eq(vi32 a, vi32 b) { return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)); }
OX_INLINE vm32 vm32_and(vm32 a, vm32 b) { return _mm256_and_ps(a, b); }
OX_INLINE vm32 vm32_or(vm32 a, vm32 b) { return _mm256_or_ps(a, b); }
OX_INLINE vm32 vm32_xor(vm32 a, vm32 b) { return _mm256_xor_ps(a, b); }
OX_INLINE vm32 vm32_not(vm32 a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
OX_INLINE int vm32_any(vm32 a) { return _mm256_movemask_ps(a) != 0; }
OX_INLINE int vm32_all(vm32 a) { return _mm256_movemask_ps(a) == 0xff; }
OX_INLINE vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return _mm256_blendv_ps(b, a, m); }
OX_INLINE vi32 vi32_select(vm32 m, vi32 a, vi32 b) { return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m)); }
OX_INLINE void vm32_store_u8_n(uint8_t *p, vm32 m, size_t n) {
  vi32_store_u8_n(p, _mm256_and_si256(_mm256_castps_si256(m), _mm256_set1_epi32(1)), n);
}
OX_INLINE vm32 vm32_load_u8_n(const uint8_t *p, size_t n) {
  return vm32_not(vi32_eq(vi32_load_u8_n(p, n), _mm256_setzero_si256()));
}

/* ---- reductions: 8 -> 4 -> 2 -> 1, halves first ---- */
#define F32_REDUCE_(name, op128, op1)                                         \
  OX_INLINE float name(vf32 v) {                                              \
    __m128 q = op128(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)); \
    q = op128(q, _mm_movehl_ps(q, q));                                        \
    return _mm_cvtss_f32(op1(q, _mm_shuffle_ps(q, q, 1)));                    \
  }
F32_REDUCE_(vf32_sum, _mm_add_ps, _mm_add_ss)
F32_REDUCE_(vf32_hmin, _mm_min_ps, _mm_min_ss)
F32_REDUCE_(vf32_hmax, _mm_max_ps, _mm_max_ss)
#undef F32_REDUCE_
OX_INLINE int32_t vi32_sum(vi32 v) {
  __m128i q = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}

/* ---- squares: pairs of floats, pairs of pairs, then halves of vectors ---- */
OX_INLINE void vf32_transpose(vf32 *v) {
  vf32 t[8];
  OX_UNROLL for (int i = 0; i < 8; i += 4) {
    vf32 a = _mm256_unpacklo_ps(v[i], v[i + 1]), b = _mm256_unpackhi_ps(v[i], v[i + 1]);
    vf32 c = _mm256_unpacklo_ps(v[i + 2], v[i + 3]), d = _mm256_unpackhi_ps(v[i + 2], v[i + 3]);
    t[i] = _mm256_shuffle_ps(a, c, 0x44), t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm256_shuffle_ps(b, d, 0x44), t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
  }
  OX_UNROLL for (int j = 0; j < 4; j++) {
    v[j] = _mm256_permute2f128_ps(t[j], t[j + 4], 0x20);
    v[j + 4] = _mm256_permute2f128_ps(t[j], t[j + 4], 0x31);
  }
}
OX_INLINE vf32 vf32_pick(vf32 a, vf32 b, vi32 lane) {
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(b, lane), a, _mm256_castsi256_ps(lane));
}

#include "kern/simd/f32_derived.h"

#endif
