/* SPDX-License-Identifier: Apache-2.0
 * graph/model_ir.c - the model: what all its graphs share: arena, operator sets, symbols, names, mapped files. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "graph/graph.h"
#include "graph/grow32.h"
#include "graph/made.h"

enum { FIRST_SYMBOL = -2 };

static const char *domain_of(const char *domain) { return domain && strcmp(domain, "ai.onnx") != 0 ? domain : ""; }

ox_status *ox_model_create(ox_alloc alloc, const ox_registry *registry, ox_model **out_model) {
  *out_model = NULL;
  ox_model *m = ox_new_zeroed(alloc, sizeof *m);
  if (!m) return ox_oom();
  m->alloc = alloc, m->registry = registry;
  ox_arena_init(&m->arena, alloc);
  ox_map_init(&m->symbol_ids, alloc);
  ox_map_init(&m->interned, alloc);
  m->producer_name = m->producer_version = m->domain = m->doc = m->graph_doc = "";
  ox_status *st = ox_made_init(m);
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
  ox_made_deinit(m);
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

int64_t ox_model_opset(const ox_model *m, const char *domain) {
  domain = domain_of(domain);
  for (uint32_t i = 0; i < m->n_opsets; i++)
    if (strcmp(m->opsets[i].domain, domain) == 0) return m->opsets[i].version;
  return 0;
}

ox_status *ox_model_set_opset(ox_model *m, const char *domain, int64_t version) {
  domain = domain_of(domain);
  for (uint32_t i = 0; i < m->n_opsets; i++)
    if (strcmp(m->opsets[i].domain, domain) == 0) {
      m->opsets[i].version = version;
      return NULL;
    }
  const char *copy = ox_model_intern(m, domain);
  if (!copy || !ox_grow32(m->alloc, (void **)&m->opsets, &m->cap_opsets, m->n_opsets, sizeof *m->opsets))
    return ox_oom();
  m->opsets[m->n_opsets++] = (ox_opset){copy, version};
  return NULL;
}

const char *ox_model_intern(ox_model *m, const char *s) {
  uint32_t id = ox_map_find(&m->interned, s);
  if (id != OX_NONE) return m->interned_names[id];
  char *copy = ox_arena_str(&m->arena, s, strlen(s));
  if (!copy || !ox_grow32(m->alloc, (void **)&m->interned_names, &m->cap_interned, m->n_interned, sizeof(char *)) ||
      !ox_map_put(&m->interned, copy, m->n_interned))
    return NULL;
  m->interned_names[m->n_interned++] = copy;
  return copy;
}

ox_status *ox_model_symbol(ox_model *m, const char *name, int64_t *out_dim) {
  uint32_t id = ox_map_find(&m->symbol_ids, name);
  if (id == OX_NONE) {
    char *copy = ox_arena_str(&m->arena, name, strlen(name));
    if (!copy || !ox_grow32(m->alloc, (void **)&m->symbols, &m->cap_symbols, m->n_symbols, sizeof *m->symbols) ||
        !ox_map_put(&m->symbol_ids, copy, m->n_symbols))
      return ox_oom();
    id = m->n_symbols++;
    m->symbols[id] = copy;
  }
  *out_dim = FIRST_SYMBOL - (int64_t)id;
  return NULL;
}

ox_status *ox_model_symbol_new(ox_model *m, int64_t *out_dim) {
  if (!ox_grow32(m->alloc, (void **)&m->symbols, &m->cap_symbols, m->n_symbols, sizeof *m->symbols)) return ox_oom();
  m->symbols[m->n_symbols] = NULL;
  *out_dim = FIRST_SYMBOL - (int64_t)m->n_symbols++;
  return NULL;
}

const char *ox_model_symbol_name(const ox_model *m, int64_t dim) {
  if (dim > FIRST_SYMBOL) return NULL;
  uint64_t id = (uint64_t)FIRST_SYMBOL - (uint64_t)dim; /* well defined for INT64_MIN, too */
  return id < m->n_symbols ? m->symbols[id] : NULL;
}

const char *ox_model_shape_text(const ox_model *m, const ox_shape *s, char *buf) {
  if (s->rank < 0) return strcpy(buf, "[...]");
  size_t n = 0;
  for (int i = 0; i < s->rank && n < OX_MODEL_SHAPE_TEXT; i++) {
    const char *name = ox_model_symbol_name(m, s->dim[i]), *comma = i ? "," : "[";
    char *at = buf + n;
    size_t room = OX_MODEL_SHAPE_TEXT - n;
    if (s->dim[i] >= 0)
      n += (size_t)snprintf(at, room, "%s%lld", comma, (long long)s->dim[i]);
    else
      n += (size_t)snprintf(at, room, "%s%s", comma, name ? name : "?");
  }
  if (n < OX_MODEL_SHAPE_TEXT) snprintf(buf + n, OX_MODEL_SHAPE_TEXT - n, s->rank ? "]" : "[]");
  return buf;
}

ox_status *ox_model_keep_file(ox_model *m, ox_file_map *map, const char *name) {
  if (!ox_grow32(m->alloc, (void **)&m->files, &m->cap_files, m->n_files, sizeof *m->files)) return ox_oom();
  m->files[m->n_files++] = (ox_model_file){map, name};
  return NULL;
}

const char *ox_model_file_of(const ox_model *m, const ox_tensor *t, uint64_t *out_offset) {
  uintptr_t at = (uintptr_t)t->data;
  if (t->kind != OX_TENSOR || !t->bytes) return NULL;
  for (uint32_t i = 0; i < m->n_files; i++) {
    uintptr_t first = (uintptr_t)ox_file_map_data(m->files[i].map);
    if (!m->files[i].name || at < first || at - first >= ox_file_map_bytes(m->files[i].map)) continue;
    *out_offset = at - first;
    return m->files[i].name;
  }
  return NULL;
}

void ox_model_drop_pages(const ox_model *m, const ox_tensor *t) {
  for (uint32_t i = 0; i < m->n_files; i++) ox_file_map_drop(m->files[i].map, t->data, t->bytes);
}

ox_status *ox_graph_create(ox_model *m, ox_graph *parent, const char *name, ox_graph **out_graph) {
  *out_graph = NULL;
  name = name ? name : "";
  ox_graph *g = OX_ARENA_NEW(&m->arena, ox_graph);
  char *copy = ox_arena_str(&m->arena, name, strlen(name));
  if (!g || !copy) return ox_oom();
  g->model = m, g->parent = parent, g->name = copy;
  ox_map_init(&g->by_name, m->alloc);
  g->next = m->graphs, m->graphs = g;
  *out_graph = g;
  return NULL;
}
