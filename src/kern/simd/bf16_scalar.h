/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/bf16_scalar.h - floats as pairs of bfloat16 in plain C, on top of f32_scalar.h. The contract: a vi32 holds
 * two bfloat16 in each lane.
 * - vb_pair(x0, x1): both rounded to nearest even, x0 into the low half. NaN stays NaN; denormals may become zero.
 * - vb_even(x0, x1), vb_odd: of the floats of x0 and then x1, every other one, from the first or the second on.
 * - vb_low, vb_high: the halves as floats. vb_join(x0, x1): floats that are bfloat16 already.
 * - vb_lost(x, rounded): lanes where x is denormal or |rounded|, its half of vb_pair, is not finite. */
#ifndef OX_SIMD_BF16_SCALAR_H
#define OX_SIMD_BF16_SCALAR_H

#include "kern/simd/f32_scalar.h"

OX_INLINE vi32 vb_pair(vf32 x0, vf32 x1) { return i32_of_(f32_to_bf16_(x0) | (uint32_t)f32_to_bf16_(x1) << 16); }
OX_INLINE vf32 vb_even(vf32 x0, vf32 x1) { return (void)x1, x0; }
OX_INLINE vf32 vb_odd(vf32 x0, vf32 x1) { return (void)x0, x1; }
OX_INLINE vf32 vb_low(vi32 pair) { return vi32_as_f32(vi32_shl(pair, 16)); }
OX_INLINE vf32 vb_high(vi32 pair) { return vi32_as_f32(vi32_and(pair, i32_of_(0xffff0000))); }
OX_INLINE vi32 vb_join(vf32 x0, vf32 x1) { return vi32_or(vi32_shr(vf32_bits(x0), 16), vf32_bits(x1)); }
OX_INLINE vm32 vb_lost(vf32 x, vf32 rounded) {
  uint32_t bits = (uint32_t)vf32_bits(x) & 0x7fffffff;
  return (bits && bits < 0x800000) || !isfinite(rounded);
}

#endif
