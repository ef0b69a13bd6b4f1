/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/quant_params.h - 8-bit integers and scales, read by the host and by kernels. */
#ifndef OX_DEVICE_QUANT_PARAMS_H
#define OX_DEVICE_QUANT_PARAMS_H

enum { QUANT_PARTS = 128 }; /* as many as a group has items: ROWS_ITEMS */
enum { QUANT_U8, QUANT_I8, QUANT_I32 };

/* Element i has scale and zero number i / inner % channels. */
typedef struct {
  int n, inner, channels;
  int kind;     /* of the integers */
  int has_zero; /* of their type */
} quant_params;

/* B [n, k] in blocks of 4-bit numbers along k, with a scale and maybe a zero point for each; A [m, k]. */
typedef struct {
  int m, n, k, block, blocks; /* blocks: of a row of B */
  int zero;                   /* 0: they are 8; 1: packed, two in a byte */
  int has_bias;
} nbits_params;

#endif
