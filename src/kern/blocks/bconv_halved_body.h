/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_halved_body.h - micro-kernels for a last panel of at most 8 channels: one vector holds its sums for
 * two pixels. Part of bconv_direct_body.h; a block is one vector. */

typedef struct halved_sums {
  sums whole[OX_BCONV_MOST_PIXELS];
  vf32 half[OX_BCONV_MOST_PIXELS / 2]; /* of pixels 2 i and 2 i + 1 */
} halved_sums;

OX_INLINE void add_channel_halved(halved_sums *acc, const float *const *x, size_t step, const float *w, size_t w_panel,
                                  int mr, int np) {
  const int h = (mr + 1) / 2;
  vf32 wv[OX_BCONV_MOST_PANELS];
  OX_UNROLL for (int j = 0; j < np; j++) wv[j] = vf32_load(w + (size_t)j * w_panel);
  OX_UNROLL for (int i = 0; i < mr; i += 2) {
    vf32 two[2];
    OX_UNROLL for (int e = 0; e < 2; e++) {
      const int p = OX_MIN(i + e, mr - 1), to = p < h ? p : p - h;
      two[e] = vf32_splat(x[(p >= h) + 2 * (to >= RUN)][(size_t)(to % RUN) * step]);
      if (i + e < mr)
        OX_UNROLL for (int j = 0; j < np - 1; j++) acc->whole[p][j] = vf32_fma(two[e], wv[j], acc->whole[p][j]);
    }
    acc->half[i / 2] = vf32_fma(vf32_join_halves(two[0], two[1]), wv[np - 1], acc->half[i / 2]);
  }
}

OX_INLINE const float *add_products_halved(const ox_bconv_mul *m, size_t at, const float *ahead, halved_sums *acc,
                                           int mr, int np) {
  const float *w = m->w;
  size_t step = m->x_step, w_panel = m->w_panel;
  for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; s++) {
    const float *x[4];
    begin_segment(m, s, at, x, mr);
    ahead = fetch_weights(m, ahead, ahead + m->ahead_k * OX_BLOCK, np);
    w += s->skip;
    for (const float *w_end = w + s->k * OX_BLOCK; w < w_end; w += OX_BLOCK, x[0]++, x[1]++, x[2]++, x[3]++)
      add_channel_halved(acc, x, step, w, w_panel, mr, np);
  }
  return ahead;
}

/* As begin_sums for the halved panel: the same order of additions, so that channels with equal weights give the same
 * bits as in whole panels. */
OX_INLINE void begin_halves(const ox_bconv_mul *m, const float *bias, size_t at, vf32 *half, int mr) {
  const int h = (mr + 1) / 2;
  vf32 b = vf32_load(bias);
  OX_UNROLL for (int i = 0; i < mr; i += 2) {
    const int next = OX_MIN(i + 1, mr - 1);
    half[i / 2] = b;
    if (m->first) continue;
    half[i / 2] = vf32_join_halves(
        vf32_load(m->y[i >= h] + at + (size_t)(i < h ? i : i - h) * OX_BLOCK),
        vf32_swap_halves(vf32_load(m->y[next >= h] + at + (size_t)(next < h ? next : next - h) * OX_BLOCK)));
  }
}

/* Finishes and stores |v|, the sums of pixel |i| with zeros in the upper half. */
OX_INLINE void end_half(const ox_bconv_mul *m, size_t at, vf32 v, int i, int h) {
  at += (size_t)(i < h ? i : i - h) * OX_BLOCK;
  if (m->first && m->z[0]) v = vf32_add(v, vf32_load(m->z[i >= h] + at));
  if (m->last) v = vf32_min(vf32_splat(m->hi), vf32_max(vf32_splat(m->lo), v)); /* NaN stays */
  vf32_store(m->y[i >= h] + at, v);
}

OX_INLINE void product_halved(const ox_bconv_mul *m, int mr, int np) {
  const int h = (mr + 1) / 2;
  const float *ahead = m->ahead;
  size_t x_at = 0, y_at = 0, last = (size_t)(np - 1) * m->y_panel, before = (size_t)(np - 1) * OX_BLOCK;
  float bias[(OX_BCONV_MOST_PANELS - 1) * OX_BLOCK], half[OX_BLOCK] = {0};
  OX_UNROLL for (int j = 0; j < np - 1; j++) vf32_store(bias + j * L, bias_of(m->bias, m->channels, j));
  for (size_t l = before; m->first && m->bias && l < m->channels; l++)
    half[l - before] = half[l - before + OX_BLOCK / 2] = m->bias[l];
  for (size_t strip = m->n_strips; strip--; x_at += m->x_move, y_at += m->y_move) {
    halved_sums acc;
    if (m->n_segs > 2) fetch_results(m, y_at, OX_BLOCK, mr, np);
    begin_sums(m, hidden(bias), y_at, OX_BLOCK, acc.whole, mr, np - 1);
    begin_halves(m, hidden(half), y_at + last, acc.half, mr);
    ahead = add_products_halved(m, x_at, ahead, &acc, mr, np);
    OX_UNROLL for (int i = 0; i < mr; i += 2) {
      vf32 each[2] = {acc.half[i / 2], vf32_swap_halves(acc.half[i / 2])};
      OX_UNROLL for (int e = 0; e < 2; e++) if (i + e < mr)
          end_half(m, y_at + last, vf32_join_halves(each[e], vf32_zero()), i + e, h);
    }
    end_sums(m, y_at, OX_BLOCK, acc.whole, mr, np - 1);
  }
}

#define BCONV_MUL_HALVED(np, mr) \
  static void halved_##np##_##mr(const ox_bconv_mul *m) { product_halved(m, mr, np); }
#define BCONV_HALVED_ROW(np, mr) halved_##np##_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_HALVED2)(BCONV_MUL_HALVED, 2)
BCONV_UP_TO(BCONV_HALVED3)(BCONV_MUL_HALVED, 3)
static ox_bconv_mul_fn *const halved[][OX_BCONV_MOST_PIXELS] = {
    {0}, {BCONV_UP_TO(BCONV_HALVED2)(BCONV_HALVED_ROW, 2)}, {BCONV_UP_TO(BCONV_HALVED3)(BCONV_HALVED_ROW, 3)}};
/* clang-format on */
