/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_stem_body.h - products of one panel and an image whose taps of a row are three neighbours, with
 * outputs two inputs apart: the first convolution of many networks. A sum in one vector alone takes as many loads as
 * products; here an input that two outputs read is loaded once. Part of bconv_direct_body.h; a block is one vector. */

/* Of a strip whose pixels are all in a row. */
OX_INLINE void add_stem(const ox_bconv_mul *m, size_t at, sums *acc, int mr) {
  const float *w = m->w;
  for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; s++, w += 3 * OX_BLOCK) {
    const float *x = m->x[0] + at + s->at;
    vf32 wv[3];
    OX_UNROLL for (int t = 0; t < 3; t++) wv[t] = vf32_load(w + t * OX_BLOCK);
    OX_UNROLL for (int j = 0; j < 2 * mr + 1; j++) {
      vf32 v = vf32_splat(x[j]);
      if (j % 2) {
        acc[j / 2][0] = vf32_fma(v, wv[1], acc[j / 2][0]);
        continue;
      }
      if (j) acc[j / 2 - 1][0] = vf32_fma(v, wv[2], acc[j / 2 - 1][0]);
      if (j < 2 * mr) acc[j / 2][0] = vf32_fma(v, wv[0], acc[j / 2][0]);
    }
  }
}

OX_INLINE void product_stem(const ox_bconv_mul *m, int mr) {
  size_t x_at = 0, y_at = 0;
  float bias[OX_BLOCK];
  vf32_store(bias, bias_of(m->bias, m->channels, 0));
  for (size_t strip = m->n_strips; strip--; x_at += m->x_move, y_at += m->y_move) {
    sums acc[OX_BCONV_MOST_PIXELS];
    fetch_results(m, y_at, OX_BLOCK, mr, 1);
    begin_sums(m, whole(bias), y_at, OX_BLOCK, acc, mr, 1);
    add_stem(m, x_at, acc, mr);
    end_sums(m, y_at, OX_BLOCK, acc, mr, 1);
  }
}

#define BCONV_MUL_STEM(mr) \
  static void stem_##mr(const ox_bconv_mul *m) { product_stem(m, mr); }
#define BCONV_STEMS(X) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28)
#define BCONV_STEM_ROW(mr) [mr - 1] = stem_##mr,
/* clang-format off */
BCONV_STEMS(BCONV_MUL_STEM)
static ox_bconv_mul_fn *const stems[OX_BCONV_MOST_PIXELS] = {BCONV_STEMS(BCONV_STEM_ROW)};
/* clang-format on */
