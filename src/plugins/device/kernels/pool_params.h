/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/pool_params.h - pools of up to three axes, read by the host and by kernels. */
#ifndef OX_DEVICE_POOL_PARAMS_H
#define OX_DEVICE_POOL_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

typedef struct {
  int n;     /* outputs */
  int inner; /* channels if they are the last axis, else 1 */
  int maximum;
  float power; /* p of LpPool; 0: no LpPool */
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3]; /* pad: at the beginning */
  int end[3]; /* with count_pad an average counts taps before this end of the padded input */
  int count_pad;
  tail_params tail;
} pool_params;

#endif
