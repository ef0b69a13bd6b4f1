/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_avx512.c - kernels for compressed panels of 32 columns in AVX-512. */
#include <stdbool.h>

#include "kern/simd/f32_avx512.h"

#define COMPRESSED_NAME ox_compressed_12x32__avx512
#define COMPRESSED_FORM "compressed 12x32"
#define COMPRESSED_MR 12
#define COMPRESSED_BITS 28
#define COMPRESSED_MOST_BASE 240
#define COMPRESSED_PANELS 1

/* A group: 4 L bytes of exponents, where bits [4 v, 4 v + 4) of a lane belong to vector v; then for each vector 3 L
 * bytes, for each lane the 23 bits of the fraction, then the sign. */

enum { GROUP_VECTORS = 8 };

typedef __m512i fields; /* by code */

OX_INLINE fields fields_from(uint8_t base) {
  const __m512i codes = _mm512_setr_epi32(0, 1 << 23, 2 << 23, 3 << 23, 4 << 23, 5 << 23, 6 << 23, 7 << 23, 8 << 23,
                                          9 << 23, 10 << 23, 11 << 23, 12 << 23, 13 << 23, 14 << 23, 15 << 23);
  return _mm512_maskz_add_epi32(0xfffe, codes, _mm512_set1_epi32((int)((uint32_t)base << 23)));
}

/* Twelve bytes go to each quarter, three of them to a lane: the third twice, so that the sign is at both ends of the
 * exponent field, which is then replaced. */
OX_INLINE vf32 weights_at(const uint8_t *p, vi32 codes, fields f) {
  const __m512i quarters = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11));
  __m512i x = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(quarters, _mm512_loadu_si512(p)), bytes);
  __m512i e = _mm512_permutexvar_epi32(codes, f);
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(x, e, _mm512_set1_epi32(0x7f800000), 0xd8));
}

OX_INLINE void store_24(uint8_t *p, vi32 x) {
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m512i quarters = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
  _mm512_mask_storeu_epi32(p, 0xfff, _mm512_permutexvar_epi32(quarters, _mm512_shuffle_epi8(x, bytes)));
}

OX_INLINE bool is_in_range(uint32_t bits, uint32_t base) {
  uint32_t e = bits >> 23 & 0xff;
  return e == 0 || e > base;
}

OX_INLINE bool compress_group(const float *rows, uint8_t base, uint8_t *to) {
  const vi32 field = vi32_splat(0xff), zero = vi32_zero();
  vi32 codes = zero, low = vi32_splat(base);
  vm32 out = vi32_lt(zero, zero);
  OX_UNROLL for (int v = 0; v < GROUP_VECTORS; v++) {
    vi32 bits = vf32_bits(vf32_load(rows + v * VF32_LANES)), e = vi32_and(vi32_shr(bits, 23), field);
    vm32 above = vi32_lt(low, e);
    out = vm32_or(out, vm32_and(vm32_not(above), vi32_lt(zero, e)));
    codes = vi32_or(codes, vi32_shl(vi32_select(above, vi32_sub(e, low), zero), 4 * v));
    vi32 sign = vi32_and(vi32_shr(bits, 8), vi32_splat(0x800000));
    store_24(to + 4 * VF32_LANES + 3 * VF32_LANES * v, vi32_or(vi32_and(bits, vi32_splat(0x7fffff)), sign));
  }
  vi32_store((int32_t *)(void *)to, codes);
  return !vm32_any(out);
}

OX_INLINE void expand_group(const uint8_t *p, uint8_t base, vf32 w[GROUP_VECTORS]) {
  const fields f = fields_from(base);
  const vi32 codes = vi32_load((const int32_t *)(const void *)p);
  OX_UNROLL for (int v = 0; v < GROUP_VECTORS; v++) w[v] =
      weights_at(p + 4 * VF32_LANES + 3 * VF32_LANES * v, vi32_shr(codes, 4 * v), f);
}

#include "kern/gemm/compressed_body.h"
