/* SPDX-License-Identifier: Apache-2.0
 * kern/move/transpose_few_avx2.h - interleaves two, three or four rows of elements of |e| bytes, 1 or 2, to one row,
 * and the reverse. Each function returns how many columns or rows it has done: all, or none if they are shorter than a
 * vector; the caller does the rest. */
#ifndef OX_KERN_MOVE_TRANSPOSE_FEW_AVX2_H
#define OX_KERN_MOVE_TRANSPOSE_FEW_AVX2_H

#include <immintrin.h>
#include <stdbool.h>

#include "base/macros.h"

OX_INLINE __m128i load128(const char *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
OX_INLINE void store128(char *p, __m128i v) { _mm_storeu_si128((__m128i *)(void *)p, v); }

/* Steps over n >= |step| elements; the last one begins early enough to end with them. */
#define EACH_SOME(i, n, step) \
  for (int64_t i##_ = 0, i; i##_ < (n) && (i = OX_MIN(i##_, (n) - (step)), true); i##_ += (step))

/* ---- three ---- */
/* Splits pixels of 3 elements into planes, 48 bytes at a time: byte i of plane k is byte i % e of element 3 (i / e) +
 * k. take[k][third] picks the bytes of plane k from that third of the 48; -1: none. */
OX_INLINE int64_t deinterleave3_narrow(const char *in, char *out, int64_t os, int64_t rows, int e) {
  int8_t take[3][3][16];
  for (int k = 0; k < 3; k++)
    for (int third = 0; third < 3; third++)
      for (int i = 0; i < 16; i++) {
        int at = (3 * (i / e) + k) * e + i % e - 16 * third;
        take[k][third][i] = (int8_t)(at >= 0 && at < 16 ? at : -1);
      }
  if (rows < 16 / e) return 0;
  EACH_SOME(r, rows, 16 / e) {
    __m128i a = load128(in + 3 * r * e), b = load128(in + 3 * r * e + 16), c = load128(in + 3 * r * e + 32);
    OX_UNROLL for (int k = 0; k < 3; k++) {
      __m128i x = _mm_shuffle_epi8(a, load128((const char *)take[k][0]));
      x = _mm_or_si128(x, _mm_shuffle_epi8(b, load128((const char *)take[k][1])));
      store128(out + k * os + r * e, _mm_or_si128(x, _mm_shuffle_epi8(c, load128((const char *)take[k][2]))));
    }
  }
  return rows;
}

/* The reverse: byte g of the 48 is byte g % e of element g / e, which is of plane g / e % 3. */
OX_INLINE int64_t interleave3_narrow(const char *in, int64_t is, char *out, int64_t cols, int e) {
  int8_t take[3][3][16];
  for (int t = 0; t < 3; t++)
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < 16; j++) {
        int g = 16 * t + j, element = g / e;
        take[t][k][j] = (int8_t)(element % 3 == k ? element / 3 * e + g % e : -1);
      }
  if (cols < 16 / e) return 0;
  EACH_SOME(c, cols, 16 / e) {
    __m128i a = load128(in + c * e), b = load128(in + is + c * e), d = load128(in + 2 * is + c * e);
    OX_UNROLL for (int t = 0; t < 3; t++) {
      __m128i x = _mm_shuffle_epi8(a, load128((const char *)take[t][0]));
      x = _mm_or_si128(x, _mm_shuffle_epi8(b, load128((const char *)take[t][1])));
      store128(out + 3 * c * e + 16 * t, _mm_or_si128(x, _mm_shuffle_epi8(d, load128((const char *)take[t][2]))));
    }
  }
  return cols;
}

/* ---- two ---- */

OX_INLINE int64_t interleave2_narrow(const char *in, int64_t is, char *out, int64_t cols, int e) {
  if (cols < 16 / e) return 0;
  EACH_SOME(c, cols, 16 / e) {
    __m128i a = load128(in + c * e), b = load128(in + is + c * e);
    store128(out + 2 * c * e, e == 1 ? _mm_unpacklo_epi8(a, b) : _mm_unpacklo_epi16(a, b));
    store128(out + 2 * c * e + 16, e == 1 ? _mm_unpackhi_epi8(a, b) : _mm_unpackhi_epi16(a, b));
  }
  return cols;
}

OX_INLINE int64_t deinterleave2_narrow(const char *in, char *out, int64_t os, int64_t rows, int e) {
  const __m128i apart = e == 1 ? _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15)
                               : _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  if (rows < 16 / e) return 0;
  EACH_SOME(r, rows, 16 / e) {
    __m128i a = _mm_shuffle_epi8(load128(in + 2 * r * e), apart);
    __m128i b = _mm_shuffle_epi8(load128(in + 2 * r * e + 16), apart);
    store128(out + r * e, _mm_unpacklo_epi64(a, b)), store128(out + os + r * e, _mm_unpackhi_epi64(a, b));
  }
  return rows;
}

/* ---- four: elements are sorted into words of 4 bytes by row, and the words of four vectors transposed ---- */

OX_INLINE void transpose_words(__m128i *v) {
  __m128 a = _mm_castsi128_ps(v[0]), b = _mm_castsi128_ps(v[1]), c = _mm_castsi128_ps(v[2]), d = _mm_castsi128_ps(v[3]);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  v[0] = _mm_castps_si128(a), v[1] = _mm_castps_si128(b), v[2] = _mm_castps_si128(c), v[3] = _mm_castps_si128(d);
}

/* The shuffle from pixels of 4 elements to words by row, and the reverse; for bytes they are the same. */
OX_INLINE __m128i pixels_to_words(int e) {
  return e == 1 ? _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
                : _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
}
OX_INLINE __m128i words_to_pixels(int e) {
  return e == 1 ? pixels_to_words(1) : _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
}

OX_INLINE int64_t interleave4_narrow(const char *in, int64_t is, char *out, int64_t cols, int e) {
  const __m128i order = words_to_pixels(e);
  if (cols < 16 / e) return 0;
  EACH_SOME(c, cols, 16 / e) {
    __m128i v[4];
    OX_UNROLL for (int k = 0; k < 4; k++) v[k] = load128(in + k * is + c * e);
    transpose_words(v);
    OX_UNROLL for (int k = 0; k < 4; k++) store128(out + 4 * c * e + 16 * k, _mm_shuffle_epi8(v[k], order));
  }
  return cols;
}

OX_INLINE int64_t deinterleave4_narrow(const char *in, char *out, int64_t os, int64_t rows, int e) {
  const __m128i order = pixels_to_words(e);
  if (rows < 16 / e) return 0;
  EACH_SOME(r, rows, 16 / e) {
    __m128i v[4];
    OX_UNROLL for (int k = 0; k < 4; k++) v[k] = _mm_shuffle_epi8(load128(in + 4 * r * e + 16 * k), order);
    transpose_words(v);
    OX_UNROLL for (int k = 0; k < 4; k++) store128(out + k * os + r * e, v[k]);
  }
  return rows;
}

#endif
