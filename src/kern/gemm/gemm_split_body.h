/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_split_body.h - the float microkernel of a matrix unit and its packing, over split_body.h. Parameters:
 * SPLIT_NAME, SPLIT_PACK_A, SPLIT_PACK_B, SPLIT_BEGIN, SPLIT_END. A strip of 32 rows, like a panel of 32 columns, is
 * two tiles for each 32 of k. */
#include <string.h>

#include "kern/gemm/split_body.h"

enum { MR = 32, NR = 32, TILES = 2 * OX_SPLIT_TILE /* bytes for 32 of k */ };
#include "kern/gemm/gemm_f32_store.h"

void SPLIT_PACK_A(const float *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows, size_t k, void *to) {
  char *tile = to;
  for (size_t k0 = 0; k0 < k; k0 += OX_SPLIT_K)
    for (size_t i0 = 0; i0 < MR; i0 += OX_SPLIT_ROWS, tile += OX_SPLIT_TILE)
      for (size_t i = 0; i < OX_SPLIT_ROWS; i++) {
        size_t n = i0 + i < rows ? OX_MIN(k - k0, (size_t)OX_SPLIT_K) : 0;
        const float *row = n ? a + (ptrdiff_t)(i0 + i) * rs + (ptrdiff_t)k0 * ks : a;
        split_row(row, ks, n, tile + i * 64);
      }
}

void SPLIT_PACK_B(const void *b, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t w, void *to) {
  char *tile = to;
  for (size_t k0 = 0; k0 < k; k0 += OX_SPLIT_K)
    for (size_t j0 = 0; j0 < NR; j0 += OX_SPLIT_ROWS, tile += OX_SPLIT_TILE) {
      size_t kn = OX_MIN(k - k0, (size_t)OX_SPLIT_K), n = j0 < w ? OX_MIN(w - j0, (size_t)OX_SPLIT_ROWS) : 0;
      const ox_f32u *p = n ? (const ox_f32u *)b + (ptrdiff_t)k0 * ks + (ptrdiff_t)j0 * ns : b;
      if (ns == 1) {
        split_columns((const float *)p, ks, kn, n, tile);
      } else {
        float block[OX_SPLIT_K * OX_SPLIT_ROWS];
        for (size_t j = 0; j < n; j++)
          for (size_t i = 0; i < kn; i++) block[i * OX_SPLIT_ROWS + j] = p[(ptrdiff_t)i * ks + (ptrdiff_t)j * ns];
        split_columns(block, OX_SPLIT_ROWS, kn, n, tile);
      }
    }
}

void SPLIT_NAME(const ox_gemm_tile *t) {
  _Alignas(64) float sums[SPLIT_SUMS];
  const char *a = (const char *)t->a, *b = t->b;
  split_block s = {.a = {a, a + OX_SPLIT_TILE},
                   .b = {b, b + OX_SPLIT_TILE},
                   .a_step = TILES,
                   .b_step = TILES,
                   .k_tiles = OX_CEIL_DIV(t->k, (size_t)OX_SPLIT_K),
                   .two = t->m > OX_SPLIT_ROWS};
  split_product(&s, sums);
  finish(t, sums);
}

void SPLIT_BEGIN(void) { vt_begin(); }
void SPLIT_END(void) { vt_end(); }
