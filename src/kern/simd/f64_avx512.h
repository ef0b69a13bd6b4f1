/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f64_avx512.h - the vocabulary of doubles on AVX-512: 8 lanes. The contract of every name is in
 * f64_scalar.h; this file has the instructions. */
#ifndef OX_SIMD_F64_AVX512_H
#define OX_SIMD_F64_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define VF64_LANES 8
typedef __m512d vf64;

OX_INLINE __mmask8 vf64_first_(size_t n) { return (__mmask8)((1u << n) - 1); }
OX_INLINE vf64 vf64_zero(void) { return _mm512_setzero_pd(); }
OX_INLINE vf64 vf64_splat(double x) { return _mm512_set1_pd(x); }
OX_INLINE vf64 vf64_load(const double *p) { return _mm512_loadu_pd(p); }
OX_INLINE void vf64_store(double *p, vf64 v) { _mm512_storeu_pd(p, v); }
OX_INLINE vf64 vf64_load_n(const double *p, size_t n) { return _mm512_maskz_loadu_pd(vf64_first_(n), p); }
OX_INLINE void vf64_store_n(double *p, vf64 v, size_t n) { _mm512_mask_storeu_pd(p, vf64_first_(n), v); }
OX_INLINE void vf64_store_f32(float *p, vf64 v) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
OX_INLINE __m128 vf64_two_pairs_(const float *p, const int64_t *at) {
  __m128i low = _mm_loadl_epi64((const void *)(p + at[0])), high = _mm_loadl_epi64((const void *)(p + at[1]));
  return _mm_castsi128_ps(_mm_unpacklo_epi64(low, high));
}
OX_INLINE __m256 vf64_four_pairs_(const float *p, const int64_t *at) { /* the first two and the last two of eight */
  return _mm256_insertf128_ps(_mm256_castps128_ps256(vf64_two_pairs_(p, at)), vf64_two_pairs_(p, at + 4), 1);
}
OX_INLINE void vf64_load_pairs(const float *p, const int64_t *at, vf64 *first, vf64 *second) {
  __m256 a = vf64_four_pairs_(p, at), b = vf64_four_pairs_(p, at + 2);
  *first = _mm512_cvtps_pd(_mm256_shuffle_ps(a, b, 0x88)), *second = _mm512_cvtps_pd(_mm256_shuffle_ps(a, b, 0xdd));
}
OX_INLINE vf64 vf64_add(vf64 a, vf64 b) { return _mm512_add_pd(a, b); }
OX_INLINE vf64 vf64_mul(vf64 a, vf64 b) { return _mm512_mul_pd(a, b); }
OX_INLINE vf64 vf64_sub(vf64 a, vf64 b) { return _mm512_sub_pd(a, b); }
OX_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) { return _mm512_fmadd_pd(a, b, c); }

typedef __m512i vi64;
OX_INLINE vi64 vi64_zero(void) { return _mm512_setzero_si512(); }
OX_INLINE vi64 vi64_splat(int64_t x) { return _mm512_set1_epi64(x); }
OX_INLINE vi64 vi64_load(const int64_t *p) { return _mm512_loadu_si512(p); }
OX_INLINE void vi64_store(int64_t *p, vi64 v) { _mm512_storeu_si512(p, v); }
OX_INLINE vi64 vi64_load_n(const int64_t *p, size_t n) { return _mm512_maskz_loadu_epi64(vf64_first_(n), p); }
OX_INLINE void vi64_store_n(int64_t *p, vi64 v, size_t n) { _mm512_mask_storeu_epi64(p, vf64_first_(n), v); }
OX_INLINE vi64 vi64_add(vi64 a, vi64 b) { return _mm512_add_epi64(a, b); }
OX_INLINE vi64 vi64_mul(vi64 a, vi64 b) { return _mm512_mullo_epi64(a, b); }

#endif
