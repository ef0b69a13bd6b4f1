/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/split_product_body.h - the functions of ox_split_kernels, over split_terms.h. Parameters: SPLIT_KERNELS,
 * the table's name, SPLIT_NEEDS, SPLIT_ISA, its name as a string. */
#include <string.h>

#include "base/pages.h"
#include "kern/gemm/split_terms.h"

enum { NR = OX_SPLIT_SIDE };
#include "kern/gemm/gemm_f32_store.h"

/* Splits 32 elements of a row of A, or |k| of them padded with zeros. */
OX_INLINE void split_row(const float *a, ptrdiff_t ks, size_t k, char *to, size_t term, const int terms) {
  _Alignas(64) float gathered[OX_SPLIT_K] = {0};
  const float *row = gathered;
  if (ks == 1 && k >= OX_SPLIT_K)
    row = a;
  else
    for (size_t i = 0; i < OX_MIN(k, (size_t)OX_SPLIT_K); i++) gathered[i] = ((const ox_f32u *)a)[(ptrdiff_t)i * ks];
  OX_UNROLL for (size_t p = 0; p < 16; p += VF32_LANES) {
    vf32 x0 = vf32_load(row + 2 * p), x1 = vf32_load(row + 2 * p + VF32_LANES);
    split_pairs(vb_even(x0, x1), vb_odd(x0, x1), to + 4 * p, term, terms);
  }
}

OX_INLINE void split_rows_as(const float *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows, size_t all, size_t k, char *to,
                             size_t term, size_t step, const int terms) {
  for (size_t k0 = 0; k0 < k; k0 += OX_SPLIT_K, to += step) {
    const float *from = a + (ptrdiff_t)k0 * ks;
    for (size_t i = 0; i < rows; i++, from += rs) split_row(from, ks, k - k0, to + i * 64, term, terms);
    for (int t = 0; t < terms && rows < all; t++) memset(to + (size_t)t * term + rows * 64, 0, (all - rows) * 64);
  }
}

static void split_rows(int terms, const float *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows, size_t all, size_t k,
                       char *to, size_t term, size_t step) {
  if (terms == 3)
    split_rows_as(a, rs, ks, rows, all, k, to, term, step, 3);
  else if (terms == 2)
    split_rows_as(a, rs, ks, rows, all, k, to, term, step, 2);
  else
    split_rows_as(a, rs, ks, rows, all, k, to, term, step, 1);
}

OX_INLINE void split_columns_as(const float *b, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t w, char *to,
                                const int terms) {
  for (size_t k0 = 0; k0 < k; k0 += OX_SPLIT_K, to += OX_SPLIT_RECORD) {
    _Alignas(64) float block[OX_SPLIT_K * OX_SPLIT_SIDE];
    const ox_f32u *from = (const ox_f32u *)b + (ptrdiff_t)k0 * ks;
    size_t kn = OX_MIN(k - k0, (size_t)OX_SPLIT_K);
    bool whole = ns == 1 && w == OX_SPLIT_SIDE && kn == OX_SPLIT_K;
    if (!whole) {
      if (w < OX_SPLIT_SIDE || kn < OX_SPLIT_K) memset(block, 0, sizeof block);
      for (size_t i = 0; ns == 1 && i < kn; i++)
        memcpy(block + i * OX_SPLIT_SIDE, from + (ptrdiff_t)i * ks, w * sizeof *block);
      for (size_t j = 0; ns != 1 && j < w; j++)
        for (size_t i = 0; i < kn; i++) block[i * OX_SPLIT_SIDE + j] = from[(ptrdiff_t)i * ks + (ptrdiff_t)j * ns];
    }
    const float *row = whole ? (const float *)from : block;
    ptrdiff_t step = whole ? ks : OX_SPLIT_SIDE;
    for (size_t p = 0; p < PAIRS; p++, row += 2 * step) split_pair_of_rows(row, step, to + p * 64, terms);
  }
}

static void split_columns(int terms, const float *b, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t w, char *to) {
  if (terms == 3)
    split_columns_as(b, ks, ns, k, w, to, 3);
  else if (terms == 2)
    split_columns_as(b, ks, ns, k, w, to, 2);
  else
    split_columns_as(b, ks, ns, k, w, to, 1);
}

/* Computes the sums of a row again from the floats where they are not finite. */
static void redo_row(const ox_gemm_tile *t, ptrdiff_t b_ns, size_t row, float *sums) {
  const ox_f32u *a = (const ox_f32u *)t->a + (ptrdiff_t)row * t->a_rs, *b = t->b;
  for (size_t j = 0; j < t->n; j += VF32_LANES) {
    size_t n = vf32_lanes_at(j, t->n);
    vf32 sum = vf32_zero();
    for (size_t k = 0; k < t->k; k++) {
      const ox_f32u *from = b + (ptrdiff_t)(k * t->b_ks) + (ptrdiff_t)j * b_ns;
      float gathered[VF32_LANES] = {0};
      for (size_t i = 0; i < n && b_ns != 1; i++) gathered[i] = from[(ptrdiff_t)i * b_ns];
      vf32 x = b_ns == 1 ? vf32_load_n((const float *)from, n) : vf32_load(gathered);
      sum = vf32_fma(vf32_splat(a[(ptrdiff_t)k * t->a_ks]), x, sum);
    }
    vf32 was = vf32_load(sums + j);
    vm32 finite = vf32_lt(vf32_abs(was), vf32_splat(__builtin_inff()));
    vf32_store(sums + j, vf32_select(finite, was, sum));
  }
}

static OX_NOINLINE void redo(const ox_gemm_tile *t, ptrdiff_t b_ns, float *sums) {
  for (size_t i = 0; i < t->m; i++)
    if (!split_all_finite(sums + i * NR, NR)) redo_row(t, b_ns, i, sums + i * NR);
}

static void split_finish(const ox_gemm_tile *t, ptrdiff_t b_ns, float *sums) {
  if (OX_UNLIKELY(!split_all_finite(sums, t->m * NR))) redo(t, b_ns, sums);
  finish(t, sums);
}

/* ---- pixels ---- */

/* Touches the pages of the next pair of blocks: to find out their addresses takes as long as splitting many pixels. */
OX_INLINE void touch_next(const float *x0, const float *x1, size_t n, ptrdiff_t step) {
  const ptrdiff_t pair = 2 * (x1 - x0), page = OX_PAGE_BYTES / sizeof(float);
  for (ptrdiff_t at = 0; at < (ptrdiff_t)n * step; at += page) {
    OX_PREFETCH_L2(x0 + pair + at);
    OX_PREFETCH_L2(x1 + pair + at);
  }
}

OX_INLINE void split_pixels_as(const float *x0, const float *x1, size_t lanes0, size_t lanes1, size_t n, ptrdiff_t step,
                               char *to, size_t term, const int terms, const bool whole) {
  if (whole) touch_next(x0, x1, n, step);
  for (size_t i = 0; i < n; i++, x0 += step, x1 += step, to += 64) {
    if (whole) OX_PREFETCH(x0 + 32 * step);
    if (whole) OX_PREFETCH(x1 + 32 * step);
    OX_UNROLL for (size_t j = 0; j < 16; j += VF32_LANES) {
      vf32 v0 = whole ? vf32_load(x0 + j) : vf32_load_n(x0 + j, j < lanes0 ? vf32_lanes_at(j, lanes0) : 0);
      vf32 v1 = whole ? vf32_load(x1 + j) : vf32_load_n(x1 + j, j < lanes1 ? vf32_lanes_at(j, lanes1) : 0);
      split_pairs(v0, v1, to + 4 * j, term, terms);
    }
  }
}

static void split_pixels(int terms, const float *x0, const float *x1, size_t lanes0, size_t lanes1, size_t n,
                         ptrdiff_t step, char *to, size_t term) {
  if (terms == 3 && lanes0 + lanes1 == 32)
    split_pixels_as(x0, x1, lanes0, lanes1, n, step, to, term, 3, true);
  else if (terms == 3)
    split_pixels_as(x0, x1, lanes0, lanes1, n, step, to, term, 3, false);
  else if (terms == 2)
    split_pixels_as(x0, x1, lanes0, lanes1, n, step, to, term, 2, false);
  else
    split_pixels_as(x0, x1, lanes0, lanes1, n, step, to, term, 1, false);
}

enum { PIXELS_AHEAD = 16 }; /* prefetch distance */

/* Stores one half, 16 channels of each pixel. */
OX_INLINE void finish_half(const ox_split_pixels *p, int half) {
  const float *sums = p->sums + half * 16, *z = p->z[half], *slope = p->slope[half];
  float *y = p->y[half];
  for (size_t i = 0; i < p->n; i++, sums += NR) {
    const ptrdiff_t at = p->at[i];
    OX_UNROLL for (size_t j = 0; at >= 0 && j < 16; j += VF32_LANES) {
      vf32 v = vf32_add(vf32_load(sums + j), vf32_load(p->bias + half * 16 + j));
      if (z) v = vf32_add(v, vf32_load(z + at + j));
      v = slope ? vf32_prelu(v, vf32_load(slope + j)) : vf32_act(p->act, v);
      vf32_store(y + at + j, v);
    }
  }
}

/* 16 channels of a pixel; the activation is a clamp. */
OX_INLINE void finish_clamped(const float *sums, const float *bias, const float *z, float *y, vf32 lo, vf32 hi) {
  OX_UNROLL for (size_t j = 0; j < 16; j += VF32_LANES) {
    vf32 v = vf32_add(vf32_load(sums + j), vf32_load(bias + j));
    if (z) v = vf32_add(v, vf32_load(z + j));
    vf32_store(y + j, vf32_min(hi, vf32_max(lo, v)));
  }
}

/* Both halves. Few instructions are between the sums and Y: with little k, they take longer than the products. */
OX_INLINE void finish_both(const ox_split_pixels *p, const bool with_z) {
  const ox_act act = p->act;
  const vf32 lo = vf32_splat(act.kind == OX_ACT_RELU ? 0 : act.kind == OX_ACT_CLIP ? act.a : -__builtin_inff());
  const vf32 hi = vf32_splat(act.kind == OX_ACT_CLIP ? act.b : __builtin_inff());
  float *const y0 = p->y[0], *const y1 = p->y[1];
  const float *const z0 = p->z[0], *const z1 = p->z[1], *sums = p->sums;
  const bool other_z = with_z && z0 != y0;
  for (const ptrdiff_t *i = p->at, *end = i + p->n; i < end; i++, sums += NR) {
    const ptrdiff_t at = *i, next = i[OX_SPLIT_PIXELS_AHEAD];
    if (next >= 0) {
      OX_PREFETCH_WRITE(y0 + next);
      OX_PREFETCH_WRITE(y1 + next);
      if (other_z) OX_PREFETCH(z0 + next);
      if (other_z) OX_PREFETCH(z1 + next);
    }
    if (at < 0) continue;
    finish_clamped(sums, p->bias, with_z ? z0 + at : NULL, y0 + at, lo, hi);
    finish_clamped(sums + 16, p->bias + 16, with_z ? z1 + at : NULL, y1 + at, lo, hi);
  }
}

static bool finish_pixels(const ox_split_pixels *p, bool any) {
  if (!any && !split_all_finite(p->sums, p->n * NR)) return false;
  const bool clamps = p->act.kind == OX_ACT_NONE || p->act.kind == OX_ACT_RELU || p->act.kind == OX_ACT_CLIP;
  if (OX_UNLIKELY(!clamps || p->slope[0] || !p->y[1])) {
    for (int half = 0; half < 2; half++)
      if (p->y[half]) finish_half(p, half);
  } else if (p->z[0]) {
    finish_both(p, true);
  } else {
    finish_both(p, false);
  }
  return true;
}

static void split_begin(void) { vt_begin(); }
static void split_end(void) { vt_end(); }

extern const ox_split_kernels SPLIT_KERNELS;
const ox_split_kernels SPLIT_KERNELS = {SPLIT_NEEDS,   SPLIT_ISA,      split_begin,  split_end,     split_rows,
                                        split_columns, split_multiply, split_pixels, finish_pixels, split_finish};
