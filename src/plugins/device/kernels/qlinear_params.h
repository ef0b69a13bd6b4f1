/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qlinear_params.h - operators on 8-bit tensors with one scale each; read by the host and by kernels. */
#ifndef OX_DEVICE_QLINEAR_PARAMS_H
#define OX_DEVICE_QLINEAR_PARAMS_H

#include "plugins/device/kernels/move_params.h"
#include "plugins/device/kernels/pool_params.h"
#include "plugins/device/kernels/quant_params.h"

enum { QLINEAR_EACH = 4 /* elements per item */ };
enum { QLINEAR_ADD, QLINEAR_MUL, QLINEAR_SAME, QLINEAR_SIGMOID, QLINEAR_LEAKY };

typedef struct {
  int n, op, kind, low, high; /* bounds of the result */
  int flat;                   /* both operands have the shape of the result */
  int has_a_zero, has_b_zero, has_y_zero;
  int size[MOVE_DIMS], a[MOVE_DIMS], b[MOVE_DIMS]; /* if not |flat|: sizes of the result, strides (0 broadcasts) */
} qbinary_params;

/* Rows of |row| elements are written to rows of |to_row| elements, at offset |to| in each. */
typedef struct {
  int n, op, x_kind, y_kind;
  int has_x_zero, has_y_zero;
  int row, to_row, to;
  float alpha;
} qunary_params;

typedef struct {
  int kind, has_x_zero, has_y_zero;
  pool_params pool; /* its tail is empty */
} qpool_params;

#endif
