/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/trigonometry_params.h - read by the host and by kernels. */
#ifndef OX_DEVICE_TRIGONOMETRY_PARAMS_H
#define OX_DEVICE_TRIGONOMETRY_PARAMS_H

enum {
  TRIGONOMETRY_ACOS,
  TRIGONOMETRY_ACOSH,
  TRIGONOMETRY_ASIN,
  TRIGONOMETRY_ASINH,
  TRIGONOMETRY_ATAN,
  TRIGONOMETRY_ATANH,
  TRIGONOMETRY_COSH,
  TRIGONOMETRY_SINH,
  TRIGONOMETRY_TAN,
  TRIGONOMETRY_SHRINK,      /* beyond a: b nearer to 0; else 0 */
  TRIGONOMETRY_SCALED_TANH, /* a * tanh(b * v) */
  TRIGONOMETRY_AFFINE       /* a * v + b */
};

typedef struct {
  int n, op;
  float a, b;
} trigonometry_params;

#endif
