/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qconv_tile.h - implicit GEMM of 8-bit integers: packed weights [o, k] times a matrix [k, columns] that
 * is never stored, in tiles (qtile.h). k runs over taps and channels in fours, columns over the pixels of all images.
 * As in conv_tile.h an item loads elements of one column, and the offsets for each k are computed one step ahead. The
 * including file defines Q_KERNEL and Q_TILE. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/qproduct.h"
#include "plugins/device/kernels/qtile.h"

enum {
  Q_ROWS = 256 / Q_TILE, /* rows of k that are loaded at a time */
  Q_BEYOND = 1 << 28     /* a coordinate outside of every image */
};

/* The offsets for one |k|: in address, depth, row and column; and its number of channels (up to four). */
FUNCTION void q_tap(const qconv_params *p, int k, LOCAL_POINTER int *tap) {
  int c = k % p->c4 * 4, rest = k / p->c4, x = rest % p->extent[2] * p->dilation[2];
  rest /= p->extent[2];
  int y = rest % p->extent[1] * p->dilation[1], z = rest / p->extent[1] * p->dilation[0];
  tap[0] = c * p->x_channel + ((z * p->in[1] + y) * p->in[2] + x) * p->x_pixel;
  tap[1] = k < p->k4 ? z : Q_BEYOND, tap[2] = y, tap[3] = x, tap[4] = p->c - c;
}

/* Four channels of one tap; |at|: address, depth, row and column of the first tap. */
FUNCTION int q_pixel(const GLOBAL char *x, const qconv_params *p, const int *at, const LOCAL_POINTER int *tap,
                     int zero) {
  int z = at[1] + tap[1], y = at[2] + tap[2], i = at[3] + tap[3], v[4];
  int inside = z >= 0 && z < p->in[0] && y >= 0 && y < p->in[1] && i >= 0 && i < p->in[2];
  int from = at[0] + tap[0], n = inside ? tap[4] : 0;
  UNROLL for (int j = 0; j < 4; j++) v[j] = j < n ? q_byte(x, p->x_kind, from + j * p->x_channel) : zero;
  return q_pack(v[0], v[1], v[2], v[3]);
}

KERNEL(Q_KERNEL, qconv_params) {
  BUFFER(const char, x, 0);
  BUFFER(const int, w, 1);
  BUFFER(const int4, head, 2);
  BUFFER(const char, x_zero, 3);
  BUFFER(const char, y_zero, 4);
  BUFFER(char, y, 5);
  PARAMS(qconv_params, p);
  LOCAL(int4, ws, [2 * Q_SIDE]);
  LOCAL(int4, xs, [2 * Q_SIDE]);
  LOCAL(int, taps, [2][QPRODUCT_STEP][5]);
  PRIVATE(int, sums, 256, [Q_BLOCKS * 4][Q_BLOCKS * 4]);
  PRIVATE(int, sum_x, 256, [Q_BLOCKS * 4]);
  PRIVATE(int, from, 256, [4]);
  int tiles_o = (p.o + Q_TILE - 1) / Q_TILE, tiles = tiles_o * ((p.columns + Q_TILE - 1) / Q_TILE);
  int group = GROUP(0) / tiles, tile = GROUP(0) % tiles;
  int m0 = tile % tiles_o * Q_TILE, n0 = tile / tiles_o * Q_TILE, weights = group * p.o * p.k4;
  int zx = q_zero(x_zero, p.x_kind, p.has_x_zero - 1, 0);
  int first = GROUP(1) * p.k_each, end = MIN_OF(p.k4, first + p.k_each);
  FOR_ITEMS(t, 256) {
    if (t < QPRODUCT_STEP) q_tap(&p, first + t, taps[0][t]);
    if (t >= 32 && t < 32 + QPRODUCT_STEP) q_tap(&p, first + t - 32 + QPRODUCT_STEP, taps[1][t - 32]);
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < Q_BLOCKS * 4; i++) {
      MINE(sum_x, t)[i] = 0;
      UNROLL for (int j = 0; j < Q_BLOCKS * 4; j++) MINE(sums, t)[i][j] = 0;
    }
    int column = n0 + t % Q_TILE, image = column / p.pixels, pixel = column % p.pixels;
    int pz = pixel / (p.out[1] * p.out[2]) * p.stride[0] - p.pad[0];
    int py = pixel / p.out[2] % p.out[1] * p.stride[1] - p.pad[1], px = pixel % p.out[2] * p.stride[2] - p.pad[2];
    MINE(from, t)[0] = image * p.x_image + group * p.c * p.x_channel + ((pz * p.in[1] + py) * p.in[2] + px) * p.x_pixel;
    MINE(from, t)[1] = column < p.columns ? pz : Q_BEYOND;
    MINE(from, t)[2] = py, MINE(from, t)[3] = px;
    UNROLL for (int i = 0; i < Q_LOADS; i++) {
      int k = t / Q_TILE + i * Q_ROWS;
      q_place(ws, Q_LOAD_ROW(t, i), Q_LOAD_K(t), q_weights(w + weights, m0 + Q_LOAD_ROW(t, i), p.o, first + Q_LOAD_K(t), p.k4));
      q_place(xs, t % Q_TILE, k, q_pixel(x, &p, MINE(from, t), taps[0][k], zx));
    }
  }
  BARRIER;
  for (int k0 = first, step = 0; k0 < end; k0 += QPRODUCT_STEP, step = 1 - step) {
    FOR_ITEMS(t, 256) {
      int next = k0 + QPRODUCT_STEP, now = step * Q_SIDE, vw[Q_LOADS], vx[Q_LOADS];
      if (next < end) {
        UNROLL for (int i = 0; i < Q_LOADS; i++) {
          vw[i] = q_weights(w + weights, m0 + Q_LOAD_ROW(t, i), p.o, next + Q_LOAD_K(t), p.k4);
          vx[i] = q_pixel(x, &p, MINE(from, t), taps[1 - step][t / Q_TILE + i * Q_ROWS], zx);
        }
      }
      if (t < QPRODUCT_STEP) q_tap(&p, next + QPRODUCT_STEP + t, taps[step][t]);
      Q_MULTIPLY(t, ws + now, xs + now, MINE(sums, t), MINE(sum_x, t), p.has_w_zero, 1)
      if (next < end) {
        UNROLL for (int i = 0; i < Q_LOADS; i++) {
          q_place(ws + Q_SIDE - now, Q_LOAD_ROW(t, i), Q_LOAD_K(t), vw[i]);
          q_place(xs + Q_SIDE - now, t % Q_TILE, t / Q_TILE + i * Q_ROWS, vx[i]);
        }
      }
    }
    BARRIER;
  }
  /* Sixteen outputs at a time go through local memory, so that adjacent items store adjacent elements. */
  int zero_y = q_y_zero(y_zero, p.y_kind, p.has_y_zero);
  LOCAL_POINTER int *staged = (LOCAL_POINTER int *)xs;
  UNROLL for (int i = 0; i < Q_BLOCKS * 4; i++) {
    FOR_ITEMS(t, 256) {
      int4 h = head[group * p.o + MIN_OF(m0 + Q_PLACE(t / 16, i), p.o - 1)];
      UNROLL for (int j = 0; j < Q_BLOCKS * 4; j++) {
        int sum = MINE(sums, t)[i][j], of_x = MINE(sum_x, t)[j];
        staged[t / 16 * Q_TILE + Q_PLACE(t % 16, j)] =
            p.splits > 1 ? q_part(sum, h, of_x)
                         : q_result(q_sum(sum, h, zx, of_x), FLOAT_OF(h.w), p.y_kind, zero_y, p.low, p.high, 0.0f);
      }
    }
    BARRIER;
    FOR_ITEMS(t, 256) {
      int column = n0 + t % Q_TILE;
      int to = column / p.pixels * p.y_image + group * p.o * p.y_channel + column % p.pixels * p.y_pixel;
      to += GROUP(1) * p.columns * p.group * p.o;
      for (int e = t; e < 16 * Q_TILE; e += 256) { /* Q_TILE divides 256, so the column does not change */
        int row = m0 + Q_PLACE(e / Q_TILE, i);
        if (row < p.o && column < p.columns)
          q_store(y, p.splits > 1 ? QUANT_I32 : p.y_kind, to + row * p.y_channel, staged[e]);
      }
    }
    BARRIER;
  }
}
