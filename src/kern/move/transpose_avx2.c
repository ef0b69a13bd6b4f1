/* SPDX-License-Identifier: Apache-2.0
 * kern/move/transpose_avx2.c - transposition in registers: square blocks by rounds of interleaving. */
#include <immintrin.h>

#include "kern/move/transpose_edge.h"

OX_INLINE __m128i load128(const char *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
OX_INLINE void store128(char *p, __m128i v) { _mm_storeu_si128((__m128i *)(void *)p, v); }
OX_INLINE __m256 load256(const char *p) { return _mm256_loadu_ps((const float *)(const void *)p); }
OX_INLINE void store256(char *p, __m256 v) { _mm256_storeu_ps((float *)(void *)p, v); }

/* One round on n registers: pairs (i, i + n/2) interleave into 2i, 2i+1. log2(n) rounds transpose n x n. */
OX_INLINE void block_u8(const char *in, int64_t is, char *out, int64_t os) {
  __m128i a[16], b[16];
  OX_UNROLL for (int i = 0; i < 16; i++) a[i] = load128(in + i * is);
  OX_UNROLL for (int round = 0; round < 4; round++) {
    OX_UNROLL for (int i = 0; i < 8; i++) {
      b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
      b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
    }
    OX_UNROLL for (int i = 0; i < 16; i++) a[i] = b[i];
  }
  OX_UNROLL for (int i = 0; i < 16; i++) store128(out + i * os, a[i]);
}

OX_INLINE void block_u16(const char *in, int64_t is, char *out, int64_t os) {
  __m128i a[8], b[8];
  OX_UNROLL for (int i = 0; i < 8; i++) a[i] = load128(in + i * is);
  OX_UNROLL for (int round = 0; round < 3; round++) {
    OX_UNROLL for (int i = 0; i < 4; i++) {
      b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
      b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
    }
    OX_UNROLL for (int i = 0; i < 8; i++) a[i] = b[i];
  }
  OX_UNROLL for (int i = 0; i < 8; i++) store128(out + i * os, a[i]);
}

OX_INLINE void block_u32(const char *in, int64_t is, char *out, int64_t os) {
  __m256 a[8], b[8];
  OX_UNROLL for (int i = 0; i < 8; i++) a[i] = load256(in + i * is);
  OX_UNROLL for (int i = 0; i < 4; i++) {
    b[2 * i] = _mm256_unpacklo_ps(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm256_unpackhi_ps(a[2 * i], a[2 * i + 1]);
  }
  OX_UNROLL for (int i = 0; i < 2; i++) {
    a[4 * i] = _mm256_shuffle_ps(b[4 * i], b[4 * i + 2], 0x44);
    a[4 * i + 1] = _mm256_shuffle_ps(b[4 * i], b[4 * i + 2], 0xee);
    a[4 * i + 2] = _mm256_shuffle_ps(b[4 * i + 1], b[4 * i + 3], 0x44);
    a[4 * i + 3] = _mm256_shuffle_ps(b[4 * i + 1], b[4 * i + 3], 0xee);
  }
  OX_UNROLL for (int i = 0; i < 4; i++) {
    store256(out + i * os, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
    store256(out + (i + 4) * os, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
  }
}

OX_INLINE void block_u64(const char *in, int64_t is, char *out, int64_t os) {
  __m256d a[4], b[4];
  OX_UNROLL for (int i = 0; i < 4; i++) a[i] = _mm256_castps_pd(load256(in + i * is));
  OX_UNROLL for (int i = 0; i < 2; i++) {
    b[2 * i] = _mm256_unpacklo_pd(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm256_unpackhi_pd(a[2 * i], a[2 * i + 1]);
  }
  OX_UNROLL for (int i = 0; i < 2; i++) {
    store256(out + i * os, _mm256_castpd_ps(_mm256_permute2f128_pd(b[i], b[i + 2], 0x20)));
    store256(out + (i + 2) * os, _mm256_castpd_ps(_mm256_permute2f128_pd(b[i], b[i + 2], 0x31)));
  }
}

/* Tiles of one cache line each way, so that lines are read and written whole; then blocks at the ends, then edges. */
#define TRANSPOSE_BLOCKS(name, bytes, N, block)                                                                     \
  static void name##_blocks(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {        \
    for (int64_t r = 0; r < rows; r += (N))                                                                         \
      for (int64_t c = 0; c < cols; c += (N)) block(in + r * is + c * (bytes), is, out + c * os + r * (bytes), os); \
  }                                                                                                                 \
  void name(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {                        \
    enum { L = 64 / (bytes) };                                                                                      \
    int64_t full_r = rows / (N) * (N), full_c = cols / (N) * (N);                                                   \
    for (int64_t r = 0; r < full_r; r += L)                                                                         \
      for (int64_t c = 0; c < full_c; c += L)                                                                       \
        name##_blocks(in + r * is + c * (bytes), is, out + c * os + r * (bytes), os, OX_MIN(L, full_r - r),         \
                      OX_MIN(L, full_c - c));                                                                       \
    transpose_edge(in + full_c * (bytes), is, out + full_c * os, os, full_r, cols - full_c, bytes);                 \
    transpose_edge(in + full_r * is, is, out + full_r * (bytes), os, rows - full_r, cols, bytes);                   \
  }

TRANSPOSE_BLOCKS(transpose_u8, 1, 16, block_u8)
TRANSPOSE_BLOCKS(ox_transpose_u16__avx2, 2, 8, block_u16)
TRANSPOSE_BLOCKS(transpose_u32, 4, 8, block_u32)
TRANSPOSE_BLOCKS(ox_transpose_u64__avx2, 8, 4, block_u64)

/* Three rows of 4-byte elements woven into one (planes to pixels): each output vector takes lanes of all three. */
static int64_t weave3(const char *in, int64_t is, char *out, int64_t cols) {
  const __m256i lane[3] = {_mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2), _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5),
                           _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7)};
  int64_t c = 0;
  for (; c + 8 <= cols; c += 8) {
    __m256 a = load256(in + c * 4), b = load256(in + is + c * 4), d = load256(in + 2 * is + c * 4), p, q, r;
#define WOVEN(k, first, second)                                                       \
  p = _mm256_permutevar8x32_ps(a, lane[k]), q = _mm256_permutevar8x32_ps(b, lane[k]); \
  r = _mm256_permutevar8x32_ps(d, lane[k]);                                           \
  store256(out + c * 12 + 32 * (k), _mm256_blend_ps(_mm256_blend_ps(r, p, first), q, second))
    WOVEN(0, 0x49, 0x92);
    WOVEN(1, 0x92, 0x24);
    WOVEN(2, 0x24, 0x49);
#undef WOVEN
  }
  return c;
}

/* The reverse: one row of triples into three rows. */
static int64_t unweave3(const char *in, char *out, int64_t os, int64_t rows) {
  const __m256i lane[3] = {_mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5), _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6),
                           _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7)};
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    __m256 x = load256(in + r * 12), y = load256(in + r * 12 + 32), z = load256(in + r * 12 + 64);
#define UNWOVEN(k, from_y, from_z) \
  store256(out + (k)*os + r * 4,   \
           _mm256_permutevar8x32_ps(_mm256_blend_ps(_mm256_blend_ps(x, y, from_y), z, from_z), lane[k]))
    UNWOVEN(0, 0x92, 0x24);
    UNWOVEN(1, 0x24, 0x49);
    UNWOVEN(2, 0x49, 0x92);
#undef UNWOVEN
  }
  return r;
}

void ox_transpose_u32__avx2(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {
  int64_t done = 0;
  if (rows == 3 && os == 12) {
    done = weave3(in, is, out, cols);
    transpose_edge(in + done * 4, is, out + done * os, os, rows, cols - done, 4);
  } else if (cols == 3 && is == 12) {
    done = unweave3(in, out, os, rows);
    transpose_edge(in + done * is, is, out + done * 4, os, rows - done, cols, 4);
  } else {
    transpose_u32(in, is, out, os, rows, cols);
  }
}

/* 16 pixels of 3 bytes: byte i of plane k is byte 3i + k of the 48; -1 takes none from this third. */
static int64_t unweave3_u8(const char *in, char *out, int64_t os, int64_t rows) {
  int8_t take[3][3][16];
  for (int k = 0; k < 3; k++)
    for (int third = 0; third < 3; third++)
      for (int i = 0; i < 16; i++) {
        int at = 3 * i + k - 16 * third;
        take[k][third][i] = (int8_t)(at >= 0 && at < 16 ? at : -1);
      }
  int64_t r = 0;
  for (; r + 16 <= rows; r += 16) {
    __m128i a = load128(in + 3 * r), b = load128(in + 3 * r + 16), c = load128(in + 3 * r + 32);
    OX_UNROLL for (int k = 0; k < 3; k++) {
      __m128i x = _mm_shuffle_epi8(a, load128((const char *)take[k][0]));
      x = _mm_or_si128(x, _mm_shuffle_epi8(b, load128((const char *)take[k][1])));
      store128(out + k * os + r, _mm_or_si128(x, _mm_shuffle_epi8(c, load128((const char *)take[k][2]))));
    }
  }
  return r;
}

/* The reverse: byte j of third |t| is byte (16t + j) / 3 of plane (16t + j) % 3. */
static int64_t weave3_u8(const char *in, int64_t is, char *out, int64_t cols) {
  int8_t take[3][3][16];
  for (int t = 0; t < 3; t++)
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < 16; j++) take[t][k][j] = (int8_t)((16 * t + j) % 3 == k ? (16 * t + j) / 3 : -1);
  int64_t c = 0;
  for (; c + 16 <= cols; c += 16) {
    __m128i a = load128(in + c), b = load128(in + is + c), d = load128(in + 2 * is + c);
    OX_UNROLL for (int t = 0; t < 3; t++) {
      __m128i x = _mm_shuffle_epi8(a, load128((const char *)take[t][0]));
      x = _mm_or_si128(x, _mm_shuffle_epi8(b, load128((const char *)take[t][1])));
      store128(out + 3 * c + 16 * t, _mm_or_si128(x, _mm_shuffle_epi8(d, load128((const char *)take[t][2]))));
    }
  }
  return c;
}

void ox_transpose_u8__avx2(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {
  int64_t done = 0;
  if (rows == 3 && os == 3) {
    done = weave3_u8(in, is, out, cols);
    transpose_edge(in + done, is, out + done * os, os, rows, cols - done, 1);
  } else if (cols == 3 && is == 3) {
    done = unweave3_u8(in, out, os, rows);
    transpose_edge(in + done * is, is, out + done, os, rows - done, cols, 1);
  } else {
    transpose_u8(in, is, out, os, rows, cols);
  }
}
