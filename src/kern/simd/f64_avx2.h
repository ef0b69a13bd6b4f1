/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f64_avx2.h - the vocabulary of doubles on AVX2 and FMA: 4 lanes. The contract of every name is in
 * f64_scalar.h; this file has the instructions. */
#ifndef OX_SIMD_F64_AVX2_H
#define OX_SIMD_F64_AVX2_H

#include <immintrin.h>
#include <stddef.h>

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
OX_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) { return _mm256_fmadd_pd(a, b, c); }

#endif
