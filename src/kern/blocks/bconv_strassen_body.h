/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_body.h - the seven products of a strip over the SIMD vocabulary. Cannot fail, no globals.
 */
#include "kern/blocks/bconv_strassen.h"

#define SW_PASTE2(a, b) a##b
#define SW_PASTE(a, b) SW_PASTE2(a, b)
#define SW_STR2(x) #x
#define SW_STR(x) SW_STR2(x)

enum {
  L = VF32_LANES,
  PER = OX_BLOCK / VF32_LANES, /* vectors of a panel */
  NV = SW_NP * PER,            /* of a pixel */
  RUN = 7                      /* pixels reached from one pointer */
};

typedef vf32 sums[NV]; /* of a pixel */

#define EACH_SUM OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < NV; j++)

/* The compiler shall not take this pointer apart: it would keep a register for each place near it. */
OX_INLINE float *whole(float *p) {
#if defined(__GNUC__)
  __asm__("" : "+r"(p));
#endif
  return p;
}

/* One channel; x: two runs of pixels. */
OX_INLINE void add_channel(sums *acc, const float *const *x, int k, const vf32 *w, int mr) {
  OX_UNROLL for (int i = 0; i < mr; i++) {
    vf32 xi = vf32_splat(x[i >= RUN][(i % RUN) * OX_BLOCK + k]);
    OX_UNROLL for (int j = 0; j < NV; j++) vf32_fma_onto(&acc[i][j], xi, w[j]);
  }
}

typedef struct place { /* of a quadrant's results */
  float *y;
  const float *z;
  float *c;
  const float *bias;
} place;

/* Quadrants in the order in which they are done: C22, C21, C12, C11. */
OX_INLINE place place_of(const ox_sw_mul *m, const float *bias, int quadrant, int mr) {
  int row = quadrant < 2, panels = quadrant % 2 ? 0 : SW_NP;
  size_t at = (size_t)panels * m->y_panel;
  return (place){m->y[row] + at, m->z[row] ? m->z[row] + at : NULL, m->c + quadrant * mr * SW_NP * OX_BLOCK,
                 bias + panels * OX_BLOCK};
}

/* Brings in what the results will be stored over, while they are made: in block |b| of a step a panel of Y or Z. */
OX_INLINE void fetch_results(const ox_sw_mul *m, const place *p, size_t b, int mr) {
  size_t at = b % SW_NP * m->y_panel;
  if (b < SW_NP)
    OX_UNROLL for (int i = 0; i < mr; i++) OX_PREFETCH_WRITE(p->y + at + (size_t)i * OX_BLOCK);
  else if (b < 2 * SW_NP && p->z)
    OX_UNROLL for (int i = 0; i < mr; i++) OX_PREFETCH(p->z + at + (size_t)i * OX_BLOCK);
}

/* All blocks of a half; |makes|: by W - less, which is kept. */
OX_INLINE void add_products(const ox_sw_mul *m, const ox_sw_step *s, const float **ahead, const place *results,
                            sums *acc, int mr, bool makes) {
  const float *x[] = {s->x, s->x + RUN * OX_BLOCK}, *w = s->w, *less = s->less, *fetch = *ahead, *next = s->fetch;
  float *to = s->to;
  size_t w_panel = s->w_panel, less_panel = s->less_panel, to_panel = m->to_panel, x_block = s->x_block - OX_BLOCK;
  for (size_t b = 0; b < m->blocks; b++, x[0] += x_block, x[1] += x_block) {
    if (results->y) fetch_results(m, results, b, mr);
    for (const float *end = OX_MIN(fetch + m->ahead_n * OX_BLOCK, m->ahead_end); fetch < end; fetch += OX_BLOCK)
      OX_UNROLL for (size_t q = 0; q < 2 * SW_NP; q++) OX_PREFETCH_L2(fetch + q * m->w_panel);
    if (next) {
      OX_UNROLL for (int i = 0; i < mr; i++) OX_PREFETCH_L2(next + i * OX_BLOCK);
      next += m->fetch_block;
    }
    for (const float *end = w + OX_BLOCK * OX_BLOCK; w < end;) {
      OX_UNROLL for (int k = 0; k < SW_K_AT_ONCE; k++) {
        vf32 wv[NV];
        OX_UNROLL for (int j = 0; j < NV; j++) {
          size_t q = (size_t)(j / PER), at = (size_t)(k * OX_BLOCK + j % PER * L);
          wv[j] = vf32_load(w + q * w_panel + at);
          if (makes) wv[j] = vf32_sub(wv[j], vf32_load(less + q * less_panel + at));
          if (makes) vf32_store(to + q * to_panel + at, wv[j]);
        }
        add_channel(acc, x, k, wv, mr);
      }
      w += SW_K_AT_ONCE * OX_BLOCK, x[0] += SW_K_AT_ONCE, x[1] += SW_K_AT_ONCE;
      if (makes) less += SW_K_AT_ONCE * OX_BLOCK, to += SW_K_AT_ONCE * OX_BLOCK;
    }
  }
  *ahead = fetch;
}

/* A quadrant is done: finishes its sums, and adds them to |sizes|, one for each vector of a pixel. */
OX_INLINE void put(const ox_sw_mul *m, const place *p, sums *acc, float *sizes, int mr) {
  if (m->first)
    EACH_SUM acc[i][j] = vf32_add(acc[i][j], vf32_load(p->bias + j * L));
  else
    EACH_SUM acc[i][j] = vf32_add(acc[i][j], vf32_load(whole(p->c) + (i * NV + j) * L));
  if (!m->last) {
    EACH_SUM vf32_store(whole(p->c) + (i * NV + j) * L, acc[i][j]);
    return;
  }
  OX_UNROLL for (int j = 0; j < NV; j++) {
    vf32 even = vf32_load(sizes + j * L), odd = acc[0][j];
    OX_UNROLL for (int i = 1; i < mr; i++) {
      if (i % 2)
        even = vf32_add(even, acc[i][j]);
      else
        odd = vf32_add(odd, acc[i][j]);
    }
    vf32_store(sizes + j * L, vf32_add(even, odd));
  }
  if (p->z) OX_UNROLL for (int j = 0; j < NV; j++) {
      const float *z = whole((float *)p->z + (size_t)(j / PER) * m->y_panel + (size_t)(j % PER * L));
      OX_UNROLL for (int i = 0; i < mr; i++) acc[i][j] = vf32_add(acc[i][j], vf32_load(z + i * OX_BLOCK));
    }
  vf32 lo = vf32_splat(m->lo), hi = vf32_splat(m->hi);
  if (m->lo > -INFINITY) EACH_SUM acc[i][j] = vf32_max(lo, acc[i][j]); /* NaN passes */
  if (m->hi < INFINITY) EACH_SUM acc[i][j] = vf32_min(hi, acc[i][j]);
  OX_UNROLL for (int j = 0; j < NV; j++) {
    float *y = whole(p->y + (size_t)(j / PER) * m->y_panel + (size_t)(j % PER * L));
    OX_UNROLL for (int i = 0; i < mr; i++) vf32_store(y + i * OX_BLOCK, acc[i][j]);
  }
}

OX_INLINE bool ordinary(const float *sizes) {
  vm32 all = vf32_lt(vf32_abs(vf32_load(sizes)), vf32_splat(0x1p100f));
  OX_UNROLL for (int j = 1; j < NV; j++) all =
      vm32_and(all, vf32_lt(vf32_abs(vf32_load(sizes + j * L)), vf32_splat(0x1p100f)));
  return vm32_all(all);
}

enum { P, Q, U, V, KEPT }; /* what the sums of a step begin with: V is C22 + P - Q */

/* Every step takes its sums from memory and leaves them there: sums that stay in registers from step to step are what
 * compilers spill in the middle of the products. */
OX_INLINE bool product(const ox_sw_mul *m, int mr, bool makes) {
  static const uint8_t from[OX_SW_STEPS] = {0, P, Q, U, V, U, P};
  float kept[KEPT][SW_MR * SW_NP * OX_BLOCK], bias[2 * SW_NP * OX_BLOCK], sizes[NV * L];
  const float *ahead = m->ahead;
  for (int j = 0; j < NV; j++) vf32_store(sizes + j * L, vf32_zero());
  for (int i = 0; i < 2 * NV; i++) vf32_store(bias + i * L, m->bias ? vf32_load(m->bias + i * L) : vf32_zero());
  for (int step = 0; step < OX_SW_STEPS; step++) {
    const ox_sw_step *s = &m->step[step];
    sums acc[SW_MR];
    const float *begin = whole(kept[from[step]]);
    if (step == 0)
      EACH_SUM acc[i][j] = vf32_zero();
    else
      EACH_SUM acc[i][j] = vf32_load(begin + (i * NV + j) * L);
    place to = {0};
    if (step >= 3) to = place_of(m, bias, step - 3, mr);
    if (makes && s->less)
      add_products(m, s, &ahead, &to, acc, mr, true);
    else
      add_products(m, s, &ahead, &to, acc, mr, false);
    if (step < 3) {
      float *keep = whole(kept[step]);
      EACH_SUM vf32_store(keep + (i * NV + j) * L, acc[i][j]);
    } else {
      if (step == 3) {
        const float *p = whole(kept[P]), *q = whole(kept[Q]);
        float *v = whole(kept[V]);
        EACH_SUM vf32_store(v + (i * NV + j) * L, vf32_add(acc[i][j], vf32_sub(vf32_load(p + (i * NV + j) * L),
                                                                               vf32_load(q + (i * NV + j) * L))));
      }
      put(m, &to, acc, whole(sizes), mr);
    }
  }
  return ordinary(sizes);
}

/* ---- sums of X ---- */

static void sums_of(const ox_sw_sums *s) {
  for (size_t i = 0; i < s->pixels; i++) {
    OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L) {
      vf32 a11 = vf32_load(s->a[0] + s->at[0][i] + l), a12 = vf32_load(s->a[1] + s->at[0][i] + l);
      vf32 a21 = vf32_load(s->a[2] + s->at[1][i] + l), a22 = vf32_load(s->a[3] + s->at[1][i] + l);
      vf32 s1 = vf32_add(a21, a22), s2 = vf32_sub(s1, a11);
      float *to = s->to + i * OX_BLOCK + l;
      vf32_store(to, s1);
      vf32_store(to + s->to_sum, s2);
      vf32_store(to + 2 * s->to_sum, vf32_sub(a11, a21));
      vf32_store(to + 3 * s->to_sum, vf32_sub(a12, s2));
      if (!s->singles) continue;
      vf32_store(to + 4 * s->to_sum, a11);
      vf32_store(to + 5 * s->to_sum, a12);
      vf32_store(to + 6 * s->to_sum, a22);
    }
  }
}

/* ---- the tables ---- */

#define SW_FUNCTIONS(mr)                                                     \
  static bool mul_##mr(const ox_sw_mul *m) { return product(m, mr, false); } \
  static bool make_##mr(const ox_sw_mul *m) { return product(m, mr, true); }
#define SW_MUL_ROW(mr) [mr - 1] = mul_##mr,
#define SW_MAKE_ROW(mr) [mr - 1] = make_##mr,
#define SW_EACH_2(X) X(1) X(2)
#define SW_EACH_6(X) X(3) X(4) X(5) X(6)
#define SW_EACH_14(X) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define SW_EACH SW_PASTE(SW_EACH_, SW_MR)
/* clang-format off */
SW_EACH(SW_FUNCTIONS)
static ox_sw_mul_fn *const muls[] = {SW_EACH(SW_MUL_ROW)}, *const makes_[] = {SW_EACH(SW_MAKE_ROW)};
/* clang-format on */

extern const ox_sw_variant SW_PASTE(ox_sw__, SW_ISA);
const ox_sw_variant SW_PASTE(ox_sw__, SW_ISA) = {.needs = SW_NEEDS,
                                                 .name = "strassen_" SW_STR(SW_ISA),
                                                 .np = SW_NP,
                                                 .mr = SW_MR,
                                                 .mul = muls,
                                                 .make = makes_,
                                                 .sums = sums_of};
