/* SPDX-License-Identifier: Apache-2.0
 * graph/model_ir.c - the life of a model and its graphs. */
#include <string.h>

#include "base/macros.h"
#include "graph/graph.h"
#include "graph/deferred_const.h"

ox_status *ox_model_create(ox_alloc alloc, const ox_registry *registry, ox_model **out_model) {
  *out_model = NULL;
  ox_model *m = ox_new_zeroed(alloc, sizeof *m);
  if (!m) return ox_oom();
  m->alloc = alloc, m->registry = registry;
  ox_arena_init(&m->arena, alloc);
  ox_map_init(&m->symbol_ids, alloc);
  ox_map_init(&m->interned, alloc);
  m->producer_name = m->producer_version = m->domain = m->doc = m->graph_doc = "";
  ox_status *st = ox_deferred_init(m);
  if (!st) st = ox_graph_create(m, NULL, "", &m->graph);
  if (st) {
    ox_model_destroy(m);
    return st;
  }
  *out_model = m;
  return NULL;
}

void ox_model_destroy(ox_model *m) {
  if (!m) return;
  ox_alloc a = m->alloc;
  for (ox_graph *g = m->graphs; g; g = g->next) {
    ox_delete(a, g->nodes, g->cap_nodes * sizeof *g->nodes);
    ox_delete(a, g->values, g->cap_values * sizeof *g->values);
    ox_delete(a, g->inputs, g->cap_inputs * sizeof *g->inputs);
    ox_delete(a, g->outputs, g->cap_outputs * sizeof *g->outputs);
    ox_map_deinit(&g->by_name);
  }
  ox_deferred_deinit(m);
  for (uint32_t i = 0; i < m->n_files; i++) ox_file_map_release(m->files[i].map);
  ox_delete(a, m->files, m->cap_files * sizeof *m->files);
  ox_delete(a, m->symbols, m->cap_symbols * sizeof *m->symbols);
  ox_delete(a, m->interned_names, m->cap_interned * sizeof *m->interned_names);
  if (m->cap_opsets) ox_delete(a, m->opsets, m->cap_opsets * sizeof *m->opsets);
  ox_map_deinit(&m->symbol_ids);
  ox_map_deinit(&m->interned);
  ox_arena_deinit(&m->arena);
  ox_delete(a, m, sizeof *m);
}

ox_status *ox_graph_create(ox_model *m, ox_graph *parent, const char *name, ox_graph **out_graph) {
  *out_graph = NULL;
  name = name ? name : "";
  ox_graph *g = OX_ARENA_NEW(&m->arena, ox_graph);
  char *copy = ox_arena_str(&m->arena, name, strlen(name));
  if (!g || !copy) return ox_oom();
  g->model = m, g->parent = parent, g->name = copy, g->loops = parent != NULL; /* until it is known better */
  ox_map_init(&g->by_name, m->alloc);
  g->next = m->graphs, m->graphs = g;
  *out_graph = g;
  return NULL;
}
