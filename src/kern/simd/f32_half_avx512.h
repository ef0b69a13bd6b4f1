/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f32_half_avx512.h - additions to f32_avx512.h. vf32h: half vectors of 8 lanes. fma_at(p, b, c): p[0] b + c
 * with a broadcast memory operand: where two FMAs use the same number, a compiler would load it once by a separate
 * instruction, which costs more than two memory operands. */
#ifndef OX_SIMD_F32_HALF_AVX512_H
#define OX_SIMD_F32_HALF_AVX512_H

#include "kern/simd/f32_avx512.h"

typedef __m256 vf32h;
OX_INLINE vf32h vf32h_load(const float *p) { return _mm256_loadu_ps(p); }
OX_INLINE vf32 vf32_of_half(vf32h a) { return _mm512_zextps256_ps512(a); } /* zeros behind it */

#if defined(__GNUC__)
OX_INLINE vf32 vf32_fma_at(const float *p, vf32 b, vf32 c) {
  __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(*p));
  return c;
}
OX_INLINE vf32h vf32h_fma_at(const float *p, vf32h b, vf32h c) {
  __asm__("vfmadd231ps %2%{1to8%}, %1, %0" : "+v"(c) : "v"(b), "m"(*p));
  return c;
}
#else
OX_INLINE vf32 vf32_fma_at(const float *p, vf32 b, vf32 c) { return _mm512_fmadd_ps(_mm512_set1_ps(*p), b, c); }
OX_INLINE vf32h vf32h_fma_at(const float *p, vf32h b, vf32h c) { return _mm256_fmadd_ps(_mm256_set1_ps(*p), b, c); }
#endif

#endif
