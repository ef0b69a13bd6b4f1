/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_abreast_body.h - a quantized row by several panels of four bits, a block of each in turns; part of
 * nbits_body.h. */

/* Block |b| of each panel. The panels share the row's bytes. */
OX_INLINE void block_abreast(const ox_nbits_tile *t, size_t b, const uint8_t *w[ABREAST], vf32 total[ABREAST]) {
  const size_t vectors = t->f.block / 8;
  const int8_t *q = t->q + b * t->f.block;
  vi32 sum[ABREAST];
  OX_UNROLL for (int p = 0; p < ABREAST; p++) sum[p] = vi32_zero();
  for (size_t first = 0; first < vectors; first += PAIRS_VECTORS) {
    vi32 some[ABREAST];
    OX_UNROLL for (int p = 0; p < ABREAST; p++) some[p] = PAIRS ? vi32_zero() : sum[p];
    for (size_t v = first; v < vectors && v < first + PAIRS_VECTORS; v++) {
      const vi32 low = splat_quad(q + v * 4), high = splat_quad(q + (v + vectors) * 4), mask = vi32_splat(0x0f0f0f0f);
      OX_UNROLL for (int p = 0; p < ABREAST; p++) {
        vi32 x = load_words(w[p]);
        if (!PAIRS) fetch_in_turn(t, w[p], v);
        w[p] += 4 * L;
        some[p] = products(some[p], vi32_and(x, mask), low);
        some[p] = products(some[p], vi32_and(vi32_shr(x, 4), mask), high);
      }
    }
    OX_UNROLL for (int p = 0; p < ABREAST; p++) sum[p] = PAIRS ? vi32_add(sum[p], products_sum(some[p])) : some[p];
  }
  const vf32 row_sum = vf32_splat(t->q_sum[b]), row_scale = vf32_splat(t->q_scale[b]);
  OX_UNROLL for (int p = 0; p < ABREAST; p++) {
    vf32 scale = load_floats(w[p]);
    w[p] += 4 * L;
    vf32 s = vf32_fnma(zeros_of(&t->f, &w[p]), row_sum, vi32_to_f32(sum[p]));
    total[p] = vf32_fma(s, vf32_mul(scale, row_scale), total[p]);
  }
}

void NBITS_ABREAST(const ox_nbits_tile *t) {
  const uint8_t *w[ABREAST];
  vf32 total[ABREAST];
  OX_UNROLL for (int p = 0; p < ABREAST; p++) w[p] = t[p].w, total[p] = vf32_zero();
  for (size_t b = 0; b < t->f.blocks; b++) block_abreast(t, b, w, total);
  OX_UNROLL for (int p = 0; p < ABREAST; p++) {
    vf32 start = t[p].bias ? vf32_load_n(t[p].bias, t[p].n) : vf32_zero();
    vf32_store_n(t[p].c, vf32_add(total[p], start), t[p].n);
  }
}
