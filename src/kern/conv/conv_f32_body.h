/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_body.h - the convolution tile functions over the SIMD vocabulary: strided copies, taps of a
 * depthwise plane, epilogue. Cannot fail, no globals. */
#include "kern/conv/conv.h"
#include "kern/simd/act_f32.h"

#define CONV_NAME(stem) OX_PASTE(stem, CONV_ISA)

enum { L = VF32_LANES };

OX_INLINE vf32 clamp(vf32 v, vf32 lo, vf32 hi) { return vf32_min(hi, vf32_max(lo, v)); } /* NaN stays */

/* ---- copies and taps ---- */

/* Copies |len| floats of a row that are all inside it; stores no more than these. */
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

/* The positions i in [*lo, *hi) of |len| that are inside an input's axis: 0 <= base + i * stride < n. */
OX_INLINE void inside(int64_t base, int64_t stride, int64_t n, int64_t len, int64_t *lo, int64_t *hi) {
  *lo = base >= 0 ? 0 : stride == 1 ? -base : (-base + stride - 1) / stride;
  *hi = base >= n ? 0 : OX_MIN(stride == 1 ? n - base : (n - base + stride - 1) / stride, len);
  if (*lo > *hi) *lo = *hi;
}

OX_INLINE void set_all(float *d, int64_t n, float value) {
  for (int64_t i = 0; i < n; i += L) vf32_store_n(d + i, vf32_splat(value), vf32_lanes_at((size_t)i, (size_t)n));
}

OX_INLINE void zeros(float *d, int64_t n) { set_all(d, n, 0); }

/* Copies |len| floats of a row of |n| from |first| on, with zeros for those outside. */
OX_INLINE void row_copy(float *d, const float *s, int64_t first, int64_t n, int64_t stride, int64_t len) {
  int64_t lo, hi;
  inside(first, stride, n, len, &lo, &hi);
  zeros(d, lo);
  if (hi > lo) inner_copy(d + lo, s + (first + lo * stride), stride, hi - lo);
  zeros(d + hi, len - hi);
}

/* |len| consecutive pixels of one output row; d, h, w: the first one's coordinates times the strides. */
typedef struct seg {
  int64_t d, h, w, len;
} seg;

/* Splits output pixels [p0, p1) at the ends of rows; returns the number of segments. */
static size_t split_rows(const ox_conv_geom *g, int64_t p0, int64_t p1, seg *s) {
  size_t n = 0;
  while (p0 < p1) {
    int64_t r = p0 / g->out[2], w = p0 % g->out[2], len = OX_MIN(g->out[2] - w, p1 - p0);
    s[n++] = (seg){r / g->out[1] * g->stride[0], r % g->out[1] * g->stride[1], w * g->stride[2], len};
    p0 += len;
  }
  return n;
}

/* The input row that each segment reads for a tap at depth |d| and height |h|; NULL: outside. */
OX_INLINE void seg_rows(const ox_conv_geom *g, const float *xc, int64_t d, int64_t h, const seg *segs, size_t n,
                        const float **rows) {
  for (size_t i = 0; i < n; i++) {
    int64_t id = segs[i].d + d, ih = segs[i].h + h;
    bool in = (uint64_t)id < (uint64_t)g->in[0] && (uint64_t)ih < (uint64_t)g->in[1];
    rows[i] = in ? xc + (id * g->in[1] + ih) * g->in[2] : NULL;
  }
}

/* im2col: row k of B holds, for each output pixel, the input under tap (channel, td, th, tw) = k. |stride|: of the last
 * axis, a constant where the compiler can use it. */
OX_INLINE void gather_stride(const ox_conv_plan *p, const float *x, float *dst, size_t ld, int64_t k0, int64_t k1,
                             int64_t p0, int64_t p1, int64_t stride) {
  const ox_conv_geom *g = &p->g;
  seg segs[OX_CONV_GATHER];
  const float *rows[OX_CONV_GATHER];
  size_t n = split_rows(g, p0, p1, segs), columns = OX_ROUND_UP((size_t)(p1 - p0), p->product.gemm.v->nr);
  int64_t n_w = g->n_taps[2], n_h = g->n_taps[1], n_d = g->n_taps[0], width = g->in[2];
  if (k0 == k1) return; /* no taps at all */
  int64_t tw = k0 % n_w, th = k0 / n_w % n_h, td = k0 / n_w / n_h % n_d;
  const float *xc = x + k0 / n_w / n_h / n_d * p->in_pixels;
  bool fresh = true;
  for (int64_t k = k0; k < k1; k++, dst += ld) {
    if (fresh) seg_rows(g, xc, g->tap[0][td], g->tap[1][th], segs, n, rows);
    float *o = dst, *end = dst + columns;
    int64_t shift = g->tap[2][tw];
    for (size_t i = 0; i < n; o += segs[i++].len) {
      int64_t first = segs[i].w + shift, len = segs[i].len;
      if (!rows[i])
        zeros(o, len);
      else if (first >= 0 && first + (len - 1) * stride < width)
        inner_copy(o, rows[i] + first, stride, len);
      else
        row_copy(o, rows[i], first, width, stride, len);
    }
    zeros(o, end - o);
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

extern const ox_conv_variant CONV_NAME(ox_conv_f32__);
const ox_conv_variant CONV_NAME(ox_conv_f32__) = {CONV_NEEDS, "conv_f32_" OX_QUOTE(CONV_ISA), L, gather, depthwise,
                                                  finish};
