/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct_body.h - the micro-kernels of the direct form over the SIMD vocabulary. Cannot fail, no
 * globals. */
#include "kern/blocks/bconv_direct.h"
#include "kern/simd/act_f32.h"
#include "kern/simd/sums.h"

enum {
  L = VF32_LANES,
  PER = OX_BLOCK / VF32_LANES, /* vectors of a panel */
  RUN = 7                      /* pixels addressed from one pointer */
};

/* The number of lanes of vector |j| that are below |channels|. */
OX_INLINE size_t lanes_of(size_t channels, int j) {
  size_t before = (size_t)(j * L);
  return before >= channels ? 0 : OX_MIN((size_t)L, channels - before);
}

OX_INLINE vf32 bias_of(const float *bias, size_t channels, int j) {
  return bias ? vf32_load_n(bias + j * L, lanes_of(channels, j)) : vf32_zero();
}

#define EACH_SUM OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++)
/* Hides from the compiler how the pointer was computed: else it keeps a register for each address nearby. */
OX_INLINE float *hidden(float *p) {
#if defined(__GNUC__)
  __asm__("" : "+r"(p));
#endif
  return p;
}

/* Prefetches the outputs and the residual of a strip, so that they arrive while its sums are computed. */
OX_INLINE void fetch_results(const ox_bconv_mul *m, size_t at, size_t step, int mr, int np) {
  const int h = (mr + 1) / 2;
  if (!m->first) return;
  for (int q = 0; q < np; q++, at += m->y_panel) OX_UNROLL for (int i = 0; i < mr; i++) {
      OX_PREFETCH_WRITE(m->y[i >= h] + at + (size_t)(i < h ? i : i - h) * step);
      if (m->z[0]) OX_PREFETCH(m->z[i >= h] + at + (size_t)(i < h ? i : i - h) * step);
    }
}

typedef vf32 sums[OX_BCONV_MOST_PANELS * PER]; /* of a pixel */

/* The products of one k; x: the four runs of pixels of begin_segment. */
OX_INLINE void add_channel(sums *acc, const float *const *x, size_t step, const float *w, size_t w_panel, int mr,
                           int nv) {
  const int h = (mr + 1) / 2;
  vf32 wv[OX_BCONV_MOST_PANELS * PER];
  OX_UNROLL for (int j = 0; j < nv; j++) wv[j] = vf32_load(w + (size_t)(j / PER) * w_panel + j % PER * L);
  OX_UNROLL for (int i = 0; i < mr; i++) {
    const int to = i < h ? i : i - h;
    vf32 xi = vf32_splat(x[(i >= h) + 2 * (to >= RUN)][(size_t)(to % RUN) * step]);
    OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_fma_onto(xi, wv[j], acc[i][j]);
  }
}

/* Prefetches the following weights from |ahead| to |end|. */
OX_INLINE const float *fetch_weights(const ox_bconv_mul *m, const float *ahead, const float *end, int np) {
  for (; ahead < end; ahead += OX_BLOCK)
    OX_UNROLL for (int q = 0; q < np; q++) OX_PREFETCH_L2(ahead + (size_t)q * m->w_panel);
  return ahead;
}

/* Sets |x| to the strip's pixels in segment |s|: the two runs, and their pixels from RUN on. Prefetches the next
 * strip's pixels. */
OX_INLINE void begin_segment(const ox_bconv_mul *m, const ox_bconv_seg *s, size_t at, const float **x, int mr) {
  size_t step = m->x_step;
  x[0] = m->x[0] + at + s->at, x[1] = m->x[1] + at + s->at, x[2] = x[0] + RUN * step, x[3] = x[1] + RUN * step;
  if (m->fetch) OX_UNROLL for (int i = 0; i < mr; i++) OX_PREFETCH_L2(x[0] + m->x_move + (size_t)i * step);
}

#ifdef BCONV_SUMS
/* add_products of four to six pixels and one panel. */
OX_INLINE const float *add_pixels(const ox_bconv_mul *m, size_t at, const float *ahead, sums *acc, const int mr) {
  const float *w = m->w;
  const ptrdiff_t step = (ptrdiff_t)(m->x_step * sizeof(float));
  const size_t ahead_k = m->ahead_k, n_even = m->fetch ? 0 : m->n_even;
  const float *x[4] = {m->x[0] + at, m->x[1] + at};
  if (n_even) x[0] += m->segs->at, x[1] += m->segs->at;
#define BCONV_STEP(k)                                                                             \
  {                                                                                               \
    const vf32 wv[2] = {vf32_load(w + (k)*OX_BLOCK), vf32_load(w + (k)*OX_BLOCK + OX_BLOCK / 2)}; \
    OX_SUMS_STEP(acc, mr, x[0], x[1], step, k, wv);                                               \
  }
  OX_SUMS_OPEN(acc, mr);
  for (size_t n = n_even; n > 0; n--, w += OX_BLOCK * OX_BLOCK, x[0] += m->even_step, x[1] += m->even_step) {
    for (size_t i = ahead_k; i > 0; i--, ahead += OX_BLOCK) OX_PREFETCH_L2(ahead);
    OX_SIXTEEN(BCONV_STEP)
  }
  for (const ox_bconv_seg *s = m->segs + n_even, *end = m->segs + m->n_segs; s < end; s++) {
    begin_segment(m, s, at, x, mr);
    for (size_t n = ahead_k; n > 0; n--, ahead += OX_BLOCK) OX_PREFETCH_L2(ahead);
    w += s->skip;
    const float *next = w + s->k * OX_BLOCK;
    if (s->k == OX_BLOCK) {
      OX_SIXTEEN(BCONV_STEP)
    } else if (s->k == 7) { /* a row of a stem's window */
      OX_SEVEN(BCONV_STEP)
    } else {
      for (; w < next; w += OX_BLOCK, x[0]++, x[1]++) BCONV_STEP(0)
    }
    w = next;
  }
  OX_SUMS_CLOSE(acc, mr);
#undef BCONV_STEP
  return ahead;
}
#endif

/* Adds the products of all segments of the strip that is |at| floats after the first. */
OX_INLINE const float *add_products(const ox_bconv_mul *m, size_t at, const float *ahead, sums *acc, int mr, int nv) {
  const int np = (nv + PER - 1) / PER;
  const float *w = m->w;
  size_t step = m->x_step, w_panel = m->w_panel;
#ifdef BCONV_SUMS
  if (nv == 2 && mr >= 4 && mr <= 6) return add_pixels(m, at, ahead, acc, mr);
#endif
#ifdef BCONV_K_AT_ONCE
  size_t each = (m->ahead_k + OX_BLOCK / BCONV_K_AT_ONCE - 1) / (OX_BLOCK / BCONV_K_AT_ONCE) * OX_BLOCK;
#endif
  for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; s++) {
    const float *x[4], *until = ahead + m->ahead_k * OX_BLOCK;
    begin_segment(m, s, at, x, mr);
    w += s->skip;
    const float *w_end = w + s->k * OX_BLOCK;
#ifdef BCONV_K_AT_ONCE
    for (; w_end - w >= BCONV_K_AT_ONCE * OX_BLOCK; w += BCONV_K_AT_ONCE * OX_BLOCK) {
      ahead = fetch_weights(m, ahead, OX_MIN(ahead + each, until), np);
      OX_UNROLL for (int k = 0; k < BCONV_K_AT_ONCE; k++) {
        const float *xk[] = {x[0] + k, x[1] + k, x[2] + k, x[3] + k};
        add_channel(acc, xk, step, w + k * OX_BLOCK, w_panel, mr, nv);
      }
      OX_UNROLL for (int i = 0; i < 4; i++) x[i] += BCONV_K_AT_ONCE;
    }
#endif
    ahead = fetch_weights(m, ahead, until, np);
    for (; w < w_end; w += OX_BLOCK, x[0]++, x[1]++, x[2]++, x[3]++) add_channel(acc, x, step, w, w_panel, mr, nv);
  }
  return ahead;
}

/* Sums of |n| pixels for |per| vectors of one panel, acc[i][j0 + j] of pixel i: from memory, plus a residual, to
 * memory, where the other vectors become zero. */
OX_INLINE void load_run(sums *acc, const float *y, size_t step, int n, int j0, int per) {
  OX_UNROLL for (int i = 0; i < n; i++, y += step) OX_UNROLL for (int j = 0; j < per; j++) acc[i][j0 + j] =
      vf32_load(y + j * L);
}
OX_INLINE void add_run(sums *acc, const float *z, size_t step, int n, int j0, int per) {
  OX_UNROLL for (int i = 0; i < n; i++, z += step) OX_UNROLL for (int j = 0; j < per; j++) acc[i][j0 + j] =
      vf32_add(acc[i][j0 + j], vf32_load(z + j * L));
}
OX_INLINE void store_run(sums *acc, float *y, size_t step, int n, int j0, int per) {
  OX_UNROLL for (int i = 0; i < n; i++, y += step) OX_UNROLL for (int j = 0; j < PER; j++)
      vf32_store(y + j * L, j < per ? acc[i][j0 + j] : vf32_zero());
}
#define EACH_RUN(what, of)                                                                 \
  OX_UNROLL for (int q = 0; q * PER < nv; q++) {                                           \
    const int per = OX_MIN((int)PER, nv - q * PER);                                        \
    size_t at = y_at + (size_t)q * m->y_panel;                                             \
    what(acc, hidden((float *)m->of[0] + at), step, h, PER *q, per);                       \
    if (mr > h) what(acc + h, hidden((float *)m->of[1] + at), step, mr - h, PER * q, per); \
  }

/* Sums begin with the bias, which is kept in memory since all registers hold sums, or with the values of Y. */
OX_INLINE void begin_sums(const ox_bconv_mul *m, const float *bias, size_t y_at, size_t step, sums *acc, int mr,
                          int nv) {
  const int h = (mr + 1) / 2;
  if (m->first) {
    OX_UNROLL for (int j = 0; j < nv; j++) {
      vf32 b = vf32_load(bias + j * L);
      OX_UNROLL for (int i = 0; i < mr; i++) acc[i][j] = b;
    }
  } else {
    EACH_RUN(load_run, y)
  }
}

OX_INLINE void end_sums(const ox_bconv_mul *m, size_t y_at, size_t step, sums *acc, int mr, int nv) {
  const int h = (mr + 1) / 2;
  if (m->first && m->z[0]) EACH_RUN(add_run, z)
  if (m->last) {
    vf32 lo = vf32_splat(m->lo), hi = vf32_splat(m->hi);
    if (m->lo > -INFINITY) EACH_SUM acc[i][j] = vf32_max(lo, acc[i][j]); /* NaN stays */
    if (m->hi < INFINITY) EACH_SUM acc[i][j] = vf32_min(hi, acc[i][j]);
  }
  EACH_RUN(store_run, y)
}

/* |step|: floats from pixel to pixel of Y; |nv|: vectors of outputs, of the last panel perhaps fewer than it has. */
OX_INLINE void product(const ox_bconv_mul *m, size_t step, int mr, int nv) {
  const float *ahead = m->ahead;
  size_t x_at = 0, y_at = 0;
  float bias[OX_BCONV_MOST_PANELS * OX_BLOCK];
  OX_UNROLL for (int j = 0; j < nv; j++) vf32_store(bias + j * L, bias_of(m->bias, m->channels, j));
  for (size_t strip = m->n_strips; strip--; x_at += m->x_move, y_at += m->y_move) {
    sums acc[OX_BCONV_MOST_PIXELS];
    if (m->n_segs > 2) fetch_results(m, y_at, step, mr, (nv + PER - 1) / PER);
    begin_sums(m, hidden(bias), y_at, step, acc, mr, nv);
    ahead = add_products(m, x_at, ahead, acc, mr, nv);
    end_sums(m, y_at, step, acc, mr, nv);
  }
}

#define BCONV_MUL(np, mr) \
  static void mul_##np##_##mr(const ox_bconv_mul *m) { product(m, OX_BLOCK, mr, np *PER); }
#define BCONV_UP_TO_2(X, np) X(np, 1) X(np, 2)
#define BCONV_UP_TO_6(X, np) BCONV_UP_TO_2(X, np) X(np, 3) X(np, 4) X(np, 5) X(np, 6)
#define BCONV_UP_TO_9(X, np) BCONV_UP_TO_6(X, np) X(np, 7) X(np, 8) X(np, 9)
#define BCONV_UP_TO_14(X, np) BCONV_UP_TO_9(X, np) X(np, 10) X(np, 11) X(np, 12) X(np, 13) X(np, 14)
#define BCONV_UP_TO_10(X, np) BCONV_UP_TO_9(X, np) X(np, 10)
#define BCONV_UP_TO_12(X, np) BCONV_UP_TO_10(X, np) X(np, 11) X(np, 12)
#define BCONV_UP_TO_16(X, np) BCONV_UP_TO_14(X, np) X(np, 15) X(np, 16)
#define BCONV_UP_TO_28(X, np) \
  BCONV_UP_TO_16(X, np)       \
  X(np, 17)                   \
  X(np, 18) X(np, 19) X(np, 20) X(np, 21) X(np, 22) X(np, 23) X(np, 24) X(np, 25) X(np, 26) X(np, 27) X(np, 28)
#define BCONV_UP_TO(mr) OX_PASTE(BCONV_UP_TO_, mr)
#define BCONV_ROW(np, mr) mul_##np##_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_MR1)(BCONV_MUL, 1)
#ifdef BCONV_MR2
BCONV_UP_TO(BCONV_MR2)(BCONV_MUL, 2)
#endif
#ifdef BCONV_MR3
BCONV_UP_TO(BCONV_MR3)(BCONV_MUL, 3)
#endif
static ox_bconv_mul_fn *const muls[][OX_BCONV_MOST_PIXELS] = {
    {BCONV_UP_TO(BCONV_MR1)(BCONV_ROW, 1)},
#ifdef BCONV_MR2
    {BCONV_UP_TO(BCONV_MR2)(BCONV_ROW, 2)},
#endif
#ifdef BCONV_MR3
    {BCONV_UP_TO(BCONV_MR3)(BCONV_ROW, 3)},
#endif
};
/* clang-format on */

/* With gaps between the pixels of Y, in tables of their own: a step that is not a constant costs 0.7 % of the time. */
#define BCONV_MUL_APART(np, mr) \
  static void apart_##np##_##mr(const ox_bconv_mul *m) { product(m, OX_BLOCK + m->y_gap, mr, np * PER); }
#define BCONV_APART_ROW(np, mr) apart_##np##_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_MR1)(BCONV_MUL_APART, 1)
#ifdef BCONV_MR2
BCONV_UP_TO(BCONV_MR2)(BCONV_MUL_APART, 2)
#endif
static ox_bconv_mul_fn *const aparts[][OX_BCONV_MOST_PIXELS] = {
    {BCONV_UP_TO(BCONV_MR1)(BCONV_APART_ROW, 1)},
#ifdef BCONV_MR2
    {BCONV_UP_TO(BCONV_MR2)(BCONV_APART_ROW, 2)},
#endif
};
/* clang-format on */

/* For a last panel of at most 8 channels where a block is two vectors: the first one alone. */
#ifdef BCONV_LOWER
#define BCONV_MUL_LOWER(np, mr) \
  static void lower_##mr(const ox_bconv_mul *m) { product(m, OX_BLOCK, mr, 1); }
#define BCONV_LOWER_ROW(np, mr) lower_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_LOWER)(BCONV_MUL_LOWER, 1)
static ox_bconv_mul_fn *const lower[][OX_BCONV_MOST_PIXELS] = {{BCONV_UP_TO(BCONV_LOWER)(BCONV_LOWER_ROW, 1)}};
/* clang-format on */
#define BCONV_HALVED lower
#define BCONV_HALVED2 0
#define BCONV_HALVED3 0
#elif defined(BCONV_HALVED)
#define BCONV_LOWER 0
#include "kern/blocks/bconv_halved_body.h"
#include "kern/blocks/bconv_narrow_body.h"
#else
#define BCONV_LOWER 0
#define BCONV_HALVED NULL
#define BCONV_HALVED2 0
#define BCONV_HALVED3 0
#endif
#ifdef BCONV_STEM_BODY
#include BCONV_STEM_BODY
#else
#define BCONV_STEMS \
  { 0 }
#endif
#include "kern/blocks/bconv_grouped_body.h"

static void scale_lines(float *to, const float *from, const float *s, size_t n) {
  for (size_t i = 0; i < n; i++) {
    vf32 by = vf32_splat(s[i]);
    OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L)
        vf32_store(to + i * OX_BLOCK + l, vf32_mul(vf32_load(from + i * OX_BLOCK + l), by));
  }
}
static void scale_lanes(float *to, const float *from, const float *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L)
        vf32_store(to + i * OX_BLOCK + l, vf32_mul(vf32_load(from + i * OX_BLOCK + l), vf32_load(s + l)));
}

#include "kern/blocks/bconv_few_body.h"

static void finish(const ox_act *act, float *y, size_t n) { vf32_act_run(act, y, n); }

static void apply_slopes(float *y, const float *slope, size_t n) {
  vf32 s[PER];
  OX_UNROLL for (int j = 0; j < PER; j++) s[j] = vf32_load(slope + j * L);
  for (; n--; y += OX_BLOCK)
    OX_UNROLL for (int j = 0; j < PER; j++) vf32_store(y + j * L, vf32_prelu(vf32_load(y + j * L), s[j]));
}

#ifndef BCONV_MR2
#define BCONV_MR2 0
#endif
#ifndef BCONV_MR3
#define BCONV_MR3 0
#endif
#ifndef BCONV_POST
#define BCONV_POST 4
#endif
static const ox_bconv_variant few = {.needs = BCONV_NEEDS,
                                     .name = "bconv_few_" OX_QUOTE(BCONV_ISA),
                                     .macs_per_ns = BCONV_RATE,
                                     .k_block = INT64_MAX,
                                     .n_panels = 1,
                                     .n_pixels = {BCONV_MRF},
                                     .post_strips = BCONV_POST,
                                     .mul = fews,
                                     .finish = finish,
                                     .apply_slopes = apply_slopes};
static const ox_bconv_variant apart = {.needs = BCONV_NEEDS,
                                       .name = "bconv_apart_" OX_QUOTE(BCONV_ISA),
                                       .macs_per_ns = BCONV_RATE,
                                       .k_block = BCONV_K,
                                       .n_panels = OX_COUNT(aparts),
                                       .n_pixels = {BCONV_MR1, BCONV_MR2},
                                       .post_strips = BCONV_POST,
                                       .mul = aparts};
#define BCONV_VARIANT(halved2, tables, or_split)                                                                       \
  {                                                                                                                    \
    .needs = BCONV_NEEDS, .name = "bconv_" OX_QUOTE(BCONV_ISA), .macs_per_ns = BCONV_RATE, .k_block = BCONV_K,         \
    .n_panels = OX_MIN(OX_COUNT(muls), 2), .threes = OX_COUNT(muls) > 2,                                               \
    .n_pixels = {BCONV_MR1, BCONV_MR2, BCONV_MR3}, .post_strips = BCONV_POST, .mul = muls,                             \
    .n_halved = {BCONV_LOWER, halved2, BCONV_HALVED3}, .halved = tables, .few = &few, .apart = &apart,                 \
    .split = or_split, .stems = {BCONV_STEMS}, .grouped_pixels = BCONV_MRG, .grouped = groupeds,                       \
    .even_pixels = {BCONV_EVEN, BCONV_EVEN, BCONV_EVEN8}, .even = evens, .spread = spread, .scale_lines = scale_lines, \
    .scale_lanes = scale_lanes, .finish = finish, .apply_slopes = apply_slopes,                                        \
  }
#ifdef BCONV_SPLIT
static const ox_bconv_variant split = BCONV_VARIANT(BCONV_MR2, BCONV_SPLIT, NULL);
#define BCONV_OR_SPLIT &split
#else
#define BCONV_OR_SPLIT NULL
#endif
extern const ox_bconv_variant OX_PASTE(ox_bconv_direct__, BCONV_ISA);
const ox_bconv_variant OX_PASTE(ox_bconv_direct__, BCONV_ISA) = BCONV_VARIANT(BCONV_HALVED2, BCONV_HALVED,
                                                                              BCONV_OR_SPLIT);
