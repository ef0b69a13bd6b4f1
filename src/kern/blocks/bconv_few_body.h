/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_few_body.h - micro-kernels for few outputs: lanes are input channels, and the lanes of each sum
 * are added at the end. Part of bconv_direct_body.h. Weights of a segment: a line of 16 channels for each output. */

/* The products of |lanes| channels; |all|: they fill the vector. */
OX_INLINE void add_lanes(vf32 *acc, const float *x0, const float *x1, size_t step, vf32 w, size_t lanes, bool all,
                         int mr) {
  const int h = (mr + 1) / 2;
  OX_UNROLL for (int i = 0; i < mr; i++) {
    const float *x = i < h ? x0 + (size_t)i * step : x1 + (size_t)(i - h) * step;
    acc[i] = vf32_fma(all ? vf32_load(x) : vf32_load_n(x, lanes), w, acc[i]);
  }
}

/* Output |o| of a strip: a vector of partial sums for each pixel. */
OX_INLINE void add_few(const ox_bconv_mul *m, size_t at, size_t o, vf32 *acc, int mr) {
  const float *w = m->w + o * OX_BLOCK;
  OX_UNROLL for (int i = 0; i < mr; i++) acc[i] = vf32_zero();
  for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; w += s->k * OX_BLOCK, s++) {
    const float *x0 = m->x[0] + at + s->at, *x1 = m->x[1] + at + s->at;
    w += s->skip;
    OX_UNROLL for (int j = 0; j < PER; j++, x0 += L, x1 += L) {
      size_t lanes = lanes_of((size_t)s->k, j);
      if (lanes == L)
        add_lanes(acc, x0, x1, m->x_step, vf32_load(w + j * L), L, true, mr);
      else
        add_lanes(acc, x0, x1, m->x_step, vf32_load(w + j * L), lanes, false, mr);
    }
  }
}

/* Stores |n| sums of output |o| to the pixels of a run. */
OX_INLINE void end_few(const ox_bconv_mul *m, size_t o, size_t at, int run, const float *all, int n) {
  float *y = m->y[run] + at + o;
  const float *z = m->first && m->z[run] ? m->z[run] + at + o : NULL;
  const float bias = m->first && m->bias ? m->bias[o] : 0, lo = m->last ? m->lo : -INFINITY,
              hi = m->last ? m->hi : INFINITY;
  for (int i = 0; i < n; i++, y += OX_BLOCK) {
    float v = all[i] + (m->first ? bias : *y);
    if (z) v += z[i * OX_BLOCK];
    v = v < lo ? lo : v; /* NaN stays */
    *y = v > hi ? hi : v;
  }
}

OX_INLINE void product_few(const ox_bconv_mul *m, int mr) {
  const int h = (mr + 1) / 2;
  size_t x_at = 0, y_at = 0;
  for (size_t strip = m->n_strips; strip--; x_at += m->x_move, y_at += m->y_move)
    for (size_t o = 0; o < m->channels; o++) {
      vf32 acc[OX_BCONV_MOST_PIXELS];
      float all[OX_BCONV_MOST_PIXELS];
      add_few(m, x_at, o, acc, mr);
      OX_UNROLL for (int i = 0; i < mr; i++) all[i] = vf32_sum(acc[i]);
      end_few(m, o, y_at, 0, all, h), end_few(m, o, y_at, 1, all + h, mr - h);
    }
}

#define BCONV_MUL_FEW(np, mr) \
  static void few_##mr(const ox_bconv_mul *m) { product_few(m, mr); }
#define BCONV_FEW_ROW(np, mr) few_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_MRF)(BCONV_MUL_FEW, )
static ox_bconv_mul_fn *const fews[][OX_BCONV_MOST_PIXELS] = {{BCONV_UP_TO(BCONV_MRF)(BCONV_FEW_ROW, )}};
/* clang-format on */
