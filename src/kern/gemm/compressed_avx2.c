/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_avx2.c - kernels for compressed panels of 16 columns in AVX2.
 *
 * A group is seven vectors of 32-bit words. A word has the sign and the fraction of a weight where the float has them,
 * and its code in the low bits of the exponent field. Two instructions make a float of it: a mask, which leaves a float
 * of a tiny exponent, and a multiplication by a power of two, which is exact, since that float is zero or normal. (So
 * denormals count as out of range, and bases end at 127.) The other four bits of words 0 to 6, from bit 27 on, are an
 * eighth weight: bits 4 v to 4 v + 3 from word v, and the sign in bit 27. */
#include <stdbool.h>

#include "kern/simd/f32_avx2.h"

#define COMPRESSED_NAME ox_compressed_6x16__avx2
#define COMPRESSED_FORM "compressed 6x16"
#define COMPRESSED_MR 6
#define COMPRESSED_BITS 28
#define COMPRESSED_MOST_BASE 127
#define COMPRESSED_PANELS 4

enum { WORDS = 7, CODE_BITS = 4, SPARE_AT = 27, BIAS = 127, FRACTION_BITS = 23 };

OX_INLINE bool is_in_range(uint32_t bits, uint32_t base) {
  uint32_t e = bits >> FRACTION_BITS & 0xff;
  return e == 0 ? bits << 1 == 0 : e > base && e < base + (1 << CODE_BITS);
}

/* The mask and the factor of a group's words. */
OX_INLINE vi32 kept(void) { return vi32_splat((int32_t)0x87ffffff); }
OX_INLINE vf32 factor(uint8_t base) {
  return vi32_as_f32(vi32_splat((int32_t)((uint32_t)(base + BIAS) << FRACTION_BITS)));
}

OX_INLINE vi32 word_of(vi32 bits, vi32 base, vm32 *out) {
  const vi32 zero = vi32_zero(), magnitude = vi32_and(bits, vi32_splat(0x7fffffff));
  const vi32 code = vi32_sub(vi32_shr(magnitude, FRACTION_BITS), base);
  const vm32 is_zero = vi32_eq(magnitude, zero);
  const vm32 in = vm32_and(vi32_lt(zero, code), vi32_lt(code, vi32_splat(1 << CODE_BITS)));
  *out = vm32_or(*out, vm32_not(vm32_or(is_zero, in)));
  const vi32 rest = vi32_and(bits, vi32_splat((int32_t)0x807fffff));
  return vi32_or(rest, vi32_select(in, vi32_shl(code, FRACTION_BITS), zero));
}

OX_INLINE bool compress_group(const float *rows, uint8_t base, uint8_t *to) {
  const vi32 low = vi32_splat(base);
  vm32 out = vi32_lt(low, low);
  vi32 eighth = word_of(vf32_bits(vf32_load(rows + WORDS * VF32_LANES)), low, &out);
  eighth = vi32_or(vi32_and(eighth, vi32_splat(0x07ffffff)), vi32_shl(vi32_shr(eighth, 31), SPARE_AT));
  OX_UNROLL for (int v = 0; v < WORDS; v++) {
    vi32 spare = vi32_shl(vi32_and(vi32_shr(eighth, CODE_BITS * v), vi32_splat(15)), SPARE_AT);
    vi32 word = word_of(vf32_bits(vf32_load(rows + v * VF32_LANES)), low, &out);
    vi32_store((int32_t *)(void *)(to + v * 4 * VF32_LANES), vi32_or(vi32_and(word, kept()), spare));
  }
  return !vm32_any(out);
}

OX_INLINE void expand_group(const uint8_t *p, uint8_t base, vf32 *w) {
  const vf32 f = factor(base);
  vi32 eighth = vi32_zero();
  OX_UNROLL for (int v = 0; v < WORDS; v++) {
    vi32 x = vi32_load((const int32_t *)(const void *)(p + v * 4 * VF32_LANES));
    w[v] = vf32_mul(vi32_as_f32(vi32_and(x, kept())), f);
    eighth = vi32_or(eighth, vi32_shr(vi32_andnot(kept(), x), SPARE_AT - CODE_BITS * v));
  }
  eighth = vi32_add(eighth, vi32_splat(15 << SPARE_AT)); /* the sign is carried to its place */
  w[WORDS] = vf32_mul(vi32_as_f32(vi32_and(eighth, kept())), f);
}

#include "kern/gemm/compressed_body.h"
