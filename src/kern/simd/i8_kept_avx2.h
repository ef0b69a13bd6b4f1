/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_kept_avx2.h - weights of AVX2's products; the contract is in i8_kept.h. Kept ones are 16-bit words, the
 * even bytes of L quads and then the odd ones, so that nothing of them needs widening. Most weights need not be kept:
 * vpmaddubsw sums two products in 16 bits, which cannot overflow while the two weights' absolute values add up to 128
 * at most. It takes 3 instructions for 32 products, words take 4. */
#ifndef OX_SIMD_I8_KEPT_AVX2_H
#define OX_SIMD_I8_KEPT_AVX2_H

#include <stdbool.h>

#define I8_KEPT 2
#define I8_PAIRS 1

typedef struct vi32_row {
  __m256i even, odd;
} vi32_row;

OX_INLINE void vi32_keep(vi32 quads, int8_t *to) {
  _mm256_storeu_si256((void *)to, _mm256_srai_epi16(_mm256_slli_epi16(quads, 8), 8));
  _mm256_storeu_si256((void *)(to + 32), _mm256_srai_epi16(quads, 8));
}
OX_INLINE vi32_row vi32_row_of(int32_t quad) {
  __m256i x = _mm256_set1_epi32(quad);
  return (vi32_row){_mm256_and_si256(x, _mm256_set1_epi16(255)), _mm256_srli_epi16(x, 8)};
}

/* acc + x * words at w. Left to themselves, compilers let other results take turns in the registers of sums, and spill
 * them. */
OX_INLINE __m256i kept_words_(__m256i acc, __m256i x, const int8_t *w) {
#ifdef __GNUC__
  __m256i products;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
          : "+x"(acc), "=&x"(products)
          : "x"(x), "m"(*(const __m256i_u *)(const void *)w));
  return acc;
#else
  return _mm256_add_epi32(acc, _mm256_madd_epi16(x, _mm256_loadu_si256((const void *)w)));
#endif
}
OX_INLINE vi32 vi32_dot_kept(vi32 acc, vi32_row x, const int8_t *w) {
  return kept_words_(kept_words_(acc, x.even, w), x.odd, w + 32);
}

OX_INLINE vi32 vi32_dot_pairs(vi32 acc, vi32 x, const int8_t *w) {
  const __m256i ones = _mm256_set1_epi16(1);
#ifdef __GNUC__
  __m256i pairs;
  __asm__("vpmaddubsw %3, %2, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0"
          : "+x"(acc), "=&x"(pairs)
          : "x"(x), "m"(*(const __m256i_u *)(const void *)w), "x"(ones));
  return acc;
#else
  __m256i pairs = _mm256_maddubs_epi16(x, _mm256_loadu_si256((const void *)w));
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, ones));
#endif
}

OX_INLINE __m256i kept_large_(__m256i w) { /* words of pairs that are not small */
  __m256i sums = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_set1_epi8(1));
  return _mm256_cmpgt_epi16(sums, _mm256_set1_epi16(128));
}
/* Half of w, rounded down, is ((w + 128) >> 1) - 64. */
OX_INLINE bool vi32_split_pairs(int8_t *quads, int8_t *rest, const int nv) {
  __m256i *to = (__m256i *)(void *)quads, any = _mm256_setzero_si256();
  for (int j = 0; j < nv; j++) any = _mm256_or_si256(any, kept_large_(_mm256_loadu_si256(to + j)));
  if (_mm256_testz_si256(any, any)) return false;
  for (int j = 0; rest && j < nv; j++) {
    __m256i w = _mm256_loadu_si256(to + j), large = kept_large_(w);
    __m256i up = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
    __m256i half = _mm256_and_si256(_mm256_srli_epi16(up, 1), _mm256_set1_epi8(127));
    half = _mm256_sub_epi8(half, _mm256_set1_epi8(64));
    _mm256_storeu_si256(to + j, _mm256_blendv_epi8(w, half, large));
    _mm256_storeu_si256((__m256i *)(void *)rest + j, _mm256_and_si256(_mm256_sub_epi8(w, half), large));
  }
  return true;
}

#endif
