/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain_tile.h - products of one type, in tiles of C whose sums stay in registers. Included by
 * gemm_plain_body.h with
 *   TILE_NAME; TILE_T, TILE_U: the element, and the same at any address; TILE_W: one whose sums wrap; TILE_V,
 *   TILE_LANES: vectors of it;
 *   TILE_OP(op): the vocabulary's name of load, load_n, store, store_n, splat, zero; TILE_ADD(a, b, c): a b + c. */
#define TILE(stem) OX_PASTE(TILE_NAME, stem)

enum { TILE(_nr) = PLAIN_NV * TILE_LANES };

/* The vector of |c| from its column |at| of |cols| on; whole ones without a mask, whose stores are slow. */
OX_INLINE TILE_V TILE(_get)(const TILE_T *c, size_t at, size_t cols) {
  if (at + TILE_LANES <= cols) return TILE_OP(load)(c + at);
  return at < cols ? TILE_OP(load_n)(c + at, cols - at) : TILE_OP(zero)();
}
OX_INLINE void TILE(_put)(TILE_T *c, size_t at, size_t cols, TILE_V v) {
  if (at + TILE_LANES <= cols)
    TILE_OP(store)(c + at, v);
  else if (at < cols)
    TILE_OP(store_n)(c + at, v, cols - at);
}

/* |mr| rows of C from |a|'s first element of this block of k on, by |kc| rows of a panel, |ldb| apart; added to C
 * unless it is the |first| block. */
OX_INLINE void TILE(_tile)(const ox_gemm_plain *g, const TILE_U *a, const TILE_T *b, size_t ldb, size_t kc, TILE_T *c,
                           size_t cols, int first, int mr) {
  TILE_V acc[PLAIN_MR][PLAIN_NV];
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int v = 0; v < PLAIN_NV; v++) acc[i][v] =
      first ? TILE_OP(zero)() : TILE(_get)(c + (size_t)i * g->c_rs, (size_t)v * TILE_LANES, cols);
  for (size_t k = 0; k < kc; k++, a += g->a_ks, b += ldb) {
    TILE_V bv[PLAIN_NV];
    OX_UNROLL for (int v = 0; v < PLAIN_NV; v++) bv[v] = TILE_OP(load)(b + v * TILE_LANES);
    OX_UNROLL for (int i = 0; i < mr; i++) {
      TILE_V x = TILE_OP(splat)((TILE_T)a[i * g->a_rs]);
      OX_UNROLL for (int v = 0; v < PLAIN_NV; v++) acc[i][v] = TILE_ADD(x, bv[v], acc[i][v]);
    }
  }
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int v = 0; v < PLAIN_NV; v++)
      TILE(_put)(c + (size_t)i * g->c_rs, (size_t)v * TILE_LANES, cols, acc[i][v]);
}

/* Rows [k0, k0 + kc) of B's columns [j, j + cols), dense, zeros behind. */
static void TILE(_pack)(const ox_gemm_plain *g, size_t j, size_t cols, size_t k0, size_t kc, TILE_T *to) {
  const TILE_U *b = (const TILE_U *)g->b + (ptrdiff_t)k0 * g->b_ks + (ptrdiff_t)j * g->b_ns;
  for (size_t k = 0; k < kc; k++, b += g->b_ks, to += TILE(_nr)) {
    if (g->b_ns == 1 && cols == TILE(_nr)) {
      OX_UNROLL for (int v = 0; v < PLAIN_NV; v++)
          TILE_OP(store)(to + v * TILE_LANES, TILE_OP(load)((const TILE_T *)b + v * TILE_LANES));
      continue;
    }
    for (size_t i = 0; i < TILE(_nr); i++) to[i] = i < cols ? (TILE_T)b[(ptrdiff_t)i * g->b_ns] : 0;
  }
}

static void TILE(_block)(const ox_gemm_plain *g, size_t row0, size_t row1, size_t j, size_t cols, size_t k0,
                         size_t kc) {
  TILE_T packed[PLAIN_KC * TILE(_nr)];
  const TILE_T *b = packed;
  size_t ldb = TILE(_nr);
  if (g->b_ns == 1 && cols == TILE(_nr) && row1 - row0 <= PLAIN_MR)
    b = (const TILE_T *)g->b + (ptrdiff_t)k0 * g->b_ks + (ptrdiff_t)j, ldb = (size_t)g->b_ks;
  else
    TILE(_pack)(g, j, cols, k0, kc, packed);
  const TILE_U *a = (const TILE_U *)g->a + (ptrdiff_t)row0 * g->a_rs + (ptrdiff_t)k0 * g->a_ks;
  TILE_T *c = (TILE_T *)g->c + row0 * g->c_rs + j;
  for (size_t i = row0, mr; i < row1; i += mr, a += (ptrdiff_t)mr * g->a_rs, c += mr * g->c_rs) {
    mr = row1 - i >= PLAIN_MR ? PLAIN_MR : row1 - i >= 4 ? 4 : row1 - i >= 2 ? 2 : 1;
    if (mr == PLAIN_MR)
      TILE(_tile)(g, a, b, ldb, kc, c, cols, k0 == 0, PLAIN_MR);
    else if (mr == 4)
      TILE(_tile)(g, a, b, ldb, kc, c, cols, k0 == 0, PLAIN_MR < 4 ? PLAIN_MR : 4);
    else if (mr == 2)
      TILE(_tile)(g, a, b, ldb, kc, c, cols, k0 == 0, 2);
    else
      TILE(_tile)(g, a, b, ldb, kc, c, cols, k0 == 0, 1);
  }
}

/* One row by long rows of B, where they lie; answers how many of its columns that were. */
static size_t TILE(_row)(const ox_gemm_plain *g, size_t row) {
  enum { LONG = 8 };
  size_t j = 0;
  for (; g->b_ns == 1 && j + LONG * TILE_LANES <= g->n; j += LONG * TILE_LANES) {
    const TILE_U *a = (const TILE_U *)g->a + (ptrdiff_t)row * g->a_rs;
    const TILE_T *b = (const TILE_T *)g->b + (ptrdiff_t)j;
    TILE_V acc[LONG];
    OX_UNROLL for (int v = 0; v < LONG; v++) acc[v] = TILE_OP(zero)();
    for (size_t k = 0; k < g->k; k++, a += g->a_ks, b += g->b_ks) {
      TILE_V x = TILE_OP(splat)((TILE_T)*a);
      OX_UNROLL for (int v = 0; v < LONG; v++) acc[v] = TILE_ADD(x, TILE_OP(load)(b + v * TILE_LANES), acc[v]);
    }
    OX_UNROLL for (int v = 0; v < LONG; v++)
        TILE_OP(store)((TILE_T *)g->c + row * g->c_rs + j + (size_t)v * TILE_LANES, acc[v]);
  }
  return j;
}

#include "kern/gemm/gemm_plain_narrow.h"

static void TILE(_run)(const ox_gemm_plain *g, size_t row0, size_t row1) {
  if (TILE(_is_narrow)(g)) {
    TILE(_narrow)(g, row0, row1);
    return;
  }
  for (size_t j = row1 - row0 == 1 ? TILE(_row)(g, row0) : 0; j < g->n; j += TILE(_nr)) {
    size_t k0 = 0, cols = OX_MIN((size_t)TILE(_nr), g->n - j);
    do {
      if (k0 && ox_stop_asked(&g->stop)) return;
      TILE(_block)(g, row0, row1, j, cols, k0, OX_MIN((size_t)PLAIN_KC, g->k - k0));
    } while ((k0 += PLAIN_KC) < g->k);
  }
}

#undef TILE
#undef TILE_W
#undef TILE_NAME
#undef TILE_T
#undef TILE_U
#undef TILE_V
#undef TILE_LANES
#undef TILE_OP
#undef TILE_ADD
