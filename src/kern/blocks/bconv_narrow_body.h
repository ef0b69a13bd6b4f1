/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_narrow_body.h - as bconv_halved_body.h with two panels, for CPUs that execute a 512-bit operation
 * as two halves (Zen 4). There, joining two pixels in a vector costs what it saves, while an operation on half a vector
 * takes half the time: so the last panel's sums are half a vector per pixel. A broadcast instruction occupies an
 * execution unit, too, while the FMA's broadcast memory operand does not. Part of bconv_direct_body.h; a block is one
 * vector. */

typedef struct narrow_sums {
  sums whole[OX_BCONV_MOST_PIXELS];
  vf32h half[OX_BCONV_MOST_PIXELS];
} narrow_sums;

OX_INLINE void add_channel_narrow(narrow_sums *acc, const float *const *x, size_t step, const float *w, size_t w_panel,
                                  int mr) {
  const int h = (mr + 1) / 2;
  vf32 wv = vf32_load(w);
  vf32h wh = vf32h_load(w + w_panel);
  OX_UNROLL for (int i = 0; i < mr; i++) {
    const int to = i < h ? i : i - h;
    const float *xi = x[(i >= h) + 2 * (to >= RUN)] + (size_t)(to % RUN) * step;
    acc->whole[i][0] = vf32_fma_at(xi, wv, acc->whole[i][0]);
    acc->half[i] = vf32h_fma_at(xi, wh, acc->half[i]);
  }
}

OX_INLINE const float *add_products_narrow(const ox_bconv_mul *m, size_t at, const float *ahead, narrow_sums *acc,
                                           int mr) {
  const float *w = m->w;
  size_t step = m->x_step, w_panel = m->w_panel;
  for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; s++) {
    const float *x[4];
    begin_segment(m, s, at, x, mr);
    ahead = fetch_weights(m, ahead, ahead + m->ahead_k * OX_BLOCK, 2);
    w += s->skip;
    for (const float *w_end = w + s->k * OX_BLOCK; w < w_end; w += OX_BLOCK, x[0]++, x[1]++, x[2]++, x[3]++)
      add_channel_narrow(acc, x, step, w, w_panel, mr);
  }
  return ahead;
}

OX_INLINE void product_narrow(const ox_bconv_mul *m, int mr) {
  const int h = (mr + 1) / 2;
  const float *ahead = m->ahead;
  size_t x_at = 0, y_at = 0;
  float bias[2 * OX_BLOCK];
  OX_UNROLL for (int j = 0; j < 2; j++) vf32_store(bias + j * L, bias_of(m->bias, m->channels, j));
  for (size_t strip = m->n_strips; strip--; x_at += m->x_move, y_at += m->y_move) {
    narrow_sums acc;
    size_t last = y_at + m->y_panel;
    if (m->n_segs > 2) fetch_results(m, y_at, OX_BLOCK, mr, 2);
    begin_sums(m, hidden(bias), y_at, OX_BLOCK, acc.whole, mr, 1);
    OX_UNROLL for (int i = 0; i < mr; i++) acc.half[i] =
        vf32h_load(m->first ? hidden(bias) + L : m->y[i >= h] + last + (size_t)(i < h ? i : i - h) * OX_BLOCK);
    ahead = add_products_narrow(m, x_at, ahead, &acc, mr);
    OX_UNROLL for (int i = 0; i < mr; i++) end_half(m, last, vf32_of_half(acc.half[i]), i, h);
    end_sums(m, y_at, OX_BLOCK, acc.whole, mr, 1);
  }
}

#define BCONV_MUL_NARROW(np, mr) \
  static void narrow_##mr(const ox_bconv_mul *m) { product_narrow(m, mr); }
#define BCONV_NARROW_ROW(np, mr) narrow_##mr,
/* clang-format off */
BCONV_UP_TO(BCONV_MR2)(BCONV_MUL_NARROW, 2)
static ox_bconv_mul_fn *const narrow[][OX_BCONV_MOST_PIXELS] = {
    {0}, {BCONV_UP_TO(BCONV_MR2)(BCONV_NARROW_ROW, 2)}, {BCONV_UP_TO(BCONV_HALVED3)(BCONV_HALVED_ROW, 3)}};
/* clang-format on */
