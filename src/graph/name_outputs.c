/* SPDX-License-Identifier: Apache-2.0
 * graph/name_outputs.c - outputs that are left out although their operator requires them. */
#include "base/macros.h"
#include "graph/registry.h"

bool ox_node_has_output(const ox_node *n) {
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) return true;
  return false;
}

static ox_status *name_outputs(ox_graph *g, ox_id id) {
  const ox_schema *s = ox_node_schema(g->model, &g->nodes[id], NULL);
  uint32_t required = s ? ox_schema_min_out(s) : 0;
  for (uint32_t i = 0; i < OX_MIN(required, g->nodes[id].n_out); i++) {
    ox_id v;
    if (g->nodes[id].out[i] != OX_NONE) continue;
    OX_TRY(ox_graph_add_value(g, NULL, &v));
    OX_TRY(ox_node_set_output(g, id, i, v));
  }
  return NULL;
}

ox_status *ox_graph_name_outputs(ox_model *m) {
  for (ox_graph *g = m->graphs; g; g = g->next)
    for (ox_id i = 0; i < g->n_nodes && !g->dead; i++) {
      if (g->nodes[i].dead) continue;
      if (!ox_node_has_output(&g->nodes[i])) ox_graph_remove_node(g, i);
      else OX_TRY(name_outputs(g, i));
    }
  return NULL;
}
