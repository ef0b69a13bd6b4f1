/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gemv.h - products with at most GEMV_ROWS rows of A, which read B once. A group computes 32 columns;
 * its items share the sums over k. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/gemm_params.h"
#include "plugins/device/kernels/tail.h"

/* For B with contiguous columns (b_col is 1): 32 items read adjacent columns, and GEMV_SLICES such sets share k. */
KERNEL(gemv_across, gemm_params) {
  BUFFER(const REAL, a, 0);
  BUFFER(const REAL, b, 1);
  BUFFER(REAL, c, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(gemm_params, p);
  LOCAL(float, parts, [GEMV_ROWS][GEMV_SLICES][32]);
  int blocks = (p.n + 31) / 32, n0 = GROUP(0) % blocks * 32, batch = GROUP(0) / blocks;
  int a0 = 0, b0 = 0, which = batch;
  for (int d = GEMM_BATCHES - 1; d >= 0; d--) {
    int i = which % p.batch[d];
    which /= p.batch[d];
    a0 += i * p.a_batch[d], b0 += i * p.b_batch[d];
  }
  FOR_ITEMS(t, 256) {
    float sums[GEMV_ROWS];
    UNROLL for (int i = 0; i < GEMV_ROWS; i++) sums[i] = 0.0f;
    int column = n0 + t % 32;
    if (column < p.n) {
      int at = b0 + column * p.b_col, k = t / 32;
      for (; k + 3 * GEMV_SLICES < p.k; k += 4 * GEMV_SLICES) { /* keeps four loads in flight */
        float v0 = LOAD(b, at + k * p.b_row), v1 = LOAD(b, at + (k + GEMV_SLICES) * p.b_row);
        float v2 = LOAD(b, at + (k + 2 * GEMV_SLICES) * p.b_row), v3 = LOAD(b, at + (k + 3 * GEMV_SLICES) * p.b_row);
        UNROLL for (int i = 0; i < GEMV_ROWS; i++) {
          if (i < p.m) {
            int from = a0 + i * p.a_row + k * p.a_col, step = GEMV_SLICES * p.a_col;
            sums[i] = FMAF(LOAD(a, from), v0, sums[i]);
            sums[i] = FMAF(LOAD(a, from + step), v1, sums[i]);
            sums[i] = FMAF(LOAD(a, from + 2 * step), v2, sums[i]);
            sums[i] = FMAF(LOAD(a, from + 3 * step), v3, sums[i]);
          }
        }
      }
      for (; k < p.k; k += GEMV_SLICES) {
        float v = LOAD(b, at + k * p.b_row);
        UNROLL for (int i = 0; i < GEMV_ROWS; i++) {
          if (i < p.m) sums[i] = FMAF(LOAD(a, a0 + i * p.a_row + k * p.a_col), v, sums[i]);
        }
      }
    }
    UNROLL for (int i = 0; i < GEMV_ROWS; i++) parts[i][t / 32][t % 32] = sums[i];
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int row = t / 32, column = n0 + t % 32;
    if (row < p.m && column < p.n) {
      float sum = 0.0f;
      UNROLL for (int i = 0; i < GEMV_SLICES; i++) sum += parts[row][i][t % 32];
      int at = batch * p.m * p.n + row * p.c_row + column * p.c_col;
      STORE(c, at, tail_apply(&p.tail, sum, at, o0, o1, o2));
    }
  }
}

/* For B with contiguous k (b_row is 1): 32 items read k together, each set for one of 8 columns at a time. */
KERNEL(gemv_along, gemm_params) {
  BUFFER(const REAL, a, 0);
  BUFFER(const REAL, b, 1);
  BUFFER(REAL, c, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(gemm_params, p);
  LOCAL(float, parts, [8][GEMV_ROWS][33]);
  int blocks = (p.n + 7) / 8, n0 = GROUP(0) % blocks * 8, batch = GROUP(0) / blocks;
  int a0 = 0, b0 = 0, which = batch;
  for (int d = GEMM_BATCHES - 1; d >= 0; d--) {
    int i = which % p.batch[d];
    which /= p.batch[d];
    a0 += i * p.a_batch[d], b0 += i * p.b_batch[d];
  }
  FOR_ITEMS(t, 256) {
    float sums[GEMV_ROWS];
    UNROLL for (int i = 0; i < GEMV_ROWS; i++) sums[i] = 0.0f;
    int column = n0 + t / 32;
    if (column < p.n) {
      int at = b0 + column * p.b_col, k = t % 32;
      if (p.b_wide && p.a_wide && p.a_col == 1) {
        for (k = t % 32 * 4; k < p.k; k += 128) {
          float4 v = LOAD4(b, at + k);
          UNROLL for (int i = 0; i < GEMV_ROWS; i++) {
            if (i < p.m) {
              float4 u = LOAD4(a, a0 + i * p.a_row + k);
              sums[i] = FMAF(u.w, v.w, FMAF(u.z, v.z, FMAF(u.y, v.y, FMAF(u.x, v.x, sums[i]))));
            }
          }
        }
      } else {
        for (; k < p.k; k += 32) {
          float v = LOAD(b, at + k);
          UNROLL for (int i = 0; i < GEMV_ROWS; i++) {
            if (i < p.m) sums[i] = FMAF(LOAD(a, a0 + i * p.a_row + k * p.a_col), v, sums[i]);
          }
        }
      }
    }
    UNROLL for (int i = 0; i < GEMV_ROWS; i++) parts[t / 32][i][t % 32] = sums[i];
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int row = t / 8, column = n0 + t % 8;
    if (row < p.m && column < p.n) {
      float sum = 0.0f;
      for (int i = 0; i < 32; i++) sum += parts[t % 8][row][i];
      int at = batch * p.m * p.n + row * p.c_row + column * p.c_col;
      STORE(c, at, tail_apply(&p.tail, sum, at, o0, o1, o2));
    }
  }
}
