/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f32_avx512.h - the vocabulary of 32-bit lanes on AVX-512 (f, bw, dq, vl): 16 lanes.
 * The contract of every name is in f32_scalar.h; this file has the instructions. */
#ifndef OX_SIMD_F32_AVX512_H
#define OX_SIMD_F32_AVX512_H

#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define VF32_LANES 16
#define VF32_HAS_FMA 1
#define VF32_HAS_PICK16 1 /* one instruction */
#define VF32_HAS_LDEXP 1  /* one instruction, right for all n, which is rounded down */
typedef __m512 vf32;
typedef __m512i vi32;
typedef __mmask16 vm32;

OX_INLINE vm32 vm32_first(size_t n) { return (vm32)((1u << n) - 1); }

/* ---- loads, stores ---- */
OX_INLINE vf32 vf32_zero(void) { return _mm512_setzero_ps(); }
OX_INLINE vf32 vf32_splat(float x) { return _mm512_set1_ps(x); }
OX_INLINE vf32 vf32_load(const float *p) { return _mm512_loadu_ps(p); }
OX_INLINE void vf32_store(float *p, vf32 v) { _mm512_storeu_ps(p, v); }
OX_INLINE vf32 vf32_load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(vm32_first(n), p); }
OX_INLINE void vf32_store_n(float *p, vf32 v, size_t n) { _mm512_mask_storeu_ps(p, vm32_first(n), v); }
OX_INLINE vf32 vf32_load_even(const float *p) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(_mm512_loadu_ps(p), even, _mm512_loadu_ps(p + 16));
}
OX_INLINE vf32 vf32_load_even_n(const float *p, size_t n) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  uint32_t m = (uint32_t)(((uint64_t)1 << (n ? 2 * n - 1 : 0)) - 1);
  return _mm512_permutex2var_ps(_mm512_maskz_loadu_ps((__mmask16)m, p), even,
                                _mm512_maskz_loadu_ps((__mmask16)(m >> 16), p + 16));
}
OX_INLINE vf32 vf32_join_halves(vf32 a, vf32 b) { return _mm512_mask_blend_ps(0xff00, a, b); }
OX_INLINE vf32 vf32_swap_halves(vf32 a) { return _mm512_shuffle_f32x4(a, a, 0x4e); }
OX_INLINE vf32 vf32_pick16(const float *p, vi32 at) { return _mm512_permutexvar_ps(at, _mm512_loadu_ps(p)); }
OX_INLINE vi32 vi32_zero(void) { return _mm512_setzero_si512(); }
OX_INLINE vi32 vi32_splat(int32_t x) { return _mm512_set1_epi32(x); }
OX_INLINE vi32 vi32_load(const int32_t *p) { return _mm512_loadu_si512(p); }
OX_INLINE void vi32_store(int32_t *p, vi32 v) { _mm512_storeu_si512(p, v); }
OX_INLINE vi32 vi32_load_n(const int32_t *p, size_t n) { return _mm512_maskz_loadu_epi32(vm32_first(n), p); }
OX_INLINE void vi32_store_n(int32_t *p, vi32 v, size_t n) { _mm512_mask_storeu_epi32(p, vm32_first(n), v); }
OX_INLINE vi32 vi32_iota(void) { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }

/* ---- narrow types ---- */
OX_INLINE __m256i f32_u16_n_(const uint16_t *p, size_t n) { return _mm256_maskz_loadu_epi16(vm32_first(n), p); }
OX_INLINE vf32 f32_of_bf16_(__m256i h) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16)); }
OX_INLINE vf32 vf32_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p)); }
OX_INLINE vf32 vf32_load_f16_n(const uint16_t *p, size_t n) { return _mm512_cvtph_ps(f32_u16_n_(p, n)); }
OX_INLINE void vf32_store_f16(uint16_t *p, vf32 v) { _mm256_storeu_si256((void *)p, _mm512_cvtps_ph(v, 8)); }
OX_INLINE void vf32_store_f16_n(uint16_t *p, vf32 v, size_t n) {
  _mm256_mask_storeu_epi16(p, vm32_first(n), _mm512_cvtps_ph(v, 8));
}
OX_INLINE vf32 vf32_load_bf16(const uint16_t *p) { return f32_of_bf16_(_mm256_loadu_si256((const void *)p)); }
OX_INLINE vf32 vf32_load_bf16_n(const uint16_t *p, size_t n) { return f32_of_bf16_(f32_u16_n_(p, n)); }
OX_INLINE __m256i f32_to_bf16_(vf32 v) {
  __m512i b = _mm512_castps_si512(v), odd = _mm512_and_si512(_mm512_srli_epi32(b, 16), _mm512_set1_epi32(1));
  __m512i r = _mm512_add_epi32(b, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  r = _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), b, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16));
}
OX_INLINE void vf32_store_bf16(uint16_t *p, vf32 v) { _mm256_storeu_si256((void *)p, f32_to_bf16_(v)); }
OX_INLINE void vf32_store_bf16_n(uint16_t *p, vf32 v, size_t n) {
  _mm256_mask_storeu_epi16(p, vm32_first(n), f32_to_bf16_(v));
}
OX_INLINE vi32 vi32_load_u8(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p)); }
OX_INLINE vi32 vi32_load_i8(const int8_t *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)); }
OX_INLINE vi32 vi32_load_u8_n(const uint8_t *p, size_t n) {
  return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(vm32_first(n), p));
}
OX_INLINE vi32 vi32_load_i8_n(const int8_t *p, size_t n) {
  return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(vm32_first(n), p));
}
OX_INLINE void vi32_store_u8_n(uint8_t *p, vi32 v, size_t n) {
  _mm_mask_storeu_epi8(p, vm32_first(n), _mm512_cvtusepi32_epi8(_mm512_max_epi32(v, _mm512_setzero_si512())));
}
OX_INLINE void vi32_store_i8_n(int8_t *p, vi32 v, size_t n) {
  _mm_mask_storeu_epi8(p, vm32_first(n), _mm512_cvtsepi32_epi8(v));
}
OX_INLINE void vi32_store_u8(uint8_t *p, vi32 v) {
  _mm_storeu_si128((void *)p, _mm512_cvtusepi32_epi8(_mm512_max_epi32(v, _mm512_setzero_si512())));
}
OX_INLINE void vi32_store_i8(int8_t *p, vi32 v) { _mm_storeu_si128((void *)p, _mm512_cvtsepi32_epi8(v)); }
OX_INLINE void vi32_store_low16(uint16_t *p, vi32 v) { _mm256_storeu_si256((void *)p, _mm512_cvtepi32_epi16(v)); }
OX_INLINE void vi32_store_low16_n(uint16_t *p, vi32 v, size_t n) {
  _mm256_mask_storeu_epi16(p, vm32_first(n), _mm512_cvtepi32_epi16(v));
}

/* ---- arithmetic ---- */
OX_INLINE vf32 vf32_add(vf32 a, vf32 b) { return _mm512_add_ps(a, b); }
OX_INLINE vf32 vf32_sub(vf32 a, vf32 b) { return _mm512_sub_ps(a, b); }
OX_INLINE vf32 vf32_mul(vf32 a, vf32 b) { return _mm512_mul_ps(a, b); }
OX_INLINE vf32 vf32_div(vf32 a, vf32 b) { return _mm512_div_ps(a, b); }
OX_INLINE vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return _mm512_fmadd_ps(a, b, c); }
OX_INLINE vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return _mm512_fnmadd_ps(a, b, c); }
OX_INLINE vf32 vf32_min(vf32 a, vf32 b) { return _mm512_min_ps(a, b); }
OX_INLINE vf32 vf32_max(vf32 a, vf32 b) { return _mm512_max_ps(a, b); }
OX_INLINE vf32 vf32_sqrt(vf32 a) { return _mm512_sqrt_ps(a); }
OX_INLINE vf32 vf32_round(vf32 a) { return _mm512_roundscale_ps(a, 8); }
OX_INLINE vf32 vf32_floor(vf32 a) { return _mm512_roundscale_ps(a, 9); }
OX_INLINE vf32 vf32_ceil(vf32 a) { return _mm512_roundscale_ps(a, 10); }
OX_INLINE vf32 vf32_trunc(vf32 a) { return _mm512_roundscale_ps(a, 11); }
OX_INLINE vf32 vf32_ldexp(vf32 a, vf32 n) { return _mm512_scalef_ps(a, n); }
OX_INLINE vf32 vf32_within(vf32 a, float most) { return _mm512_range_ps(a, _mm512_set1_ps(most), 2); }

/* ---- bits and integers ---- */
OX_INLINE vi32 vf32_bits(vf32 a) { return _mm512_castps_si512(a); }
OX_INLINE vf32 vi32_as_f32(vi32 a) { return _mm512_castsi512_ps(a); }
OX_INLINE vi32 vf32_to_i32(vf32 a) { return _mm512_cvtps_epi32(a); }
OX_INLINE vi32 vf32_to_i32_trunc(vf32 a) { return _mm512_cvttps_epi32(a); }
OX_INLINE vf32 vi32_to_f32(vi32 a) { return _mm512_cvtepi32_ps(a); }
OX_INLINE vi32 vi32_add(vi32 a, vi32 b) { return _mm512_add_epi32(a, b); }
OX_INLINE vi32 vi32_sub(vi32 a, vi32 b) { return _mm512_sub_epi32(a, b); }
OX_INLINE vi32 vi32_mul(vi32 a, vi32 b) { return _mm512_mullo_epi32(a, b); }
OX_INLINE vi32 vi32_min(vi32 a, vi32 b) { return _mm512_min_epi32(a, b); }
OX_INLINE vi32 vi32_max(vi32 a, vi32 b) { return _mm512_max_epi32(a, b); }
OX_INLINE vi32 vi32_and(vi32 a, vi32 b) { return _mm512_and_si512(a, b); }
OX_INLINE vi32 vi32_or(vi32 a, vi32 b) { return _mm512_or_si512(a, b); }
OX_INLINE vi32 vi32_xor(vi32 a, vi32 b) { return _mm512_xor_si512(a, b); }
OX_INLINE vi32 vi32_andnot(vi32 a, vi32 b) { return _mm512_andnot_si512(a, b); }
OX_INLINE vi32 vi32_shl(vi32 a, int n) { return _mm512_slli_epi32(a, (unsigned)n); }
OX_INLINE vi32 vi32_shr(vi32 a, int n) { return _mm512_srli_epi32(a, (unsigned)n); }
OX_INLINE vi32 vi32_sar(vi32 a, int n) { return _mm512_srai_epi32(a, (unsigned)n); }

/* ---- masks ---- */
OX_INLINE vm32 vf32_lt(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
OX_INLINE vm32 vf32_le(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
OX_INLINE vm32 vf32_eq(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
OX_INLINE vm32 vi32_lt(vi32 a, vi32 b) { return _mm512_cmplt_epi32_mask(a, b); }
OX_INLINE vm32 vi32_eq(vi32 a, vi32 b) { return _mm512_cmpeq_epi32_mask(a, b); }
OX_INLINE vm32 vm32_and(vm32 a, vm32 b) { return (vm32)(a & b); }
OX_INLINE vm32 vm32_or(vm32 a, vm32 b) { return (vm32)(a | b); }
OX_INLINE vm32 vm32_xor(vm32 a, vm32 b) { return (vm32)(a ^ b); }
OX_INLINE vm32 vm32_not(vm32 a) { return (vm32)~a; }
OX_INLINE int vm32_any(vm32 a) { return a != 0; }
OX_INLINE int vm32_all(vm32 a) { return a == 0xffff; }
OX_INLINE vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return _mm512_mask_blend_ps(m, b, a); }
OX_INLINE vi32 vi32_select(vm32 m, vi32 a, vi32 b) { return _mm512_mask_blend_epi32(m, b, a); }
OX_INLINE void vm32_store_u8_n(uint8_t *p, vm32 m, size_t n) {
  _mm_mask_storeu_epi8(p, vm32_first(n), _mm_maskz_set1_epi8(m, 1));
}
OX_INLINE vm32 vm32_load_u8_n(const uint8_t *p, size_t n) {
  __m128i b = _mm_maskz_loadu_epi8(vm32_first(n), p);
  return _mm_test_epi8_mask(b, b);
}

/* ---- reductions: 16 -> 8 -> 4 -> 2 -> 1, halves first ---- */
#define F32_REDUCE_(name, op256, op128, op1)                                   \
  OX_INLINE float name(vf32 v) {                                               \
    __m256 h = op256(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)); \
    __m128 q = op128(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));  \
    q = op128(q, _mm_movehl_ps(q, q));                                         \
    return _mm_cvtss_f32(op1(q, _mm_shuffle_ps(q, q, 1)));                     \
  }
F32_REDUCE_(vf32_sum, _mm256_add_ps, _mm_add_ps, _mm_add_ss)
F32_REDUCE_(vf32_hmin, _mm256_min_ps, _mm_min_ps, _mm_min_ss)
F32_REDUCE_(vf32_hmax, _mm256_max_ps, _mm_max_ps, _mm_max_ss)
#undef F32_REDUCE_
OX_INLINE int32_t vi32_sum(vi32 v) { return _mm512_reduce_add_epi32(v); }

/* ---- squares: pairs of floats, pairs of pairs, then quarters of vectors ---- */
OX_INLINE vf32 f32_pair_lo_(vf32 a, vf32 b) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
OX_INLINE vf32 f32_pair_hi_(vf32 a, vf32 b) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
OX_INLINE void vf32_transpose(vf32 *v) {
  vf32 t[16];
  OX_UNROLL for (int i = 0; i < 16; i += 4) {
    vf32 a = _mm512_unpacklo_ps(v[i], v[i + 1]), b = _mm512_unpackhi_ps(v[i], v[i + 1]);
    vf32 c = _mm512_unpacklo_ps(v[i + 2], v[i + 3]), d = _mm512_unpackhi_ps(v[i + 2], v[i + 3]);
    t[i] = f32_pair_lo_(a, c), t[i + 1] = f32_pair_hi_(a, c);
    t[i + 2] = f32_pair_lo_(b, d), t[i + 3] = f32_pair_hi_(b, d);
  }
  OX_UNROLL for (int j = 0; j < 4; j++) {
    vf32 a = _mm512_shuffle_f32x4(t[j], t[j + 4], 0x44), b = _mm512_shuffle_f32x4(t[j + 8], t[j + 12], 0x44);
    vf32 c = _mm512_shuffle_f32x4(t[j], t[j + 4], 0xee), d = _mm512_shuffle_f32x4(t[j + 8], t[j + 12], 0xee);
    v[j] = _mm512_shuffle_f32x4(a, b, 0x88), v[j + 4] = _mm512_shuffle_f32x4(a, b, 0xdd);
    v[j + 8] = _mm512_shuffle_f32x4(c, d, 0x88), v[j + 12] = _mm512_shuffle_f32x4(c, d, 0xdd);
  }
}
OX_INLINE vf32 vf32_pick(vf32 a, vf32 b, vi32 lane) {
  return _mm512_mask_permutexvar_ps(a, (vm32)~_mm512_movepi32_mask(lane), lane, b);
}

#include "kern/simd/f32_derived.h"

#endif
