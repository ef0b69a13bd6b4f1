/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/tail_alone_params.h - a tail as a launch of its own; read by the host and by kernels. */
#ifndef OX_DEVICE_TAIL_ALONE_PARAMS_H
#define OX_DEVICE_TAIL_ALONE_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

typedef struct {
  int n;
  tail_params tail;
} tail_alone_params;

#endif
