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

/* Whole blocks of N x N, then the two edges. Columns are walked inside a line of blocks: the input streams. */
#define TRANSPOSE_BLOCKS(name, bytes, N, block)                                                                       \
  void name(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {                          \
    int64_t full_r = rows / (N) * (N), full_c = cols / (N) * (N);                                                     \
    for (int64_t r = 0; r < full_r; r += (N))                                                                         \
      for (int64_t c = 0; c < full_c; c += (N)) block(in + r * is + c * (bytes), is, out + c * os + r * (bytes), os); \
    transpose_edge(in + full_c * (bytes), is, out + full_c * os, os, full_r, cols - full_c, bytes);                   \
    transpose_edge(in + full_r * is, is, out + full_r * (bytes), os, rows - full_r, cols, bytes);                     \
  }

TRANSPOSE_BLOCKS(ox_transpose_u8__avx2, 1, 16, block_u8)
TRANSPOSE_BLOCKS(ox_transpose_u16__avx2, 2, 8, block_u16)
TRANSPOSE_BLOCKS(ox_transpose_u32__avx2, 4, 8, block_u32)
TRANSPOSE_BLOCKS(ox_transpose_u64__avx2, 8, 4, block_u64)
