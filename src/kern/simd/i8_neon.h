/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_neon.h - dot products of bytes on AArch64's baseline; the contract is in i8_scalar.h. */
#ifndef OX_SIMD_I8_NEON_H
#define OX_SIMD_I8_NEON_H

#include "kern/simd/f32_neon.h"

OX_INLINE vi32 vi32_dot_u8s8(vi32 acc, vi32 a, vi32 b) {
  int16x8_t a_even = vreinterpretq_s16_u16(vandq_u16(vreinterpretq_u16_s32(a), vdupq_n_u16(255)));
  int16x8_t a_odd = vreinterpretq_s16_u16(vshrq_n_u16(vreinterpretq_u16_s32(a), 8));
  int16x8_t b_odd = vshrq_n_s16(vreinterpretq_s16_s32(b), 8);
  int16x8_t b_even = vshrq_n_s16(vshlq_n_s16(vreinterpretq_s16_s32(b), 8), 8);
  int32x4_t low =
      vmlal_s16(vmull_s16(vget_low_s16(a_even), vget_low_s16(b_even)), vget_low_s16(a_odd), vget_low_s16(b_odd));
  int32x4_t high = vmlal_high_s16(vmull_high_s16(a_even, b_even), a_odd, b_odd);
  return vaddq_s32(acc, vpaddq_s32(low, high));
}

#endif
