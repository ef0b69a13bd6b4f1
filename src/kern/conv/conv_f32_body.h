/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_body.h - the convolution tile functions over the SIMD vocabulary: products with pixels in lanes,
 * products with channels in lanes, taps of a depthwise plane, strided copies, epilogue. Cannot fail, no globals. */
#include "kern/conv/conv.h"
#include "kern/simd/act_f32.h"

#define CONV_PASTE2(a, b) a##b
#define CONV_PASTE(a, b) CONV_PASTE2(a, b)
#define CONV_NAME(stem) CONV_PASTE(stem, CONV_ISA)

#if defined(__GNUC__)
#define CONV_PREFETCH(p) __builtin_prefetch((p), 0, 2)
#else
#define CONV_PREFETCH(p) (void)(p)
#endif

enum { L = VF32_LANES, PER_PANEL = OX_CONV_PANEL / VF32_LANES };

OX_INLINE vf32 clamp(vf32 v, vf32 lo, vf32 hi) { return vf32_min(hi, vf32_max(lo, v)); } /* NaN passes */

/* ---- pixels in lanes ---- */

/* mr rows x nv vectors; the last vector has |tail| valid lanes. Rows past |rows| are computed but not stored. */
OX_INLINE void pixel_tile(const ox_conv_mul *t, const float *a, size_t row, size_t col, size_t rows, size_t tail,
                          bool exact, int mr, int nv) {
  const float *b = t->b + col;
  vf32 acc[CONV_MR][CONV_NV];
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_zero();
  for (size_t k = 0; k < t->k; k++, a += OX_CONV_PANEL, b += t->ldb) {
    vf32 bv[CONV_NV];
    OX_UNROLL for (int j = 0; j < nv; j++) bv[j] =
        exact && j == nv - 1 ? vf32_load_n(b + j * L, tail) : vf32_load(b + j * L);
    OX_UNROLL for (int i = 0; i < mr; i++) {
      vf32 ai = vf32_splat(a[i]);
      OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_fma(ai, bv[j], acc[i][j]);
    }
  }
  float *c = t->c + row * t->ldc + col;
  const float *z = t->last && t->z ? t->z + row * t->ldc + col : NULL;
  vf32 lo = vf32_splat(t->lo), hi = vf32_splat(t->hi);
  OX_UNROLL for (int i = 0; i < mr; i++) {
    if ((size_t)i >= rows) return;
    vf32 bias = t->last && t->bias ? vf32_splat(t->bias[row + (size_t)i]) : vf32_zero();
    OX_UNROLL for (int j = 0; j < nv; j++) {
      size_t n = j == nv - 1 ? tail : L;
      vf32 v = acc[i][j];
      if (!t->first) v = vf32_add(v, vf32_load_n(c + j * L, n));
      if (t->last) {
        v = vf32_add(v, bias);
        if (z) v = vf32_add(v, vf32_load_n(z + j * L, n));
        v = clamp(v, lo, hi);
      }
      vf32_store_n(c + j * L, v, n);
    }
    c += t->ldc;
    if (z) z += t->ldc;
  }
}

/* All rows of one column of vectors. Exact: B has nothing to read past its last pixel. */
#define CONV_ROWS(name, exact, nv)                                                    \
  static void name(const ox_conv_mul *t, size_t col, size_t tail) {                   \
    for (size_t row = 0; row < t->m; row += CONV_MR) {                                \
      const float *a = t->a + row / OX_CONV_PANEL * t->a_panel + row % OX_CONV_PANEL; \
      size_t rows = t->m - row;                                                       \
      if (rows > CONV_MR / 2)                                                         \
        pixel_tile(t, a, row, col, rows, tail, exact, CONV_MR, nv);                   \
      else if (rows > 1)                                                              \
        pixel_tile(t, a, row, col, rows, tail, exact, CONV_MR / 2, nv);               \
      else                                                                            \
        pixel_tile(t, a, row, col, rows, tail, exact, 1, nv);                         \
    }                                                                                 \
  }
CONV_ROWS(rows1, false, 1)
CONV_ROWS(rows2, false, 2)
CONV_ROWS(rows3, false, 3)
CONV_ROWS(exact1, true, 1)
CONV_ROWS(exact2, true, 2)
CONV_ROWS(exact3, true, 3)
#if CONV_NV > 3
CONV_ROWS(rows4, false, 4)
CONV_ROWS(exact4, true, 4)
#endif
typedef void rows_fn(const ox_conv_mul *t, size_t col, size_t tail);

static void mul(const ox_conv_mul *t) {
#if CONV_NV > 3
  static rows_fn *const rows[2][4] = {{rows1, rows2, rows3, rows4}, {exact1, exact2, exact3, exact4}};
#else
  static rows_fn *const rows[2][3] = {{rows1, rows2, rows3}, {exact1, exact2, exact3}};
#endif
  size_t vectors = (t->n + L - 1) / L, groups = (vectors + CONV_NV - 1) / CONV_NV, col = 0;
  for (size_t g = 0; g < groups; g++) { /* evenly: 13 vectors by at most three are 3 3 3 2 2 */
    size_t nv = vectors / groups + (g < vectors % groups);
    size_t n = OX_MIN(nv * L, t->n - col), tail = n - (nv - 1) * L;
    rows[t->exact && tail < L][nv - 1](t, col, tail);
    col += nv * L;
  }
}

/* ---- channels in lanes ---- */

/* mr pixels x nv vectors of channels, written transposed into c. Pixels past |rows| are not stored. */
OX_INLINE void channel_tile(const ox_conv_mul *t, size_t oc, size_t px, const char *ahead, size_t step, int mr,
                            int nv) {
  const float *w[CONV_FEW_NV];
  OX_UNROLL for (int j = 0; j < nv; j++) {
    size_t v = oc / L + (size_t)j;
    w[j] = t->a + v / PER_PANEL * t->a_panel + v % PER_PANEL * L;
  }
  const float *b = t->b + px;
  vf32 acc[CONV_FEW_MR][CONV_FEW_NV];
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_zero();
  for (size_t k = 0, o = 0; k < t->k; k++, o += OX_CONV_PANEL, b += t->ldb, ahead += step) {
    CONV_PREFETCH(ahead);
    vf32 wv[CONV_FEW_NV];
    OX_UNROLL for (int j = 0; j < nv; j++) wv[j] = vf32_load(w[j] + o);
    OX_UNROLL for (int i = 0; i < mr; i++) {
      vf32 bi = vf32_splat(b[i]);
      OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_fma(wv[j], bi, acc[i][j]);
    }
  }
  float out[CONV_FEW_NV * L];
  size_t n = OX_MIN(t->m - oc, (size_t)nv * L);
  OX_UNROLL for (int i = 0; i < mr; i++) {
    OX_UNROLL for (int j = 0; j < nv; j++) vf32_store(out + j * L, acc[i][j]);
    float *c = t->c + oc * t->ldc + px + (size_t)i;
    for (size_t r = 0; r < n; r++) c[r * t->ldc] = out[r];
  }
}

static void few_step(const ox_conv_mul *t, size_t oc, size_t px, const char *ahead, size_t step, size_t mr,
                     bool whole) {
#define CONV_FEW(n)                                         \
  case n:                                                   \
    if (whole)                                              \
      channel_tile(t, oc, px, ahead, step, n, CONV_FEW_NV); \
    else                                                    \
      channel_tile(t, oc, px, ahead, step, n, 1);           \
    break;
  switch (mr) {
    CONV_FEW(1)
    CONV_FEW(2)
    CONV_FEW(3)
    CONV_FEW(4)
#if CONV_FEW_MR > 4
    CONV_FEW(5)
    CONV_FEW(6)
#endif
#if CONV_FEW_MR > 6
    CONV_FEW(7)
    CONV_FEW(8)
    CONV_FEW(9)
    CONV_FEW(10)
    CONV_FEW(11)
    CONV_FEW(12)
    CONV_FEW(13)
#endif
  }
#undef CONV_FEW
}

static void mul_few(const ox_conv_mul *t) {
  size_t groups = (t->n + CONV_FEW_MR - 1) / CONV_FEW_MR;
  size_t padded = (t->m + OX_CONV_PANEL - 1) / OX_CONV_PANEL * OX_CONV_PANEL; /* panels are whole */
  for (size_t oc = 0; oc < t->m;) {
    bool whole = padded - oc >= CONV_FEW_NV * L;
    size_t width = whole ? CONV_FEW_NV * L : L;
    /* each group of pixels prefetches its share of the next channels' weights */
    size_t step = width * sizeof(float) / groups;
    const char *ahead = (const char *)(t->a + (oc + width) / OX_CONV_PANEL * t->a_panel);
    for (size_t g = 0, px = 0; g < groups; g++, ahead += step * t->k) {
      size_t mr = t->n / groups + (g < t->n % groups);
      few_step(t, oc, px, ahead, step, mr, whole);
      px += mr;
    }
    oc += width;
  }
}

/* ---- copies and taps ---- */

/* len floats of a row, all inside it; stores no more than len. */
OX_INLINE void inner_copy(float *d, const float *s, int64_t stride, int64_t len) {
  int64_t j = 0;
  if (stride == 1) {
    for (; j + L <= len; j += L) vf32_store(d + j, vf32_load(s + j));
    if (j < len) vf32_store_n(d + j, vf32_load_n(s + j, (size_t)(len - j)), (size_t)(len - j));
  } else if (stride == 2) {
    for (; j + L < len; j += L) vf32_store(d + j, vf32_load_even(s + 2 * j));
    vf32_store_n(d + j, vf32_load_even_n(s + 2 * j, (size_t)(len - j)), (size_t)(len - j));
  } else {
    for (; j < len; j++) d[j] = s[j * stride];
  }
}

OX_INLINE void row_copy(float *dst, const float *src, int64_t first, int64_t n, int64_t stride, int64_t len,
                        float pad) {
  int64_t lo = 0, hi = len; /* outputs [lo, hi) lie inside the row */
  if (first < 0) lo = stride == 1 ? -first : (-first + stride - 1) / stride;
  if (lo > len) lo = len;
  int64_t room = n - first; /* inputs from |first| to the end of the row */
  if (room < len * stride) hi = room <= 0 ? 0 : stride == 1 ? room : (room + stride - 1) / stride;
  if (hi > len) hi = len;
  if (hi < lo) hi = lo;
  int64_t i = 0;
  for (; i < lo; i++) dst[i] = pad;
  const float *s = src + (first + lo * stride);
  float *d = dst + lo;
  int64_t m = hi - lo;
  inner_copy(d, s, stride, m);
  for (i = hi; i < len; i++) dst[i] = pad;
}

/* Stretches of consecutive output pixels of one output row. */
typedef struct seg {
  int64_t d, h, w, len; /* d, h, w: scaled by the strides */
} seg;

static size_t cut(const ox_conv_geom *g, int64_t p0, int64_t p1, seg *s) {
  size_t n = 0;
  while (p0 < p1) {
    int64_t r = p0 / g->out[2], w = p0 % g->out[2], len = OX_MIN(g->out[2] - w, p1 - p0);
    s[n++] = (seg){r / g->out[1] * g->stride[0], r % g->out[1] * g->stride[1], w * g->stride[2], len};
    p0 += len;
  }
  return n;
}

/* The input row that each stretch reads for taps (td, th); NULL: outside. */
OX_INLINE void seg_rows(const ox_conv_geom *g, const float *xc, int64_t d, int64_t h, const seg *segs, size_t n,
                        const float **rows) {
  for (size_t i = 0; i < n; i++) {
    int64_t id = segs[i].d + d, ih = segs[i].h + h;
    bool in = (uint64_t)id < (uint64_t)g->in[0] && (uint64_t)ih < (uint64_t)g->in[1];
    rows[i] = in ? xc + (id * g->in[1] + ih) * g->in[2] : NULL;
  }
}

OX_INLINE void gather_stride(const ox_conv_plan *p, const float *x, float *dst, size_t ld, int64_t k0, int64_t k1,
                             int64_t p0, int64_t p1, int64_t stride) {
  const ox_conv_geom *g = &p->g;
  seg segs[OX_CONV_MAX_PIXELS];
  const float *rows[OX_CONV_MAX_PIXELS];
  size_t n = cut(g, p0, p1, segs);
  int64_t n_w = g->n_taps[2], n_h = g->n_taps[1], n_d = g->n_taps[0], width = g->in[2];
  if (k0 == k1) return; /* no taps at all */
  int64_t tw = k0 % n_w, th = k0 / n_w % n_h, td = k0 / n_w / n_h % n_d;
  const float *xc = x + k0 / n_w / n_h / n_d * p->in_pixels;
  bool fresh = true;
  for (int64_t k = k0; k < k1; k++, dst += ld) {
    if (fresh) seg_rows(g, xc, g->tap[0][td], g->tap[1][th], segs, n, rows);
    float *o = dst;
    int64_t shift = g->tap[2][tw];
    for (size_t i = 0; i < n; o += segs[i++].len) {
      int64_t first = segs[i].w + shift, len = segs[i].len;
      if (!rows[i])
        for (int64_t j = 0; j < len; j++) o[j] = 0;
      else if (first >= 0 && first + (len - 1) * stride < width)
        inner_copy(o, rows[i] + first, stride, len);
      else
        row_copy(o, rows[i], first, width, stride, len, 0);
    }
    for (float *end = dst + OX_MIN(OX_ROUND_UP((size_t)(p1 - p0), L), ld); o < end; o++)
      *o = 0; /* lanes past the last pixel */
    if ((fresh = ++tw == n_w)) {
      tw = 0;
      if (++th == n_h) {
        th = 0;
        if (++td == n_d) td = 0, xc += p->in_pixels;
      }
    }
  }
}

static void gather(const ox_conv_plan *p, const float *x, float *dst, size_t ld, int64_t k0, int64_t k1, int64_t p0,
                   int64_t p1) {
  int64_t stride = p->g.stride[2];
  if (stride == 1)
    gather_stride(p, x, dst, ld, k0, k1, p0, p1, 1);
  else if (stride == 2)
    gather_stride(p, x, dst, ld, k0, k1, p0, p1, 2);
  else
    gather_stride(p, x, dst, ld, k0, k1, p0, p1, stride);
}

/* ---- epilogue ---- */

OX_INLINE void finish_as(ox_act act, float *y, size_t ldy, const float *bias, const float *z, size_t rows, size_t n) {
  for (size_t r = 0; r < rows; r++, y += ldy) {
    vf32 b = bias ? vf32_splat(bias[r]) : vf32_zero();
    const float *zr = z ? z + r * ldy : NULL;
    for (size_t i = 0; i < n; i += L) {
      size_t left = vf32_lanes_at(i, n);
      vf32 v = vf32_add(vf32_load_n(y + i, left), b);
      if (zr) v = vf32_add(v, vf32_load_n(zr + i, left));
      vf32_store_n(y + i, vf32_act(act, v), left);
    }
  }
}

static void finish(const ox_act *act, float *y, size_t ldy, const float *bias, const float *z, size_t rows, size_t n) {
#define CONV_FINISH(k)                                                \
  case k:                                                             \
    finish_as((ox_act){k, act->a, act->b}, y, ldy, bias, z, rows, n); \
    break; /* one loop per kind */
  switch (act->kind) {
    CONV_FINISH(OX_ACT_NONE)
    CONV_FINISH(OX_ACT_RELU)
    CONV_FINISH(OX_ACT_CLIP)
    CONV_FINISH(OX_ACT_LEAKY_RELU)
    CONV_FINISH(OX_ACT_SIGMOID)
    CONV_FINISH(OX_ACT_HARD_SWISH)
    CONV_FINISH(OX_ACT_SILU)
    CONV_FINISH(OX_ACT_GELU)
    default:
      finish_as(*act, y, ldy, bias, z, rows, n);
  }
#undef CONV_FINISH
}

#include "kern/conv/conv_dw_body.h"

#define CONV_STR2(x) #x
#define CONV_STR(x) CONV_STR2(x)
extern const ox_conv_variant CONV_NAME(ox_conv_f32__);
const ox_conv_variant CONV_NAME(ox_conv_f32__) = {CONV_NEEDS,
                                                  "conv_f32_" CONV_STR(CONV_ISA),
                                                  L,
                                                  CONV_NV *L,
                                                  CONV_FEW_NV *L,
                                                  mul,
                                                  mul_few,
                                                  gather,
                                                  depthwise,
                                                  finish};
