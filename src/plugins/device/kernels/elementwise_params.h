/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/elementwise_params.h - element-wise operators, read by the host and by kernels. */
#ifndef OX_DEVICE_ELEMENTWISE_PARAMS_H
#define OX_DEVICE_ELEMENTWISE_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

enum { FLAT_ITEMS = 256, FLAT_EACH = 4, BROADCAST_RANK = 8 };

/* y[i] = tail(x[i]) */
typedef struct {
  int n;
  tail_params tail;
} flat_params;

/* y = tail(a op b), |op| from TAIL_ADD to TAIL_MOD. Dimensions of y, and strides of a and b (0: broadcast), last
 * dimension first. */
typedef struct {
  int n, rank, op;
  int dim[BROADCAST_RANK], a_stride[BROADCAST_RANK], b_stride[BROADCAST_RANK];
  tail_params tail;
} broadcast_params;

#endif
