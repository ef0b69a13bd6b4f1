/* SPDX-License-Identifier: Apache-2.0
 * device/convolution.h - convolutions with channels first, shared by Conv and the channels-last operators (ops/conv.c).
 */
#ifndef OX_DEVICE_CONVOLUTION_H
#define OX_DEVICE_CONVOLUTION_H

#include "plugins/device/emit.h"

const char *dev_conv_takes(const dev_node *n);
/* Checks the node's attributes and weights against an X of this shape, channels first. */
OX_NODISCARD ox_status *dev_conv_check(dev_plan *p, const dev_node *n, const ox_shape *x);

/* A convolution with channels first. |residual| may be DEV_REF_NONE. */
typedef struct dev_planes {
  ox_shape x, y;
  dev_ref from, residual, to;
  dev_tail then;
} dev_planes;
/* Emits it with the weights, bias, activation and window of |n|. Y must not be empty. */
OX_NODISCARD ox_status *dev_emit_conv_planes(dev_plan *p, const dev_node *n, const dev_planes *v);

#endif
