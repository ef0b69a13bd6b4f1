/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/skip_norm_params.h - normalized sums of rows; read by the host and by kernels. */
#ifndef OX_DEVICE_SKIP_NORM_PARAMS_H
#define OX_DEVICE_SKIP_NORM_PARAMS_H

/* Normalizes rows of n elements of x + skip + bias to mean 0 and variance 1 (if not |centred|, to mean square 1), then
 * applies scale and shift. |skip| repeats after |skip_n| elements. */
typedef struct {
  int n, skip_n, centred;
  int has_bias, has_shift, wants_sum;
  float epsilon;
} skip_norm_params;

#endif
