/* SPDX-License-Identifier: Apache-2.0
 * device/integers.h - the element-wise operators that take integers, too. */
#ifndef OX_DEVICE_INTEGERS_H
#define OX_DEVICE_INTEGERS_H

#include "plugins/device/op.h"

bool dev_is_integer(uint32_t dtype); /* with kernels for it */
const char *dev_integers_takes(const dev_node *n);
OX_NODISCARD ox_status *dev_integers_emit(dev_plan *p, const dev_node *n);

/* Strides of |s|, broadcast to |y|, for kernels of MOVE_DIMS axes; sizes of |y|. */
void dev_broadcast_strides(const ox_shape *s, const ox_shape *y, int *out);
void dev_broadcast_sizes(const ox_shape *y, int *out);

#endif
