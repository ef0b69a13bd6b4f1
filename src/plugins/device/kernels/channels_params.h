/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/channels_params.h - what normalizes channels with given numbers; read by the host and by kernels. */
#ifndef OX_DEVICE_CHANNELS_PARAMS_H
#define OX_DEVICE_CHANNELS_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

/* [n / (channels * inner), channels, inner] */
typedef struct {
  int n, channels, inner;
  float epsilon; /* batch_norm */
  int size;      /* the rest: lrn */
  float alpha, beta, bias;
  tail_params tail;
} channels_params;

#endif
