/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_avx512vnni.h - dot products of bytes on AVX-512 VNNI; the contract is in i8_scalar.h. */
#ifndef OX_SIMD_I8_AVX512VNNI_H
#define OX_SIMD_I8_AVX512VNNI_H

#include "kern/simd/f32_avx512.h"

/* In nested loops, gcc 12 copies the intrinsic's accumulator before and after each product. */
OX_INLINE vi32 vi32_dot_u8s8(vi32 acc, vi32 a, vi32 b) {
#if defined(__GNUC__) && !defined(__clang__)
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
#else
  return _mm512_dpbusd_epi32(acc, a, b);
#endif
}

#endif
