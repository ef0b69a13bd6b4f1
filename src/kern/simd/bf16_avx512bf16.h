/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/bf16_avx512bf16.h - floats as pairs of bfloat16 on AVX-512 BF16; the contract is in bf16_scalar.h. */
#ifndef OX_SIMD_BF16_AVX512BF16_H
#define OX_SIMD_BF16_AVX512BF16_H

#include "kern/simd/f32_avx512.h"

OX_INLINE vi32 vb_pair(vf32 x0, vf32 x1) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(x1, x0));
}
OX_INLINE vf32 vb_even(vf32 x0, vf32 x1) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(x0, even, x1);
}
OX_INLINE vf32 vb_odd(vf32 x0, vf32 x1) {
  const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(x0, odd, x1);
}
OX_INLINE vf32 vb_low(vi32 pair) { return _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16)); }
OX_INLINE vf32 vb_high(vi32 pair) { return _mm512_castsi512_ps(_mm512_and_si512(pair, _mm512_set1_epi32(-65536))); }
OX_INLINE vi32 vb_join(vf32 x0, vf32 x1) { return vi32_or(vi32_shr(vf32_bits(x0), 16), vf32_bits(x1)); }
OX_INLINE vm32 vb_lost(vf32 x, vf32 rounded) {
  enum { DENORMAL = 0x20, NOT_FINITE = 0x99 };
  return (vm32)(_mm512_fpclass_ps_mask(x, DENORMAL) | _mm512_fpclass_ps_mask(rounded, NOT_FINITE));
}

#endif
