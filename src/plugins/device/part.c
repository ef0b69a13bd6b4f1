/* SPDX-License-Identifier: Apache-2.0
 * device/part.c - see part.h. */
#include "plugins/device/part.h"

#include <stdio.h>

#include "plugins/device/shapes.h"

ox_status *dev_part_init(dev_part *p, ox_ep *ep, const ox_graph_view *graph) {
  const ox_ep_host *h = &ep->host;
  *p = (dev_part){.ep = ep, .graph = graph, .n_values = h->value_count(graph)};
  p->n_in = h->io_count(graph, 0), p->n_out = h->io_count(graph, 1);
  p->constants = ox_new_zeroed(h->alloc, p->n_values * sizeof *p->constants);
  p->n_made = DEV_MADE * h->node_count(graph), p->made = ox_new_zeroed(h->alloc, p->n_made * sizeof *p->made);
  p->lies = ox_new_zeroed(h->alloc, p->n_values);
  if (!p->constants || !p->made || !p->lies) return dev_no_memory(h);
  dev_shapes_place(h, graph, p->lies);
  return NULL;
}

void dev_part_deinit(dev_part *p) {
  for (uint32_t v = 0; p->constants && v < p->n_values; v++)
    if (p->constants[v]) dev_give(p->ep, p->constants[v], p->ep->host.value_const(p->graph, v)->bytes);
  for (size_t i = 0; p->made && i < p->n_made; i++)
    if (p->made[i].address) dev_give(p->ep, p->made[i].address, p->made[i].bytes);
  ox_delete(p->ep->host.alloc, p->lies, p->n_values);
  ox_delete(p->ep->host.alloc, p->made, p->n_made * sizeof *p->made);
  ox_delete(p->ep->host.alloc, p->constants, p->n_values * sizeof *p->constants);
}

static ox_status *take_constant(dev_part *p, uint32_t value, size_t bytes, void **out_address) {
  char text[224];
  ox_status *st = dev_take(p->ep, bytes, out_address);
  if (!st) return NULL;
  snprintf(text, sizeof text, "constant '%.200s'", p->ep->host.value_name(p->graph, value));
  return p->ep->host.status_note(st, text);
}

ox_status *dev_part_constant(dev_part *p, uint32_t value, void **out_address) {
  const ox_tensor *t = p->ep->host.value_const(p->graph, value);
  *out_address = p->constants[value];
  if (*out_address) return NULL;
  DEV_TRY(take_constant(p, value, t->bytes, out_address));
  ox_status *st =
      t->bytes ? dev_the_driver.copy(p->ep->device, NULL, *out_address, t->data, t->bytes, DEV_TO_DEVICE) : NULL;
  if (st)
    dev_give(p->ep, *out_address, t->bytes);
  else
    p->constants[value] = *out_address;
  return st;
}
