/* SPDX-License-Identifier: Apache-2.0
 * device/variadic.h - Sum, Mean, Max and Min of floats with any number of operands. */
#ifndef OX_DEVICE_VARIADIC_H
#define OX_DEVICE_VARIADIC_H

#include "plugins/device/op.h"

/* Is |n| one of them? Not with two operands: that is a step of a tail. */
bool dev_variadic_is(const dev_node *n);
const char *dev_variadic_takes(const dev_node *n);
OX_NODISCARD ox_status *dev_variadic_emit(dev_plan *p, const dev_node *n);

#endif
