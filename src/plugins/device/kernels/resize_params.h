/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/resize_params.h - Resize along one axis, read by the host and by kernels. */
#ifndef OX_DEVICE_RESIZE_PARAMS_H
#define OX_DEVICE_RESIZE_PARAMS_H

enum { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
/* Where pixels lie, and which one is nearest. */
enum {
  RESIZE_HALF_PIXEL,
  RESIZE_SYMMETRIC,
  RESIZE_PYTORCH,
  RESIZE_CORNERS,
  RESIZE_ASYMMETRIC,
  RESIZE_HALF_NN,
  RESIZE_CROP
};
enum { RESIZE_ROUND_FLOOR, RESIZE_ROUND_CEIL, RESIZE_FLOOR, RESIZE_CEIL };

/* [outer, out, inner] from [outer, in, inner]; one pixel out is |num| / |den| pixels in. |spread| is how far the first
 * and the last pixel out lie apart, before |out| was rounded to a whole number. */
typedef struct {
  int n, in, out, inner;
  int mode, coordinates, rounding, exclude_outside;
  float num, den, spread, cubic, first, last, extrapolation;
} resize_params;

#endif
