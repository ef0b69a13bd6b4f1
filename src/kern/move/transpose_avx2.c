/* SPDX-License-Identifier: Apache-2.0
 * kern/move/transpose_avx2.c - transposition of square blocks in registers, by rounds of interleaving. */
#include <immintrin.h>

#include "kern/move/transpose_edge.h"
#include "kern/move/transpose_part_avx2.h"

/* A block of |rows| x |cols| of what registers hold, constants where it is a whole one; |part|: rows of the input may
 * not be read beyond their ends. One round on n registers: pairs (i, i + n/2) interleave into 2i, 2i+1. log2(n) rounds
 * transpose n x n. */
typedef struct {
  int64_t rows, cols;
  bool part;
} extent;

#define BLOCK_NARROW(name, e, N, rounds, low, high)                                                              \
  OX_INLINE void name(const char *in, int64_t is, char *out, int64_t os, const extent x) {                       \
    __m128i a[N], b[N], last = last_bytes(x.rows * (e));                                                         \
    OX_UNROLL for (int i = 0; i < (N); i++) a[i] = i >= x.rows ? _mm_setzero_si128()                             \
                                                   : x.part    ? load_bytes(in + i * is, x.cols * (e))           \
                                                               : load128(in + i * is);                              \
    OX_UNROLL for (int round = 0; round < (rounds); round++) {                                                   \
      OX_UNROLL for (int i = 0; i < (N) / 2; i++) b[2 * i] = low(a[i], a[i + (N) / 2]),                          \
                                                        b[2 * i + 1] = high(a[i], a[i + (N) / 2]);               \
      OX_UNROLL for (int i = 0; i < (N); i++) a[i] = b[i];                                                       \
    }                                                                                                            \
    OX_UNROLL for (int i = 0; i < (N); i++) if (i < x.cols) store_bytes(out + i * os, a[i], x.rows * (e), last); \
  }
BLOCK_NARROW(block_u8, 1, 16, 4, _mm_unpacklo_epi8, _mm_unpackhi_epi8)
BLOCK_NARROW(block_u16, 2, 8, 3, _mm_unpacklo_epi16, _mm_unpackhi_epi16)

OX_INLINE __m256 load_row(const char *p, bool in_it, const extent x, int64_t e) {
  return !in_it ? _mm256_setzero_ps() : x.part ? load_words(p, x.cols * e) : load256(p);
}

OX_INLINE void store_row(char *p, __m256 v, const extent x, int64_t e, __m256i last) {
  if (x.rows * e == 32)
    store256(p, v);
  else
    store_words(p, v, x.rows * e, last);
}

OX_INLINE void block_u32(const char *in, int64_t is, char *out, int64_t os, const extent x) {
  __m256 a[8], b[8];
  __m256i last = last_words(x.rows * 4);
  OX_UNROLL for (int i = 0; i < 8; i++) a[i] = load_row(in + i * is, i < x.rows, x, 4);
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
    if (i < x.cols) store_row(out + i * os, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20), x, 4, last);
    if (i + 4 < x.cols) store_row(out + (i + 4) * os, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31), x, 4, last);
  }
}

OX_INLINE void block_u64(const char *in, int64_t is, char *out, int64_t os, const extent x) {
  __m256d a[4], b[4];
  __m256i last = last_words(x.rows * 8);
  OX_UNROLL for (int i = 0; i < 4; i++) a[i] = _mm256_castps_pd(load_row(in + i * is, i < x.rows, x, 8));
  OX_UNROLL for (int i = 0; i < 2; i++) {
    b[2 * i] = _mm256_unpacklo_pd(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm256_unpackhi_pd(a[2 * i], a[2 * i + 1]);
  }
  OX_UNROLL for (int i = 0; i < 2; i++) {
    __m256 p = _mm256_castpd_ps(_mm256_permute2f128_pd(b[i], b[i + 2], 0x20));
    __m256 q = _mm256_castpd_ps(_mm256_permute2f128_pd(b[i], b[i + 2], 0x31));
    if (i < x.cols) store_row(out + i * os, p, x, 8, last);
    if (i + 2 < x.cols) store_row(out + (i + 2) * os, q, x, 8, last);
  }
}

/* Tiles of one cache line each way, so that lines are read and written whole; then parts of blocks at the ends, where
 * |FEW| or less are done one by one. */
#define TRANSPOSE_BLOCKS(name, bytes, N, FEW, block)                                                           \
  static void name##_blocks(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {   \
    for (int64_t r = 0; r < rows; r += (N))                                                                    \
      for (int64_t c = 0; c < cols; c += (N))                                                                  \
        block(in + r * is + c * (bytes), is, out + c * os + r * (bytes), os, (extent){N, N, false});           \
  }                                                                                                            \
  static void name##_columns(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {  \
    int64_t r = 0, whole = OX_MIN(rows_to_read(is, rows, cols * (bytes), (N) * (bytes)), rows) / (N) * (N);    \
    for (; r < whole; r += (N)) block(in + r * is, is, out + r * (bytes), os, (extent){N, cols, false});       \
    for (; r + (N) <= rows; r += (N)) block(in + r * is, is, out + r * (bytes), os, (extent){N, cols, true});  \
  }                                                                                                            \
  static void name##_rows(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {     \
    int64_t c = 0;                                                                                             \
    for (; c + (N) <= cols; c += (N)) block(in + c * (bytes), is, out + c * os, os, (extent){rows, N, false}); \
    if (c < cols) block(in + c * (bytes), is, out + c * os, os, (extent){rows, cols - c, true});               \
  }                                                                                                            \
  static void name(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {            \
    enum { L = 64 / (bytes) };                                                                                 \
    int64_t full_r = rows / (N) * (N), full_c = cols / (N) * (N);                                              \
    for (int64_t r = 0; r < full_r; r += L)                                                                    \
      for (int64_t c = 0; c < full_c; c += L)                                                                  \
        name##_blocks(in + r * is + c * (bytes), is, out + c * os + r * (bytes), os, OX_MIN(L, full_r - r),    \
                      OX_MIN(L, full_c - c));                                                                  \
    if (cols - full_c > (FEW))                                                                                 \
      name##_columns(in + full_c * (bytes), is, out + full_c * os, os, full_r, cols - full_c);                 \
    else                                                                                                       \
      transpose_edge(in + full_c * (bytes), is, out + full_c * os, os, full_r, cols - full_c, bytes);          \
    if (rows - full_r > (FEW))                                                                                 \
      name##_rows(in + full_r * is, is, out + full_r * (bytes), os, rows - full_r, cols);                      \
    else                                                                                                       \
      transpose_edge(in + full_r * is, is, out + full_r * (bytes), os, rows - full_r, cols, bytes);            \
  }

TRANSPOSE_BLOCKS(transpose_u8, 1, 16, 3, block_u8)
TRANSPOSE_BLOCKS(transpose_u16, 2, 8, 2, block_u16)
TRANSPOSE_BLOCKS(transpose_u32, 4, 8, 1, block_u32)
TRANSPOSE_BLOCKS(transpose_u64, 8, 4, 1, block_u64)

/* Interleaves three rows of 4-byte elements to one (planes to pixels): each output vector takes lanes of all three. */
static int64_t interleave3(const char *in, int64_t is, char *out, int64_t cols) {
  const __m256i lane[3] = {_mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2), _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5),
                           _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7)};
  if (cols < 8) return 0;
  EACH_SOME(c, cols, 8) {
    __m256 a = load256(in + c * 4), b = load256(in + is + c * 4), d = load256(in + 2 * is + c * 4), p, q, r;
#define INTERLEAVED(k, first, second)                                                 \
  p = _mm256_permutevar8x32_ps(a, lane[k]), q = _mm256_permutevar8x32_ps(b, lane[k]); \
  r = _mm256_permutevar8x32_ps(d, lane[k]);                                           \
  store256(out + c * 12 + 32 * (k), _mm256_blend_ps(_mm256_blend_ps(r, p, first), q, second))
    INTERLEAVED(0, 0x49, 0x92);
    INTERLEAVED(1, 0x92, 0x24);
    INTERLEAVED(2, 0x24, 0x49);
#undef INTERLEAVED
  }
  return cols;
}

/* The reverse: one row of triples into three rows. */
static int64_t deinterleave3(const char *in, char *out, int64_t os, int64_t rows) {
  const __m256i lane[3] = {_mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5), _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6),
                           _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7)};
  if (rows < 8) return 0;
  EACH_SOME(r, rows, 8) {
    __m256 x = load256(in + r * 12), y = load256(in + r * 12 + 32), z = load256(in + r * 12 + 64);
#define DEINTERLEAVED(k, from_y, from_z) \
  store256(out + (k)*os + r * 4,         \
           _mm256_permutevar8x32_ps(_mm256_blend_ps(_mm256_blend_ps(x, y, from_y), z, from_z), lane[k]))
    DEINTERLEAVED(0, 0x92, 0x24);
    DEINTERLEAVED(1, 0x24, 0x49);
    DEINTERLEAVED(2, 0x49, 0x92);
#undef DEINTERLEAVED
  }
  return rows;
}

/* Two to four rows or columns: interleaved; the elements left over one by one. |otherwise|: other matrices. */
#define NARROW(e, otherwise)                                                        \
  int64_t done = -1; /* columns, where there are few rows */                        \
  if (rows == 2 && os == 2 * (e))                                                   \
    done = interleave2_narrow(in, is, out, cols, e);                                \
  else if (rows == 3 && os == 3 * (e))                                              \
    done = interleave3_narrow(in, is, out, cols, e);                                \
  else if (rows == 4 && os == 4 * (e))                                              \
    done = interleave4_narrow(in, is, out, cols, e);                                \
  if (done >= 0) {                                                                  \
    transpose_edge(in + done * (e), is, out + done * os, os, rows, cols - done, e); \
    return;                                                                         \
  }                                                                                 \
  if (cols == 2 && is == 2 * (e))                                                   \
    done = deinterleave2_narrow(in, out, os, rows, e);                              \
  else if (cols == 3 && is == 3 * (e))                                              \
    done = deinterleave3_narrow(in, out, os, rows, e);                              \
  else if (cols == 4 && is == 4 * (e))                                              \
    done = deinterleave4_narrow(in, out, os, rows, e);                              \
  if (done >= 0)                                                                    \
    transpose_edge(in + done * is, is, out + done * (e), os, rows - done, cols, e); \
  else                                                                              \
    otherwise;

void ox_transpose_u8__avx2(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {
  NARROW(1, transpose_u8(in, is, out, os, rows, cols))
}

void ox_transpose_u16__avx2(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {
  NARROW(2, transpose_u16(in, is, out, os, rows, cols))
}

/* Interleaves three rows of 8-byte elements: of_a, of_b, of_d are the lanes that an output vector takes from each. */
static int64_t interleave3_u64(const char *in, int64_t is, char *out, int64_t cols) {
  if (cols < 4) return 0;
  EACH_SOME(c, cols, 4) {
    __m256d a = _mm256_castps_pd(load256(in + c * 8)), b = _mm256_castps_pd(load256(in + is + c * 8));
    __m256d d = _mm256_castps_pd(load256(in + 2 * is + c * 8)), p, q, r;
#define INTERLEAVED(k, of_a, of_b, of_d, first, second)                                                       \
  p = _mm256_permute4x64_pd(a, of_a), q = _mm256_permute4x64_pd(b, of_b), r = _mm256_permute4x64_pd(d, of_d); \
  store256(out + c * 24 + 32 * (k), _mm256_castpd_ps(_mm256_blend_pd(_mm256_blend_pd(r, p, first), q, second)))
    INTERLEAVED(0, 0x40, 0x00, 0x00, 9, 2);
    INTERLEAVED(1, 0x20, 0x81, 0x04, 4, 9);
    INTERLEAVED(2, 0x0c, 0x30, 0xc2, 2, 4);
#undef INTERLEAVED
  }
  return cols;
}

static int64_t deinterleave3_u64(const char *in, char *out, int64_t os, int64_t rows) {
  if (rows < 4) return 0;
  EACH_SOME(r, rows, 4) {
    __m256d x = _mm256_castps_pd(load256(in + r * 24)), y = _mm256_castps_pd(load256(in + r * 24 + 32));
    __m256d z = _mm256_castps_pd(load256(in + r * 24 + 64));
#define DEINTERLEAVED(k, from_y, from_z, order) \
  store256(out + (k)*os + r * 8,                \
           _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_blend_pd(_mm256_blend_pd(x, y, from_y), z, from_z), order)))
    DEINTERLEAVED(0, 4, 2, 0x6c);
    DEINTERLEAVED(1, 9, 4, 0xb1);
    DEINTERLEAVED(2, 2, 9, 0xc6);
#undef DEINTERLEAVED
  }
  return rows;
}

void ox_transpose_u64__avx2(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {
  int64_t done = 0;
  if (rows == 3 && os == 24) {
    done = interleave3_u64(in, is, out, cols);
    transpose_edge(in + done * 8, is, out + done * os, os, rows, cols - done, 8);
  } else if (cols == 3 && is == 24) {
    done = deinterleave3_u64(in, out, os, rows);
    transpose_edge(in + done * is, is, out + done * 8, os, rows - done, cols, 8);
  } else {
    transpose_u64(in, is, out, os, rows, cols);
  }
}

/* Two rows of 4-byte elements to one row of pairs, and the reverse. */
static int64_t interleave2(const char *in, int64_t is, char *out, int64_t cols) {
  if (cols < 8) return 0;
  EACH_SOME(c, cols, 8) {
    __m256 a = load256(in + c * 4), b = load256(in + is + c * 4);
    __m256 p = _mm256_unpacklo_ps(a, b), q = _mm256_unpackhi_ps(a, b);
    store256(out + c * 8, _mm256_permute2f128_ps(p, q, 0x20));
    store256(out + c * 8 + 32, _mm256_permute2f128_ps(p, q, 0x31));
  }
  return cols;
}

static int64_t deinterleave2(const char *in, char *out, int64_t os, int64_t rows) {
  if (rows < 8) return 0;
  EACH_SOME(r, rows, 8) {
    __m256 x = load256(in + r * 8), y = load256(in + r * 8 + 32);
    __m256 p = _mm256_permute2f128_ps(x, y, 0x20), q = _mm256_permute2f128_ps(x, y, 0x31);
    store256(out + r * 4, _mm256_shuffle_ps(p, q, 0x88)), store256(out + os + r * 4, _mm256_shuffle_ps(p, q, 0xdd));
  }
  return rows;
}

/* 4 x 4 elements of 4 bytes. */
OX_INLINE void block_4x4(const char *in, int64_t is, char *out, int64_t os) {
  __m128 a = _mm_castsi128_ps(load128(in)), b = _mm_castsi128_ps(load128(in + is));
  __m128 c = _mm_castsi128_ps(load128(in + 2 * is)), d = _mm_castsi128_ps(load128(in + 3 * is));
  _MM_TRANSPOSE4_PS(a, b, c, d);
  store128(out, _mm_castps_si128(a)), store128(out + os, _mm_castps_si128(b));
  store128(out + 2 * os, _mm_castps_si128(c)), store128(out + 3 * os, _mm_castps_si128(d));
}

static int64_t interleave4(const char *in, int64_t is, char *out, int64_t os, int64_t cols) {
  if (cols < 4) return 0;
  EACH_SOME(c, cols, 4) block_4x4(in + c * 4, is, out + c * os, os);
  return cols;
}

static int64_t deinterleave4(const char *in, int64_t is, char *out, int64_t os, int64_t rows) {
  if (rows < 4) return 0;
  EACH_SOME(r, rows, 4) block_4x4(in + r * is, is, out + r * 4, os);
  return rows;
}

void ox_transpose_u32__avx2(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {
  int64_t done = -1; /* columns, where there are few rows */
  if (rows == 2 && os == 8)
    done = interleave2(in, is, out, cols);
  else if (rows == 3 && os == 12)
    done = interleave3(in, is, out, cols);
  else if (rows == 4)
    done = interleave4(in, is, out, os, cols);
  if (done >= 0) {
    transpose_edge(in + done * 4, is, out + done * os, os, rows, cols - done, 4);
    return;
  }
  if (cols == 2 && is == 8)
    done = deinterleave2(in, out, os, rows);
  else if (cols == 3 && is == 12)
    done = deinterleave3(in, out, os, rows);
  else if (cols == 4)
    done = deinterleave4(in, is, out, os, rows);
  if (done >= 0)
    transpose_edge(in + done * is, is, out + done * 4, os, rows - done, cols, 4);
  else
    transpose_u32(in, is, out, os, rows, cols);
}
