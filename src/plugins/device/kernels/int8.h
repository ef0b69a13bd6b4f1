/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/int8.h - products of 8-bit integers with sums of 32 bits, in tiles of 64 x 64. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/quant_params.h"

enum { INT8_TILE = 64, INT8_STEP = 16 };

FUNCTION int int8_at(const GLOBAL char *p, int kind, int i) {
  return kind == QUANT_U8 ? ((const GLOBAL unsigned char *)p)[i] : ((const GLOBAL signed char *)p)[i];
}

KERNEL(int8_product, int8_params) {
  BUFFER(const char, a, 0);
  BUFFER(const char, b, 1);
  BUFFER(int, y, 2);
  BUFFER(const char, a_zero, 3);
  BUFFER(const char, b_zero, 4);
  PARAMS(int8_params, p);
  LOCAL(int, as, [INT8_STEP][INT8_TILE + 1]);
  LOCAL(int, bs, [INT8_STEP][INT8_TILE + 1]);
  PRIVATE(int, sums, 256, [4][4]);
  int tiles_m = (p.m + INT8_TILE - 1) / INT8_TILE, tiles_n = (p.n + INT8_TILE - 1) / INT8_TILE;
  int m0 = GROUP(0) % tiles_m * INT8_TILE, rest = GROUP(0) / tiles_m, n0 = rest % tiles_n * INT8_TILE;
  int batch = rest / tiles_n;
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < 4; i++) { UNROLL for (int j = 0; j < 4; j++) MINE(sums, t)[i][j] = 0; }
  }
  for (int k0 = 0; k0 < p.k; k0 += INT8_STEP) {
    BARRIER;
    FOR_ITEMS(t, 256) {
      UNROLL for (int i = 0; i < 4; i++) {
        int row = m0 + t / 16 + i * 16, k = k0 + t % 16;
        int z = p.a_zero_step >= 0 && row < p.m ? int8_at(a_zero, p.a_kind, row * p.a_zero_step) : 0;
        as[t % 16][t / 16 + i * 16] =
            row < p.m && k < p.k ? int8_at(a, p.a_kind, batch * p.a_batch + row * p.k + k) - z : 0;
        int column = n0 + t % 64;
        k = k0 + t / 64 + i * 4;
        z = p.b_zero_step >= 0 && column < p.n ? int8_at(b_zero, p.b_kind, column * p.b_zero_step) : 0;
        bs[t / 64 + i * 4][t % 64] =
            column < p.n && k < p.k ? int8_at(b, p.b_kind, batch * p.b_batch + k * p.n + column) - z : 0;
      }
    }
    BARRIER;
    FOR_ITEMS(t, 256) {
      for (int k = 0; k < INT8_STEP; k++) {
        UNROLL for (int i = 0; i < 4; i++) {
          UNROLL for (int j = 0; j < 4; j++) MINE(sums, t)[i][j] += as[k][t / 16 + i * 16] * bs[k][t % 16 + j * 16];
        }
      }
    }
  }
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < 4; i++) {
      UNROLL for (int j = 0; j < 4; j++) {
        int row = m0 + t / 16 + i * 16, column = n0 + t % 16 + j * 16, at = (batch * p.m + row) * p.n + column;
        if (row < p.m && column < p.n) y[at] = MINE(sums, t)[i][j];
      }
    }
  }
}
