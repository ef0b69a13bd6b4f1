/* SPDX-License-Identifier: Apache-2.0
 * device/shapes.h - shape arithmetic: nodes on integers of at most one axis, which the host computes while it infers
 * shapes. They are claimed, although they run nowhere, so that parts are not cut at them. */
#ifndef OX_DEVICE_SHAPES_H
#define OX_DEVICE_SHAPES_H

#include "plugins/device/op.h"

/* Does the host compute |n|? Asked during claims, when |n->lies| is set for the nodes before it. */
bool dev_shapes_takes(const dev_node *n);

/* Sets |out|, per value, to where the values of a part lie (dev_lies). */
void dev_shapes_place(const ox_ep_host *h, const ox_graph_view *part, uint8_t *out);

#endif
