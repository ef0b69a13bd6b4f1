/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_body.h - the kernels of bconv_strassen.h over the SIMD vocabulary. Cannot fail, no
 * globals. Parameters: BSTRASSEN_NAME, BSTRASSEN_MOST (pixels of a strip: 14 or 6), BSTRASSEN_KEEPS (whether sums of
 * weights are kept; a block of C is one panel then), BSTRASSEN_PIXELS and BSTRASSEN_BLOCKS (of a tile), BSTRASSEN_COST,
 * and perhaps BSTRASSEN_FMA_AT (a product that reads A itself). */
#include <math.h>

#include "kern/blocks/bconv_strassen.h"
#include "kern/simd/sums.h"

enum {
  L = VF32_LANES,
  PER = OX_BLOCK / VF32_LANES, /* vectors of a panel */
  NV = 2,                      /* vectors of a block of C */
  COLUMNS = NV * L,
  MOST = BSTRASSEN_MOST,
  AT_ONCE = 4,                    /* steps of k */
  EVERY = MOST <= 6 ? AT_ONCE : 1 /* steps with a prefetch of a kind: short strips have few FMAs to hide it behind */
};
_Static_assert(!BSTRASSEN_KEEPS || NV == PER, "kept sums are of one panel");

/* The place of column vector |j|, where |panel| floats lie between panels. */
OX_INLINE size_t column(int j, size_t panel) { return (size_t)(j / PER) * panel + (size_t)(j % PER * L); }

#define EACH_SUM OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)

/* ---- strips of a step ---- */

/* What is prefetched while products are computed: the weights that come next to L2; a line of each of two runs of lines
 * per k, where results will go. */
typedef struct fetch {
  const float *ahead;
  size_t step;
  const char *soon, *end;
  size_t other; /* from the first run to the second */
} fetch;

/* The row of weights, |u| rows ahead, for a step of k; if |sign|, sums of weights go to |sum|, where they are kept. */
OX_INLINE void take_b(const float *const *b, float *sum, const size_t b_panel, const size_t u, const int sign,
                      vf32 *bv) {
  OX_UNROLL for (int j = 0; j < NV; j++) {
    const size_t at = column(j, b_panel) + u * OX_BLOCK;
    bv[j] = vf32_load(b[0] + at);
    if (sign > 0) bv[j] = vf32_add(bv[j], vf32_load(b[1] + at));
    if (sign < 0) bv[j] = vf32_sub(bv[j], vf32_load(b[1] + at));
    if (BSTRASSEN_KEEPS && sign) vf32_store(sum + u * COLUMNS + (size_t)(j * L), bv[j]);
  }
}

#if BSTRASSEN_MOST == 6
/* Prefetches beside step |u| of a block. Short strips have few FMAs to hide them behind. */
OX_INLINE void fetch_some(fetch *f, const float *next, const size_t u) {
  if (u % 2 == 0) OX_PREFETCH(next + u / 2 * OX_BLOCK);
  if (u % EVERY == 0) {
    OX_PREFETCH_L2(f->ahead);
    f->ahead += f->step;
  }
  if (u > 0 || f->soon == f->end) return;
  OX_UNROLL for (size_t i = 0; i < 4; i++) OX_PREFETCH_WRITE(f->soon + i * OX_BLOCK * sizeof(float));
  f->soon = OX_MIN(f->soon + 4 * OX_BLOCK * sizeof(float), f->end);
}

/* A block of channels of |m| pixels. */
OX_INLINE void add_block(const float *a, const float *next, const float *const *b, float *sum, const size_t b_panel,
                         fetch *f, const int m, const int sign, vf32 acc[][NV]) {
  const ptrdiff_t pixel = OX_BLOCK * sizeof(float);
#define BSTRASSEN_STEP(u)                                              \
  {                                                                    \
    vf32 bv[NV];                                                       \
    fetch_some(f, next, u);                                            \
    take_b(b, sum, b_panel, u, sign, bv);                              \
    OX_SUMS_STEP(acc, m, a, a + (m + 1) / 2 * OX_BLOCK, pixel, u, bv); \
  }
  OX_SUMS_OPEN(acc, m);
  OX_SIXTEEN(BSTRASSEN_STEP)
  OX_SUMS_CLOSE(acc, m);
#undef BSTRASSEN_STEP
}
#else
OX_INLINE void fetch_some(fetch *f, const float *next, const size_t u) {
  OX_PREFETCH(next + u * OX_BLOCK);
  OX_PREFETCH_L2(f->ahead);
  f->ahead += f->step;
  OX_PREFETCH_WRITE(f->soon);
  if (NV > PER) OX_PREFETCH_WRITE(f->soon + f->other);
  f->soon += f->soon < f->end ? OX_BLOCK * sizeof(float) : 0;
}

OX_INLINE void multiply_row(const float *a, const vf32 *b, vf32 *acc) {
#ifdef BSTRASSEN_FMA_AT
  OX_UNROLL for (int j = 0; j < NV; j++) acc[j] = BSTRASSEN_FMA_AT(a, b[j], acc[j]);
#else
  const vf32 ai = vf32_splat(*a);
  OX_UNROLL for (int j = 0; j < NV; j++) acc[j] = vf32_fma(ai, b[j], acc[j]);
#endif
}

OX_INLINE void add_block(const float *a, const float *next, const float *const *b, float *sum, const size_t b_panel,
                         fetch *f, const int m, const int sign, vf32 acc[][NV]) {
  for (size_t k = 0; k < OX_BLOCK; k += AT_ONCE) OX_UNROLL for (size_t u = 0; u < AT_ONCE; u++) {
      vf32 bv[NV];
      fetch_some(f, next, k + u);
      take_b(b, sum, b_panel, k + u, sign, bv);
      OX_UNROLL for (int i = 0; i < m; i++) multiply_row(a + (size_t)i * OX_BLOCK + k + u, bv, acc[i]);
    }
}
#endif

/* |blocks| of channels of |m| pixels from |a| on; |after|: what is read next. */
OX_INLINE void add_products(const ox_bstrassen_strips *t, const float *a, size_t blocks, const float *after,
                            const float *b0, const float *b1, fetch *f, const int m, const int sign, vf32 acc[][NV]) {
  const float *b[2] = {b0, b1};
  float *sum = t->b_sum;
  for (const float *next; blocks > 0; blocks--, a = next) {
    next = blocks > 1 ? a + t->a_block : after;
    add_block(a, next, b, sum, t->b_panel, f, m, sign, acc);
    b[0] += OX_BLOCK * OX_BLOCK;
    if (sign) b[1] += OX_BLOCK * OX_BLOCK;
    if (BSTRASSEN_KEEPS && sign) sum += OX_BLOCK * COLUMNS;
  }
}

OX_INLINE void add_product(const float *c, vf32 acc[][NV], const int m) {
  EACH_SUM acc[i][j] = vf32_add(acc[i][j], vf32_load(c + i * COLUMNS + j * L));
}

/* The sum over pixels is finite only if all are. */
OX_INLINE bool all_fine(vf32 acc[][NV], const int m) {
  vf32 sum[NV];
  OX_UNROLL for (int j = 0; j < NV; j++) sum[j] = vf32_add(acc[0][j], acc[1][j]);
  OX_UNROLL for (int i = 2; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) sum[j] = vf32_add(sum[j], acc[i][j]);
  const vf32 most = vf32_splat(0x1p100f);
  return vm32_all(vm32_and(vf32_le(vf32_abs(sum[0]), most), vf32_le(vf32_abs(sum[1]), most)));
}

/* Completes a block of C of pixels |at| on and stores it to Y with residual and clamp. */
OX_INLINE bool finish(const ox_bstrassen_end *e, const size_t at, vf32 acc[][NV], const int m) {
  if (e->minus) EACH_SUM acc[i][j] = vf32_sub(acc[i][j], vf32_load(e->minus + at * COLUMNS + i * COLUMNS + j * L));
  for (int q = 0; q < 3 && e->plus[q]; q++) add_product(e->plus[q] + at * COLUMNS, acc, m);
  if (!all_fine(acc, m)) return false;
  if (e->z)
    EACH_SUM acc[i][j] = vf32_add(acc[i][j], vf32_load(e->z + column(j, e->panel) + (at + (size_t)i) * OX_BLOCK));
  const vf32 lo = vf32_splat(e->lo), hi = vf32_splat(e->hi);
  if (e->lo > -INFINITY) EACH_SUM acc[i][j] = vf32_max(lo, acc[i][j]); /* NaN stays */
  if (e->hi < INFINITY) EACH_SUM acc[i][j] = vf32_min(hi, acc[i][j]);
  OX_UNROLL for (int j = 0; j < NV; j++) {
    float *y = e->y + column(j, e->panel) + at * OX_BLOCK;
    OX_UNROLL for (int i = 0; i < m; i++) {
      if (i == m - 1 && at + (size_t)i >= e->pixels) break;
      vf32_store(y + i * OX_BLOCK, acc[i][j]);
    }
  }
  return true;
}

/* Strips [s, end); |m|, |sign| and |ends| are constants after inlining. */
OX_INLINE uint32_t multiply_strips(const ox_bstrassen_strips *t, size_t s, size_t end, const float *b0, const float *b1,
                                   const int m, const int sign, const bool ends) {
  const size_t pixels = (size_t)m, step = pixels * OX_BLOCK;
  const ox_bstrassen_end *e = ends ? t->end : NULL;
  uint32_t bad = 0;
  for (size_t at = s * pixels; s < end; s++, at += pixels) {
    const float *a = t->a + s * step;
    float *own = t->own + at * COLUMNS;
    vf32 acc[MOST][NV];
    OX_UNROLL for (int j = 0; j < NV; j++) {
      const vf32 begin = t->bias ? vf32_load(t->bias + j * L) : vf32_zero();
      OX_UNROLL for (int i = 0; i < m; i++) acc[i][j] = begin;
    }
    fetch f = {t->ahead[s], t->ahead[s] ? OX_BLOCK : 0, (const char *)(e ? e->y + at * OX_BLOCK : own), NULL, 0};
    f.end = f.soon + step * sizeof(float), f.other = (e ? e->panel : step) * sizeof(float);
    add_products(t, a, t->blocks, a + step, b0, b1, &f, m, sign, acc);
    if (t->adds) add_product(own, acc, m);
    if (t->keeps) EACH_SUM vf32_store(own + i * COLUMNS + j * L, acc[i][j]);
    if (!e) continue;
    if (e->a_rest) add_products(t, e->a_rest + s * step, 1, a + step, e->b_rest, NULL, &f, m, 0, acc);
    if (!finish(e, at, acc, m)) bad |= 1u << s;
  }
  return bad;
}

OX_INLINE uint32_t multiply_pixels(const ox_bstrassen_strips *t, const int m, const int sign) {
  if (!BSTRASSEN_KEEPS || !sign) return multiply_strips(t, 0, t->n_strips, t->b[0], t->b[1], m, sign, sign > 0);
  size_t first = t->has_sum ? 0 : 1;
  uint32_t bad = multiply_strips(t, 0, first, t->b[0], t->b[1], m, sign, sign > 0);
  return bad | multiply_strips(t, first, t->n_strips, t->b_sum, NULL, m, 0, sign > 0);
}

/* Each a function of its own, whose inner loop has all registers. */
#define STRASSEN_PIXELS(m)                                                                                  \
  static OX_NOINLINE uint32_t minus_##m(const ox_bstrassen_strips *t) { return multiply_pixels(t, m, -1); } \
  static OX_NOINLINE uint32_t alone_##m(const ox_bstrassen_strips *t) { return multiply_pixels(t, m, 0); }  \
  static OX_NOINLINE uint32_t plus_##m(const ox_bstrassen_strips *t) { return multiply_pixels(t, m, +1); }
#define STRASSEN_ROW(m) {minus_##m, alone_##m, plus_##m},
#if BSTRASSEN_MOST == 6
#define STRASSEN_EACH(X) X(4) X(5) X(6)
#else
#define STRASSEN_EACH(X) X(9) X(10) X(11) X(12) X(13) X(14)
#endif
STRASSEN_EACH(STRASSEN_PIXELS)

static uint32_t multiply(const ox_bstrassen_strips *t) {
  static uint32_t (*const pixels[][3])(const ox_bstrassen_strips *) = {STRASSEN_EACH(STRASSEN_ROW)};
  return pixels[(size_t)t->m + OX_COUNT(pixels) - 1 - MOST][1 + t->b_sign](t);
}

/* ---- pixels ---- */

static void mix(const float *const x[2], const ptrdiff_t *at, size_t half, size_t n, float *to, size_t step_floats,
                bool alone) {
  for (size_t i = 0, lane = 0; i < half; to += L) {
    vf32 v[4];
    OX_UNROLL for (size_t q = 0; q < 4; q++) v[q] = vf32_load(x[q & 1] + at[i + (q >> 1) * (n - half)] + lane);
    OX_UNROLL for (int s = 0; s < OX_STRASSEN_STEPS; s++) {
      const ox_strassen_step *p = &ox_strassen[s];
      if (!p->a_pair && !alone) continue;
      vf32_store(to + (size_t)s * step_floats, p->a_pair ? vf32_sub(v[p->a[0]], v[p->a[1]]) : v[p->a[0]]);
    }
    lane = (lane + L) % OX_BLOCK, i += lane == 0;
  }
}

const ox_bstrassen_kernels BSTRASSEN_NAME = {.most = MOST,
                                             .panels = NV / PER,
                                             .tile_pixels = BSTRASSEN_PIXELS,
                                             .tile_blocks = BSTRASSEN_BLOCKS,
                                             .fetch_every = EVERY,
                                             BSTRASSEN_COST,
                                             .keeps_sums = BSTRASSEN_KEEPS,
                                             .multiply = multiply,
                                             .mix = mix};
