/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/tile_sums.h - the sums of a tile of products of floats by 256 items, 16 x 16, each with blocks of 4 x
 * 4 that are 64 rows and columns apart. The including file defines TILE_BLOCKS, TILE_STEP (elements of k per step) and
 * TILE_WIDTH (float4s per row in local memory). */

/* Adds a step's products to item |t|'s sums. */
FUNCTION void tile_multiply(const LOCAL_POINTER float4 *rows, const LOCAL_POINTER float4 *columns, int t,
                            float (*sums)[TILE_BLOCKS * 4]) {
  UNROLL for (int kk = 0; kk < TILE_STEP; kk++) {
    float x[TILE_BLOCKS * 4], y[TILE_BLOCKS * 4];
    UNROLL for (int i = 0; i < TILE_BLOCKS; i++) {
      float4 u = rows[kk * TILE_WIDTH + t / 16 + i * 16], v = columns[kk * TILE_WIDTH + t % 16 + i * 16];
      x[i * 4] = u.x, x[i * 4 + 1] = u.y, x[i * 4 + 2] = u.z, x[i * 4 + 3] = u.w;
      y[i * 4] = v.x, y[i * 4 + 1] = v.y, y[i * 4 + 2] = v.z, y[i * 4 + 3] = v.w;
    }
    UNROLL for (int i = 0; i < TILE_BLOCKS * 4; i++) {
      UNROLL for (int j = 0; j < TILE_BLOCKS * 4; j++) sums[i][j] = FMAF(x[i], y[j], sums[i][j]);
    }
  }
}

/* Puts the |i|-th of item |t|'s rows of sums into |staged|, which holds sixteen rows of the tile: so adjacent items can
 * store adjacent elements. */
FUNCTION void tile_stage(LOCAL_POINTER float4 *staged, int t, const float *sums) {
  UNROLL for (int j = 0; j < TILE_BLOCKS; j++) staged[t / 16 * (TILE_BLOCKS * 16) + j * 16 + t % 16] =
      MAKE4(sums[j * 4], sums[j * 4 + 1], sums[j * 4 + 2], sums[j * 4 + 3]);
}

/* The row of the tile that is row |row| of sixteen, where the |i|-th of each item are staged. */
#define TILE_ROW(row, i) ((i) / 4 * 64 + (row)*4 + (i) % 4)
