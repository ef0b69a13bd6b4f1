/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/skip_norm_params.h - sums of rows, normalized; read by the host and by kernels. */
#ifndef OX_DEVICE_SKIP_NORM_PARAMS_H
#define OX_DEVICE_SKIP_NORM_PARAMS_H

/* Rows of n numbers: x + skip + bias, to mean 0 and variance 1 (to mean square 1 if not |centred|), times scale, plus
 * shift. Skip repeats after |skip_n| numbers. */
typedef struct {
  int n, skip_n, centred;
  int has_bias, has_shift, wants_sum;
  float epsilon;
} skip_norm_params;

#endif
