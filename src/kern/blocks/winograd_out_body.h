/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_out_body.h - the last step of Winograd's convolution: outputs from the products, with bias,
 * residual and activation; sums that are not finite are computed directly. Part of winograd_body.h. */

enum { LENT = 144 /* taps that |borrow| is asked for at a time */ };

/* Reads taps [k, k + n) of the filters, counted through all channels, as [tap][16]; lanes past the last filter become
 * zero. */
static void borrow(const ox_wino_out *t, size_t k, size_t n, float *to) {
  float filter[LENT];
  for (size_t i = 0; i < n * OX_BLOCK; i++) to[i] = 0;
  for (size_t l = 0; l < t->lanes; l++) {
    int64_t first = (t->first_filter + (int64_t)l) * (int64_t)(t->ic * t->taps) + (int64_t)k;
    t->lender->filters(t->lender->filters_ctx, first, (int64_t)n, filter);
    for (size_t i = 0; i < n; i++) to[i * OX_BLOCK + l] = filter[i];
  }
}

/* sums += weights |w| of tap (row, column) times what each output of a tile reads with it; (y, x): of the first. */
OX_INLINE void add_tap(const ox_wino_image *g, ox_wino_kind kind, const float *from, int64_t y, int64_t x,
                       const float *w, float *sums) {
  const int m = ox_wino_m(kind), outputs = ox_wino_rows_m(kind) * m, s = ox_wino_stride(kind);
  for (int k = 0; k < outputs; k++) {
    int64_t at_y = y + k / m * s, at_x = x + k % m * s;
    if (at_y < 0 || at_y >= g->in_h || at_x < 0 || at_x >= g->in_w) continue;
    vf32 v = vf32_splat(from[at_y * g->x_row + at_x * g->x_column]);
    for (int l = 0; l < OX_BLOCK; l += L) {
      float *sum = sums + k * OX_BLOCK + l;
      vf32_store(sum, vf32_fma(v, vf32_load(w + l), vf32_load(sum)));
    }
  }
}

/* The sums of tile |i| computed directly, if Winograd's algorithm gives infinities, NaN or huge numbers: there, one
 * such input affects every output of the tile. */
static void plain_sums(const ox_wino_out *t, ox_wino_kind kind, int64_t i, float *sums) {
  const ox_wino_image *g = t->image;
  const int m = ox_wino_m(kind);
  const size_t window = t->window, row = ox_wino_is_line(kind) ? window : 3; /* taps */
  const int64_t y0 = t->span.y * ox_wino_rows_stride(kind) - g->pad_h;
  const int64_t x0 = (t->span.x + i * m) * ox_wino_stride(kind) - g->pad_w;
  for (int k = 0; k < ox_wino_rows_m(kind) * m * OX_BLOCK; k++) sums[k] = 0;
  float lent[LENT * OX_BLOCK];
  for (size_t k = 0; k < t->ic * t->taps; k++) {
    size_t c = k / t->taps, tap = k % t->taps;
    if (!t->filters && k % LENT == 0) borrow(t, k, OX_MIN(t->ic * t->taps - k, LENT), lent);
    const float *w = t->filters ? t->filters + k * t->width : lent + k % LENT * OX_BLOCK;
    const int64_t slice = g->slice + (int64_t)(tap / window) * g->dilation;
    if (slice < 0 || slice >= g->depth) continue;
    const float *from = g->x + (int64_t)(c / OX_BLOCK) * g->x_block + slice * g->x_slice + c % OX_BLOCK;
    add_tap(g, kind, from, y0 + (int64_t)(tap % window / row), x0 + (int64_t)(tap % row), w, sums);
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
OX_INLINE vf32 clamped(const ox_wino_out *t, vf32 v, vf32 lo, vf32 hi, int l) {
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
static void finish_tile(const ox_wino_out *t, int rows_m, int m, int64_t i, int first, float *sums) {
  const ox_wino_image *g = t->image;
  vf32 bias[PER_BLOCK], lo = vf32_splat(t->lo), hi = vf32_splat(t->hi);
  load_bias(t, bias);
  int64_t x = t->span.x + i * m, at = t->block * g->y_block + t->span.y * g->y_row + x * g->y_column;
  int rows = (int)OX_MIN(g->out_h - t->span.y, rows_m), columns = (int)OX_MIN(g->out_w - x, m);
  for (int r = 0; r < rows_m; r++)
    for (int c = 0; c < m; c++)
      for (int l = first; l < PER_BLOCK; l++) {
        float *s = sums + (r * m + c) * OX_BLOCK + l * L;
        vf32 v = vf32_add(vf32_load(s), bias[l]);
        if (g->z && r < rows && c < columns)
          v = vf32_add(v, vf32_load(g->z + at + r * g->y_row + c * g->y_column + l * L));
        vf32_store(s, t->post ? v : clamped(t, v, lo, hi, l));
      }
  if (t->post) activate(t->act, sums, rows_m * m * OX_BLOCK);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++)
      for (int l = first * L; l < OX_BLOCK; l += L)
        vf32_store(g->y + at + r * g->y_row + c * g->y_column + l, vf32_load(sums + (r * m + c) * OX_BLOCK + l));
}

/* A^T M A for one vector of channels of tile |i|. */
OX_INLINE void sums_of(const ox_wino_out *t, ox_wino_kind k, int64_t i, int l, vf32 (*o)[OX_WINO_MAX_M]) {
  const int m = ox_wino_m(k), n = ox_wino_n(k);
  const float *from = t->m + (t->span.at + (size_t)i) * t->width + t->at + (size_t)(l * L);
  if (ox_wino_is_line(k)) {
    vf32 v[OX_WINO_MAX_N];
    OX_UNROLL for (int c = 0; c < n; c++) v[c] = vf32_load(from + (size_t)c * t->strip->m_point);
    transform_out(k, v, o[0]);
    return;
  }
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
OX_INLINE bool all_ordinary(int rows, int m, vf32 (*o)[OX_WINO_MAX_M]) {
  vf32 sum = vf32_zero();
  OX_UNROLL for (int r = 0; r < rows; r++) {
    vf32 row = o[r][0];
    OX_UNROLL for (int c = 1; c < m; c++) row = vf32_add(row, o[r][c]);
    sum = r ? vf32_add(sum, row) : row;
  }
  return vm32_all(vf32_lt(vf32_abs(sum), vf32_splat(0x1p100f)));
}

OX_INLINE void out_as(const ox_wino_out *t, ox_wino_kind k) {
  const int m = ox_wino_m(k), rows_m = ox_wino_rows_m(k);
  const ox_wino_image *g = t->image;
  float *const y = g->y;
  const float *const z = g->z;
  vf32 bias[PER_BLOCK], lo = vf32_splat(t->lo), hi = vf32_splat(t->hi);
  load_bias(t, bias);
  const int64_t column = ox_wino_is_line(k) ? g->y_column : OX_BLOCK; /* a constant where there are m x m of them */
  bool plain = !t->post && t->span.y + rows_m <= g->out_h && g->y_column == column; /* stored from registers */
  for (int64_t i = 0; i < t->span.count; i++) {
    float sums[OX_WINO_MAX_POINTS * OX_BLOCK];
    bool direct = plain && t->span.x + (i + 1) * m <= g->out_w, ordinary = true;
    int64_t at = t->block * g->y_block + t->span.y * g->y_row + (t->span.x + i * m) * column;
    int done = 0; /* vectors stored to the image */
    for (int l = 0; l < PER_BLOCK && ordinary; l++) {
      vf32 o[OX_WINO_MAX_M][OX_WINO_MAX_M];
      sums_of(t, k, i, l, o);
      ordinary = all_ordinary(rows_m, m, o);
      if (direct && ordinary) {
        OX_UNROLL for (int r = 0; r < rows_m; r++) OX_UNROLL for (int c = 0; c < m; c++) {
          int64_t to = at + r * g->y_row + c * column + l * L;
          vf32 v = vf32_add(o[r][c], bias[l]);
          if (z) v = vf32_add(v, vf32_load(z + to));
          vf32_store(y + to, clamped(t, v, lo, hi, l));
        }
        done++;
      } else {
        OX_UNROLL for (int r = 0; r < rows_m; r++) OX_UNROLL for (int c = 0; c < m; c++)
            vf32_store(sums + (r * m + c) * OX_BLOCK + l * L, o[r][c]);
      }
    }
    if (!ordinary) plain_sums(t, k, i, sums);
    if (done < PER_BLOCK) finish_tile(t, rows_m, m, i, done, sums);
  }
}
