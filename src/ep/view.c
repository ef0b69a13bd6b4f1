/* SPDX-License-Identifier: Apache-2.0
 * ep/view.c - see view.h. */
#include "ep/view.h"

#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "graph/extract.h"

/* ---- building ---- */

static bool all_nodes(const ox_node *n) { return !n->dead; }

static ox_status *add_bodies(ox_graph_view *v, ox_arena *a) {
  size_t n = 0;
  ox_graph *b;
  for (size_t i = 0; i < v->n_nodes; i++)
    for (uint32_t k = 0; ox_node_body(ox_graph_node(v->graph, v->nodes[i]), k); k++) n++;
  if (!n) return NULL;
  const ox_graph_view **bodies = OX_ARENA_ARRAY(a, const ox_graph_view *, n);
  if (!bodies) return ox_oom();
  for (size_t i = 0; i < v->n_nodes; i++)
    for (uint32_t k = 0; (b = ox_node_body(ox_graph_node(v->graph, v->nodes[i]), k)); k++) {
      ox_graph_view *body;
      OX_TRY(ox_view_create(b, a, NULL, &body));
      bodies[v->n_bodies++] = body;
    }
  v->bodies = bodies;
  return NULL;
}

ox_status *ox_view_create(const ox_graph *g, ox_arena *a, bool (*wanted)(const ox_node *n), ox_graph_view **out_view) {
  ox_alloc alloc = g->model->alloc;
  ox_id *order = NULL;
  uint32_t n = 0;
  ox_graph_view *v = *out_view = OX_ARENA_NEW(a, ox_graph_view);
  if (!wanted) wanted = all_nodes;
  if (!v) return ox_oom();
  OX_TRY(ox_graph_order(g, alloc, &order, &n));
  ox_id *nodes = OX_ARENA_ARRAY(a, ox_id, n);
  uint32_t *place = OX_ARENA_ARRAY(a, uint32_t, g->n_nodes);
  v->graph = g, v->nodes = nodes, v->place = place, v->arena = a;
  if (nodes && place) {
    memset(place, 0xff, g->n_nodes * sizeof *place); /* OX_NONE */
    for (uint32_t i = 0; i < n; i++) {
      if (!wanted(ox_graph_node(g, order[i]))) continue;
      place[order[i]] = (uint32_t)v->n_nodes;
      nodes[v->n_nodes++] = order[i];
    }
  }
  ox_delete(alloc, order, g->n_nodes * sizeof *order);
  return nodes && place ? add_bodies(v, a) : ox_oom();
}

/* ---- nodes ---- */

const ox_node *ox_view_node(const ox_graph_view *g, size_t node) {
  return node < g->n_nodes ? ox_graph_node(g->graph, g->nodes[node]) : NULL;
}

static const ox_node *node_at(const ox_graph_view *g, size_t node) {
  static const ox_node nothing = {.op = "", .domain = "", .name = ""};
  const ox_node *n = ox_view_node(g, node);
  return n ? n : &nothing;
}

size_t ox_view_node_count(const ox_graph_view *g) { return g->n_nodes; }
const char *ox_view_node_op(const ox_graph_view *g, size_t node) { return node_at(g, node)->op; }
const char *ox_view_node_domain(const ox_graph_view *g, size_t node) { return node_at(g, node)->domain; }
const char *ox_view_node_name(const ox_graph_view *g, size_t node) { return node_at(g, node)->name; }
size_t ox_view_node_in_count(const ox_graph_view *g, size_t node) { return node_at(g, node)->n_in; }
size_t ox_view_node_out_count(const ox_graph_view *g, size_t node) { return node_at(g, node)->n_out; }

uint32_t ox_view_node_in(const ox_graph_view *g, size_t node, size_t i) {
  const ox_node *n = node_at(g, node);
  return i < n->n_in ? n->in[i] : OX_NONE;
}

uint32_t ox_view_node_out(const ox_graph_view *g, size_t node, size_t i) {
  const ox_node *n = node_at(g, node);
  return i < n->n_out ? n->out[i] : OX_NONE;
}

uint32_t ox_view_node_version(const ox_graph_view *g, size_t node) {
  int64_t v = ox_node_version(g->graph->model, node_at(g, node));
  return v > 0 ? (uint32_t)v : 1; /* domains that only the optimizer uses are not imported: version 1 */
}

int ox_view_node_attr(const ox_graph_view *g, size_t node, const char *name, ox_attr_view *out) {
  const ox_attr *a = ox_node_attr(node_at(g, node), name);
  if (!a) return 0;
  *out = a->v;
  return 1;
}

size_t ox_view_node_attr_count(const ox_graph_view *g, size_t node) { return node_at(g, node)->n_attrs; }

const char *ox_view_node_attr_at(const ox_graph_view *g, size_t node, size_t i, ox_attr_view *out) {
  const ox_node *n = node_at(g, node);
  if (i >= n->n_attrs) return NULL;
  *out = n->attrs[i].v;
  return n->attrs[i].name;
}

const ox_graph_view *ox_view_node_body(const ox_graph_view *g, size_t node, const char *name) {
  const ox_attr *a = ox_node_attr(node_at(g, node), name);
  for (size_t i = 0; a && a->graph && i < g->n_bodies; i++)
    if (g->bodies[i]->graph == a->graph) return g->bodies[i];
  return NULL;
}

/* ---- values ---- */

static const ox_graph_value *value_at(const ox_graph_view *g, uint32_t value) {
  return value < g->graph->n_values && !g->graph->values[value].dead ? &g->graph->values[value] : NULL;
}

size_t ox_view_value_count(const ox_graph_view *g) { return g->graph->n_values; }

const char *ox_view_value_name(const ox_graph_view *g, uint32_t value) {
  return value_at(g, value) ? value_at(g, value)->name : "";
}

void ox_view_value_type(const ox_graph_view *g, uint32_t value, uint32_t *kind, uint32_t *dtype, ox_shape *shape) {
  const ox_type unknown = ox_type_unknown();
  const ox_type *t = value_at(g, value) ? &value_at(g, value)->type : &unknown;
  *kind = t->kind, *dtype = t->dtype, *shape = t->shape;
}

const ox_tensor *ox_view_value_const(const ox_graph_view *g, uint32_t value) {
  return value_at(g, value) ? ox_graph_const(g->graph, value) : NULL;
}

const ox_tensor *ox_view_value_const_type(const ox_graph_view *g, uint32_t value) {
  return value_at(g, value) ? ox_graph_const_type(g->graph, value) : NULL;
}

const ox_type *ox_view_value_full_type(const ox_graph_view *g, uint32_t value) {
  return value_at(g, value) ? &value_at(g, value)->type : NULL;
}

const char *ox_view_value_file(const ox_graph_view *g, uint32_t value, uint64_t *out_offset) {
  const ox_tensor *t = ox_view_value_const(g, value);
  return t ? ox_model_file_of(g->graph->model, t, out_offset) : NULL;
}

uint32_t ox_view_value_outer(const ox_graph_view *g, uint32_t value) {
  return value_at(g, value) ? value_at(g, value)->outer : OX_NONE;
}

size_t ox_view_value_producer(const ox_graph_view *g, uint32_t value) {
  ox_id producer = value_at(g, value) ? value_at(g, value)->producer : OX_NONE;
  if (producer == OX_NONE || !g->place || g->place[producer] == OX_NONE) return SIZE_MAX;
  return g->place[producer];
}

size_t ox_view_value_use_count(const ox_graph_view *g, uint32_t value) {
  return value_at(g, value) ? ox_graph_use_count(g->graph, value) : 0;
}

void ox_view_constant_done(const ox_graph_view *g, uint32_t value) {
  if (g->done && value < g->graph->n_values) g->done[value] = 1;
}

/* ---- the graph ---- */

size_t ox_view_io_count(const ox_graph_view *g, int outputs) {
  return outputs ? g->graph->n_outputs : g->graph->n_inputs;
}

uint32_t ox_view_io_value(const ox_graph_view *g, int outputs, size_t i) {
  if (i >= ox_view_io_count(g, outputs)) return OX_NONE;
  return outputs ? g->graph->outputs[i] : g->graph->inputs[i];
}

const char *ox_view_dim_name(const ox_graph_view *g, int64_t dim) { return ox_model_symbol_name(g->graph->model, dim); }

int64_t ox_view_opset(const ox_graph_view *g, const char *domain) {
  return ox_model_opset(g->graph->model, domain ? domain : "");
}

const char *ox_view_graph_name(const ox_graph_view *g) { return g->graph->name; }

int ox_view_stopped(const ox_graph_view *g) { return ox_watch_stopped(g->graph->model->watch); }

/* The node of the enclosing graph that has |g| as a body; OX_NONE: there is none, or |g| is a part. */
static ox_id find_parent(const ox_graph *g) {
  const ox_graph *outer = g->parent, *b;
  for (ox_id id = 0; outer && id < outer->n_nodes; id++) {
    const ox_node *n = &outer->nodes[id];
    for (uint32_t k = 0; !n->dead && (b = ox_node_body(n, k)); k++)
      if (b == g) return ox_node_part(n) ? OX_NONE : id;
  }
  return OX_NONE;
}

const ox_graph_view *ox_view_graph_parent(const ox_graph_view *g) {
  ox_id id = g->arena ? find_parent(g->graph) : OX_NONE;
  ox_graph_view *parent = id != OX_NONE ? OX_ARENA_NEW(g->arena, ox_graph_view) : NULL;
  ox_id *nodes = parent ? ox_arena_copy(g->arena, &id, sizeof id) : NULL;
  if (!nodes) return NULL;
  parent->graph = g->graph->parent, parent->nodes = nodes, parent->n_nodes = 1;
  ox_status *st = add_bodies(parent, g->arena);
  ox_status_free(st);
  return st ? NULL : parent;
}

static const char *text_of(const char *s) { return s ? s : ""; }

void ox_view_model_info(const ox_graph_view *g, ox_model_info *out) {
  const ox_model *m = g->graph->model;
  const ox_model_info info = {.struct_size = out->struct_size,
                              .n_opsets = m->n_opsets,
                              .n_props = m->n_props,
                              .path = text_of(m->path),
                              .producer_name = text_of(m->producer_name),
                              .producer_version = text_of(m->producer_version),
                              .domain = text_of(m->domain),
                              .doc = text_of(m->doc),
                              .ir_version = m->ir_version,
                              .model_version = m->model_version,
                              .graph_name = text_of(m->graph->name),
                              .graph_doc = text_of(m->graph_doc)};
  memcpy(out, &info, OX_MIN(info.struct_size, sizeof info));
}

const char *ox_view_model_opset(const ox_graph_view *g, size_t i, int64_t *out_version) {
  const ox_model *m = g->graph->model;
  if (i >= m->n_opsets) return NULL;
  *out_version = m->opsets[i].version;
  return m->opsets[i].domain;
}

const char *ox_view_model_prop(const ox_graph_view *g, size_t i, const char **out_value) {
  const ox_model *m = g->graph->model;
  if (i >= m->n_props) return NULL;
  *out_value = text_of(m->props[i].value);
  return m->props[i].key;
}
