/* SPDX-License-Identifier: Apache-2.0
 * device/integers.h - element-wise operators on integers. */
#ifndef OX_DEVICE_INTEGERS_H
#define OX_DEVICE_INTEGERS_H

#include "plugins/device/op.h"

bool dev_is_integer(uint32_t dtype); /* an integer type that the kernels support */
const char *dev_integers_takes(const dev_node *n);
OX_NODISCARD ox_status *dev_integers_emit(dev_plan *p, const dev_node *n);

/* Strides of |s| broadcast to |y|, and the sizes of |y|, for kernels with MOVE_DIMS axes. */
void dev_broadcast_strides(const ox_shape *s, const ox_shape *y, int *out);
void dev_broadcast_sizes(const ox_shape *y, int *out);

#endif
