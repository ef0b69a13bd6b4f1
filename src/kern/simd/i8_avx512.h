/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_avx512.h - dot products of bytes on AVX-512 without VNNI, as in i8_avx2.h; the contract is in
 * i8_scalar.h. */
#ifndef OX_SIMD_I8_AVX512_H
#define OX_SIMD_I8_AVX512_H

#include "kern/simd/f32_avx512.h"

OX_INLINE vi32 vi32_dot_u8s8(vi32 acc, vi32 a, vi32 b) {
  __m512i even =
      _mm512_madd_epi16(_mm512_and_si512(a, _mm512_set1_epi16(255)), _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8));
  __m512i odd = _mm512_madd_epi16(_mm512_srli_epi16(a, 8), _mm512_srai_epi16(b, 8));
  return _mm512_add_epi32(acc, _mm512_add_epi32(even, odd));
}

#endif
