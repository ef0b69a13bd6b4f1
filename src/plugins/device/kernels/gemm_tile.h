/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gemm_tile.h - a tile of a matrix product by a group of 256 items, arranged 16 x 16. The including file
 * defines GEMM_KERNEL, GEMM_TILE (a side of the tile, 64 or 128) and GEMM_STEP (elements of k per step, such that each
 * item loads four elements of A and of B). An item computes blocks of 4 x 4 that are 64 rows and columns apart.
 *
 * While the products of one step are summed, the next step's elements are loaded from memory to registers; with two
 * buffers of local memory that takes one barrier per step. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/gemm_params.h"
#include "plugins/device/kernels/tail.h"

enum {
  GEMM_BLOCKS = GEMM_TILE / 64,
  GEMM_WIDTH = GEMM_TILE / 4 + 1, /* float4s per row in local memory; the additional one avoids bank conflicts */
  GEMM_CHUNKS = GEMM_STEP / 4
};
#define TILE_BLOCKS GEMM_BLOCKS
#define TILE_STEP GEMM_STEP
#define TILE_WIDTH GEMM_WIDTH
#include "plugins/device/kernels/tile_sums.h"

/* Elements |inner| to inner + 3 (of |n_inner|) of row |outer| (of |n_outer|); zeros outside. */
FUNCTION float4 gemm_load(const GLOBAL REAL *p, int outer, int n_outer, int inner, int n_inner, int stride, int wide) {
  float4 v = MAKE4(0.0f, 0.0f, 0.0f, 0.0f);
  if (outer < n_outer) {
    int at = outer * stride + inner;
    if (wide && inner + 3 < n_inner) {
      v = LOAD4(p, at);
    } else {
      if (inner < n_inner) v.x = LOAD(p, at);
      if (inner + 1 < n_inner) v.y = LOAD(p, at + 1);
      if (inner + 2 < n_inner) v.z = LOAD(p, at + 2);
      if (inner + 3 < n_inner) v.w = LOAD(p, at + 3);
    }
  }
  return v;
}

/* The four elements that item |t| loads: along k, or along the rows of A (columns of B), whichever is contiguous. */
FUNCTION float4 gemm_fetch(const GLOBAL REAL *p, int t, int first, int n, int k0, int k, int row, int col, int wide) {
  float4 v;
  if (col == 1) {
    v = gemm_load(p, first + t / GEMM_CHUNKS, n, k0 + t % GEMM_CHUNKS * 4, k, row, wide);
  } else {
    v = gemm_load(p, k0 + t / (GEMM_TILE / 4), k, first + t % (GEMM_TILE / 4) * 4, n, col, wide);
  }
  return v;
}

FUNCTION void gemm_place(LOCAL_POINTER float4 *to, int t, int col, float4 v) {
  if (col == 1) {
    LOCAL_POINTER float *at = (LOCAL_POINTER float *)(to + t % GEMM_CHUNKS * 4 * GEMM_WIDTH) + t / GEMM_CHUNKS;
    at[0] = v.x, at[GEMM_WIDTH * 4] = v.y, at[GEMM_WIDTH * 8] = v.z, at[GEMM_WIDTH * 12] = v.w;
  } else {
    to[t / (GEMM_TILE / 4) * GEMM_WIDTH + t % (GEMM_TILE / 4)] = v;
  }
}

/* Where the matrices of one of the products begin. */
FUNCTION void gemm_batch(const gemm_params *p, int which, int *a0, int *b0) {
  *a0 = *b0 = 0;
  for (int d = GEMM_BATCHES - 1; d >= 0; d--) {
    int i = which % p->batch[d];
    which /= p->batch[d];
    *a0 += i * p->a_batch[d], *b0 += i * p->b_batch[d];
  }
}

KERNEL(GEMM_KERNEL, gemm_params) {
  BUFFER(const REAL, a, 0);
  BUFFER(const REAL, b, 1);
  BUFFER(REAL, c, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(gemm_params, p);
  LOCAL(float4, as, [2 * GEMM_STEP * GEMM_WIDTH]);
  LOCAL(float4, bs, [2 * GEMM_STEP * GEMM_WIDTH]);
  PRIVATE(float, sums, 256, [GEMM_BLOCKS * 4][GEMM_BLOCKS * 4]);
  int tiles_m = (p.m + GEMM_TILE - 1) / GEMM_TILE, tiles_n = (p.n + GEMM_TILE - 1) / GEMM_TILE;
  int m0 = GROUP(0) % tiles_m * GEMM_TILE, rest = GROUP(0) / tiles_m;
  int n0 = rest % tiles_n * GEMM_TILE, batch = rest / tiles_n;
  int a0, b0;
  gemm_batch(&p, batch, &a0, &b0);
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < GEMM_BLOCKS * 4; i++) {
      UNROLL for (int j = 0; j < GEMM_BLOCKS * 4; j++) MINE(sums, t)[i][j] = 0.0f;
    }
    gemm_place(as, t, p.a_col, gemm_fetch(a + a0, t, m0, p.m, 0, p.k, p.a_row, p.a_col, p.a_wide));
    gemm_place(bs, t, p.b_row, gemm_fetch(b + b0, t, n0, p.n, 0, p.k, p.b_col, p.b_row, p.b_wide));
  }
  BARRIER;
  for (int k0 = 0, now = 0; k0 < p.k; k0 += GEMM_STEP, now = GEMM_STEP * GEMM_WIDTH - now) {
    FOR_ITEMS(t, 256) {
      int next = k0 + GEMM_STEP, other = GEMM_STEP * GEMM_WIDTH - now;
      float4 va = MAKE4(0.0f, 0.0f, 0.0f, 0.0f), vb = va;
      if (next < p.k) {
        va = gemm_fetch(a + a0, t, m0, p.m, next, p.k, p.a_row, p.a_col, p.a_wide);
        vb = gemm_fetch(b + b0, t, n0, p.n, next, p.k, p.b_col, p.b_row, p.b_wide);
      }
      tile_multiply(as + now, bs + now, t, MINE(sums, t));
      gemm_place(as + other, t, p.a_col, va);
      gemm_place(bs + other, t, p.b_row, vb);
    }
    BARRIER;
  }
  LOCAL_POINTER float *rows = (LOCAL_POINTER float *)as;
  UNROLL for (int i = 0; i < GEMM_BLOCKS * 4; i++) {
    FOR_ITEMS(t, 256) { tile_stage(as, t, MINE(sums, t)[i]); }
    BARRIER;
    FOR_ITEMS(t, 256) {
      for (int e = t; e < 16 * GEMM_TILE; e += 256) {
        int row = m0 + TILE_ROW(e / GEMM_TILE, i), column = n0 + e % GEMM_TILE;
        if (row < p.m && column < p.n) {
          int at = (batch * p.m + row) * p.n + column;
          STORE(c, at, tail_apply(&p.tail, rows[e], at, o0, o1, o2));
        }
      }
    }
    BARRIER;
  }
}
