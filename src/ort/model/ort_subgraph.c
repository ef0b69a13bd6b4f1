/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_subgraph.c - some nodes of a graph as a graph of their own. Its nodes and values are copies that lend
 * attributes and contents; its inputs are what the nodes read from outside, its outputs what others read of them. */
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_read.h"
#include "ort/ort_list.h"

typedef struct ort_subgraph {
  const OrtGraph *from;
  OrtGraph *to;
  bool *taken;           /* per node of |from| */
  OrtValueInfo **values; /* per value of |from|: its copy */
} ort_subgraph;

static bool is_taken(const ort_subgraph *s, const OrtNode *node) { return node != NULL && s->taken[node->place]; }

/* ---- values ---- */

static OrtStatus *append(OrtValueInfo ***list, size_t *n, OrtValueInfo *v) {
  ORT_TRY(ort_list_grow(list, *n, sizeof **list));
  (*list)[(*n)++] = v;
  return NULL;
}

/* What the copy is in the new graph. */
static void set_role(const ort_subgraph *s, const OrtValueInfo *v, OrtValueInfo *copy) {
  if (is_taken(s, v->producer)) {
    copy->graph_output = v->graph_output;
    for (size_t i = 0; i < v->n_uses && !copy->graph_output; i++) copy->graph_output = !is_taken(s, v->uses[i].node);
  } else if (!v->constant) {
    copy->required_input = !v->optional_input, copy->optional_input = v->optional_input;
  }
}

/* Those of the graph come first, then the others as they are read. */
static OrtStatus *list_roles(ort_subgraph *s) {
  OrtGraph *g = s->to;
  for (size_t i = 0; i < s->from->n_values; i++) {
    OrtValueInfo *v = s->values[i];
    if (v == NULL) continue;
    if (v->required_input || v->optional_input) ORT_TRY(append(&g->inputs, &g->n_inputs, v));
    if (v->graph_output) ORT_TRY(append(&g->outputs, &g->n_outputs, v));
    if (v->initializer != NULL && !v->outer) ORT_TRY(append(&g->initializers, &g->n_initializers, v));
  }
  return NULL;
}

static OrtStatus *fill(const OrtValueInfo *v, OrtValueInfo *copy) {
  copy->id = v->id, copy->constant = v->constant, copy->outer = v->outer;
  if (v->initializer != NULL) copy->lent.tensor = v->initializer->tensor, copy->initializer = &copy->lent;
  if (v->type != NULL) ORT_TRY(ort_type_info_copy(v->type, &copy->type));
  const OrtExternalInitializerInfo *e = v->external;
  return e != NULL ? ort_CreateExternalInitializerInfo(e->path, e->offset, e->bytes, &copy->external) : NULL;
}

static OrtStatus *copy_of(ort_subgraph *s, const OrtValueInfo *v, OrtValueInfo **out) {
  *out = v != NULL ? s->values[v->place] : NULL;
  if (v == NULL || *out != NULL) return NULL;
  ORT_TRY(ort_graph_add_value(s->to, v->name, NULL, out));
  s->values[v->place] = *out;
  set_role(s, v, *out);
  return fill(v, *out);
}

/* ---- nodes ---- */

static OrtStatus *copy_list(ort_subgraph *s, OrtValueInfo *const *from, size_t n, OrtValueInfo ***out, size_t *out_n) {
  *out = calloc(n + 1, sizeof **out);
  if (*out == NULL) return ort_out_of_memory();
  *out_n = n;
  for (size_t i = 0; i < n; i++) ORT_TRY(copy_of(s, from[i], &(*out)[i]));
  return NULL;
}

static OrtStatus *connect(ort_subgraph *s, const OrtNode *from, OrtNode *to) {
  ORT_TRY(copy_list(s, from->in, from->n_in, &to->in, &to->n_in));
  ORT_TRY(copy_list(s, from->implicit, from->n_implicit, &to->implicit, &to->n_implicit));
  ORT_TRY(copy_list(s, from->out, from->n_out, &to->out, &to->n_out));
  for (size_t i = 0; i < to->n_in; i++)
    if (to->in[i] != NULL) ORT_TRY(ort_value_info_add_use(to->in[i], to, (int64_t)i));
  for (size_t i = 0; i < to->n_implicit; i++) ORT_TRY(ort_value_info_add_use(to->implicit[i], to, -1));
  for (size_t i = 0; i < to->n_out; i++)
    if (to->out[i] != NULL) to->out[i]->producer = to, to->out[i]->producer_output = i;
  return NULL;
}

static OrtStatus *copy_node(ort_subgraph *s, const OrtNode *from) {
  OrtNode *to;
  ORT_TRY(ort_node_create(from->name, from->op, from->domain, &to));
  to->id = from->id, to->since = from->since, to->ep = from->ep, to->lent_attrs = true;
  OrtStatus *st = ort_graph_add_node(s->to, to);
  if (st != NULL) {
    ort_node_release(to);
    return st;
  }
  to->attrs = calloc(from->n_attrs + 1, sizeof(OrtOpAttr *));
  if (to->attrs == NULL) return ort_out_of_memory();
  for (; to->n_attrs < from->n_attrs; to->n_attrs++) to->attrs[to->n_attrs] = from->attrs[to->n_attrs];
  return connect(s, from, to);
}

static OrtStatus *mark(ort_subgraph *s, const OrtNode **nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (nodes[i] == NULL) return ort_null_argument("Graph_GetGraphView", "nodes[i]");
    if (nodes[i]->graph != s->from)
      return ort_fail(ORT_INVALID_ARGUMENT, "Graph_GetGraphView: node '%s' is not in the graph '%s'", nodes[i]->name,
                      s->from->name);
    s->taken[nodes[i]->place] = true;
  }
  return NULL;
}

static OrtStatus *make(ort_subgraph *s, const OrtNode **nodes, size_t n) {
  s->taken = calloc(s->from->n_nodes + 1, sizeof *s->taken);
  s->values = calloc(s->from->n_values + 1, sizeof *s->values);
  if (s->taken == NULL || s->values == NULL) return ort_out_of_memory();
  ORT_TRY(mark(s, nodes, n));
  ORT_TRY(ort_graph_create("sub_graph", &s->to));
  s->to->facts = s->from->facts, s->to->parent = s->from->parent;
  for (size_t i = 0; i < s->from->n_nodes; i++)
    if (s->taken[i]) ORT_TRY(copy_node(s, s->from->nodes[i]));
  return list_roles(s);
}

OrtStatus *ort_Graph_GetGraphView(const OrtGraph *src_graph, const OrtNode **nodes, size_t num_nodes,
                                  OrtGraph **dst_graph) {
  ORT_NEED(src_graph);
  ORT_NEED(nodes);
  ORT_NEED(dst_graph);
  *dst_graph = NULL;
  if (src_graph->editor)
    return ort_fail(ORT_INVALID_ARGUMENT, "Graph_GetGraphView: a graph that the model editor made has no views");
  ort_subgraph s = {.from = src_graph};
  OrtStatus *st = make(&s, nodes, num_nodes);
  if (st == NULL) *dst_graph = s.to, s.to = NULL;
  ort_graph_release(s.to);
  free(s.taken);
  free(s.values);
  return st;
}
