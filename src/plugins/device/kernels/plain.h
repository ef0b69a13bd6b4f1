/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/plain.h - products and convolutions for devices that are CPUs: without local memory or barriers,
 * PLAIN_ROWS rows of a column per item, so that compilers vectorize over items. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/gemm_params.h"
#include "plugins/device/kernels/conv_params.h"
#include "plugins/device/kernels/tail.h"

KERNEL(plain_gemm, gemm_params) {
  BUFFER(const REAL, a, 0);
  BUFFER(const REAL, b, 1);
  BUFFER(REAL, c, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(gemm_params, p);
  int blocks_m = (p.m + PLAIN_ROWS - 1) / PLAIN_ROWS, blocks_n = (p.n + PLAIN_ITEMS - 1) / PLAIN_ITEMS;
  int m0 = GROUP(0) % blocks_m * PLAIN_ROWS, rest = GROUP(0) / blocks_m, n0 = rest % blocks_n * PLAIN_ITEMS;
  int batch = rest / blocks_n, a0 = 0, b0 = 0, which = batch;
  for (int d = GEMM_BATCHES - 1; d >= 0; d--) {
    int i = which % p.batch[d];
    which /= p.batch[d];
    a0 += i * p.a_batch[d], b0 += i * p.b_batch[d];
  }
  FOR_ITEMS(t, PLAIN_ITEMS) {
    float sums[PLAIN_ROWS];
    int column = n0 + t, read = b0 + MIN_OF(column, p.n - 1) * p.b_col;
    UNROLL for (int i = 0; i < PLAIN_ROWS; i++) sums[i] = 0.0f;
    for (int k = 0; k < p.k; k++) {
      float v = LOAD(b, read + k * p.b_row);
      UNROLL for (int i = 0; i < PLAIN_ROWS; i++) sums[i] =
          FMAF(LOAD(a, a0 + MIN_OF(m0 + i, p.m - 1) * p.a_row + k * p.a_col), v, sums[i]);
    }
    for (int i = 0; i < PLAIN_ROWS; i++) {
      int at = (batch * p.m + m0 + i) * p.n + column;
      if (m0 + i < p.m && column < p.n) STORE(c, at, tail_apply(&p.tail, sums[i], at, o0, o1, o2));
    }
  }
}

KERNEL(plain_conv, conv_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, w, 1);
  BUFFER(REAL, y, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(conv_params, p);
  int blocks_o = (p.o + PLAIN_ROWS - 1) / PLAIN_ROWS, blocks_n = (p.columns + PLAIN_ITEMS - 1) / PLAIN_ITEMS;
  int m0 = GROUP(0) % blocks_o * PLAIN_ROWS, rest = GROUP(0) / blocks_o, n0 = rest % blocks_n * PLAIN_ITEMS;
  int group = rest / blocks_n, weights = group * p.o * p.k, volume = p.in[0] * p.in[1] * p.in[2];
  FOR_ITEMS(t, PLAIN_ITEMS) {
    float sums[PLAIN_ROWS];
    int column = n0 + t, image = column / p.pixels, pixel = column % p.pixels;
    int z0 = pixel / (p.out[1] * p.out[2]) * p.stride[0] - p.pad[0];
    int y0 = pixel / p.out[2] % p.out[1] * p.stride[1] - p.pad[1], x0 = pixel % p.out[2] * p.stride[2] - p.pad[2];
    int from = (image * p.group + group) * p.c * volume, k = weights;
    UNROLL for (int i = 0; i < PLAIN_ROWS; i++) sums[i] = 0.0f;
    for (int c = 0; c < p.c; c++, from += volume) {
      for (int kz = 0; kz < p.extent[0]; kz++) {
        for (int ky = 0; ky < p.extent[1]; ky++) {
          for (int kx = 0; kx < p.extent[2]; kx++, k++) {
            int z = z0 + kz * p.dilation[0], row = y0 + ky * p.dilation[1], i = x0 + kx * p.dilation[2];
            int inside = z >= 0 && z < p.in[0] && row >= 0 && row < p.in[1] && i >= 0 && i < p.in[2];
            float v = inside && column < p.columns ? LOAD(x, from + (z * p.in[1] + row) * p.in[2] + i) : 0.0f;
            UNROLL for (int j = 0; j < PLAIN_ROWS; j++) sums[j] =
                FMAF(LOAD(w, MIN_OF(m0 + j, p.o - 1) * p.k + k), v, sums[j]);
          }
        }
      }
    }
    for (int j = 0; j < PLAIN_ROWS; j++) {
      int at = ((image * p.group + group) * p.o + m0 + j) * p.pixels + pixel;
      if (m0 + j < p.o && column < p.columns) STORE(y, at, tail_apply(&p.tail, sums[j], at, o0, o1, o2));
    }
  }
}
