/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_amxbf16.c - the tile functions of AVX-512, and float32 products as bfloat16 products on AMX: each
 * float is hi + mid + lo, and hi lo, mid mid, hi mid, hi hi and their mirror images are summed in float32. */
#include "kern/simd/f32_avx512.h"

#include "kern/conv/conv.h"

enum { TERM = 1024, TILE_BYTES = 3 * TERM }; /* bytes of one term of a tile: 16 rows of 64 */

/* ---- splitting ---- */
OX_INLINE __m512 rest_of(__m512 x, __m512 term) { /* infinities and NaN keep their first term only */
  return _mm512_maskz_sub_ps(_knot_mask16(_mm512_fpclass_ps_mask(term, 0x99)), x, term);
}

/* Rows k and k + 1 of 16 pixels, interleaved. */
OX_INLINE void split_pair(__m512 x0, __m512 x1, char *to) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  OX_UNROLL for (int i = 0; i < 3; i++) {
    __m512i both = _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(x1, x0));
    _mm512_storeu_si512(to + i * TERM, both);
    if (i == 2) break;
    x0 = rest_of(x0, _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)));
    x1 = rest_of(x1, _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000u))));
  }
}

static void split_b(float *dst, size_t step, const float *b, size_t ldb, size_t k, size_t n) {
  for (size_t ks = 0; ks < k; ks += OX_CONV_SPLIT_K, dst += step) {
    size_t rows = OX_MIN(k - ks, (size_t)OX_CONV_SPLIT_K);
    for (size_t col = 0; col < n; col += 16) {
      char *to = (char *)(dst + col / 16 * OX_CONV_SPLIT_TILE);
      const float *from = b + ks * ldb + col;
      __mmask16 m = vm32_first(OX_MIN(n - col, (size_t)16));
      for (size_t r = 0; r < OX_CONV_SPLIT_K; r += 2, to += 64) {
        __m512 x0 = r < rows ? _mm512_maskz_loadu_ps(m, from + r * ldb) : _mm512_setzero_ps();
        __m512 x1 = r + 1 < rows ? _mm512_maskz_loadu_ps(m, from + (r + 1) * ldb) : _mm512_setzero_ps();
        split_pair(x0, x1, to);
      }
    }
  }
}

/* 32 consecutive k of one channel: a row of an A tile. */
OX_INLINE void split_row(const float *w, size_t n, char *to) {
  __m512 x0 = vf32_load_n(w, OX_MIN(n, (size_t)16)), x1 = vf32_load_n(w + 16, n > 16 ? n - 16 : 0);
  OX_UNROLL for (int i = 0; i < 3; i++) {
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(x1, x0);
    _mm512_storeu_si512(to + i * TERM, both);
    if (i == 2) break;
    __m512i lo = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(both));
    __m512i hi = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(both, 1));
    x0 = rest_of(x0, _mm512_castsi512_ps(_mm512_slli_epi32(lo, 16)));
    x1 = rest_of(x1, _mm512_castsi512_ps(_mm512_slli_epi32(hi, 16)));
  }
}

static void split_w(float *dst, const float *w, int64_t oc, int64_t k, int64_t g0, int64_t g1) {
  int64_t panels = OX_CEIL_DIV(oc, 16), blocks = OX_CEIL_DIV(k, OX_CONV_SPLIT_K);
  for (int64_t g = g0; g < g1; g++)
    for (int64_t p = 0; p < panels; p++)
      for (int64_t b = 0; b < blocks; b++) {
        char *to = (char *)(dst + ((g * panels + p) * blocks + b) * OX_CONV_SPLIT_TILE);
        int64_t k0 = b * OX_CONV_SPLIT_K;
        for (int64_t r = 0; r < 16; r++) {
          int64_t o = p * 16 + r;
          split_row(w + (g * oc + OX_MIN(o, oc - 1)) * k + k0, o < oc ? (size_t)OX_MIN(k - k0, OX_CONV_SPLIT_K) : 0,
                    to + r * 64);
        }
      }
}

/* ---- products ---- */
/* Palette 1; eight tiles of 16 rows of 64 bytes. Constant: the intrinsic does not tell the compiler what it reads. */
static void split_begin(void) {
  static const uint8_t config[64] = {
      [0] = 1,   [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64, [26] = 64, [28] = 64, [30] = 64,
      [48] = 16, [49] = 16, [50] = 16, [51] = 16, [52] = 16, [53] = 16, [54] = 16, [55] = 16};
  _tile_loadconfig(config);
}
static void split_end(void) { _tile_release(); }

/* Tiles 0-3: C of two panels x two columns; 4, 5: A; 6, 7: B. One term of each at a time. */
#define LOAD_A(term)                    \
  _tile_loadd(4, a0 + (term)*TERM, 64); \
  _tile_loadd(5, a1 + (term)*TERM, 64);
#define LOAD_B(term)                    \
  _tile_loadd(6, b0 + (term)*TERM, 64); \
  _tile_loadd(7, b1 + (term)*TERM, 64);
#define PRODUCTS           \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7);

static void product(const char *a0, const char *a1, const char *b0, const char *b1, size_t step, size_t blocks,
                    float *out) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (size_t i = 0; i < blocks; i++, a0 += TILE_BYTES, a1 += TILE_BYTES, b0 += step, b1 += step) {
    LOAD_A(2)
    LOAD_B(0) PRODUCTS                     /* lo hi */
        LOAD_A(1) PRODUCTS                 /* mid hi */
            LOAD_B(1) PRODUCTS             /* mid mid */
                LOAD_A(0) PRODUCTS         /* hi mid */
                    LOAD_B(2) PRODUCTS     /* hi lo */
                        LOAD_B(0) PRODUCTS /* hi hi */
  }
  _tile_stored(0, out, 64);
  _tile_stored(1, out + 256, 64);
  _tile_stored(2, out + 512, 64);
  _tile_stored(3, out + 768, 64);
}

/* 16 x 16 sums to their place. */
static void put(const ox_conv_mul *t, const float *sums, size_t row, size_t col) {
  size_t n = OX_MIN(t->n - col, (size_t)16), rows = OX_MIN(t->m - row, (size_t)16);
  vf32 lo = vf32_splat(t->lo), hi = vf32_splat(t->hi);
  for (size_t i = 0; i < rows; i++) {
    size_t at = (row + i) * t->ldc + col;
    vf32 v = vf32_load(sums + i * 16);
    if (!t->first) v = vf32_add(v, vf32_load_n(t->c + at, n));
    if (t->last) {
      if (t->bias) v = vf32_add(v, vf32_splat(t->bias[row + i]));
      if (t->z) v = vf32_add(v, vf32_load_n(t->z + at, n));
      v = vf32_min(hi, vf32_max(lo, v));
    }
    vf32_store_n(t->c + at, v, n);
  }
}

static void split_mul(const ox_conv_mul *t) {
  size_t blocks = (t->k + OX_CONV_SPLIT_K - 1) / OX_CONV_SPLIT_K, step = t->ldb * sizeof(float);
  float sums[4 * 256];
  for (size_t col = 0; col < t->n; col += 32) {
    bool two = col + 16 < t->n;
    const char *b0 = (const char *)t->b + col / 16 * TILE_BYTES, *b1 = two ? b0 + TILE_BYTES : b0;
    for (size_t row = 0; row < t->m; row += 32) {
      bool both = row + 16 < t->m;
      const char *a0 = (const char *)(t->a + row / 16 * t->a_panel),
                 *a1 = both ? (const char *)(t->a + (row / 16 + 1) * t->a_panel) : a0;
      product(a0, a1, b0, b1, step, blocks, sums);
      put(t, sums, row, col);
      if (two) put(t, sums + 256, row, col + 16);
      if (both) put(t, sums + 512, row + 16, col);
      if (two && both) put(t, sums + 768, row + 16, col + 16);
    }
  }
}

#define CONV_ISA amxbf16
#define CONV_NEEDS OX_AMX_BF16
#define CONV_MR 8 /* as conv_f32_avx512.c */
#define CONV_NV 3
#define CONV_FEW_MR 13
#define CONV_FEW_NV 2
#define CONV_SPLIT split_mul, split_w, split_b, split_begin, split_end
#include "kern/conv/conv_f32_body.h"
