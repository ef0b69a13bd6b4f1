/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_split_body.h - products on a matrix unit, over gemm/split_body.h: packing weights, splitting blocks of
 * pixels, and blocks of sums to their place. Defines CONV_SPLIT, which conv_f32_body.h puts into the variant. */
#include "kern/conv/conv.h"
#include "kern/gemm/split_body.h"

_Static_assert((int)OX_CONV_PANEL == (int)OX_SPLIT_ROWS, "a panel of weights is a row of tiles");

static void split_b(float *dst, size_t step, const float *b, size_t ldb, size_t k, size_t n) {
  for (size_t k0 = 0; k0 < k; k0 += OX_SPLIT_K, dst += step)
    for (size_t col = 0; col < n; col += OX_SPLIT_ROWS)
      split_columns(b + k0 * ldb + col, (ptrdiff_t)ldb, OX_MIN(k - k0, (size_t)OX_SPLIT_K),
                    OX_MIN(n - col, (size_t)OX_SPLIT_ROWS), (char *)(dst + col / OX_SPLIT_ROWS * OX_CONV_SPLIT_TILE));
}

static void split_w(float *dst, const float *w, int64_t oc, int64_t k, int64_t g0, int64_t g1) {
  int64_t panels = OX_CEIL_DIV(oc, OX_SPLIT_ROWS), blocks = OX_CEIL_DIV(k, OX_SPLIT_K);
  for (int64_t g = g0; g < g1; g++)
    for (int64_t p = 0; p < panels; p++)
      for (int64_t b = 0; b < blocks; b++) {
        char *to = (char *)(dst + ((g * panels + p) * blocks + b) * OX_CONV_SPLIT_TILE);
        int64_t k0 = b * OX_SPLIT_K;
        for (int64_t r = 0; r < OX_SPLIT_ROWS; r++) {
          int64_t o = p * OX_SPLIT_ROWS + r;
          split_row(w + (g * oc + OX_MIN(o, oc - 1)) * k + k0, 1, o < oc ? (size_t)OX_MIN(k - k0, OX_SPLIT_K) : 0,
                    to + r * 64);
        }
      }
}

/* A block of sums to its place: rows from |row|, columns from |col| on. */
static void split_store(const ox_conv_mul *t, const float *sums, size_t row, size_t col) {
  size_t n = OX_MIN(t->n - col, (size_t)SPLIT_LD), rows = OX_MIN(t->m - row, (size_t)SPLIT_LD);
  vf32 lo = vf32_splat(t->lo), hi = vf32_splat(t->hi);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j += VF32_LANES) {
      size_t at = (row + i) * t->ldc + col + j, lanes = vf32_lanes_at(j, n);
      vf32 v = vf32_load(sums + i * SPLIT_LD + j);
      if (!t->first) v = vf32_add(v, vf32_load_n(t->c + at, lanes));
      if (t->last) {
        if (t->bias) v = vf32_add(v, vf32_splat(t->bias[row + i]));
        if (t->z) v = vf32_add(v, vf32_load_n(t->z + at, lanes));
        v = vf32_min(hi, vf32_max(lo, v));
      }
      vf32_store_n(t->c + at, v, lanes);
    }
}

static void split_mul(const ox_conv_mul *t) {
  _Alignas(64) float sums[SPLIT_SUMS];
  split_block s = {
      .a_step = OX_SPLIT_TILE, .b_step = t->ldb * sizeof(float), .k_tiles = OX_CEIL_DIV(t->k, (size_t)OX_SPLIT_K)};
  for (size_t col = 0; col < t->n; col += SPLIT_LD) {
    s.b[0] = (const char *)t->b + col / OX_SPLIT_ROWS * OX_SPLIT_TILE;
    s.b[1] = col + OX_SPLIT_ROWS < t->n ? s.b[0] + OX_SPLIT_TILE : s.b[0];
    for (size_t row = 0; row < t->m; row += SPLIT_LD) {
      s.two = row + OX_SPLIT_ROWS < t->m;
      s.a[0] = (const char *)(t->a + row / OX_SPLIT_ROWS * t->a_panel);
      s.a[1] = s.two ? (const char *)(t->a + (row / OX_SPLIT_ROWS + 1) * t->a_panel) : s.a[0];
      split_product(&s, sums);
      split_store(t, sums, row, col);
    }
  }
}

static void split_begin(void) { vt_begin(); }
static void split_end(void) { vt_end(); }

#define CONV_SPLIT split_mul, split_w, split_b, split_begin, split_end
