/* SPDX-License-Identifier: Apache-2.0
 * graph/graph_slots.c - inputs and outputs that go, of nodes and of graphs. */
#include <string.h>

#include "graph/graph.h"

void ox_node_drop_input(ox_graph *g, ox_id node, uint32_t slot) {
  ox_node *n = &g->nodes[node];
  ox_status_free(ox_node_set_input(g, node, slot, OX_NONE)); /* taking away cannot fail */
  n->n_in--;
  for (uint32_t i = slot; i < n->n_in; i++) {
    n->in[i] = n->in[i + 1], n->use_at[i] = n->use_at[i + 1];
    if (n->in[i] != OX_NONE) g->values[n->in[i]].uses[n->use_at[i]].slot = i;
  }
}

void ox_node_drop_output(ox_graph *g, ox_id node, uint32_t slot) {
  ox_node *n = &g->nodes[node];
  if (n->out[slot] != OX_NONE) g->values[n->out[slot]].producer = OX_NONE;
  n->n_out--;
  for (uint32_t i = slot; i < n->n_out; i++) {
    n->out[i] = n->out[i + 1];
    if (n->out[i] != OX_NONE) g->values[n->out[i]].producer_slot = i;
  }
}

/* |list| of |*n| ids without the one at |at|. */
static ox_id take_out(ox_id *list, uint32_t *n, uint32_t at) {
  ox_id v = list[at];
  memmove(&list[at], &list[at + 1], (--*n - at) * sizeof *list);
  return v;
}

void ox_graph_drop_input(ox_graph *g, uint32_t at) {
  g->values[take_out(g->inputs, &g->n_inputs, at)].is_input = false;
}

void ox_graph_drop_output(ox_graph *g, uint32_t at) {
  ox_graph_value *gone = &g->values[take_out(g->outputs, &g->n_outputs, at)];
  gone->is_output = --gone->n_output > 0;
  for (uint32_t i = g->n_outputs; i-- > 0;) g->values[g->outputs[i]].output_at = i; /* the first one is told last */
}
