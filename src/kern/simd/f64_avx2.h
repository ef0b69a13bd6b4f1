/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f64_avx2.h - the vocabulary of doubles on AVX2 and FMA: 4 lanes. The contract of every name is in
 * f64_scalar.h; this file has the instructions. */
#ifndef OX_SIMD_F64_AVX2_H
#define OX_SIMD_F64_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define VF64_LANES 4
typedef __m256d vf64;

OX_INLINE __m256i vf64_first_(size_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n), _mm256_setr_epi64x(0, 1, 2, 3));
}
OX_INLINE vf64 vf64_zero(void) { return _mm256_setzero_pd(); }
OX_INLINE vf64 vf64_splat(double x) { return _mm256_set1_pd(x); }
OX_INLINE vf64 vf64_load(const double *p) { return _mm256_loadu_pd(p); }
OX_INLINE void vf64_store(double *p, vf64 v) { _mm256_storeu_pd(p, v); }
OX_INLINE vf64 vf64_load_n(const double *p, size_t n) { return _mm256_maskload_pd(p, vf64_first_(n)); }
OX_INLINE void vf64_store_n(double *p, vf64 v, size_t n) { _mm256_maskstore_pd(p, vf64_first_(n), v); }
OX_INLINE void vf64_store_f32(float *p, vf64 v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
OX_INLINE __m128 vf64_two_pairs_(const float *p, const int64_t *at) {
  __m128i low = _mm_loadl_epi64((const void *)(p + at[0])), high = _mm_loadl_epi64((const void *)(p + at[1]));
  return _mm_castsi128_ps(_mm_unpacklo_epi64(low, high));
}
OX_INLINE void vf64_load_pairs(const float *p, const int64_t *at, vf64 *first, vf64 *second) {
  __m128 a = vf64_two_pairs_(p, at), b = vf64_two_pairs_(p, at + 2);
  *first = _mm256_cvtps_pd(_mm_shuffle_ps(a, b, 0x88)), *second = _mm256_cvtps_pd(_mm_shuffle_ps(a, b, 0xdd));
}
OX_INLINE vf64 vf64_add(vf64 a, vf64 b) { return _mm256_add_pd(a, b); }
OX_INLINE vf64 vf64_mul(vf64 a, vf64 b) { return _mm256_mul_pd(a, b); }
OX_INLINE vf64 vf64_sub(vf64 a, vf64 b) { return _mm256_sub_pd(a, b); }
OX_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) { return _mm256_fmadd_pd(a, b, c); }

typedef __m256i vi64;
OX_INLINE vi64 vi64_zero(void) { return _mm256_setzero_si256(); }
OX_INLINE vi64 vi64_splat(int64_t x) { return _mm256_set1_epi64x(x); }
OX_INLINE vi64 vi64_load(const int64_t *p) { return _mm256_loadu_si256((const void *)p); }
OX_INLINE void vi64_store(int64_t *p, vi64 v) { _mm256_storeu_si256((void *)p, v); }
OX_INLINE vi64 vi64_load_n(const int64_t *p, size_t n) {
  return _mm256_maskload_epi64((const void *)p, vf64_first_(n));
}
OX_INLINE void vi64_store_n(int64_t *p, vi64 v, size_t n) { _mm256_maskstore_epi64((void *)p, vf64_first_(n), v); }
OX_INLINE vi64 vi64_add(vi64 a, vi64 b) { return _mm256_add_epi64(a, b); }
OX_INLINE vi64 vi64_mul(vi64 a, vi64 b) { /* low halves, and what the high ones add above them */
  vi64 cross =
      _mm256_add_epi64(_mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)), _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b));
  return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

#endif
