/* SPDX-License-Identifier: Apache-2.0
 * session/all_values.c - see all_values.h. Names are listed before the optimizer runs, which keeps them true
 * (opt/naming.h), and looked up afterwards, so that the optimizer does the same as without. */
#include "session/all_values.h"

static void add_names(ox_value_names *names, const ox_graph *g, const ox_node *n) {
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != OX_NONE) names->names[names->n++] = g->values[n->out[k]].name;
}

ox_status *ox_value_names_list(ox_arena *a, const ox_graph *g, ox_value_names *out) {
  ox_alloc alloc = g->model->alloc;
  ox_id *order = NULL;
  uint32_t n, n_alloc = g->n_nodes;
  *out = (ox_value_names){OX_ARENA_ARRAY(a, const char *, g->n_values), 0}; /* each has one producer at most */
  if (!out->names) return ox_oom();
  OX_TRY(ox_graph_order(g, alloc, &order, &n));
  for (uint32_t i = 0; i < n; i++) add_names(out, g, &g->nodes[order[i]]);
  ox_delete(alloc, order, n_alloc * sizeof *order);
  return NULL;
}

ox_status *ox_value_names_output(const ox_value_names *names, ox_graph *g) {
  for (size_t i = 0; i < names->n; i++) {
    ox_id v = ox_graph_find(g, names->names[i]);
    const ox_graph_value *value = v == OX_NONE ? NULL : &g->values[v];
    if (!value || value->is_output || value->is_input || value->outer != OX_NONE) continue;
    if (value->producer != OX_NONE || value->init) OX_TRY(ox_graph_add_output(g, v));
  }
  return NULL;
}
