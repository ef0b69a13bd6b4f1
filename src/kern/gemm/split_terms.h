/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/split_terms.h - splitting floats into bfloat16 terms, and multiplying records (gemm/split_product.h).
 * Include a simd/f32_<isa>.h, its bf16_<isa>.h and a tile_<unit>.h first. */
#ifndef OX_GEMM_SPLIT_TERMS_H
#define OX_GEMM_SPLIT_TERMS_H

#include <stdbool.h>
#include <stddef.h>

#include "kern/gemm/split_product.h"

enum { TERM = OX_SPLIT_TERM };

/* ---- terms ---- */

/* Writes VF32_LANES pairs of each term. With hi = x rounded to 8 bits, x - hi is exact and has 16 bits, and so on:
 * three terms are x exactly. Rounding is done on the integer representation, half away from zero, so for x not finite
 * the first terms may be anything, but then the last one is NaN. */
OX_INLINE void split_pairs(vf32 x0, vf32 x1, char *to, size_t term, const int terms) {
  const vi32 half = vi32_splat(0x8000), high = vi32_splat(-0x10000);
  OX_UNROLL for (int t = 0; t < terms; t++) {
    int32_t *p = (int32_t *)(void *)(to + (size_t)t * term);
    if (t == 2) {
      vi32_store(p, vb_join(x0, x1)); /* exact */
    } else if (t == terms - 1) {
      vi32_store(p, vb_pair(x0, x1));
    } else {
      vf32 h0 = vi32_as_f32(vi32_and(vi32_add(vf32_bits(x0), half), high));
      vf32 h1 = vi32_as_f32(vi32_and(vi32_add(vf32_bits(x1), half), high));
      vi32_store(p, vb_join(h0, h1));
      x0 = vf32_sub(x0, h0), x1 = vf32_sub(x1, h1);
    }
  }
}

/* Splits 32 columns of two rows of a record of B. */
OX_INLINE void split_pair_of_rows(const float *row, ptrdiff_t ks, char *to, const int terms) {
  OX_UNROLL for (int h = 0; h < 2; h++) OX_UNROLL for (size_t j = 0; j < 16; j += VF32_LANES)
      split_pairs(vf32_load(row + h * 16 + j), vf32_load(row + ks + h * 16 + j), to + (size_t)h * OX_SPLIT_TILE + 4 * j,
                  TERM, terms);
}

/* ---- work beside the products: splitting the next records of B, storing the last sums ---- */

enum { PAIRS = 16 };
enum { TRAIL_ROWS = 8, TRAIL_WAIT = 2 }; /* rows stored at a time; groups of products before the first ones */
enum { FAR = 2, FAR_AT_ONCE = 8 };       /* records of B: prefetch distance; those that are touched at a time */

typedef struct aside {
  const float *from;
  bool fetch; /* what comes after |from| */
  ptrdiff_t ks;
  char *to;
  size_t p, left; /* pair within the record; pairs left in all */
  size_t due, due_step, due_all;
  ox_split_trail *trail;
  ptrdiff_t trail_due, trail_all; /* progress within a strip */
} aside;

/* |strip|: number of groups of products in a strip. */
OX_INLINE aside aside_begin(const ox_split_mul *m, size_t strips, size_t strip) {
  const ox_split_ahead *s = &m->ahead;
  aside h = {
      .from = s->from,
      .fetch = s->fetch,
      .ks = s->ks,
      .to = s->to,
      .trail = m->trail,
      .trail_all = (ptrdiff_t)(strip > 2 * TRAIL_WAIT ? strip - TRAIL_WAIT : strip),
  };
  if (s->from) h.left = s->pairs, h.due_step = h.left, h.due_all = strips * strip;
  return h;
}

/* Prefetches the rows that are split FAR records later, and a line of each of some records further on: those are often
 * a page each, and a page's first line waits for its address, which several pages can do at a time. */
OX_INLINE void fetch_far(const aside *h) {
  const float *far = h->from + FAR * OX_SPLIT_K * h->ks;
  OX_UNROLL for (int i = 0; i < 4; i++) OX_PREFETCH_L2(far + i / 2 * h->ks + i % 2 * 16);
  if (h->p || h->left / PAIRS % FAR_AT_ONCE) return;
  OX_UNROLL for (int i = 0; i < FAR_AT_ONCE; i++) OX_PREFETCH_L2(far + (FAR + i) * OX_SPLIT_K * h->ks);
}

/* Rows are read in the order of memory, which the hardware's prefetcher follows. */
OX_INLINE void split_ahead(aside *h, const int terms) {
  if (h->fetch) fetch_far(h);
  split_pair_of_rows(h->from, h->ks, h->to, terms);
  h->from += 2 * h->ks, h->to += 64, h->left--;
  if (++h->p == PAIRS) h->p = 0, h->to += OX_SPLIT_RECORD - TERM;
}

static OX_NOINLINE void trail_rows(ox_split_trail *t) {
  const size_t row = t->row, n = OX_MIN(t->end - row, (size_t)TRAIL_ROWS);
  t->row = row + n;
  t->finish(t->io, t->col, row, n, t->sums + row % OX_SPLIT_SIDE * OX_SPLIT_SIDE);
}

/* Does one group's share of the work: about one pair of rows for every group of four products. */
OX_INLINE void aside_some(aside *h, const int terms) {
  for (h->due += h->due_step; h->due >= h->due_all && h->left; h->due -= h->due_all) split_ahead(h, terms);
  h->trail_due += OX_SPLIT_SIDE / TRAIL_ROWS;
  for (; h->trail_due >= h->trail_all; h->trail_due -= h->trail_all)
    if (h->trail->row < h->trail->end) trail_rows(h->trail);
}

/* ---- products: tiles 0 to 3 hold sums, 4 and 5 A, 6 and 7 B ---- */

#define SPLIT_LOAD_A(t)                                   \
  do {                                                    \
    vt_load(4, a + (t)*m->a_term, 64);                    \
    if (two) vt_load(5, a + (t)*m->a_term + 16 * 64, 64); \
  } while (0)
#define SPLIT_LOAD_B(t)                           \
  do {                                            \
    vt_load(6, b + (t)*TERM, 64);                 \
    vt_load(7, b + OX_SPLIT_TILE + (t)*TERM, 64); \
  } while (0)
/* Four products, interleaved with prefetches of a tile of the next record of A. Records of B are read one after the
 * other, from L1 if they are few: prefetching them, too, makes convolutions 2 % slower. */
#define SPLIT_GROUP(tile_ahead)                                                               \
  do {                                                                                        \
    const char *line_ = a_next + (tile_ahead) / 2 * m->a_term + (tile_ahead) % 2 * (16 * 64); \
    vt_dot_bf16(0, 4, 6);                                                                     \
    vt_dot_bf16(1, 4, 7);                                                                     \
    OX_UNROLL for (int i_ = 0; i_ < 16; i_++) OX_PREFETCH(line_ + 64 * i_);                   \
    if (two) vt_dot_bf16(2, 5, 6);                                                            \
    if (two) vt_dot_bf16(3, 5, 7);                                                            \
    aside_some(h, terms);                                                                     \
  } while (0)

/* Multiplies 32 or 16 rows. Terms are ordered so that only one pair of tiles is loaded for every four products. */
OX_INLINE void multiply_strip(const ox_split_mul *m, const char *rows, float *sums, aside *h, const int terms,
                              const bool two) {
  VT_TILES;
  if (m->add) {
    vt_load(0, sums, 4 * OX_SPLIT_SIDE);
    vt_load(1, sums + 16, 4 * OX_SPLIT_SIDE);
    if (two) vt_load(2, sums + 16 * OX_SPLIT_SIDE, 4 * OX_SPLIT_SIDE);
    if (two) vt_load(3, sums + 16 * OX_SPLIT_SIDE + 16, 4 * OX_SPLIT_SIDE);
  } else {
    vt_zero(0);
    vt_zero(1);
    if (two) vt_zero(2);
    if (two) vt_zero(3);
  }
  h->trail_due = -(ptrdiff_t)(TRAIL_WAIT * OX_SPLIT_SIDE / TRAIL_ROWS); /* sums take a while to reach memory */
  const char *b = m->b;
  for (size_t i = 0; i < m->steps; i++, b += OX_SPLIT_RECORD) {
    const bool more = i + 1 < m->steps;
    const char *a = rows + m->a_at[i];
    const char *a_next = more ? rows + m->a_at[i + 1] : rows + OX_SPLIT_SIDE * 64 + m->a_at[0];
    if (terms == 3) {
      SPLIT_LOAD_A(2);
      SPLIT_LOAD_B(0);
      SPLIT_GROUP(0); /* lo hi */
      SPLIT_LOAD_A(1);
      SPLIT_GROUP(1); /* mid hi */
      SPLIT_LOAD_B(1);
      SPLIT_GROUP(2); /* mid mid */
      SPLIT_LOAD_A(0);
      SPLIT_GROUP(3); /* hi mid */
      SPLIT_LOAD_B(2);
      SPLIT_GROUP(4); /* hi lo */
      SPLIT_LOAD_B(0);
      SPLIT_GROUP(5); /* hi hi */
    } else if (terms == 2) {
      SPLIT_LOAD_A(1);
      SPLIT_LOAD_B(0);
      SPLIT_GROUP(0); /* mid hi */
      SPLIT_LOAD_A(0);
      SPLIT_LOAD_B(1);
      SPLIT_GROUP(1); /* hi mid */
      SPLIT_LOAD_B(0);
      SPLIT_GROUP(2); /* hi hi */
    } else {
      SPLIT_LOAD_A(0);
      SPLIT_LOAD_B(0);
      SPLIT_GROUP(0);
    }
  }
  while (h->trail->row < h->trail->end) trail_rows(h->trail); /* the new sums may overwrite them */
  vt_store(0, sums, 4 * OX_SPLIT_SIDE);
  vt_store(1, sums + 16, 4 * OX_SPLIT_SIDE);
  if (two) vt_store(2, sums + 16 * OX_SPLIT_SIDE, 4 * OX_SPLIT_SIDE);
  if (two) vt_store(3, sums + 16 * OX_SPLIT_SIDE + 16, 4 * OX_SPLIT_SIDE);
}

OX_INLINE void multiply_terms(const ox_split_mul *m, const int terms) {
  const char *rows = m->a;
  float *sums = m->sums;
  size_t strips = OX_CEIL_DIV(m->rows, (size_t)OX_SPLIT_SIDE), groups = terms == 3 ? 6 : terms == 2 ? 3 : 1;
  aside h = aside_begin(m, strips, m->steps * groups);
  for (size_t row = 0; row < m->rows; row += OX_SPLIT_SIDE, rows += OX_SPLIT_SIDE * 64, sums += m->sums_step) {
    if (m->rows - row > 16)
      multiply_strip(m, rows, sums, &h, terms, true);
    else
      multiply_strip(m, rows, sums, &h, terms, false);
    if (m->whole) {
      ox_split_trail *t = m->trail;
      t->col = m->col, t->row = row, t->end = OX_MIN(m->rows, row + OX_SPLIT_SIDE), t->sums = sums;
    }
  }
}

static void split_multiply(const ox_split_mul *m) {
  if (m->terms == 3)
    multiply_terms(m, 3);
  else if (m->terms == 2)
    multiply_terms(m, 2);
  else
    multiply_terms(m, 1);
}

/* |n|: whole rows. Zero times a number that is not finite is NaN. */
OX_INLINE bool split_all_finite(const float *sums, size_t n) {
  vf32 even = vf32_zero(), odd = vf32_zero();
  for (const float *end = sums + n; sums < end; sums += OX_SPLIT_SIDE)
    OX_UNROLL for (size_t j = 0; j < OX_SPLIT_SIDE; j += 2 * VF32_LANES) {
      even = vf32_fma(vf32_load(sums + j), vf32_zero(), even);
      odd = vf32_fma(vf32_load(sums + j + VF32_LANES), vf32_zero(), odd);
    }
  even = vf32_add(even, odd);
  return vm32_all(vf32_eq(even, even));
}

#endif
