/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_grouped_body.h - micro-kernels for groups within a block, lane by lane (ox_bconv_grouped); part of
 * bconv_direct_body.h. */

static void spread(float *to, const float *x, const int32_t *at, size_t pixels, size_t ic) {
  for (; pixels--; x += OX_BLOCK)
    for (size_t j = 0; j < ic; j++, to += OX_BLOCK)
      OX_UNROLL for (int l = 0; l < OX_BLOCK; l += L)
          vf32_store(to + l, vf32_pick16(x, vi32_load(at + j * OX_BLOCK + (size_t)l)));
}

/* Stores vector |j| of pixel |i|, the first |h| pixels of which are the first run. */
OX_INLINE void grouped_end(const ox_bconv_grouped *m, int i, int h, int j, vf32 v) {
  size_t at = (size_t)(i < h ? i : i - h) * OX_BLOCK + (size_t)(j * L);
  if (m->z[0]) v = vf32_add(v, vf32_load(m->z[i >= h] + at));
  v = vf32_min(vf32_splat(m->hi), vf32_max(vf32_splat(m->lo), v)); /* NaN stays */
  if (m->slope) v = vf32_prelu(v, vf32_load(m->slope + j * L));
  vf32_store(m->y[i >= h] + at, v);
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
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < PER; j++) grouped_end(m, i, h, j, acc[i][j]);
}

#define BCONV_GROUPED(np, mr) \
  static void grouped_##mr(const ox_bconv_grouped *m) { grouped_product(m, mr); }
#define BCONV_GROUPED_ROW(np, mr) grouped_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_MRG)(BCONV_GROUPED, )
static ox_bconv_grouped_fn *const groupeds[] = {BCONV_UP_TO(BCONV_MRG)(BCONV_GROUPED_ROW, )};
/* clang-format on */

#ifdef BCONV_EVEN
/* Groups of |size| inputs and outputs: a vector at a time, whose lanes read their group's inputs from the block. */
OX_INLINE void even_product(const ox_bconv_grouped *m, const int size, const int mr) {
  const int h = (mr + 1) / 2;
  const size_t step = m->x_step;
  OX_UNROLL for (int j = 0; j < PER; j++) {
    const float *w = m->w + j * L;
    vf32 acc[BCONV_EVEN8], bias = bias_of(m->bias, m->channels, j);
    OX_UNROLL for (int i = 0; i < mr; i++) acc[i] = bias;
    for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; s++) {
      const float *x0 = m->x[0] + s->at + j * L / size * size, *x1 = m->x[1] + s->at + j * L / size * size;
      for (const float *w_end = w + s->k * OX_BLOCK; w < w_end; w += size * OX_BLOCK, x0 += OX_BLOCK, x1 += OX_BLOCK)
        OX_UNROLL for (int c = 0; c < size; c++) {
          vf32 wc = vf32_load(w + c * OX_BLOCK);
          OX_UNROLL for (int i = 0; i < mr; i++) {
            const float *x = i < h ? x0 + (size_t)i * step : x1 + (size_t)(i - h) * step;
            acc[i] = vf32_fma(vf32_of_groups(x, size, c), wc, acc[i]);
          }
        }
    }
    OX_UNROLL for (int i = 0; i < mr; i++) grouped_end(m, i, h, j, acc[i]);
  }
}

#define BCONV_EVEN_FN(size, mr) \
  static void even_##size##_##mr(const ox_bconv_grouped *m) { even_product(m, size, mr); }
#define BCONV_EVEN_ROW(size, mr) even_##size##_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_EVEN)(BCONV_EVEN_FN, 2)
BCONV_UP_TO(BCONV_EVEN)(BCONV_EVEN_FN, 4)
BCONV_UP_TO(BCONV_EVEN8)(BCONV_EVEN_FN, 8)
static ox_bconv_grouped_fn *const evens[OX_BCONV_EVEN_SIZES][OX_BCONV_MOST_PIXELS] = {
    {BCONV_UP_TO(BCONV_EVEN)(BCONV_EVEN_ROW, 2)},
    {BCONV_UP_TO(BCONV_EVEN)(BCONV_EVEN_ROW, 4)},
    {BCONV_UP_TO(BCONV_EVEN8)(BCONV_EVEN_ROW, 8)},
};
/* clang-format on */
#else
#define BCONV_EVEN 0
#define BCONV_EVEN8 0
#define evens NULL
#endif
