/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_grouped_body.h - micro-kernels for groups within a block, lane by lane (ox_bconv_grouped); part of
 * bconv_direct_body.h. */

static void spread(float *to, const float *x, const int32_t *at, size_t pixels, size_t ic) {
  for (; pixels--; x += OX_BLOCK)
    for (size_t j = 0; j < ic; j++, to += OX_BLOCK)
      OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L)
          vf32_store(to + l, vf32_pick16(x, vi32_load(at + j * OX_BLOCK + (size_t)l)));
}

OX_INLINE void grouped_product(const ox_bconv_grouped *m, int mr) {
  const int h = (mr + 1) / 2;
  const size_t step = m->x_step;
  const float *w = m->w;
  vf32 acc[BCONV_MRG][PER];
  OX_UNROLL for (int j = 0; j < PER; j++) {
    vf32 bias = bias_of(m->bias, m->channels, j);
    OX_UNROLL for (int i = 0; i < mr; i++) acc[i][j] = bias;
  }
  for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; s++) {
    const float *x0 = m->x[0] + s->at, *x1 = m->x[1] + s->at;
    for (const float *w_end = w + s->k * OX_BLOCK; w < w_end; w += OX_BLOCK, x0 += OX_BLOCK, x1 += OX_BLOCK)
      OX_UNROLL for (int j = 0; j < PER; j++) {
        vf32 wj = vf32_load(w + j * L);
        OX_UNROLL for (int i = 0; i < mr; i++) {
          const float *x = i < h ? x0 + (size_t)i * step : x1 + (size_t)(i - h) * step;
          acc[i][j] = vf32_fma(wj, vf32_load(x + j * L), acc[i][j]);
        }
      }
  }
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < PER; j++) {
    size_t at = (size_t)(i < h ? i : i - h) * OX_BLOCK + (size_t)(j * L);
    vf32 v = acc[i][j];
    if (m->z[0]) v = vf32_add(v, vf32_load(m->z[i >= h] + at));
    v = vf32_min(vf32_splat(m->hi), vf32_max(vf32_splat(m->lo), v)); /* NaN stays */
    if (m->slope) v = vf32_prelu(v, vf32_load(m->slope + j * L));
    vf32_store(m->y[i >= h] + at, v);
  }
}

#define BCONV_GROUPED(np, mr) \
  static void grouped_##mr(const ox_bconv_grouped *m) { grouped_product(m, mr); }
#define BCONV_GROUPED_ROW(np, mr) grouped_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_MRG)(BCONV_GROUPED, )
static void (*const groupeds[])(const ox_bconv_grouped *m) = {BCONV_UP_TO(BCONV_MRG)(BCONV_GROUPED_ROW, )};
/* clang-format on */
