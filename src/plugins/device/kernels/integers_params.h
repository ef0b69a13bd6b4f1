/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/integers_params.h - element-wise operators on integers, read by the host and by kernels. */
#ifndef OX_DEVICE_INTEGERS_PARAMS_H
#define OX_DEVICE_INTEGERS_PARAMS_H

#include "plugins/device/kernels/move_params.h"

enum {
  INTEGERS_ADD,
  INTEGERS_SUB,
  INTEGERS_MUL,
  INTEGERS_MIN,
  INTEGERS_MAX,
  INTEGERS_ABS,
  INTEGERS_NEG,
  INTEGERS_SIGN,
  INTEGERS_DIV,  /* by 0: 0 */
  INTEGERS_MOD,  /* with the sign of the divisor */
  INTEGERS_FMOD, /* with the sign of the dividend */
  INTEGERS_AND,
  INTEGERS_OR,
  INTEGERS_XOR,
  INTEGERS_NOT,
  INTEGERS_LEFT, /* a shift by the width or more gives 0 */
  INTEGERS_RIGHT
};

/* A stride of 0 broadcasts. */
typedef struct {
  int n, op;
  int flat; /* both operands have the shape of the result */
  int size[MOVE_DIMS], a[MOVE_DIMS], b[MOVE_DIMS];
} integers_params;

#endif
