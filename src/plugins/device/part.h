/* SPDX-License-Identifier: Apache-2.0
 * device/part.h - a part of a graph with its constants on the device. Plans are built from it and refer to it. */
#ifndef OX_DEVICE_PART_H
#define OX_DEVICE_PART_H

#include "plugins/device/core.h"

/* A result computed from constants (dev_emit_made); address NULL: not computed yet. */
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

/* The device address of constant |value|, which is copied there on first use. Calls must be serialised. */
OX_NODISCARD ox_status *dev_part_constant(dev_part *p, uint32_t value, void **out_address);

#endif
