/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/channels_params.h - BatchNormalization and LRN; read by the host and by kernels. */
#ifndef OX_DEVICE_CHANNELS_PARAMS_H
#define OX_DEVICE_CHANNELS_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

/* The tensor is [n / (channels * inner), channels, inner]. */
typedef struct {
  int n, channels, inner;
  float epsilon; /* batch_norm */
  int size;      /* this and the next line: lrn */
  float alpha, beta, bias;
  tail_params tail;
} channels_params;

#endif
