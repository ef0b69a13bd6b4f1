/* SPDX-License-Identifier: Apache-2.0
 * device/part.h - a part of a graph with its constants on the device. Plans are made of it, and read it as they run. */
#ifndef OX_DEVICE_PART_H
#define OX_DEVICE_PART_H

#include "plugins/device/core.h"

/* What a launch made of constants; address NULL: nothing yet. */
typedef struct dev_made {
  void *address;
  size_t bytes;
} dev_made;

typedef struct dev_part {
  ox_ep *ep;
  const ox_graph_view *graph;
  size_t n_values, n_in, n_out;
  uint8_t *lies;    /* per value: dev_lies */
  void **constants; /* per value: its address, NULL: not on the device yet */
  size_t n_made;
  struct dev_made *made; /* per node, DEV_MADE of each */
} dev_part;

OX_NODISCARD ox_status *dev_part_init(dev_part *p, ox_ep *ep, const ox_graph_view *graph);
void dev_part_deinit(dev_part *p);

/* The address of constant |value|; brings it to the device first if need be. One thread at a time. */
OX_NODISCARD ox_status *dev_part_constant(dev_part *p, uint32_t value, void **out_address);

#endif
