/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_avx2.c - kernels for compressed panels of 16 columns in AVX2. */
#include "kern/simd/f32_avx2.h"

#define COMPRESSED_NAME ox_compressed_6x16__avx2
#define COMPRESSED_FORM "compressed 6x16"
#define COMPRESSED_MR 6

typedef __m256i fields; /* bytes by code, twice */

OX_INLINE fields fields_from(uint8_t base) {
  const __m128i codes = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m128i used = _mm_cmpgt_epi8(codes, _mm_setzero_si128());
  return _mm256_broadcastsi128_si256(_mm_and_si128(_mm_add_epi8(codes, _mm_set1_epi8((char)base)), used));
}

/* Twelve bytes go to each half, three of them to a lane: the third twice, so that the sign is at both ends of the
 * exponent field, which is then replaced. */
OX_INLINE vf32 weights_at(const uint8_t *p, vi32 codes, fields f) {
  const __m256i halves = _mm256_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5);
  const __m256i bytes = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11));
  __m256i x = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const void *)p), halves);
  __m256i e = _mm256_slli_epi32(_mm256_shuffle_epi8(f, _mm256_and_si256(codes, _mm256_set1_epi32(15))), 23);
  x = _mm256_andnot_si256(_mm256_set1_epi32(0x7f800000), _mm256_shuffle_epi8(x, bytes));
  return _mm256_castsi256_ps(_mm256_or_si256(x, e));
}

OX_INLINE void store_24(uint8_t *p, vi32 x) {
  const __m256i bytes =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m256i halves = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7),
                first = _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0);
  _mm256_maskstore_epi32((int *)(void *)p, first, _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(x, bytes), halves));
}

#include "kern/gemm/compressed_body.h"
