/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/quant_params.h - 8-bit integers and scales, read by the host and by kernels. */
#ifndef OX_DEVICE_QUANT_PARAMS_H
#define OX_DEVICE_QUANT_PARAMS_H

enum { QUANT_PARTS = 128 }; /* partial ranges; not more than a group has items (ROWS_ITEMS) */
enum { QUANT_U8, QUANT_I8, QUANT_I32 };

/* Element i has scale and zero point number i / inner % channels. */
typedef struct {
  int n, inner, channels;
  int kind;     /* QUANT_*: type of the integers */
  int has_zero; /* zero points have that type, too */
} quant_params;

/* A [m, k] times B [n, k], which has blocks of 4-bit numbers along k, with a scale and maybe a zero point each. */
typedef struct {
  int m, n, k, block, blocks; /* blocks: per row of B */
  int zero;                   /* 0: zero points are 8; 1: they are given, packed two in a byte */
  int has_bias;
} nbits_params;

#endif
