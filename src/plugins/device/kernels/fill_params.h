/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/fill_params.h - of kernels that read nothing. */
#ifndef OX_DEVICE_FILL_PARAMS_H
#define OX_DEVICE_FILL_PARAMS_H

/* n elements: |low| and |high| are the bytes of the first one; the next is |step| more (RANGE). Halves of 64 bits. */
typedef struct {
  int n;
  unsigned low, high, step_low, step_high;
} fill_params;

#endif
