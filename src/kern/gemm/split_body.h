/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/split_body.h - float32 products on a bfloat16 matrix unit: splitting into terms (gemm/split.h), and the
 * product of blocks of tiles. Of the nine products of terms the six largest count, which is as exact as float
 * multiply-adds. Include a simd/f32_<isa>.h, its bf16_<isa>.h and a tile_<unit>.h first.
 *
 * Not finite: the terms of an infinity are itself, 0 and 0, and 0 times the terms of the other side would add NaN to
 * the sum. So whatever sum is not finite is computed again, by float multiply-adds over the terms put together.
 * Denormal: the unit takes denormal terms for zero, so that terms below 2^-126 vanish. An error of at most 2^-126 times
 * the other factor. */
#ifndef OX_GEMM_SPLIT_BODY_H
#define OX_GEMM_SPLIT_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kern/gemm/split.h"

enum { SPLIT_LD = 2 * OX_SPLIT_ROWS, SPLIT_SUMS = SPLIT_LD * SPLIT_LD }; /* a block: 32 rows of 32 sums */

/* ---- splitting ---- */

OX_INLINE vi32 split_mag_(vf32 x) { return vi32_and(vf32_bits(x), vi32_splat(0x7fffffff)); }

/* The first term where rounding will not do (vb_lost): infinities and NaN stay what they are, what would round to
 * infinity is cut, denormals go away from zero, so that infinity times them is not NaN. */
OX_INLINE vf32 split_first_(vf32 x, vf32 rounded) {
  vi32 mag = split_mag_(x), bits = vf32_bits(x);
  vm32 denormal = vi32_lt(mag, vi32_splat(0x800000)), nan = vi32_gt(mag, vi32_splat(0x7f800000));
  bits = vi32_add(bits, vi32_select(denormal, vi32_splat(0xffff), vi32_zero()));
  bits = vi32_or(bits, vi32_select(nan, vi32_splat(0x400000), vi32_zero()));
  vm32 cut = vm32_or(denormal, vi32_gt(mag, vi32_splat(0x7f7f7fff)));
  return vf32_select(cut, vi32_as_f32(vi32_and(bits, vi32_splat(-0x10000))), rounded);
}
OX_INLINE vf32 split_rest_(vf32 x, vf32 first) {
  vi32 mag = split_mag_(x);
  vm32 has = vm32_and(vi32_gt(mag, vi32_splat(0x7fffff)), vi32_lt(mag, vi32_splat(0x7f800000)));
  return vf32_select(has, vf32_sub(x, first), vf32_zero());
}

/* VF32_LANES pairs of a row of a tile. */
OX_INLINE void split_pairs(vf32 x0, vf32 x1, char *to) {
  vi32 pair = vb_pair(x0, x1);
  vf32 first0 = vb_low(pair), first1 = vb_high(pair), rest0 = vf32_sub(x0, first0), rest1 = vf32_sub(x1, first1);
  if (OX_UNLIKELY(vm32_any(vm32_or(vb_lost(x0, first0), vb_lost(x1, first1))))) {
    first0 = split_first_(x0, first0), first1 = split_first_(x1, first1), pair = vb_join(first0, first1);
    rest0 = split_rest_(x0, first0), rest1 = split_rest_(x1, first1);
  }
  vi32_store((int32_t *)(void *)to, pair);
  pair = vb_pair(rest0, rest1);
  vi32_store((int32_t *)(void *)(to + OX_SPLIT_TERM), pair);
  pair = vb_pair(vf32_sub(rest0, vb_low(pair)), vf32_sub(rest1, vb_high(pair)));
  vi32_store((int32_t *)(void *)(to + 2 * OX_SPLIT_TERM), pair);
}

/* A row of a tile of A: k <= 32 floats, |ks| apart, at any address, and zeros. */
OX_INLINE void split_row(const float *a, ptrdiff_t ks, size_t k, char *to) {
  _Alignas(64) float gathered[OX_SPLIT_K] = {0};
  const float *row = gathered;
  if (ks == 1 && k == OX_SPLIT_K)
    row = a;
  else
    for (size_t i = 0; i < k; i++) gathered[i] = ((const ox_f32u *)a)[(ptrdiff_t)i * ks];
  OX_UNROLL for (size_t p = 0; p < 16; p += VF32_LANES)
      split_pairs(vf32_load(row + p), vf32_load(row + 16 + p), to + 4 * p);
}

/* A tile of B: k <= 32 rows, |ld| apart, of n <= 16 floats, and zeros. */
OX_INLINE void split_columns(const float *b, ptrdiff_t ld, size_t k, size_t n, char *to) {
  for (size_t p = 0; p < 16; p++, to += 64, b += ld)
    for (size_t j = 0; j < 16; j += VF32_LANES) {
      size_t lanes = j < n ? vf32_lanes_at(j, n) : 0;
      vf32 x0 = p < k ? vf32_load_n(b + j, lanes) : vf32_zero();
      vf32 x1 = p + 16 < k ? vf32_load_n(b + 16 * ld + j, lanes) : vf32_zero();
      split_pairs(x0, x1, to + 4 * j);
    }
}

/* ---- products ---- */

/* What makes a block: rows of tiles, one tile per 32 of k. Rows 16 to 31 are not computed unless |two|. */
typedef struct split_block {
  const char *a[2], *b[2];
  size_t a_step, b_step; /* bytes to the next 32 of k */
  size_t k_tiles;
  bool two;
} split_block;

/* Tiles 0 to 3: sums; 4, 5: A; 6, 7: B. One term of each side at a time: 16 loads for 24 products. */
#define SPLIT_LOAD_A(term)                              \
  do {                                                  \
    vt_load(4, a0 + (term)*OX_SPLIT_TERM, 64);          \
    if (two) vt_load(5, a1 + (term)*OX_SPLIT_TERM, 64); \
  } while (0)
#define SPLIT_LOAD_B(term)                     \
  do {                                         \
    vt_load(6, b0 + (term)*OX_SPLIT_TERM, 64); \
    vt_load(7, b1 + (term)*OX_SPLIT_TERM, 64); \
  } while (0)
#define SPLIT_DOTS                 \
  do {                             \
    vt_dot_bf16(0, 4, 6);          \
    vt_dot_bf16(1, 4, 7);          \
    if (two) vt_dot_bf16(2, 5, 6); \
    if (two) vt_dot_bf16(3, 5, 7); \
  } while (0)

OX_INLINE void split_multiply_(const split_block *s, float *sums, const bool two) {
  const char *a0 = s->a[0], *a1 = s->a[1], *b0 = s->b[0], *b1 = s->b[1];
  VT_TILES;
  vt_zero(0);
  vt_zero(1);
  vt_zero(2);
  vt_zero(3);
  for (size_t i = 0; i < s->k_tiles; i++, a0 += s->a_step, a1 += s->a_step, b0 += s->b_step, b1 += s->b_step) {
    SPLIT_LOAD_A(2);
    SPLIT_LOAD_B(0);
    SPLIT_DOTS; /* lo hi */
    SPLIT_LOAD_A(1);
    SPLIT_DOTS; /* mid hi */
    SPLIT_LOAD_B(1);
    SPLIT_DOTS; /* mid mid */
    SPLIT_LOAD_A(0);
    SPLIT_DOTS; /* hi mid */
    SPLIT_LOAD_B(2);
    SPLIT_DOTS; /* hi lo */
    SPLIT_LOAD_B(0);
    SPLIT_DOTS; /* hi hi */
  }
  vt_store(0, sums, 4 * SPLIT_LD);
  vt_store(1, sums + 16, 4 * SPLIT_LD);
  vt_store(2, sums + 16 * SPLIT_LD, 4 * SPLIT_LD);
  vt_store(3, sums + 16 * SPLIT_LD + 16, 4 * SPLIT_LD);
}

OX_INLINE bool split_all_finite_(const float *sums, size_t n) {
  vi32 most = vi32_zero();
  for (size_t i = 0; i < n; i += VF32_LANES) most = vi32_max(most, split_mag_(vf32_load(sums + i)));
  return !vm32_any(vi32_gt(most, vi32_splat(0x7f7fffff)));
}

/* The floats of a tile: pairs (i, p) to low[i * SPLIT_LD + p] and high[...]. */
static void split_whole_(const char *tile, float *low, float *high) {
  for (size_t i = 0; i < 16; i++, tile += 64, low += SPLIT_LD, high += SPLIT_LD)
    for (size_t p = 0; p < 16; p += VF32_LANES) {
      vi32 term[3];
      for (size_t t = 0; t < 3; t++) term[t] = vi32_load((const int32_t *)(const void *)(tile + t * OX_SPLIT_TERM) + p);
      vf32_store(low + p, vf32_add(vf32_add(vb_low(term[2]), vb_low(term[1])), vb_low(term[0])));
      vf32_store(high + p, vf32_add(vf32_add(vb_high(term[2]), vb_high(term[1])), vb_high(term[0])));
    }
}

static OX_NOINLINE void split_recompute_(const split_block *s, float *sums) {
  enum { LD = SPLIT_LD };
  float a[SPLIT_SUMS], b[SPLIT_SUMS], exact[SPLIT_SUMS] = {0};
  for (size_t t = 0; t < s->k_tiles; t++) {
    for (size_t h = 0; h < 2; h++) {
      if (h == 0 || s->two) split_whole_(s->a[h] + t * s->a_step, a + h * 16 * LD, a + h * 16 * LD + 16);
      split_whole_(s->b[h] + t * s->b_step, b + h * 16, b + 16 * LD + h * 16);
    }
    for (size_t i = 0; i < (s->two ? LD : LD / 2); i++)
      for (size_t k = 0; k < OX_SPLIT_K; k++)
        for (size_t j = 0; j < LD; j += VF32_LANES) {
          float *to = exact + i * LD + j;
          vf32_store(to, vf32_fma(vf32_splat(a[i * LD + k]), vf32_load(b + k * LD + j), vf32_load(to)));
        }
  }
  for (size_t i = 0; i < SPLIT_SUMS; i += VF32_LANES) {
    vf32 sum = vf32_load(sums + i);
    vm32 finite = vi32_lt(split_mag_(sum), vi32_splat(0x7f800000));
    vf32_store(sums + i, vf32_select(finite, sum, vf32_load(exact + i)));
  }
}

/* 32 x 32 sums: 64-byte aligned, rows of SPLIT_LD. Between vt_begin and vt_end. */
OX_INLINE void split_product(const split_block *s, float *sums) {
  if (s->two)
    split_multiply_(s, sums, true);
  else
    split_multiply_(s, sums, false);
  if (OX_UNLIKELY(!split_all_finite_(sums, SPLIT_SUMS))) split_recompute_(s, sums);
}

#endif
