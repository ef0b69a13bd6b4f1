/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain_narrow.h - products of one type by few columns, which would leave most of a tile empty: vectors
 * run along k, and each sum is that of their lanes. Included by gemm_plain_tile.h, with its names. */

enum { TILE(_kc) = 4096 / (int)sizeof(TILE_T) }; /* of all columns, what a stack and L1 hold with ease */

OX_INLINE TILE_T TILE(_sum)(TILE_V v) {
  TILE_T lanes[TILE_LANES];
  TILE_OP(store)(lanes, v);
  TILE_W sum = (TILE_W)lanes[0];
  OX_UNROLL for (int i = 1; i < TILE_LANES; i++) sum += (TILE_W)lanes[i];
  return (TILE_T)sum;
}

/* |mr| rows of C from |a| on by |kc| elements of each of |cols| dense columns; added to C unless it is the |first|. */
OX_INLINE void TILE(_few)(const ox_gemm_plain *g, const TILE_U *a, const TILE_T *b, size_t kc, TILE_T *c, bool first,
                          int mr, int cols) {
  TILE_V acc[4][3];
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < cols; j++) acc[i][j] = TILE_OP(zero)();
  for (size_t k = 0; k < kc; k += TILE_LANES) {
    size_t n = OX_MIN(kc - k, (size_t)TILE_LANES);
    TILE_V bv[3];
    OX_UNROLL for (int j = 0; j < cols; j++) bv[j] = TILE_OP(load)(b + (size_t)j * TILE(_kc) + k);
    OX_UNROLL for (int i = 0; i < mr; i++) {
      const TILE_T *row = (const TILE_T *)(a + i * g->a_rs) + k;
      TILE_V x = n == TILE_LANES ? TILE_OP(load)(row) : TILE_OP(load_n)(row, n);
      OX_UNROLL for (int j = 0; j < cols; j++) acc[i][j] = TILE_ADD(x, bv[j], acc[i][j]);
    }
  }
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < cols; j++) {
    TILE_T *to = c + (size_t)i * g->c_rs + j, sum = TILE(_sum)(acc[i][j]);
    *to = first ? sum : (TILE_T)((TILE_W)*to + (TILE_W)sum);
  }
}

OX_INLINE void TILE(_few_rows)(const ox_gemm_plain *g, size_t row0, size_t row1, const TILE_T *b, size_t k0, size_t kc,
                               int cols) {
  const TILE_U *a = (const TILE_U *)g->a + (ptrdiff_t)row0 * g->a_rs + (ptrdiff_t)k0;
  TILE_T *c = (TILE_T *)g->c + row0 * g->c_rs;
  size_t i = row0;
  for (; i + 4 <= row1; i += 4, a += 4 * g->a_rs, c += 4 * g->c_rs) TILE(_few)(g, a, b, kc, c, !k0, 4, cols);
  for (; i < row1; i++, a += g->a_rs, c += g->c_rs) TILE(_few)(g, a, b, kc, c, !k0, 1, cols);
}

/* Whether a product is one for TILE(_narrow): the same for all of its rows. */
static bool TILE(_is_narrow)(const ox_gemm_plain *g) { return g->n <= 3 && g->a_ks == 1 && g->k >= TILE_LANES; }

static void TILE(_narrow)(const ox_gemm_plain *g, size_t row0, size_t row1) {
  TILE_T b[3 * TILE(_kc)];
  for (size_t k0 = 0, kc; k0 < g->k && !(k0 && ox_stop_asked(&g->stop)); k0 += kc) {
    kc = OX_MIN((size_t)TILE(_kc), g->k - k0);
    const TILE_U *from = (const TILE_U *)g->b + (ptrdiff_t)k0 * g->b_ks;
    for (size_t j = 0; j < g->n; j++) {
      TILE_T *to = b + j * TILE(_kc);
      for (size_t k = 0; k < kc; k++) to[k] = (TILE_T)from[(ptrdiff_t)k * g->b_ks + (ptrdiff_t)j * g->b_ns];
      for (size_t k = kc; k % TILE_LANES; k++) to[k] = 0;
    }
    if (g->n == 1) TILE(_few_rows)(g, row0, row1, b, k0, kc, 1);
    if (g->n == 2) TILE(_few_rows)(g, row0, row1, b, k0, kc, 2);
    if (g->n == 3) TILE(_few_rows)(g, row0, row1, b, k0, kc, 3);
  }
}
