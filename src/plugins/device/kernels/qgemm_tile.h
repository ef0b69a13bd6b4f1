/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qgemm_tile.h - y [m, n] = x [m, k] times packed weights, in tiles (qtile.h). The including file
 * defines Q_KERNEL and Q_TILE. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/qproduct.h"
#include "plugins/device/kernels/qtile.h"

/* Four bytes of row |row| from column 4 * |k| on; outside of x the zero point. */
FUNCTION int q_row_bytes(const GLOBAL char *x, const qgemm_params *p, int row, int k, int zero) {
  int v = q_pack(zero, zero, zero, zero), at = row * p->k + k * 4, b[4];
  if (row < p->m && k < p->k4) {
    if (p->wide) {
      v = ((const GLOBAL int *)(x + at))[0];
      if (p->x_kind == QUANT_U8) v ^= (int)0x80808080u;
    } else {
      UNROLL for (int j = 0; j < 4; j++) b[j] = k * 4 + j < p->k ? q_byte(x, p->x_kind, at + j) : zero;
      v = q_pack(b[0], b[1], b[2], b[3]);
    }
  }
  return v;
}

KERNEL(Q_KERNEL, qgemm_params) {
  BUFFER(const char, x, 0);
  BUFFER(const int, w, 1);
  BUFFER(const int4, head, 2);
  BUFFER(const char, x_zero, 3);
  BUFFER(const float, x_scale, 4);
  BUFFER(const char, y_zero, 5);
  BUFFER(const float, bias, 6);
  BUFFER(char, y, 7);
  PARAMS(qgemm_params, p);
  LOCAL(int4, xs, [2 * Q_SIDE]);
  LOCAL(int4, ws, [2 * Q_SIDE]);
  PRIVATE(int, sums, 256, [Q_BLOCKS * 4][Q_BLOCKS * 4]);
  PRIVATE(int, sum_x, 256, [Q_BLOCKS * 4]);
  int tiles_m = (p.m + Q_TILE - 1) / Q_TILE, tiles_n = (p.n + Q_TILE - 1) / Q_TILE;
  int m0 = GROUP(0) % tiles_m * Q_TILE, rest = GROUP(0) / tiles_m;
  int n0 = rest % tiles_n * Q_TILE, batch = rest / tiles_n, which = batch, x0 = 0, w0 = 0;
  for (int d = GEMM_BATCHES - 1; d >= 0; d--) {
    int i = which % p.batch[d];
    which /= p.batch[d];
    x0 += i * p.x_batch[d], w0 += i * p.w_batch[d];
  }
  int first = GROUP(1) * p.k_each, end = MIN_OF(p.k4, first + p.k_each);
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < Q_BLOCKS * 4; i++) {
      MINE(sum_x, t)[i] = 0;
      UNROLL for (int j = 0; j < Q_BLOCKS * 4; j++) MINE(sums, t)[i][j] = 0;
    }
    UNROLL for (int i = 0; i < Q_LOADS; i++) {
      int row = m0 + Q_LOAD_ROW(t, i), zero = q_zero(x_zero, p.x_kind, p.x_zero_step, MIN_OF(row, p.m - 1));
      q_place(xs, Q_LOAD_ROW(t, i), Q_LOAD_K(t), q_row_bytes(x + x0, &p, row, first + Q_LOAD_K(t), zero));
      q_place(ws, Q_LOAD_ROW(t, i), Q_LOAD_K(t),
              q_weights(w + w0 * p.n * p.k4, n0 + Q_LOAD_ROW(t, i), p.n, first + Q_LOAD_K(t), p.k4));
    }
  }
  BARRIER;
  for (int k0 = first, now = 0; k0 < end; k0 += QPRODUCT_STEP, now = Q_SIDE - now) {
    FOR_ITEMS(t, 256) {
      int next = k0 + QPRODUCT_STEP, vx[Q_LOADS], vw[Q_LOADS];
      if (next < end) {
        UNROLL for (int i = 0; i < Q_LOADS; i++) {
          int row = m0 + Q_LOAD_ROW(t, i), zero = q_zero(x_zero, p.x_kind, p.x_zero_step, MIN_OF(row, p.m - 1));
          vx[i] = q_row_bytes(x + x0, &p, row, next + Q_LOAD_K(t), zero);
          vw[i] = q_weights(w + w0 * p.n * p.k4, n0 + Q_LOAD_ROW(t, i), p.n, next + Q_LOAD_K(t), p.k4);
        }
      }
      Q_MULTIPLY(t, xs + now, ws + now, MINE(sums, t), MINE(sum_x, t), p.has_w_zero, 0)
      if (next < end) {
        UNROLL for (int i = 0; i < Q_LOADS; i++) {
          q_place(xs + Q_SIDE - now, Q_LOAD_ROW(t, i), Q_LOAD_K(t), vx[i]);
          q_place(ws + Q_SIDE - now, Q_LOAD_ROW(t, i), Q_LOAD_K(t), vw[i]);
        }
      }
    }
    BARRIER;
  }
  /* Sixteen rows at a time go through local memory, so that adjacent items store adjacent elements. */
  int zero_y = q_y_zero(y_zero, p.y_kind, p.has_y_zero);
  LOCAL_POINTER int *staged = (LOCAL_POINTER int *)xs;
  UNROLL for (int i = 0; i < Q_BLOCKS * 4; i++) {
    FOR_ITEMS(t, 256) {
      int row = MIN_OF(m0 + Q_PLACE(t / 16, i), p.m - 1), zx = q_zero(x_zero, p.x_kind, p.x_zero_step, row);
      UNROLL for (int j = 0; j < Q_BLOCKS * 4; j++) {
        int column = MIN_OF(n0 + Q_PLACE(t % 16, j), p.n - 1);
        int4 h = head[w0 * p.n + column];
        staged[t / 16 * Q_TILE + Q_PLACE(t % 16, j)] = p.splits > 1
                                                           ? q_part(MINE(sums, t)[i][j], h, MINE(sum_x, t)[i])
                                                           : q_sum(MINE(sums, t)[i][j], h, zx, MINE(sum_x, t)[i]);
      }
    }
    BARRIER;
    FOR_ITEMS(t, 256) {
      for (int e = t; e < 16 * Q_TILE; e += 256) {
        int row = m0 + Q_PLACE(e / Q_TILE, i), column = n0 + e % Q_TILE;
        if (row < p.m && column < p.n && p.splits > 1) {
          ((GLOBAL int *)y)[(GROUP(1) * p.m + row) * p.n + column] = staged[e];
        } else if (row < p.m && column < p.n) {
          float scale = FLOAT_OF(head[w0 * p.n + column].w);
          if (p.x_scale_step >= 0) scale = x_scale[row * p.x_scale_step] * scale;
          q_store(y, p.y_kind, (batch * p.m + row) * p.n + column,
                  q_result(staged[e], scale, p.y_kind, zero_y, p.low, p.high, p.has_bias ? bias[column] : 0.0f));
        }
      }
    }
    BARRIER;
  }
}
