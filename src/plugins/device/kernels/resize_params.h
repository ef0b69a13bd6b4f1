/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/resize_params.h - Resize along one axis, read by the host and by kernels. */
#ifndef OX_DEVICE_RESIZE_PARAMS_H
#define OX_DEVICE_RESIZE_PARAMS_H

enum { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
/* Coordinate transformations and rounding modes. */
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

/* Resizes [outer, in, inner] to [outer, out, inner]; an output pixel is |num| / |den| input pixels wide. |spread| is
 * the distance between the first and the last output pixel before |out| was rounded to an integer. */
typedef struct {
  int n, in, out, inner;
  int mode, coordinates, rounding, exclude_outside;
  float num, den, spread, cubic, first, last, extrapolation;
} resize_params;

#endif
