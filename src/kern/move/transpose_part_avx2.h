/* SPDX-License-Identifier: Apache-2.0
 * kern/move/transpose_part_avx2.h - the first |n| bytes of a vector from memory and to it, and not one more. Stores of
 * an odd size are two that overlap: masked ones take several times as long. */
#ifndef OX_KERN_MOVE_TRANSPOSE_PART_AVX2_H
#define OX_KERN_MOVE_TRANSPOSE_PART_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kern/move/transpose_few_avx2.h"

OX_INLINE __m256 load256(const char *p) { return _mm256_loadu_ps((const float *)(const void *)p); }
OX_INLINE void store256(char *p, __m256 v) { _mm256_storeu_ps((float *)(void *)p, v); }
OX_INLINE __m128i load64(const char *p) { return _mm_loadl_epi64((const __m128i *)(const void *)p); }
OX_INLINE void store64(char *p, __m128i v) { _mm_storel_epi64((__m128i *)(void *)p, v); }
OX_INLINE __m128i low128(__m256 v) { return _mm_castps_si128(_mm256_castps256_ps128(v)); }

/* The widest store that fits into |n| bytes. */
OX_INLINE int64_t fitting(int64_t n) { return n >= 16 ? 16 : n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1; }

OX_INLINE void store_fitting(char *p, __m128i v, int64_t n) {
  int32_t word = _mm_cvtsi128_si32(v);
  if (n >= 16)
    store128(p, v);
  else if (n >= 8)
    store64(p, v);
  else if (n >= 4)
    memcpy(p, &word, 4);
  else if (n >= 2)
    memcpy(p, &word, 2);
  else
    memcpy(p, &word, 1);
}

/* n <= 16; |last|: which bytes the second store begins with. */
OX_INLINE __m128i last_bytes(int64_t n) {
  const __m128i each = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm_add_epi8(each, _mm_set1_epi8((char)(n - fitting(n))));
}
OX_INLINE void store_bytes(char *p, __m128i v, int64_t n, __m128i last) {
  int64_t k = fitting(n);
  store_fitting(p, v, k);
  if (n != k) store_fitting(p + n - k, _mm_shuffle_epi8(v, last), k);
}

OX_INLINE __m128i load_bytes(const char *p, int64_t n) {
  uint32_t a = 0, b = 0;
  if (n >= 16) return load128(p);
  if (n >= 8) {
    __m128i rest = _mm_srl_epi64(load64(p + n - 8), _mm_cvtsi64_si128((16 - n) * 8));
    return _mm_unpacklo_epi64(load64(p), rest);
  }
  if (n >= 4) {
    memcpy(&a, p, 4), memcpy(&b, p + n - 4, 4);
    return _mm_cvtsi64_si128((int64_t)(a | (uint64_t)b << (n - 4) * 8));
  }
  for (int64_t i = 0; i < n; i++) a |= (uint32_t)(uint8_t)p[i] << i * 8;
  return _mm_cvtsi32_si128((int32_t)a);
}

/* n <= 32, a multiple of 4. */
OX_INLINE __m256i last_words(int64_t n) {
  return _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int32_t)(n - fitting(n)) / 4));
}
OX_INLINE void store_words(char *p, __m256 v, int64_t n, __m256i last) {
  int64_t k = fitting(n);
  store_fitting(p, low128(v), k);
  if (n != k) store_fitting(p + n - k, low128(_mm256_permutevar8x32_ps(v, last)), k);
}

OX_INLINE __m256 load_words(const char *p, int64_t n) {
  const __m256i each = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_maskload_ps((const float *)(const void *)p,
                            _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n / 4), each));
}

/* How many of the rows, from the first on, can be read by |vector| bytes without leaving the matrix. */
OX_INLINE int64_t rows_to_read(int64_t is, int64_t rows, int64_t bytes, int64_t vector) {
  if (bytes >= vector) return rows;
  if (is <= 0) return 0;
  return OX_MAX(rows - OX_CEIL_DIV(vector - bytes, is), 0);
}

#endif
