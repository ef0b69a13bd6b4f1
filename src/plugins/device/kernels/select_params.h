/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/select_params.h - ArgMax, TopK, CumSum, Trilu, OneHot, ReverseSequence; read by the host and by
 * kernels. */
#ifndef OX_DEVICE_SELECT_PARAMS_H
#define OX_DEVICE_SELECT_PARAMS_H

/* Rows of |n| elements with stride |inner|; there are outer * inner rows. */
typedef struct {
  int rows, n, inner;
  int smallest, last; /* last: among equal elements take the last */
} arg_params;

/* At most TOPK_SIZE elements are sorted at a time, of which the best half is kept. */
enum { TOPK_SIZE = 2048, TOPK_MOST = TOPK_SIZE / 2 };
typedef struct {
  int rows, n, inner, k;
  int size; /* elements sorted at a time, a power of two */
  int smallest;
} topk_params;

typedef struct {
  int rows, n, inner;
  int exclusive, reverse;
} cumulate_params;

/* Matrices of rows x columns; upper: elements below diagonal |k| become 0, else those above it. */
typedef struct {
  int n, rows, columns, k, upper;
} triangle_params;

/* [outer, depth, inner] from indices [outer, inner]. */
typedef struct {
  int n, depth, inner, wide;
} one_hot_params;

/* Element i has time i / time_step % times and belongs to sequence i / batch_step % batch. */
typedef struct {
  int n, times, time_step, batch, batch_step;
} reverse_params;

#endif
