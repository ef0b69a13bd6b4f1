/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_rows_body.h - micro-kernels for images whose rows have a known number of taps and a known stride.
 * Such segments are short: loops over their k and addresses that are only known at run time would take as long as their
 * products. (Rows of seven taps gain nothing here.) Part of bconv_direct_body.h; a block is two vectors. */

/* The products of one segment; |x|: its first inputs in the two runs. */
OX_INLINE void add_taps(sums *acc, const float *const *x, const float *w, const int taps, const int stride, int mr) {
  const int h = (mr + 1) / 2;
  OX_UNROLL for (int t = 0; t < taps; t++) {
    /* hidden, since the compiler would keep an input that two taps read, and spill sums for it */
    const float *xt[] = {hidden((float *)x[0] + t), hidden((float *)x[1] + t)};
    vf32 wv[PER];
    OX_UNROLL for (int j = 0; j < PER; j++) wv[j] = vf32_load(w + t * OX_BLOCK + j * L);
    OX_UNROLL for (int i = 0; i < mr; i++) {
      vf32 xi = vf32_splat(xt[i >= h][(i < h ? i : i - h) * stride]);
      OX_UNROLL for (int j = 0; j < PER; j++) acc[i][j] = vf32_fma_onto(xi, wv[j], acc[i][j]);
    }
  }
}

enum { AHEAD = 128 /* floats; 64 or 256 are as good */ };

OX_INLINE void product_rows(const ox_bconv_mul *m, const int taps, const int stride, int mr) {
  size_t x_at = 0, y_at = 0;
  float bias[OX_BLOCK];
  OX_UNROLL for (int j = 0; j < PER; j++) vf32_store(bias + j * L, bias_of(m->bias, m->channels, j));
  for (size_t strip = m->n_strips; strip--; x_at += m->x_move, y_at += m->y_move) {
    sums acc[OX_BCONV_MOST_PIXELS];
    fetch_results(m, y_at, OX_BLOCK, mr, 1);
    begin_sums(m, hidden(bias), y_at, OX_BLOCK, acc, mr, PER);
    const float *w = m->w;
    for (const ox_bconv_seg *s = m->segs, *end = s + m->n_segs; s < end; s++, w += taps * OX_BLOCK) {
      const float *x[] = {m->x[0] + x_at + s->at, m->x[1] + x_at + s->at};
      if (m->fetch) OX_PREFETCH(x[0] + AHEAD);
      add_taps(acc, x, w, taps, stride, mr);
    }
    end_sums(m, y_at, OX_BLOCK, acc, mr, PER);
  }
}

#define BCONV_ROWS_MUL(taps, stride, mr) \
  static void rows_##taps##_##stride##_##mr(const ox_bconv_mul *m) { product_rows(m, taps, stride, mr); }
#define BCONV_ROWS_ROW(taps, stride, mr) [mr - 1] = rows_##taps##_##stride##_##mr,
#define BCONV_EACH_MR(X, taps, stride) \
  X(taps, stride, 1) X(taps, stride, 2) X(taps, stride, 3) X(taps, stride, 4) X(taps, stride, 5) X(taps, stride, 6)
#define BCONV_ROWS(taps, stride)                                                   \
  BCONV_EACH_MR(BCONV_ROWS_MUL, taps, stride)                                      \
  static ox_bconv_mul_fn *const rows_##taps##_##stride[][OX_BCONV_MOST_PIXELS] = { \
      {BCONV_EACH_MR(BCONV_ROWS_ROW, taps, stride)}};
BCONV_ROWS(3, 1)
BCONV_ROWS(3, 2)
#define BCONV_ROWS_STEM(taps_, stride_) \
  { .taps = taps_, .stride = stride_, .n_pixels = {6}, .mul = rows_##taps_##_##stride_ }
#define BCONV_STEMS BCONV_ROWS_STEM(3, 1), BCONV_ROWS_STEM(3, 2)
