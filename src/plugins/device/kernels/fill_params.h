/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/fill_params.h - filling with a constant or a range; read by the host and by kernels. */
#ifndef OX_DEVICE_FILL_PARAMS_H
#define OX_DEVICE_FILL_PARAMS_H

/* |n| elements. The first one and, for a range, the increment are 64-bit numbers in two halves. */
typedef struct {
  int n;
  unsigned low, high, step_low, step_high;
} fill_params;

#endif
