/* SPDX-License-Identifier: Apache-2.0
 * device/shapes.h - shape arithmetic: integers of at most one axis that the host computes while it infers shapes. A
 * part that has all of it stays one program. */
#ifndef OX_DEVICE_SHAPES_H
#define OX_DEVICE_SHAPES_H

#include "plugins/device/op.h"

/* Whether the host computes |n|, while claims are made: |n->lies| is set for the nodes before it. */
bool dev_shapes_takes(const dev_node *n);

/* Where the values of a part lie: |out|, per value. */
void dev_shapes_place(const ox_ep_host *h, const ox_graph_view *part, uint8_t *out);

#endif
