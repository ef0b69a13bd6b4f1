/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_avx2.h - dot products of bytes on AVX2; the contract is in i8_scalar.h. vpmaddubsw saturates, so even
 * and odd bytes are widened to 16 bits and multiplied by vpmaddwd; the compiler shares the widening between products.
 */
#ifndef OX_SIMD_I8_AVX2_H
#define OX_SIMD_I8_AVX2_H

#include "kern/simd/f32_avx2.h"

OX_INLINE vi32 vi32_dot_u8s8(vi32 acc, vi32 a, vi32 b) {
  __m256i even =
      _mm256_madd_epi16(_mm256_and_si256(a, _mm256_set1_epi16(255)), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
}

/* Sums of two products each in 16-bit lanes, which must not overflow: 8 of weights below 16 fit. */
#define VI32_HAS_PAIRS 1
OX_INLINE vi32 vi32_pairs_u8s8(vi32 acc, vi32 a, vi32 b) { return _mm256_add_epi16(acc, _mm256_maddubs_epi16(a, b)); }
/* |acc| as it is now: else the compiler may sum up in another order, for which it would spill many products. */
OX_INLINE vi32 vi32_pairs_kept(vi32 acc) {
  __asm__("" : "+x"(acc));
  return acc;
}
OX_INLINE vi32 vi32_pairs_sum(vi32 pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

#endif
