/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gemm_params.h - a batch of matrix products, read by the host and by kernels. */
#ifndef OX_DEVICE_GEMM_PARAMS_H
#define OX_DEVICE_GEMM_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

enum { GEMM_BATCHES = 4, GEMV_ROWS = 8, GEMV_SLICES = 8, PLAIN_ROWS = 8, PLAIN_ITEMS = 64 };

/* C[m, n] = A[m, k] B[k, n]. Element (i, j) of A is at i * a_row + j * a_col, where one stride is 1; likewise for B. */
typedef struct {
  int m, n, k;
  int a_row, a_col, b_row, b_col;
  int a_wide, b_wide; /* aligned for vector loads of four elements along the axis of stride 1 */
  int c_row, c_col;   /* gemv only; elsewhere n and 1 */
  int batch[GEMM_BATCHES], a_batch[GEMM_BATCHES], b_batch[GEMM_BATCHES]; /* sizes and strides, innermost last */
  tail_params tail;
} gemm_params;

#endif
