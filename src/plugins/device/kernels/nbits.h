/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/nbits.h - products with weights of 4 bits in blocks (MatMulNBits). */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/quant_params.h"

FUNCTION float nbits_zero(const GLOBAL unsigned char *zeros, const nbits_params *p, int column, int block) {
  if (!p->zero) return 8.0f;
  return (float)(zeros[column * ((p->blocks + 1) / 2) + block / 2] >> block % 2 * 4 & 15);
}

/* Eight 4-bit numbers of a column from |k| on, a multiple of eight; the block size is a multiple of eight. */
FUNCTION unsigned nbits_eight(const GLOBAL unsigned *b, const nbits_params *p, int column, int k) {
  return b[(column * p->blocks + k / p->block) * (p->block / 8) + k % p->block / 8];
}

/* For few rows: 32 items share the k of a column; a group computes 8 columns for 8 rows. */
KERNEL(nbits_rows, nbits_params) {
  BUFFER(const REAL, a, 0);
  BUFFER(const unsigned, b, 1);
  BUFFER(const REAL, scales, 2);
  BUFFER(const unsigned char, zeros, 3);
  BUFFER(const REAL, bias, 4);
  BUFFER(REAL, y, 5);
  PARAMS(nbits_params, p);
  LOCAL(float, parts, [8][8][33]);
  int r0 = GROUP(1) * 8;
  FOR_ITEMS(t, 256) {
    float sums[8];
    int column = GROUP(0) * 8 + t / 32;
    UNROLL for (int i = 0; i < 8; i++) sums[i] = 0.0f;
    if (column < p.n) {
      for (int k = t % 32 * 8; k < p.k; k += 256) {
        unsigned eight = nbits_eight(b, &p, column, k);
        float scale = LOAD(scales, column * p.blocks + k / p.block), zero = nbits_zero(zeros, &p, column, k / p.block);
        for (int j = 0; j < 8 && k + j < p.k; j++) {
          float v = ((float)(eight >> j * 4 & 15) - zero) * scale;
          UNROLL for (int i = 0; i < 8; i++) {
            if (r0 + i < p.m) sums[i] = FMAF(LOAD(a, (r0 + i) * p.k + k + j), v, sums[i]);
          }
        }
      }
    }
    UNROLL for (int i = 0; i < 8; i++) parts[t / 32][i][t % 32] = sums[i];
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int row = r0 + t / 8, column = GROUP(0) * 8 + t % 8;
    if (t < 64 && row < p.m && column < p.n) {
      float sum = p.has_bias ? LOAD(bias, column) : 0.0f;
      for (int i = 0; i < 32; i++) sum += parts[t % 8][t / 8][i];
      STORE(y, row * p.n + column, sum);
    }
  }
}

/* Unpacks B to floats [n, k]; an item for eight elements. */
KERNEL(nbits_unpack, nbits_params) {
  BUFFER(const unsigned, b, 0);
  BUFFER(const REAL, scales, 1);
  BUFFER(const unsigned char, zeros, 2);
  BUFFER(REAL, y, 3);
  PARAMS(nbits_params, p);
  FOR_ITEMS(t, 256) {
    int item = GROUP(0) * 256 + t, eights = (p.k + 7) / 8, column = item / eights, k = item % eights * 8;
    if (column < p.n) {
      unsigned eight = nbits_eight(b, &p, column, k);
      float scale = LOAD(scales, column * p.blocks + k / p.block), zero = nbits_zero(zeros, &p, column, k / p.block);
      for (int j = 0; j < 8 && k + j < p.k; j++)
        STORE(y, column * p.k + k + j, ((float)(eight >> j * 4 & 15) - zero) * scale);
    }
  }
}
