/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/rows_params.h - softmax, norms, reductions; read by the host and by kernels. */
#ifndef OX_DEVICE_ROWS_PARAMS_H
#define OX_DEVICE_ROWS_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

enum { ROWS_ITEMS = 128 };

/* Softmax over the middle axis of [outer, n, inner]. */
typedef struct {
  int outer, n, inner;
  int is_log;
} softmax_params;

/* Normalizes rows of n elements to mean 0 and variance 1. Element i of row r has scale and shift number
 * ((r % cycle) * n + i) / span. */
typedef struct {
  int n, cycle, span;
  int centred; /* 0: the mean is not subtracted */
  int has_shift;
  float epsilon;
  tail_params tail;
} norm_params;

enum {
  REDUCE_SUM,
  REDUCE_MEAN,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_PROD,
  REDUCE_L1,
  REDUCE_L2,
  REDUCE_SUM_SQUARE,
  REDUCE_LOG_SUM,
  REDUCE_LOG_SUM_EXP
};
enum { REDUCE_DIMS = 4 };

/* Kept and reduced axes, innermost last, with their strides in the input. */
typedef struct {
  int op;
  int n, outputs; /* terms per output, number of outputs */
  int kept[REDUCE_DIMS], kept_stride[REDUCE_DIMS];
  int gone[REDUCE_DIMS], gone_stride[REDUCE_DIMS];
  tail_params tail;
} reduce_params;

#endif
