/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/conv_tile.h - implicit GEMM: weights [o, k] times a matrix [k, columns] that is never stored. k runs
 * over channels and taps, columns over the pixels of all images. CONV_KERNEL, CONV_TILE and CONV_STEP are as in
 * gemm_tile.h. An item loads elements of one column, whose position in the image it computes once; the offsets to add
 * for each k of a step are computed by CONV_STEP items for the group, one step ahead. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/conv_params.h"
#include "plugins/device/kernels/tail.h"

enum {
  CONV_BLOCKS = CONV_TILE / 64,
  CONV_WIDTH = CONV_TILE / 4 + 1,
  CONV_CHUNKS = CONV_STEP / 4,
  CONV_ROWS = 256 / CONV_TILE, /* rows of a step that are loaded at a time */
  CONV_BEYOND = 1 << 28        /* a coordinate outside of every image */
};
#define TILE_BLOCKS CONV_BLOCKS
#define TILE_STEP CONV_STEP
#define TILE_WIDTH CONV_WIDTH
#include "plugins/device/kernels/tile_sums.h"

FUNCTION float4 conv_weights(const GLOBAL REAL *w, int row, int rows, int k, int n, int wide) {
  float4 v = MAKE4(0.0f, 0.0f, 0.0f, 0.0f);
  if (row < rows) {
    int at = row * n + k;
    if (wide && k + 3 < n) {
      v = LOAD4(w, at);
    } else {
      if (k < n) v.x = LOAD(w, at);
      if (k + 1 < n) v.y = LOAD(w, at + 1);
      if (k + 2 < n) v.z = LOAD(w, at + 2);
      if (k + 3 < n) v.w = LOAD(w, at + 3);
    }
  }
  return v;
}

FUNCTION void conv_place(LOCAL_POINTER float4 *to, int t, float4 v) {
  LOCAL_POINTER float *at = (LOCAL_POINTER float *)(to + t % CONV_CHUNKS * 4 * CONV_WIDTH) + t / CONV_CHUNKS;
  at[0] = v.x, at[CONV_WIDTH * 4] = v.y, at[CONV_WIDTH * 8] = v.z, at[CONV_WIDTH * 12] = v.w;
}

/* The offsets for one k: in address, depth, row and column. */
FUNCTION void conv_tap(const conv_params *p, int k, LOCAL_POINTER int *tap) {
  int x = k % p->extent[2], rest = k / p->extent[2];
  int y = rest % p->extent[1];
  rest /= p->extent[1];
  int z = rest % p->extent[0], c = rest / p->extent[0];
  x *= p->dilation[2], y *= p->dilation[1], z *= p->dilation[0];
  tap[0] = ((c * p->in[0] + z) * p->in[1] + y) * p->in[2] + x;
  tap[1] = k < p->k ? z : CONV_BEYOND, tap[2] = y, tap[3] = x;
}

/* Where the first tap of a column lies: address, depth, row and column. */
FUNCTION void conv_pixel(const conv_params *p, int group, int column, int *at) {
  int image = column / p->pixels, pixel = column % p->pixels;
  int z = pixel / (p->out[1] * p->out[2]) * p->stride[0] - p->pad[0];
  int y = pixel / p->out[2] % p->out[1] * p->stride[1] - p->pad[1], x = pixel % p->out[2] * p->stride[2] - p->pad[2];
  int plane = (image * p->group + group) * p->c * p->in[0];
  at[0] = ((plane + z) * p->in[1] + y) * p->in[2] + x;
  at[1] = column < p->columns ? z : CONV_BEYOND, at[2] = y, at[3] = x;
}

/* The element for one tap; |at|: address, depth, row and column of the first tap. */
FUNCTION float conv_load(const GLOBAL REAL *x, const conv_params *p, const int *at, const LOCAL_POINTER int *tap) {
  int z = at[1] + tap[1], y = at[2] + tap[2], i = at[3] + tap[3];
  int inside = z >= 0 && z < p->in[0] && y >= 0 && y < p->in[1] && i >= 0 && i < p->in[2];
  return inside ? LOAD(x, at[0] + tap[0]) : 0.0f;
}

KERNEL(CONV_KERNEL, conv_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, w, 1);
  BUFFER(REAL, y, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(conv_params, p);
  LOCAL(float4, ws, [2 * CONV_STEP * CONV_WIDTH]);
  LOCAL(float4, xs, [2 * CONV_STEP * CONV_WIDTH]);
  LOCAL(int, taps, [2][CONV_STEP][4]);
  PRIVATE(float, sums, 256, [CONV_BLOCKS * 4][CONV_BLOCKS * 4]);
  PRIVATE(int, from, 256, [4]);
  int tiles_o = (p.o + CONV_TILE - 1) / CONV_TILE, tiles = tiles_o * ((p.columns + CONV_TILE - 1) / CONV_TILE);
  int group = GROUP(0) / tiles, tile = GROUP(0) % tiles;
  int m0 = tile % tiles_o * CONV_TILE, n0 = tile / tiles_o * CONV_TILE;
  int weights = group * p.o * p.k;
  FOR_ITEMS(t, 256) {
    if (t < CONV_STEP) conv_tap(&p, t, taps[0][t]);
    if (t >= 32 && t < 32 + CONV_STEP) conv_tap(&p, t - 32 + CONV_STEP, taps[1][t - 32]);
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < CONV_BLOCKS * 4; i++) {
      UNROLL for (int j = 0; j < CONV_BLOCKS * 4; j++) MINE(sums, t)[i][j] = 0.0f;
    }
    conv_pixel(&p, group, n0 + t % CONV_TILE, MINE(from, t));
    conv_place(ws, t, conv_weights(w + weights, m0 + t / CONV_CHUNKS, p.o, t % CONV_CHUNKS * 4, p.k, p.wide));
    LOCAL_POINTER float *to = (LOCAL_POINTER float *)xs;
    UNROLL for (int i = 0; i < 4; i++) {
      int row = t / CONV_TILE + i * CONV_ROWS;
      to[row * CONV_WIDTH * 4 + t % CONV_TILE] = conv_load(x, &p, MINE(from, t), taps[0][row]);
    }
  }
  BARRIER;
  for (int k0 = 0, step = 0; k0 < p.k; k0 += CONV_STEP, step = 1 - step) {
    FOR_ITEMS(t, 256) {
      int next = k0 + CONV_STEP, now = step * CONV_STEP * CONV_WIDTH, other = CONV_STEP * CONV_WIDTH - now;
      float4 vw = MAKE4(0.0f, 0.0f, 0.0f, 0.0f);
      float vx[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      if (next < p.k) {
        vw = conv_weights(w + weights, m0 + t / CONV_CHUNKS, p.o, next + t % CONV_CHUNKS * 4, p.k, p.wide);
        UNROLL for (int i = 0; i < 4; i++) vx[i] =
            conv_load(x, &p, MINE(from, t), taps[1 - step][t / CONV_TILE + i * CONV_ROWS]);
      }
      if (t < CONV_STEP) conv_tap(&p, next + CONV_STEP + t, taps[step][t]);
      tile_multiply(ws + now, xs + now, t, MINE(sums, t));
      conv_place(ws + other, t, vw);
      LOCAL_POINTER float *to = (LOCAL_POINTER float *)(xs + other);
      UNROLL for (int i = 0; i < 4; i++) to[(t / CONV_TILE + i * CONV_ROWS) * CONV_WIDTH * 4 + t % CONV_TILE] = vx[i];
    }
    BARRIER;
  }
  LOCAL_POINTER float *rows = (LOCAL_POINTER float *)xs;
  UNROLL for (int i = 0; i < CONV_BLOCKS * 4; i++) {
    FOR_ITEMS(t, 256) { tile_stage(xs, t, MINE(sums, t)[i]); }
    BARRIER;
    FOR_ITEMS(t, 256) {
      int column = n0 + t % CONV_TILE;
      int to = (column / p.pixels * p.group + group) * p.o * p.pixels + column % p.pixels;
      for (int e = t; e < 16 * CONV_TILE; e += 256) { /* CONV_TILE divides 256, so the column does not change */
        int row = m0 + TILE_ROW(e / CONV_TILE, i), at = to + row * p.pixels;
        if (row < p.o && column < p.columns) STORE(y, at, tail_apply(&p.tail, rows[e], at, o0, o1, o2));
      }
    }
    BARRIER;
  }
}
