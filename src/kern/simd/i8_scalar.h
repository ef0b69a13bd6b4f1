/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_scalar.h - dot products of bytes on top of f32_scalar.h. The contract: each 32-bit lane of |a| holds
 * four unsigned bytes, each of |b| four signed ones, lowest first; dot adds the exact sum of their products to |acc|,
 * wrapping at 32 bits like int addition: every instruction set gives the same bits, so nothing may saturate. */
#ifndef OX_SIMD_I8_SCALAR_H
#define OX_SIMD_I8_SCALAR_H

#include "kern/simd/f32_scalar.h"

OX_INLINE int32_t i8_signed_(uint32_t byte) { return (int32_t)(byte & 255) - (int32_t)((byte & 128) << 1); }
OX_INLINE vi32 vi32_dot_u8s8(vi32 acc, vi32 a, vi32 b) {
  uint32_t x = (uint32_t)a, y = (uint32_t)b;
  int32_t sum = (int32_t)(x & 255) * i8_signed_(y) + (int32_t)(x >> 8 & 255) * i8_signed_(y >> 8) +
                (int32_t)(x >> 16 & 255) * i8_signed_(y >> 16) + (int32_t)(x >> 24) * i8_signed_(y >> 24);
  return vi32_add(acc, sum);
}

#endif
