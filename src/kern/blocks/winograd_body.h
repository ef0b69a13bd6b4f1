/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_body.h - the steps of Winograd's convolution over the SIMD vocabulary. Cannot fail, no globals.
 */
#include "kern/blocks/winograd.h"
#include "kern/blocks/winograd_points.h"
#include "kern/simd/act_f32.h"

#define WINO_NAME(stem) OX_PASTE(stem, WINO_ISA)

enum { L = VF32_LANES, PER_BLOCK = OX_BLOCK / VF32_LANES };

/* B^T d along one axis. */
OX_INLINE void transform_in(ox_wino_kind kind, const vf32 *d, vf32 *o) {
  if (kind == OX_WINO_F2_STRIDE2) {
    o[0] = vf32_sub(d[0], d[2]), o[1] = d[2], o[2] = vf32_sub(d[4], d[2]), o[3] = d[1], o[4] = d[3];
    return;
  }
  const int m = ox_wino_m(kind);
  const ox_wino_points *pt = ox_wino_points_of(m);
  int half = m / 2;
  vf32 first = d[2 * half], last = d[2 * half + 1];
  OX_UNROLL for (int k = half - 1; k >= 0; k--) {
    first = vf32_fma(vf32_splat(pt->q[k]), d[2 * k], first);
    last = vf32_fma(vf32_splat(pt->q[k]), d[2 * k + 1], last);
  }
  o[0] = first, o[m + 1] = last;
  OX_UNROLL for (int i = 0; i < half; i++) {
    vf32 even = d[2 * half], odd = d[2 * half - 1];
    OX_UNROLL for (int k = half - 2; k >= 0; k--) {
      even = vf32_fma(vf32_splat(pt->without[i][k]), d[2 * k + 2], even);
      odd = vf32_fma(vf32_splat(pt->without[i][k]), d[2 * k + 1], odd);
    }
    if (pt->p[i] == 1) {
      o[1 + 2 * i] = vf32_add(even, odd), o[2 + 2 * i] = vf32_sub(even, odd);
    } else {
      o[1 + 2 * i] = vf32_fma(vf32_splat(pt->p[i]), odd, even);
      o[2 + 2 * i] = vf32_fnma(vf32_splat(pt->p[i]), odd, even);
    }
  }
}

/* A^T v along one axis. */
OX_INLINE void transform_out(ox_wino_kind kind, const vf32 *v, vf32 *o) {
  if (kind == OX_WINO_F2_STRIDE2) {
    o[0] = vf32_add(vf32_add(v[0], v[1]), v[3]), o[1] = vf32_add(vf32_add(v[2], v[1]), v[4]);
    return;
  }
  const int m = ox_wino_m(kind);
  const ox_wino_points *pt = ox_wino_points_of(m);
  int half = m / 2;
  vf32 sum[OX_WINO_PAIRS], dif[OX_WINO_PAIRS];
  float pw[OX_WINO_PAIRS];
  OX_UNROLL for (int i = 0; i < half; i++) {
    sum[i] = vf32_add(v[1 + 2 * i], v[2 + 2 * i]), dif[i] = vf32_sub(v[1 + 2 * i], v[2 + 2 * i]);
    pw[i] = 1;
  }
  OX_UNROLL for (int j = 0; j < m; j++) {
    const vf32 *s = j % 2 ? dif : sum;
    vf32 acc = j == 0       ? vf32_add(v[0], s[0])
               : j == m - 1 ? vf32_fma(vf32_splat(pw[0]), s[0], v[m + 1])
               : pw[0] == 1 ? s[0]
                            : vf32_mul(vf32_splat(pw[0]), s[0]);
    OX_UNROLL for (int i = 1; i < half; i++) acc =
        pw[i] == 1 ? vf32_add(acc, s[i]) : vf32_fma(vf32_splat(pw[i]), s[i], acc);
    o[j] = acc;
    OX_UNROLL for (int i = 0; i < half; i++) pw[i] *= pt->p[i];
  }
}

/* ---- input ---- */

/* Transforms columns [begin, end) of those that the span's tiles read, each once. Rows [lo, hi) of the n are inside the
 * image. */
OX_INLINE void columns_in(ox_wino_kind k, const float *x, int64_t row, int64_t column, float *rows, int64_t begin,
                          int64_t end, int lo, int hi, bool inside) {
  const int64_t ld = OX_WINO_COLUMNS(k) * OX_BLOCK;
  const int n = ox_wino_n(k);
  for (int64_t c = begin; c < end; c++) OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L) {
      vf32 d[OX_WINO_MAX_N], o[OX_WINO_MAX_N];
      OX_UNROLL for (int r = 0; r < n; r++) d[r] =
          inside || (r >= lo && r < hi) ? vf32_load(x + r * row + c * column + l) : vf32_zero();
      transform_in(k, d, o);
      OX_UNROLL for (int r = 0; r < n; r++) vf32_store(rows + r * ld + c * OX_BLOCK + l, o[r]);
    }
}

static void clear_columns(ox_wino_kind k, float *rows, int64_t begin, int64_t end) {
  const int64_t ld = OX_WINO_COLUMNS(k) * OX_BLOCK;
  for (int64_t c = begin * OX_BLOCK; c < end * OX_BLOCK; c += L)
    for (int r = 0; r < ox_wino_n(k); r++) vf32_store(rows + r * ld + c, vf32_zero());
}

/* Transforms one of the rows that columns_in has written: to[point of the row][tile]. */
OX_INLINE void rows_in(ox_wino_kind k, const float *row, float *to, size_t v_point, size_t count) {
  const int n = ox_wino_n(k), step = ox_wino_step(k);
  for (size_t i = 0; i < count; i++, row += step * OX_BLOCK, to += OX_BLOCK)
    OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L) {
      vf32 d[OX_WINO_MAX_N], o[OX_WINO_MAX_N];
      OX_UNROLL for (int j = 0; j < n; j++) d[j] = vf32_load(row + j * OX_BLOCK + l);
      transform_in(k, d, o);
      OX_UNROLL for (int j = 0; j < n; j++) vf32_store(to + (size_t)j * v_point + l, o[j]);
    }
}

OX_INLINE void in_as(const ox_wino_in *t, ox_wino_kind k) {
  const ox_wino_image *g = t->image;
  const int64_t ld = OX_WINO_COLUMNS(k) * OX_BLOCK;
  const int n = ox_wino_n(k);
  const int64_t stride = ox_wino_stride(k), step = ox_wino_step(k), columns = (t->span.count - 1) * step + n;
  int64_t y = t->span.y * stride - g->pad_h, x = t->span.x * stride - g->pad_w;
  int64_t begin = OX_MIN(OX_MAX(-x, 0), columns), end = OX_MAX(OX_MIN(g->in_w - x, columns), begin);
  int lo = (int)OX_MIN(OX_MAX(-y, 0), n), hi = (int)OX_MAX(OX_MIN(g->in_h - y, n), lo);
  const size_t tiles = t->strip->tiles, v_point = t->strip->v_point;
  float *const rows = t->rows;
  clear_columns(k, rows, 0, begin);
  clear_columns(k, rows, end, columns);
  for (int64_t b = t->block0; b < t->block1; b++) {
    const float *from = g->x + b * g->x_block + y * g->x_row + x * g->x_column;
    if (lo == 0 && hi == n)
      columns_in(k, from, g->x_row, g->x_column, rows, begin, end, lo, hi, true);
    else
      columns_in(k, from, g->x_row, g->x_column, rows, begin, end, lo, hi, false);
    float *to = t->v + ((size_t)b * tiles + t->span.at) * OX_BLOCK;
    for (int r = 0; r < n; r++, to += (size_t)n * v_point)
      rows_in(k, rows + r * ld, to, v_point, (size_t)t->span.count);
  }
}

/* ---- products ---- */

/* |ahead|: the weights that follow, perhaps not in cache; |step| floats of them are prefetched for each k. */
OX_INLINE void mul_tile(const ox_wino_mul *t, size_t row, size_t col, const float *ahead, size_t step, int mr, int nv) {
  const float *u = t->u + col, *v = t->v + row * OX_BLOCK;
  size_t v_block = t->strip->tiles * OX_BLOCK;
  vf32 acc[WINO_MR][WINO_NV];
  float *m = t->m + row * t->width + col;
  if (t->add) {
    OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] =
        vf32_load(m + (size_t)i * t->width + j * L);
  } else {
    OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_zero();
  }
  for (size_t c = 0; c < t->ic; c += OX_BLOCK, v += v_block) {
    size_t n = OX_MIN(t->ic - c, OX_BLOCK);
    for (const float *a = v, *end = v + n; a < end; a++, u += t->u_step, ahead += step) {
      OX_PREFETCH_L2(ahead);
      if (step > OX_BLOCK) OX_PREFETCH_L2(ahead + OX_BLOCK);
      vf32 b[WINO_NV];
      OX_UNROLL for (int j = 0; j < nv; j++) b[j] = vf32_load(u + j * L);
      OX_UNROLL for (int i = 0; i < mr; i++) {
        vf32 ai = vf32_splat(a[i * OX_BLOCK]);
        OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_fma(ai, b[j], acc[i][j]);
      }
    }
  }
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      vf32_store(m + (size_t)i * t->width + j * L, acc[i][j]);
}

OX_INLINE void mul_columns(const ox_wino_mul *t, size_t col, int nv) {
  size_t tiles = t->strip->tiles, steps = OX_CEIL_DIV(tiles, WINO_MR), row = 0;
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

/* ---- output ---- */

enum { LENT = 16 /* input channels that |borrow| is asked for at a time */ };

/* Reads the filters of |n| input channels from |c| on as [channel][tap][16]; lanes past the last filter become zero. */
static void borrow(const ox_wino_out *t, size_t c, size_t n, float *to) {
  float filter[LENT * 9];
  for (size_t k = 0; k < n * 9 * OX_BLOCK; k++) to[k] = 0;
  for (size_t l = 0; l < t->lanes; l++) {
    int64_t first = ((t->first_filter + (int64_t)l) * (int64_t)t->ic + (int64_t)c) * 9;
    t->lender->filters(t->lender->filters_ctx, first, (int64_t)(n * 9), filter);
    for (size_t k = 0; k < n * 9; k++) to[k * OX_BLOCK + l] = filter[k];
  }
}

/* The sums of tile |i| computed directly, if Winograd's algorithm gives infinities, NaN or huge numbers: there, one
 * such input affects every output of the tile. */
static void plain_sums(const ox_wino_out *t, ox_wino_kind kind, int64_t i, float *sums) {
  const ox_wino_image *g = t->image;
  const int m = ox_wino_m(kind);
  int64_t s = ox_wino_stride(kind), y0 = t->span.y * s - g->pad_h, x0 = (t->span.x + i * m) * s - g->pad_w;
  for (int k = 0; k < m * m * OX_BLOCK; k++) sums[k] = 0;
  float lent[LENT * 9 * OX_BLOCK];
  for (size_t c = 0; c < t->ic; c++) {
    const float *from = g->x + (int64_t)(c / OX_BLOCK) * g->x_block + c % OX_BLOCK;
    if (!t->filters && c % LENT == 0) borrow(t, c, t->ic - c < LENT ? t->ic - c : LENT, lent);
    for (int tap = 0; tap < 9; tap++) {
      const float *w =
          t->filters ? t->filters + (c * 9 + (size_t)tap) * t->width : lent + (c % LENT * 9 + (size_t)tap) * OX_BLOCK;
      for (int k = 0; k < m * m; k++) {
        int64_t y = y0 + k / m * s + tap / 3, x = x0 + k % m * s + tap % 3;
        if (y < 0 || y >= g->in_h || x < 0 || x >= g->in_w) continue;
        vf32 v = vf32_splat(from[y * g->x_row + x * g->x_column]);
        for (int l = 0; l < OX_BLOCK; l += L) {
          float *sum = sums + k * OX_BLOCK + l;
          vf32_store(sum, vf32_fma(v, vf32_load(w + l), vf32_load(sum)));
        }
      }
    }
  }
}

/* An activation that is no clamp, over |n| floats in cache. */
static void activate(const ox_act *act, float *v, int n) {
#define WINO_ACT(k)                                                                                            \
  case k:                                                                                                      \
    for (int i = 0; i < n; i += L) vf32_store(v + i, vf32_act((ox_act){k, act->a, act->b}, vf32_load(v + i))); \
    break; /* one loop per kind */
  switch (act->kind) {
    WINO_ACT(OX_ACT_LEAKY_RELU)
    WINO_ACT(OX_ACT_SIGMOID)
    WINO_ACT(OX_ACT_HARD_SWISH)
    WINO_ACT(OX_ACT_SILU)
    WINO_ACT(OX_ACT_GELU)
    default:
      for (int i = 0; i < n; i += L) vf32_store(v + i, vf32_act(*act, vf32_load(v + i)));
  }
#undef WINO_ACT
}

/* Applies clamp and slope to vector |l| of a block; NaN stays. */
OX_INLINE vf32 bend(const ox_wino_out *t, vf32 v, vf32 lo, vf32 hi, int l) {
  v = vf32_min(hi, vf32_max(lo, v));
  return t->slope ? vf32_prelu(v, vf32_load(t->slope + l * L)) : v;
}

OX_INLINE void load_bias(const ox_wino_out *t, vf32 *bias) {
  OX_UNROLL for (int l = 0; l < PER_BLOCK; l++) {
    size_t at = (size_t)(l * L);
    bias[l] = t->bias && at < t->lanes ? vf32_load_n(t->bias + at, vf32_lanes_at(at, t->lanes)) : vf32_zero();
  }
}

/* Stores sums in memory to the image, from vector |first| on, with bias, residual and activation; outputs outside the
 * image are dropped. */
static void finish_tile(const ox_wino_out *t, int m, int64_t i, int first, float *sums) {
  const ox_wino_image *g = t->image;
  vf32 bias[PER_BLOCK], lo = vf32_splat(t->lo), hi = vf32_splat(t->hi);
  load_bias(t, bias);
  int64_t x = t->span.x + i * m, at = t->block * g->y_block + t->span.y * g->y_row + x * g->y_column;
  int rows = (int)OX_MIN(g->out_h - t->span.y, m), columns = (int)OX_MIN(g->out_w - x, m);
  for (int r = 0; r < m; r++)
    for (int c = 0; c < m; c++)
      for (int l = first; l < PER_BLOCK; l++) {
        float *s = sums + (r * m + c) * OX_BLOCK + l * L;
        vf32 v = vf32_add(vf32_load(s), bias[l]);
        if (g->z && r < rows && c < columns)
          v = vf32_add(v, vf32_load(g->z + at + r * g->y_row + c * g->y_column + l * L));
        vf32_store(s, t->post ? v : bend(t, v, lo, hi, l));
      }
  if (t->post) activate(t->act, sums, m * m * OX_BLOCK);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++)
      for (int l = first * L; l < OX_BLOCK; l += L)
        vf32_store(g->y + at + r * g->y_row + c * g->y_column + l, vf32_load(sums + (r * m + c) * OX_BLOCK + l));
}

/* A^T M A for one vector of channels of tile |i|. */
OX_INLINE void sums_of(const ox_wino_out *t, ox_wino_kind k, int64_t i, int l, vf32 (*o)[OX_WINO_MAX_M]) {
  const int m = ox_wino_m(k), n = ox_wino_n(k);
  const float *from = t->m + (t->span.at + (size_t)i) * t->width + t->at + (size_t)(l * L);
  vf32 half[OX_WINO_MAX_N][OX_WINO_MAX_M]; /* [column of M][row of Y] */
  OX_UNROLL for (int c = 0; c < n; c++) {
    vf32 v[OX_WINO_MAX_N];
    OX_UNROLL for (int r = 0; r < n; r++) v[r] = vf32_load(from + (size_t)(r * n + c) * t->strip->m_point);
    transform_out(k, v, half[c]);
  }
  OX_UNROLL for (int r = 0; r < m; r++) {
    vf32 v[OX_WINO_MAX_N];
    OX_UNROLL for (int c = 0; c < n; c++) v[c] = half[c][r];
    transform_out(k, v, o[r]);
  }
}

/* No infinity, no NaN, and no number so large that its rounding error exceeds other outputs of the tile. */
OX_INLINE bool all_ordinary(int m, vf32 (*o)[OX_WINO_MAX_M]) {
  vf32 sum = vf32_zero();
  OX_UNROLL for (int r = 0; r < m; r++) {
    vf32 row = o[r][0];
    OX_UNROLL for (int c = 1; c < m; c++) row = vf32_add(row, o[r][c]);
    sum = r ? vf32_add(sum, row) : row;
  }
  return vm32_all(vf32_lt(vf32_abs(sum), vf32_splat(0x1p100f)));
}

OX_INLINE void out_as(const ox_wino_out *t, ox_wino_kind k) {
  const int m = ox_wino_m(k);
  const ox_wino_image *g = t->image;
  float *const y = g->y;
  const float *const z = g->z;
  vf32 bias[PER_BLOCK], lo = vf32_splat(t->lo), hi = vf32_splat(t->hi);
  load_bias(t, bias);
  bool plain = !t->post && t->span.y + m <= g->out_h && g->y_column == OX_BLOCK; /* stored from registers */
  for (int64_t i = 0; i < t->span.count; i++) {
    float sums[OX_WINO_MAX_M * OX_WINO_MAX_M * OX_BLOCK];
    bool direct = plain && t->span.x + (i + 1) * m <= g->out_w, ordinary = true;
    int64_t at = t->block * g->y_block + t->span.y * g->y_row + (t->span.x + i * m) * OX_BLOCK;
    int done = 0; /* vectors stored to the image */
    for (int l = 0; l < PER_BLOCK && ordinary; l++) {
      vf32 o[OX_WINO_MAX_M][OX_WINO_MAX_M];
      sums_of(t, k, i, l, o);
      ordinary = all_ordinary(m, o);
      if (direct && ordinary) {
        OX_UNROLL for (int r = 0; r < m; r++) OX_UNROLL for (int c = 0; c < m; c++) {
          int64_t to = at + r * g->y_row + c * OX_BLOCK + l * L;
          vf32 v = vf32_add(o[r][c], bias[l]);
          if (z) v = vf32_add(v, vf32_load(z + to));
          vf32_store(y + to, bend(t, v, lo, hi, l));
        }
        done++;
      } else {
        OX_UNROLL for (int r = 0; r < m; r++) OX_UNROLL for (int c = 0; c < m; c++)
            vf32_store(sums + (r * m + c) * OX_BLOCK + l * L, o[r][c]);
      }
    }
    if (!ordinary) plain_sums(t, k, i, sums);
    if (done < PER_BLOCK) finish_tile(t, m, i, done, sums);
  }
}

#include "kern/blocks/winograd_filter_body.h"

#define WINO_STEPS(k)                                         \
  static void in_##k(const ox_wino_in *t) { in_as(t, k); }    \
  static void out_##k(const ox_wino_out *t) { out_as(t, k); } \
  static void filter_##k(const float *f, size_t width, float *u, size_t u_point) { filter_as(k, f, width, u, u_point); }
WINO_STEPS(OX_WINO_F2)
WINO_STEPS(OX_WINO_F4)
WINO_STEPS(OX_WINO_F2_STRIDE2)
#define WINO_ROW(k, row) [k] = {in_##k, out_##k, filter_##k, row}

extern const ox_wino_variant WINO_NAME(ox_wino__);
const ox_wino_variant WINO_NAME(ox_wino__) = {
    .needs = WINO_NEEDS,
    .name = "winograd_" OX_QUOTE(WINO_ISA),
    .macs_per_ns = WINO_RATE,
    .transform_ns = {[OX_WINO_F2] = WINO_F2_NS, [OX_WINO_F4] = WINO_F4_NS, [OX_WINO_F2_STRIDE2] = WINO_F2_STRIDE2_NS},
    .steps = {WINO_ROW(OX_WINO_F2, NULL), WINO_ROW(OX_WINO_F4, filter_row4), WINO_ROW(OX_WINO_F2_STRIDE2, NULL)},
    .mul = mul};
