/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/planes_body.h - planes.h over the vocabulary. Parameters: PLANES_ISA, PLANES_NEEDS, PLANES_OVERLAP
 * (are whole vectors that overlap others faster than those with masks?); include simd/f32_<isa>.h first. */
#include "kern/pool/planes.h"

#ifndef PLANES_OVERLAP
#define PLANES_OVERLAP 0
#endif

enum { L = VF32_LANES };

/* Maxima ignore NaN in any order, as no accumulator is ever NaN. */
OX_INLINE vf32 join(vf32 acc, vf32 x, bool average) { return average ? vf32_add(acc, x) : vf32_max(x, acc); }
OX_INLINE vf32 first(vf32 x, bool average) { return average ? x : vf32_max(x, vf32_splat(-INFINITY)); }
OX_INLINE float none(bool average) { return average ? 0.0f : -INFINITY; }

/* ---- down: y[i] = the fold of x[r * step + i] over |rows| > 0 rows, and, with |more|, y[i] ---- */

OX_INLINE void column(float *y, const float *x, int64_t rows, int64_t step, size_t k, bool more, bool average) {
  vf32 a = first(vf32_load_n(x, k), average);
  for (int64_t r = 1; r < rows; r++) a = join(a, vf32_load_n(x + r * step, k), average);
  if (more) a = join(vf32_load_n(y, k), a, average);
  vf32_store_n(y, a, k);
}

OX_INLINE void down_of(float *y, const float *x, int64_t rows, int64_t step, size_t n, bool more, bool average) {
  size_t i = 0;
  for (; i + L <= n; i += L) column(y + i, x + i, rows, step, L, more, average);
  if (i == n) return;
  if (PLANES_OVERLAP && n >= L && !more)
    column(y + n - L, x + n - L, rows, step, L, false, average);
  else
    column(y + i, x + i, rows, step, n - i, more, average);
}

OX_INLINE void down(float *y, const float *x, int64_t rows, int64_t step, size_t n, bool more, bool average) {
  if (rows == 2 && !more)
    down_of(y, x, 2, step, n, false, average);
  else if (rows == 3 && !more)
    down_of(y, x, 3, step, n, false, average);
  else
    down_of(y, x, rows, step, n, more, average);
}

/* A row of outputs: its plane, and its coordinates on the outer axes. */
typedef struct row_place {
  const float *x;
  int64_t deep, high;
} row_place;

OX_INLINE int64_t in_plane(const ox_planes *p) { return p->in[0] * p->in[1] * p->in[2]; }

OX_INLINE row_place place_of(const ox_planes *p, const float *x, int64_t row) {
  int64_t each = p->out[0] * p->out[1], o = row % each;
  return (row_place){x + row / each * in_plane(p), o / p->out[1], o % p->out[1]};
}

OX_INLINE void step_row(const ox_planes *p, row_place *at) {
  if (++at->high < p->out[1]) return;
  at->high = 0;
  if (++at->deep < p->out[0]) return;
  at->deep = 0, at->x += in_plane(p);
}

/* Folds the input rows of a row of outputs to |in[2]| elements from |y| on. */
OX_INLINE void fold_line(const ox_planes *p, row_place at, float *y, bool average) {
  ox_planes_reach deep = p->reach[0][at.deep], high = p->reach[1][at.high];
  int64_t wide = p->in[2];
  if (deep.n <= 0 || high.n <= 0) {
    for (int64_t i = 0; i < wide; i++) y[i] = none(average);
    return;
  }
  const float *x = at.x + (deep.first * p->in[1] + high.first) * wide;
  for (int64_t d = 0; d < deep.n; d++, x += p->dilation[0] * p->in[1] * wide)
    down(y, x, high.n, p->dilation[1] * wide, (size_t)wide, d > 0, average);
}

/* ---- along: y[o] = the fold of x[o * stride + t * dilation] over the taps, an average's times factor * scale[o] ----
 */

typedef struct along_args {
  int64_t n, taps, dilation;
  float factor;
  const float *scale;
} along_args;

OX_INLINE vf32 taps_at(const float *x, int64_t taps, int64_t dilation, int stride, size_t k, bool average) {
#define TAP(p) (stride == 2 ? vf32_load_even_mixed_n(p, k) : vf32_load_n(p, k))
  vf32 a = first(TAP(x), average);
  for (int64_t t = 1; t < taps; t++) a = join(a, TAP(x + t * dilation), average);
#undef TAP
  return stride == 2 ? vf32_unmixed(a) : a;
}

/* Two vectors at a time, as a sum of many taps waits for each addition; returns how many outputs are done. */
OX_INLINE size_t along_twice(float *y, const float *x, const along_args *g, bool average, bool scaled) {
  vf32 f = vf32_splat(g->factor);
  size_t n = (size_t)g->n, i = 0;
  for (; i + 2 * L <= n; i += 2 * L) {
    vf32 a = first(vf32_load(x + i), average), b = first(vf32_load(x + i + L), average);
    for (int64_t t = 1; t < g->taps; t++) {
      const float *tap = x + i + t * g->dilation;
      a = join(a, vf32_load(tap), average), b = join(b, vf32_load(tap + L), average);
    }
    if (scaled) a = vf32_mul(a, vf32_mul(f, vf32_load(g->scale + i)));
    if (scaled) b = vf32_mul(b, vf32_mul(f, vf32_load(g->scale + i + L)));
    vf32_store(y + i, a), vf32_store(y + i + L, b);
  }
  return i;
}

OX_INLINE void along_of(float *y, const float *x, const along_args *g, int64_t taps, int64_t dilation, int stride,
                        bool average, bool scaled, bool twice) {
  vf32 f = vf32_splat(g->factor);
  size_t n = (size_t)g->n, i = 0;
#define ALONG(at)                                                                    \
  do {                                                                               \
    vf32 a = taps_at(x + (at) * (size_t)stride, taps, dilation, stride, L, average); \
    if (scaled) a = vf32_mul(a, vf32_mul(f, vf32_load(g->scale + (at))));            \
    vf32_store(y + (at), a);                                                         \
  } while (0)
  if (twice) i = along_twice(y, x, g, average, scaled);
  for (; i + L <= n; i += L) ALONG(i);
  if (i == n) return;
  if (PLANES_OVERLAP && n >= L && y != x) {
    ALONG(n - L);
    return;
  }
#undef ALONG
  vf32 a = taps_at(x + i * (size_t)stride, taps, dilation, stride, n - i, average);
  if (scaled) a = vf32_mul(a, vf32_mul(f, vf32_load_n(g->scale + i, n - i)));
  vf32_store_n(y + i, a, n - i);
}

OX_INLINE void along(float *y, const float *x, const along_args *g, int stride, bool average, bool scaled) {
  if (g->taps == 2 && g->dilation == 1)
    along_of(y, x, g, 2, 1, stride, average, scaled, false);
  else if (g->taps == 3 && g->dilation == 1)
    along_of(y, x, g, 3, 1, stride, average, scaled, false);
  else
    along_of(y, x, g, g->taps, g->dilation, stride, average, scaled, PLANES_OVERLAP && stride == 1);
}

/* A stride of more than 2. Windows that touch (taps == stride) are folded by pairs, which halves both, until the stride
 * is 2 or odd. Otherwise outputs are computed as if the stride were 1, or 2 if it is even, and selected from these. */
OX_INLINE void along_strided(const ox_planes *p, float *y, const float *x, const along_args *g, float *all,
                             bool average) {
  int64_t stride = p->stride;
  along_args each = *g, last = *g;
  if (g->taps == stride && g->dilation == 1)
    for (each.taps = 2; stride % 2 == 0 && stride > 2; x = all) {
      stride /= 2, each.n = p->out[2] * stride;
      along(all, x, &each, 2, average, false);
      last.taps = stride;
    }
  if (stride == 2) {
    along(y, x, &last, 2, average, average);
    return;
  }
  each = last;
  if (stride % 2 == 0) {
    stride /= 2, each.n = (p->out[2] - 1) * stride + 1;
    along(all, x, &each, 2, average, false);
  } else {
    each.n = (p->out[2] - 1) * stride + 1;
    along(all, x, &each, 1, average, false);
  }
  for (int64_t o = 0; o < p->out[2]; o++)
    y[o] = average ? all[o * stride] * (g->factor * g->scale[o]) : all[o * stride];
}

/* ---- rows of outputs ---- */

OX_INLINE void along_row(const ox_planes *p, row_place at, float *y, const float *line, float *all, bool average) {
  along_args g = {.n = p->out[2], .taps = p->taps, .dilation = p->dilation[2]};
  if (average) g.factor = p->inverse[0][at.deep] * p->inverse[1][at.high], g.scale = p->inverse[2];
  if (p->direct) line = at.x + (p->reach[0][at.deep].first * p->in[1] + p->reach[1][at.high].first) * p->in[2];
  if (p->stride == 1)
    along(y, line, &g, 1, average, average);
  else if (p->stride == 2)
    along(y, line, &g, 2, average, average);
  else
    along_strided(p, y, line, &g, all, average);
}

/* Several lines are folded before the first is read again: reading a line at once, at offsets that differ from those of
 * its stores, waits until the stores have reached the cache. */
OX_INLINE void rows_of(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end, float *scratch,
                       bool average) {
  float *all = scratch + p->lines * p->pitch;
  for (int64_t i = 0; !p->direct && i < p->lines * p->pitch; i++) scratch[i] = none(average);
  row_place folded = place_of(p, x, begin), at = folded;
  y += begin * p->out[2];
  for (int64_t r = begin; r < end; r += p->lines) {
    int64_t n = end - r < p->lines ? end - r : p->lines;
    for (int64_t i = 0; !p->direct && i < n; i++, step_row(p, &folded))
      fold_line(p, folded, scratch + i * p->pitch + p->middle, average);
    for (int64_t i = 0; i < n; i++, step_row(p, &at), y += p->out[2])
      along_row(p, at, y, scratch + i * p->pitch + p->middle - p->lo, all, average);
  }
}

/* ---- pairs: what lies beside and below is in registers, so no line is ever stored ---- */
#ifdef VF32_HAS_MIXED
OX_INLINE bool is_pairs(const ox_planes *p) { return p->pairs && p->out[2] >= L; }

OX_INLINE vf32 pair_at(const float *x, int64_t step, bool average) {
  return join(first(vf32_load(x), average), vf32_load(x + step), average);
}

OX_INLINE void pairs(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end, bool average) {
  int64_t n = p->out[2], step = p->dilation[1] * p->in[2];
  row_place at = place_of(p, x, begin);
  y += begin * n;
  for (int64_t r = begin; r < end; r++, step_row(p, &at), y += n) {
    const float *from = at.x + (p->reach[0][at.deep].first * p->in[1] + p->reach[1][at.high].first) * p->in[2];
    vf32 f = vf32_splat(average ? p->inverse[0][at.deep] * p->inverse[1][at.high] : 1);
    for (int64_t left = n; left > 0; left -= L) {
      int64_t i = left < L ? n - L : n - left; /* the last vector overlaps the one before */
      vf32 lo = pair_at(from + 2 * i, step, average), hi = pair_at(from + 2 * i + L, step, average);
      vf32 a = vf32_unmixed(join(vf32_even_mixed(lo, hi), vf32_odd_mixed(lo, hi), average));
      if (average) a = vf32_mul(a, vf32_mul(f, vf32_load(p->inverse[2] + i)));
      vf32_store(y + i, a);
    }
  }
}
#else
OX_INLINE bool is_pairs(const ox_planes *p) { return (void)p, false; }
OX_INLINE void pairs(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end, bool average) {
  (void)p, (void)x, (void)y, (void)begin, (void)end, (void)average;
}
#endif

/* ---- lines that fit one vector: taps are lanes picked from it, so it is never stored ---- */
enum { MOST_TAPS = 8 };

OX_INLINE bool is_small(const ox_planes *p) {
  return L > 1 && p->in[2] <= L && p->out[2] <= L && p->taps <= MOST_TAPS && p->stride <= L;
}

/* The line of fold_line in a vector; lanes beyond it are those of an empty window. |k| lanes may be read of each row.
 */
OX_INLINE vf32 small_line(const ox_planes *p, row_place at, size_t k, bool average) {
  ox_planes_reach deep = p->reach[0][at.deep], high = p->reach[1][at.high];
  vf32 nothing = vf32_splat(none(average)), all = nothing;
  int64_t wide = p->in[2], step = p->dilation[1] * wide;
  if (deep.n <= 0 || high.n <= 0) return nothing;
  const float *x = at.x + (deep.first * p->in[1] + high.first) * wide;
  for (int64_t d = 0; d < deep.n; d++, x += p->dilation[0] * p->in[1] * wide) {
    vf32 a = first(vf32_load_n(x, k), average);
    for (int64_t r = 1; r < high.n; r++) a = join(a, vf32_load_n(x + r * step, k), average);
    all = d ? join(all, a, average) : a;
  }
  return vf32_select(vm32_first((size_t)wide), all, nothing);
}

OX_INLINE void small_of(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end, int64_t taps,
                        bool average) {
  vf32 nothing = vf32_splat(none(average)), scale = nothing;
  size_t n = (size_t)p->out[2];
  vi32 lane[MOST_TAPS];
  for (int64_t t = 0; t < taps; t++) {
    int32_t from[L];
    for (int64_t o = 0; o < L; o++) {
      int64_t i = o * p->stride - p->lo + t * p->dilation[2];
      from[o] = (int32_t)(i >= 0 && i < p->in[2] ? i : -1);
    }
    lane[t] = vi32_load(from);
  }
  if (average) scale = vf32_load_n(p->inverse[2], n);
  row_place at = place_of(p, x, begin);
  /* Rows of planes before the last may be read beyond their ends, and stored beyond them if others follow. */
  const float *last = PLANES_OVERLAP && in_plane(p) >= L ? place_of(p, x, end - 1).x : x;
  y += begin * p->out[2];
  for (int64_t r = begin; r < end; r++, step_row(p, &at), y += n) {
    vf32 line =
        PLANES_OVERLAP && at.x < last ? small_line(p, at, L, average) : small_line(p, at, (size_t)p->in[2], average);
    vf32 a = vf32_pick(nothing, line, lane[0]);
    OX_UNROLL for (int64_t t = 1; t < taps; t++) a = join(a, vf32_pick(nothing, line, lane[t]), average);
    if (average) a = vf32_mul(a, vf32_mul(vf32_splat(p->inverse[0][at.deep] * p->inverse[1][at.high]), scale));
    if (PLANES_OVERLAP && (end - r) * (int64_t)n >= L)
      vf32_store(y, a);
    else
      vf32_store_n(y, a, n);
  }
}

OX_INLINE void small(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end, bool average) {
  if (p->taps == 2)
    small_of(p, x, y, begin, end, 2, average);
  else if (p->taps == 3)
    small_of(p, x, y, begin, end, 3, average);
  else
    small_of(p, x, y, begin, end, p->taps, average);
}

static void rows(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end, float *scratch) {
  if (is_small(p) && p->average)
    small(p, x, y, begin, end, true);
  else if (is_small(p))
    small(p, x, y, begin, end, false);
  else if (is_pairs(p) && p->average)
    pairs(p, x, y, begin, end, true);
  else if (is_pairs(p))
    pairs(p, x, y, begin, end, false);
  else if (p->average)
    rows_of(p, x, y, begin, end, scratch, true);
  else
    rows_of(p, x, y, begin, end, scratch, false);
}

/* ---- whole planes ---- */

OX_INLINE float whole_of(const float *x, size_t n, bool average) {
  vf32 a = vf32_splat(none(average));
  for (size_t i = 0; i < n; i += L) {
    size_t k = vf32_lanes_at(i, n);
    vf32 v = join(a, vf32_load_n(x + i, k), average);
    a = k == L ? v : vf32_select(vm32_first(k), v, a);
  }
  return average ? vf32_sum(a) : vf32_hmax(a);
}

static void whole(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end) {
  int64_t n = in_plane(p);
  float factor = 1;
  for (int i = 0; i < OX_PLANES_AXES && p->average; i++) factor *= p->inverse[i][0];
  for (int64_t i = begin; i < end; i++)
    y[i] = p->average ? whole_of(x + i * n, (size_t)n, true) * factor : whole_of(x + i * n, (size_t)n, false);
}

extern const ox_planes_variant OX_PASTE(ox_planes__, PLANES_ISA);
const ox_planes_variant OX_PASTE(ox_planes__, PLANES_ISA) = {PLANES_NEEDS, "planes_" OX_QUOTE(PLANES_ISA), rows, whole};
