/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_stem_body.h - micro-kernels for an image with three adjacent taps per row and stride 2: the first
 * convolution of many networks. With a single panel, mul needs one broadcast per FMA; here an input that two outputs
 * read is loaded once. Each sum has few products, so short strips of two panels are best: the results of one strip are
 * stored while the products of the next are under way. Part of bconv_direct_body.h; a block is one vector. */

/* The products of input |j|, counted from the strip's first: outputs j / 2 - 1 and j / 2 read it if it is even, else
 * only j / 2. */
OX_INLINE void add_input(const float *x, int j, vf32 wv[][OX_BCONV_MOST_PANELS], sums *acc, int mr, int np) {
  if (j % 2 && np > 1) { /* as a memory operand of each FMA: a separate broadcast takes longer */
    OX_UNROLL for (int q = 0; q < np; q++) acc[j / 2][q] = vf32_fma_at(x + j, wv[1][q], acc[j / 2][q]);
    return;
  }
  vf32 v = vf32_splat(x[j]);
  OX_UNROLL for (int q = 0; q < np; q++) {
    if (j % 2) {
      acc[j / 2][q] = vf32_fma(v, wv[1][q], acc[j / 2][q]);
      continue;
    }
    if (j) acc[j / 2 - 1][q] = vf32_fma(v, wv[2][q], acc[j / 2 - 1][q]);
    if (j < 2 * mr) acc[j / 2][q] = vf32_fma(v, wv[0][q], acc[j / 2][q]);
  }
}

/* The products of a strip, whose pixels are consecutive. */
OX_INLINE void add_stem(const ox_bconv_mul *m, size_t at, sums *acc, int mr, int np) {
  const float *w = m->w;
  for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; s++, w += 3 * OX_BLOCK) {
    vf32 wv[3][OX_BCONV_MOST_PANELS];
    OX_UNROLL for (int t = 0; t < 3; t++) OX_UNROLL for (int q = 0; q < np; q++) wv[t][q] =
        vf32_load(w + (size_t)q * m->w_panel + t * OX_BLOCK);
    OX_UNROLL for (int j = 0; j < 2 * mr + 1; j++) add_input(m->x[0] + at + s->at, j, wv, acc, mr, np);
  }
}

OX_INLINE void product_stem(const ox_bconv_mul *m, int mr, int np) {
  size_t x_at = 0, y_at = 0;
  float bias[OX_BCONV_MOST_PANELS * OX_BLOCK];
  OX_UNROLL for (int q = 0; q < np; q++) vf32_store(bias + q * OX_BLOCK, bias_of(m->bias, m->channels, q));
  for (size_t strip = m->n_strips; strip--; x_at += m->x_move, y_at += m->y_move) {
    sums acc[OX_BCONV_MOST_PIXELS];
    fetch_results(m, y_at, OX_BLOCK, mr, np);
    begin_sums(m, hidden(bias), y_at, OX_BLOCK, acc, mr, np);
    add_stem(m, x_at, acc, mr, np);
    end_sums(m, y_at, OX_BLOCK, acc, mr, np);
  }
}

#define BCONV_MUL_STEM(np, mr) \
  static void stem_##np##_##mr(const ox_bconv_mul *m) { product_stem(m, mr, np); }
#define BCONV_STEM_ROW(np, mr) [mr - 1] = stem_##np##_##mr,
/* clang-format off */
#define BCONV_STEMS1(X) X(1, 14) X(1, 15) X(1, 16) X(1, 17) X(1, 18) X(1, 19) X(1, 20) X(1, 21) X(1, 22) X(1, 23) \
  X(1, 24) X(1, 25) X(1, 26) X(1, 27) X(1, 28)
#define BCONV_STEMS2(X) X(2, 4) X(2, 5) X(2, 6) X(2, 7) X(2, 8)
BCONV_STEMS1(BCONV_MUL_STEM)
BCONV_STEMS2(BCONV_MUL_STEM)
static ox_bconv_mul_fn *const stems[][OX_BCONV_MOST_PIXELS] = {{BCONV_STEMS1(BCONV_STEM_ROW)},
                                                               {BCONV_STEMS2(BCONV_STEM_ROW)}};
#define BCONV_STEMS {.taps = 3, .stride = 2, .n_pixels = {28, 8}, .mul = stems}
/* clang-format on */
