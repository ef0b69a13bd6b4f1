/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/select_params.h - what is found, summed or made along one axis, read by the host and by kernels. */
#ifndef OX_DEVICE_SELECT_PARAMS_H
#define OX_DEVICE_SELECT_PARAMS_H

/* Rows of |n| elements, |inner| apart; rows: outer * inner. */
typedef struct {
  int rows, n, inner;
  int smallest, last; /* last: of equal ones the last */
} arg_params;

/* TOPK_SIZE elements are sorted at a time, the best half of which stay. */
enum { TOPK_SIZE = 2048, TOPK_MOST = TOPK_SIZE / 2 };
typedef struct {
  int rows, n, inner, k;
  int size; /* sorted at a time, a power of two */
  int smallest;
} topk_params;

typedef struct {
  int rows, n, inner;
  int exclusive, reverse;
} cumulate_params;

/* Matrices of rows x columns; upper: what is below diagonal |k| is 0. */
typedef struct {
  int n, rows, columns, k, upper;
} triangle_params;

/* [outer, depth, inner] of indices [outer, inner]. */
typedef struct {
  int n, depth, inner, wide;
} one_hot_params;

/* Elements of which place / time_step % times is the time, and place / batch_step % batch the sequence. */
typedef struct {
  int n, times, time_step, batch, batch_step;
} reverse_params;

#endif
