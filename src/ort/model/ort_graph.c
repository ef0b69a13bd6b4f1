/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_graph.c - graphs, nodes, values and attributes are made and go. */
#include "ort/model/ort_graph.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"

OrtStatus *ort_text_copy(const char *text, char **out) {
  size_t n = strlen(text) + 1;
  *out = malloc(n);
  if (*out == NULL) return ort_out_of_memory();
  memcpy(*out, text, n);
  return NULL;
}

bool ort_room_for(void **items, size_t *room, size_t n, size_t bytes) {
  if (n < *room) return true;
  size_t more = *room == 0 ? 8 : *room * 2;
  void *p = more > SIZE_MAX / bytes ? NULL : realloc(*items, more * bytes);
  if (p == NULL) return false;
  *items = p, *room = more;
  return true;
}

/* ---- making ---- */

OrtStatus *ort_graph_create(const char *name, OrtGraph **out) {
  OrtGraph *g = calloc(1, sizeof *g);
  *out = NULL;
  OrtStatus *st = g != NULL ? ort_text_copy(name, &g->name) : ort_out_of_memory();
  if (st == NULL) *out = g, g = NULL;
  ort_graph_release(g);
  return st;
}

OrtStatus *ort_value_info_create(const char *name, OrtValueInfo **out) {
  OrtValueInfo *v = calloc(1, sizeof *v);
  *out = NULL;
  OrtStatus *st = v != NULL ? ort_text_copy(name, &v->name) : ort_out_of_memory();
  if (st == NULL) v->id = UINT32_MAX, *out = v, v = NULL;
  ort_value_info_release(v);
  return st;
}

OrtStatus *ort_graph_add_value(OrtGraph *graph, const char *name, OrtTypeInfo *type, OrtValueInfo **out) {
  *out = NULL;
  if (!ort_room_for((void **)&graph->values, &graph->values_room, graph->n_values, sizeof *graph->values))
    return ort_out_of_memory();
  ORT_TRY(ort_value_info_create(name, out));
  (*out)->type = type, (*out)->graph = graph;
  (*out)->place = graph->n_values;
  graph->values[graph->n_values++] = *out;
  return NULL;
}

OrtStatus *ort_node_create(const char *name, const char *op, const char *domain, OrtNode **out) {
  OrtNode *n = calloc(1, sizeof *n);
  *out = NULL;
  OrtStatus *st = n != NULL ? ort_text_copy(name, &n->name) : ort_out_of_memory();
  if (st == NULL) st = ort_text_copy(op, &n->op);
  if (st == NULL) st = ort_text_copy(domain, &n->domain);
  if (st == NULL) *out = n, n = NULL;
  ort_node_release(n);
  return st;
}

OrtStatus *ort_graph_add_node(OrtGraph *graph, OrtNode *node) {
  if (!ort_room_for((void **)&graph->nodes, &graph->nodes_room, graph->n_nodes, sizeof *graph->nodes))
    return ort_out_of_memory();
  node->graph = graph, node->place = graph->n_nodes;
  graph->nodes[graph->n_nodes++] = node;
  return NULL;
}

OrtStatus *ort_value_info_add_use(OrtValueInfo *value, OrtNode *node, int64_t index) {
  if (!ort_room_for((void **)&value->uses, &value->uses_room, value->n_uses, sizeof *value->uses))
    return ort_out_of_memory();
  value->uses[value->n_uses++] = (ort_use){node, index};
  return NULL;
}

/* ---- going ---- */

static void release_texts(char **texts, size_t n) {
  for (size_t i = 0; texts != NULL && i < n; i++) free(texts[i]);
  free(texts);
}

void ort_external_info_release(OrtExternalInitializerInfo *info) {
  if (info == NULL) return;
  free(info->path);
  free(info);
}

void ort_value_info_release(OrtValueInfo *value) {
  if (value == NULL) return;
  if (value->initializer != &value->lent) ort_ReleaseValue(value->initializer);
  ort_ReleaseTypeInfo(value->type);
  ort_external_info_release(value->external);
  free(value->uses);
  free(value->name);
  free(value);
}

void ort_node_release(OrtNode *node) {
  if (node == NULL) return;
  for (size_t i = 0; i < node->n_attrs && !node->lent_attrs; i++) ort_ReleaseOpAttr(node->attrs[i]);
  release_texts(node->in_names, node->n_in);
  release_texts(node->out_names, node->n_out);
  free(node->attrs);
  free(node->in);
  free(node->out);
  free(node->implicit);
  free(node->name);
  free(node->op);
  free(node->domain);
  free(node);
}

void ort_model_facts_release(ort_model_facts *facts) {
  if (facts == NULL) return;
  release_texts(facts->opset_domains, facts->n_opsets);
  free(facts->opset_versions);
  ort_pairs_deinit(&facts->props);
  free(facts->path);
  free(facts->producer);
  free(facts->domain);
  free(facts->doc);
  free(facts->graph);
  free(facts->graph_doc);
  free(facts);
}

void ort_graph_release(OrtGraph *graph) {
  if (graph == NULL) return;
  for (size_t i = 0; i < graph->n_nodes; i++) ort_node_release(graph->nodes[i]);
  for (size_t i = 0; i < graph->n_values; i++) ort_value_info_release(graph->values[i]);
  if (graph->owns_facts) ort_model_facts_release(graph->facts);
  ort_graph_release(graph->parent_graph);
  free(graph->nodes);
  free(graph->values);
  free(graph->inputs);
  free(graph->outputs);
  free(graph->initializers);
  free(graph->name);
  free(graph);
}
