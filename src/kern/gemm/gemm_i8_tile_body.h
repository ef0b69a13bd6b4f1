/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_tile_body.h - the 8-bit 32 x 32 micro-kernel on matrix tiles: four tiles of sums, two of A, two of
 * B. A tile of B is 16 quads of k by 16 columns, which is the layout of every variant's panels. Parameters: GEMM_NAME,
 * GEMM_BEGIN, GEMM_END. */
#include "kern/gemm/gemm_i8_store.h"

enum { TILE_NR = 32 };

void GEMM_BEGIN(void) { vt_begin(); }
void GEMM_END(void) { vt_end(); }

/* Tiles 0 to 3 hold the sums, 4 and 5 rows of A, 6 and 7 columns of B. Rows of A past m are read, too: the driver's
 * scratch has room for them. */
void GEMM_NAME(const ox_gemm_i8_tile *t) {
  _Alignas(64) int32_t sums[32 * TILE_NR];
  const int8_t *b = t->b;
  const uint8_t *a0 = t->a, *a1 = t->a + 16 * t->a_rs;
  bool two = t->m > 16;
  VT_TILES;
  vt_zero(0);
  vt_zero(1);
  vt_zero(2);
  vt_zero(3);
  for (size_t q = 0; q < t->quads; q += 16, b += 16 * TILE_NR * 4) {
    vt_load(6, b, TILE_NR * 4);
    vt_load(7, b + 64, TILE_NR * 4);
    vt_load(4, a0 + 4 * q, t->a_rs);
    vt_dot_u8s8(0, 4, 6);
    vt_dot_u8s8(1, 4, 7);
    if (!two) continue;
    vt_load(5, a1 + 4 * q, t->a_rs);
    vt_dot_u8s8(2, 5, 6);
    vt_dot_u8s8(3, 5, 7);
  }
  vt_store(0, sums, TILE_NR * 4);
  vt_store(1, sums + 16, TILE_NR * 4);
  vt_store(2, sums + 16 * TILE_NR, TILE_NR * 4);
  vt_store(3, sums + 16 * TILE_NR + 16, TILE_NR * 4);
  ox_gemm_i8_store(t, sums, TILE_NR);
}
