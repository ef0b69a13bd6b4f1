/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/pool_params.h - pools of up to three axes, read by the host and by kernels. */
#ifndef OX_DEVICE_POOL_PARAMS_H
#define OX_DEVICE_POOL_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

typedef struct {
  int n;     /* outputs */
  int inner; /* channels, if they come last; else 1 */
  int maximum;
  float power; /* 0, or the root of the sum of powers */
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3]; /* pad: before */
  int end[3]; /* taps from -pad to here count for an average; without padding in it, pad counts as 0 and this is |in| */
  int count_pad;
  tail_params tail;
} pool_params;

#endif
