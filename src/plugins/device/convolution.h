/* SPDX-License-Identifier: Apache-2.0
 * device/convolution.h - convolutions of planes: what Conv and those with channels last have in common (ops/conv.c). */
#ifndef OX_DEVICE_CONVOLUTION_H
#define OX_DEVICE_CONVOLUTION_H

#include "plugins/device/emit.h"

const char *dev_conv_takes(const dev_node *n);
/* Of X with this shape, channels first. */
OX_NODISCARD ox_status *dev_conv_check(dev_plan *p, const dev_node *n, const ox_shape *x);

/* Channels come first. residual: NONE, there is none. */
typedef struct dev_planes {
  ox_shape x, y;
  dev_ref from, residual, to;
  dev_tail then;
} dev_planes;
/* With the weights, bias, activation and window of |n|; Y is not empty. */
OX_NODISCARD ox_status *dev_emit_conv_planes(dev_plan *p, const dev_node *n, const dev_planes *v);

#endif
