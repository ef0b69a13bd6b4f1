/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_body.h - the steps of Winograd's convolution over the SIMD vocabulary. Cannot fail, no globals.
 */
#include "kern/blocks/winograd.h"
#include "kern/blocks/winograd_points.h"
#include "kern/simd/act_f32.h"
#include "kern/simd/sums.h"

#define WINO_NAME(stem) OX_PASTE(stem, WINO_ISA)

enum { L = VF32_LANES, PER_BLOCK = OX_BLOCK / VF32_LANES };

/* B^T d of |n| points along one axis, of every |step|-th d. */
OX_INLINE void interpolate_in(int n, int step, const vf32 *d, vf32 *o) {
  const int half = n / 2 - 1;
  const ox_wino_points *pt = ox_wino_points_of(n);
  vf32 first = d[2 * half * step], last = d[(2 * half + 1) * step];
  OX_UNROLL for (int k = half - 1; k >= 0; k--) {
    first = vf32_fma(vf32_splat(pt->q[k]), d[2 * k * step], first);
    last = vf32_fma(vf32_splat(pt->q[k]), d[(2 * k + 1) * step], last);
  }
  o[0] = first, o[n - 1] = last;
  OX_UNROLL for (int i = 0; i < half; i++) {
    vf32 even = d[2 * half * step], odd = d[(2 * half - 1) * step];
    OX_UNROLL for (int k = half - 2; k >= 0; k--) {
      even = vf32_fma(vf32_splat(pt->without[i][k]), d[(2 * k + 2) * step], even);
      odd = vf32_fma(vf32_splat(pt->without[i][k]), d[(2 * k + 1) * step], odd);
    }
    if (pt->p[i] == 1) {
      o[1 + 2 * i] = vf32_add(even, odd), o[2 + 2 * i] = vf32_sub(even, odd);
    } else {
      o[1 + 2 * i] = vf32_fma(vf32_splat(pt->p[i]), odd, even);
      o[2 + 2 * i] = vf32_fnma(vf32_splat(pt->p[i]), odd, even);
    }
  }
}

/* A^T v of |n| points along one axis. */
OX_INLINE void interpolate_out(int n, int m, const vf32 *v, vf32 *o) {
  const int half = n / 2 - 1;
  const ox_wino_points *pt = ox_wino_points_of(n);
  vf32 sum[OX_WINO_PAIRS], dif[OX_WINO_PAIRS];
  float pw[OX_WINO_PAIRS];
  OX_UNROLL for (int i = 0; i < half; i++) {
    sum[i] = vf32_add(v[1 + 2 * i], v[2 + 2 * i]), dif[i] = vf32_sub(v[1 + 2 * i], v[2 + 2 * i]);
    pw[i] = 1;
  }
  OX_UNROLL for (int j = 0; j < m; j++) {
    const vf32 *s = j % 2 ? dif : sum;
    vf32 acc = j == 0       ? vf32_add(v[0], s[0])
               : j == m - 1 ? vf32_fma(vf32_splat(pw[0]), s[0], v[n - 1])
               : pw[0] == 1 ? s[0]
                            : vf32_mul(vf32_splat(pw[0]), s[0]);
    OX_UNROLL for (int i = 1; i < half; i++) acc =
        pw[i] == 1 ? vf32_add(acc, s[i]) : vf32_fma(vf32_splat(pw[i]), s[i], acc);
    o[j] = acc;
    OX_UNROLL for (int i = 0; i < half; i++) pw[i] *= pt->p[i];
  }
}

OX_INLINE void transform_in(ox_wino_kind kind, const vf32 *d, vf32 *o) {
  const int n = ox_wino_interpolated(kind);
  if (kind == OX_WINO_F2_STRIDE2) {
    o[0] = vf32_sub(d[0], d[2]), o[1] = d[2], o[2] = vf32_sub(d[4], d[2]), o[3] = d[1], o[4] = d[3];
    return;
  }
  interpolate_in(n, ox_wino_stride(kind), d, o);
  OX_UNROLL for (int i = n; i < ox_wino_n(kind); i++) o[i] = d[2 * (i - n) + 1];
}

OX_INLINE void transform_out(ox_wino_kind kind, const vf32 *v, vf32 *o) {
  const int m = ox_wino_m(kind), n = ox_wino_interpolated(kind);
  if (kind == OX_WINO_F2_STRIDE2) {
    o[0] = vf32_add(vf32_add(v[0], v[1]), v[3]), o[1] = vf32_add(vf32_add(v[2], v[1]), v[4]);
    return;
  }
  interpolate_out(n, m, v, o);
  OX_UNROLL for (int i = n; i < ox_wino_n(kind); i++) o[i - n] = vf32_add(o[i - n], v[i]);
}

/* ---- input ---- */

/* Transforms columns [begin, end) of those that the span's tiles read, each once. Rows [lo, hi) of the n are inside the
 * image. */
OX_INLINE void columns_in(ox_wino_kind k, const float *x, int64_t row, int64_t column, float *rows, int64_t begin,
                          int64_t end, int lo, int hi, bool inside) {
  const int64_t ld = OX_WINO_COLUMNS(k) * OX_BLOCK;
  const int n = ox_wino_rows_n(k);
  for (int64_t c = begin; c < end; c++) OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L) {
      vf32 d[OX_WINO_MAX_N], o[OX_WINO_MAX_N];
      OX_UNROLL for (int r = 0; r < n; r++) d[r] =
          inside || (r >= lo && r < hi) ? vf32_load(x + r * row + c * column + l) : vf32_zero();
      if (n > 1)
        transform_in(k, d, o);
      else
        o[0] = d[0];
      OX_UNROLL for (int r = 0; r < n; r++) vf32_store(rows + r * ld + c * OX_BLOCK + l, o[r]);
    }
}

static void clear_columns(ox_wino_kind k, float *rows, int64_t begin, int64_t end) {
  const int64_t ld = OX_WINO_COLUMNS(k) * OX_BLOCK;
  for (int64_t c = begin * OX_BLOCK; c < end * OX_BLOCK; c += L)
    for (int r = 0; r < ox_wino_rows_n(k); r++) vf32_store(rows + r * ld + c, vf32_zero());
}

/* Transforms a row whose columns are |column| floats apart: to[point of the row][tile]. */
OX_INLINE void rows_in(ox_wino_kind k, const float *row, int64_t column, float *to, size_t v_point, size_t count) {
  const int n = ox_wino_n(k), step = ox_wino_step(k);
  for (size_t i = 0; i < count; i++, row += step * column, to += OX_BLOCK)
    OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L) {
      vf32 d[OX_WINO_MAX_N], o[OX_WINO_MAX_N];
      OX_UNROLL for (int j = 0; j < n; j++) d[j] = vf32_load(row + j * column + l);
      transform_in(k, d, o);
      OX_UNROLL for (int j = 0; j < n; j++) vf32_store(to + (size_t)j * v_point + l, o[j]);
    }
}

OX_INLINE void in_as(const ox_wino_in *t, ox_wino_kind k) {
  const ox_wino_image *g = t->image;
  const int64_t ld = OX_WINO_COLUMNS(k) * OX_BLOCK;
  const int n = ox_wino_n(k), rows_n = ox_wino_rows_n(k);
  const int64_t stride = ox_wino_stride(k), step = ox_wino_step(k), columns = (t->span.count - 1) * step + n;
  int64_t y = t->span.y * ox_wino_rows_stride(k) - g->pad_h, x = t->span.x * stride - g->pad_w;
  int64_t begin = OX_MIN(OX_MAX(-x, 0), columns), end = OX_MAX(OX_MIN(g->in_w - x, columns), begin);
  int lo = (int)OX_MIN(OX_MAX(-y, 0), rows_n), hi = (int)OX_MAX(OX_MIN(g->in_h - y, rows_n), lo);
  const size_t inputs = t->strip->inputs, v_point = t->strip->v_point;
  float *const rows = t->rows;
  clear_columns(k, rows, 0, begin);
  clear_columns(k, rows, end, columns);
  for (int64_t b = t->block0; b < t->block1; b++) {
    const float *from = g->x + b * g->x_block + g->slice * g->x_slice + y * g->x_row + x * g->x_column;
    float *to = t->v + ((size_t)b * inputs + t->span.at) * OX_BLOCK;
    if (rows_n == 1 && begin == 0 && end == columns) { /* a line inside the image */
      rows_in(k, from, g->x_column, to, v_point, (size_t)t->span.count);
      continue;
    }
    if (lo == 0 && hi == rows_n)
      columns_in(k, from, g->x_row, g->x_column, rows, begin, end, lo, hi, true);
    else
      columns_in(k, from, g->x_row, g->x_column, rows, begin, end, lo, hi, false);
    for (int r = 0; r < rows_n; r++, to += (size_t)n * v_point)
      rows_in(k, rows + r * ld, OX_BLOCK, to, v_point, (size_t)t->span.count);
  }
}

/* ---- products ---- */

/* Adds the products of all input channels. |ahead|: the weights that follow, perhaps not in cache; |step| floats of
 * them are prefetched for each channel. */
OX_INLINE void mul_channels(const ox_wino_mul *t, const float *u, const float *v, const float *ahead, size_t step,
                            vf32 (*acc)[WINO_NV], int mr, int nv) {
  for (size_t c = 0; c < t->ic; c += OX_BLOCK, v += t->inputs * OX_BLOCK) {
    for (const float *a = v, *end = v + OX_MIN(t->ic - c, OX_BLOCK); a < end; a++, u += t->u_step) {
      if (step) {
        OX_PREFETCH_L2(ahead);
        if (step > OX_BLOCK) OX_PREFETCH_L2(ahead + OX_BLOCK);
        ahead += step;
      }
      vf32 b[WINO_NV];
      OX_UNROLL for (int j = 0; j < nv; j++) b[j] = vf32_load(u + j * L);
      OX_UNROLL for (int i = 0; i < mr; i++) {
        vf32 ai = vf32_splat(a[i * OX_BLOCK]);
        OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_fma(ai, b[j], acc[i][j]);
      }
    }
  }
}

#ifdef WINO_SUMS
/* The same for four to six tiles by two vectors. */
OX_INLINE void mul_channels_in_sums(const ox_wino_mul *t, const float *u, const float *v, const float *ahead,
                                    size_t step, vf32 (*acc)[WINO_NV], const int mr) {
  const ptrdiff_t tile = OX_BLOCK * sizeof(float);
#define WINO_STEP(k)                                    \
  {                                                     \
    const vf32 b[2] = {vf32_load(u), vf32_load(u + L)}; \
    OX_SUMS_STEP(acc, mr, a, a1, tile, k, b);           \
    u += t->u_step;                                     \
  }
  OX_SUMS_OPEN(acc, mr);
  for (size_t c = 0; c < t->ic; c += OX_BLOCK, v += t->inputs * OX_BLOCK) {
    const float *a = v, *a1 = v + (mr + 1) / 2 * OX_BLOCK, *end = v + OX_MIN(t->ic - c, OX_BLOCK);
    for (; end - a >= 4; a += 4, a1 += 4) {
      if (step) {
        OX_UNROLL for (int k = 0; k < 4; k++, ahead += step) {
          OX_PREFETCH_L2(ahead);
          if (step > OX_BLOCK) OX_PREFETCH_L2(ahead + OX_BLOCK);
        }
      }
      OX_FOUR(WINO_STEP)
    }
    for (; a < end; a++, a1++) {
      WINO_STEP(0)
    }
  }
  OX_SUMS_CLOSE(acc, mr);
#undef WINO_STEP
}
#endif

OX_INLINE void mul_tile(const ox_wino_mul *t, size_t row, size_t col, const float *ahead, size_t step, int mr, int nv) {
  const float *u = t->u + col, *v = t->v + row * OX_BLOCK;
  vf32 acc[WINO_MR][WINO_NV];
  float *m = t->m + row * t->width + col;
  if (t->add) {
    OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] =
        vf32_load(m + (size_t)i * t->width + j * L);
  } else {
    OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_zero();
  }
#ifdef WINO_SUMS
  if (mr >= 4)
    mul_channels_in_sums(t, u, v, ahead, step, acc, mr);
  else
#endif
    mul_channels(t, u, v, ahead, step, acc, mr, nv);
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      vf32_store(m + (size_t)i * t->width + j * L, acc[i][j]);
}

OX_INLINE void mul_columns(const ox_wino_mul *t, size_t col, int nv) {
  size_t tiles = t->tiles, steps = OX_CEIL_DIV(tiles, WINO_MR), row = 0;
  for (size_t s = 0; s < steps; s++) { /* of nearly equal size: 16 tiles by at most 14 are 8 8 */
    size_t rows = tiles / steps + (s < tiles % steps);
    bool fetches = t->ahead && col == 0 && s * OX_BLOCK < t->width; /* each of two steps prefetches one half */
    const float *ahead = fetches ? t->ahead + t->ic * s * OX_BLOCK : t->u;
    size_t fetch = !fetches ? 0 : steps == 1 ? t->width : OX_BLOCK;
    switch (rows) {
#define WINO_ROWS(n)                                              \
  case n:                                                         \
    if (n <= WINO_MR) mul_tile(t, row, col, ahead, fetch, n, nv); \
    break;
      WINO_ROWS(1)
      WINO_ROWS(2)
      WINO_ROWS(3)
      WINO_ROWS(4)
#if WINO_MR > 4
      WINO_ROWS(5)
      WINO_ROWS(6)
#endif
#if WINO_MR > 6
      WINO_ROWS(7)
      WINO_ROWS(8)
      WINO_ROWS(9)
      WINO_ROWS(10)
      WINO_ROWS(11)
      WINO_ROWS(12)
      WINO_ROWS(13)
      WINO_ROWS(14)
#endif
#undef WINO_ROWS
    }
    row += rows;
  }
}

static void mul(const ox_wino_mul *t) {
  size_t col = 0;
  for (; t->width - col >= WINO_NV * L; col += WINO_NV * L) mul_columns(t, col, WINO_NV);
#if WINO_NV * VF32_LANES > 16
  if (col < t->width) mul_columns(t, col, WINO_NV / 2);
#endif
}

#include "kern/blocks/winograd_out_body.h"
#include "kern/blocks/winograd_filter_body.h"

#define WINO_STEPS(k)                                         \
  static void in_##k(const ox_wino_in *t) { in_as(t, k); }    \
  static void out_##k(const ox_wino_out *t) { out_as(t, k); } \
  static void filter_##k(const float *f, size_t width, float *u, size_t u_point) { filter_as(k, f, width, u, u_point); }
WINO_STEPS(OX_WINO_F2)
WINO_STEPS(OX_WINO_F4)
WINO_STEPS(OX_WINO_F2_STRIDE2)
WINO_STEPS(OX_WINO_LINE3)
WINO_STEPS(OX_WINO_LINE5)
WINO_STEPS(OX_WINO_LINE7)
WINO_STEPS(OX_WINO_LONG_LINE)
WINO_STEPS(OX_WINO_LINE3_STRIDE2)
#define WINO_ROW(k, row) [k] = {in_##k, out_##k, filter_##k, row}

extern const ox_wino_variant WINO_NAME(ox_wino__);
const ox_wino_variant WINO_NAME(ox_wino__) = {
    .needs = WINO_NEEDS,
    .name = "winograd_" OX_QUOTE(WINO_ISA),
    .macs_per_ns = WINO_RATE,
    .transform_ns = {[OX_WINO_F2] = WINO_F2_NS,
                     [OX_WINO_F4] = WINO_F4_NS,
                     [OX_WINO_F2_STRIDE2] = WINO_F2_STRIDE2_NS,
                     [OX_WINO_LINE3] = WINO_LINE8_NS,
                     [OX_WINO_LINE5] = WINO_LINE10_NS,
                     [OX_WINO_LINE7] = WINO_LINE10_NS,
                     [OX_WINO_LONG_LINE] = WINO_LINE10_NS,
                     [OX_WINO_LINE3_STRIDE2] = WINO_LINE10_NS},
    .steps = {WINO_ROW(OX_WINO_F2, NULL), WINO_ROW(OX_WINO_F4, filter_row4), WINO_ROW(OX_WINO_F2_STRIDE2, NULL),
              WINO_ROW(OX_WINO_LINE3, NULL), WINO_ROW(OX_WINO_LINE5, NULL), WINO_ROW(OX_WINO_LINE7, NULL),
              WINO_ROW(OX_WINO_LONG_LINE, NULL), WINO_ROW(OX_WINO_LINE3_STRIDE2, NULL)},
    .mul = mul};
