/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/group_norm_params.h - group normalization of images in either layout, read by the host and by kernels.
 */
#ifndef OX_DEVICE_GROUP_NORM_PARAMS_H
#define OX_DEVICE_GROUP_NORM_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

/* Images of |groups| * |channels| channels with |pixels| pixels. */
typedef struct {
  int groups, channels, pixels;
  int last; /* channels are the last axis, else pixels */
  int wide; /* scale and shift are float32, whatever REAL is */
  float epsilon;
  tail_params tail;
} group_norm_params;

#endif
