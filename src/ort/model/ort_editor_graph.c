/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_editor_graph.c - the model editor's nodes and graphs. What a graph gets is its own from then on, but
 * only if all of the call succeeds. */
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_model_write.h"
#include "ort/model/ort_read.h"

/* ---- nodes ---- */

static OrtStatus *copy_names(const char *const *names, size_t n, char ***out, size_t *out_n) {
  *out = calloc(n + 1, sizeof **out);
  if (*out == NULL) return ort_out_of_memory();
  for (*out_n = 0; *out_n < n; ++*out_n) {
    if (names[*out_n] == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "CreateNode: name %zu is NULL", *out_n);
    ORT_TRY(ort_text_copy(names[*out_n], &(*out)[*out_n]));
  }
  return NULL;
}

static OrtStatus *take_attrs(OrtNode *node, OrtOpAttr **attrs, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (attrs[i] == NULL) return ort_null_argument("CreateNode", "attributes[i]");
  node->attrs = calloc(n + 1, sizeof(OrtOpAttr *));
  if (node->attrs == NULL) return ort_out_of_memory();
  for (; node->n_attrs < n; node->n_attrs++)
    node->attrs[node->n_attrs] = attrs[node->n_attrs], attrs[node->n_attrs] = NULL;
  return NULL;
}

OrtStatus *ort_editor_CreateNode(const char *operator_name, const char *domain_name, const char *node_name,
                                 const char *const *input_names, size_t input_names_len,
                                 const char *const *output_names, size_t output_names_len, OrtOpAttr **attributes,
                                 size_t attribs_len, OrtNode **node) {
  ORT_NEED(operator_name);
  ORT_NEED(domain_name);
  ORT_NEED(node_name);
  if (input_names_len > 0) ORT_NEED(input_names);
  if (output_names_len > 0) ORT_NEED(output_names);
  if (attributes == NULL) attribs_len = 0; /* as in Microsoft's library */
  ORT_NEED(node);
  OrtNode *n;
  *node = NULL;
  ORT_TRY(ort_node_create(node_name, operator_name, domain_name, &n));
  n->editor = true;
  OrtStatus *st = copy_names(input_names, input_names_len, &n->in_names, &n->n_in);
  if (st == NULL) st = copy_names(output_names, output_names_len, &n->out_names, &n->n_out);
  if (st == NULL) st = take_attrs(n, attributes, attribs_len);
  if (st == NULL) *node = n, n = NULL;
  ort_node_release(n);
  return st;
}

/* ---- graphs ---- */

OrtStatus *ort_editor_CreateGraph(OrtGraph **graph) {
  ORT_NEED(graph);
  ORT_TRY(ort_graph_create("ModelEditorGraph", graph));
  (*graph)->editor = true;
  return NULL;
}

static OrtStatus *check_graph(const OrtGraph *graph) {
  if (graph->editor) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "the graph '%s' was not made by the model editor", graph->name);
}

static OrtStatus *check_values(const char *function, OrtValueInfo **values, size_t n) {
  OrtStatus *st = NULL;
  size_t i = 0;
  for (; i < n && st == NULL; i++) {
    if (values[i] == NULL)
      st = ort_fail(ORT_INVALID_ARGUMENT, "%s: value %zu is NULL", function, i);
    else if (!values[i]->editor)
      st = ort_fail(ORT_INVALID_ARGUMENT, "%s: value '%s' was not made by the model editor", function, values[i]->name);
    else if (values[i]->graph != NULL)
      st = ort_fail(ORT_INVALID_ARGUMENT, "%s: value '%s' is in a graph already", function, values[i]->name);
    else if (values[i]->listed)
      st = ort_fail(ORT_INVALID_ARGUMENT, "%s: value '%s' is there twice", function, values[i]->name);
    else
      values[i]->listed = true;
  }
  for (size_t k = 0; k < i; k++)
    if (values[k] != NULL) values[k]->listed = false;
  return st;
}

/* The graph's |*list| becomes |values|; what it had stays the graph's. */
static OrtStatus *set_list(const char *function, OrtGraph *g, OrtValueInfo **values, size_t n, OrtValueInfo ***list,
                           size_t *list_n) {
  ORT_TRY(check_graph(g));
  ORT_TRY(check_values(function, values, n));
  OrtValueInfo **copy = calloc(n + 1, sizeof *copy), **all = realloc(g->values, (g->n_values + n + 1) * sizeof *all);
  if (all != NULL) g->values = all, g->values_room = g->n_values + n + 1;
  if (copy == NULL || all == NULL) {
    free(copy);
    return ort_out_of_memory();
  }
  for (size_t i = 0; i < n; i++) {
    copy[i] = all[g->n_values++] = values[i];
    copy[i]->graph = g;
    values[i] = NULL;
  }
  free(*list);
  *list = copy, *list_n = n;
  return NULL;
}

OrtStatus *ort_editor_SetGraphInputs(OrtGraph *graph, OrtValueInfo **inputs, size_t inputs_len) {
  ORT_NEED(graph);
  if (inputs_len > 0) ORT_NEED(inputs);
  return set_list("SetGraphInputs", graph, inputs, inputs_len, &graph->inputs, &graph->n_inputs);
}

OrtStatus *ort_editor_SetGraphOutputs(OrtGraph *graph, OrtValueInfo **outputs, size_t outputs_len) {
  ORT_NEED(graph);
  if (outputs_len > 0) ORT_NEED(outputs);
  return set_list("SetGraphOutputs", graph, outputs, outputs_len, &graph->outputs, &graph->n_outputs);
}

static OrtStatus *check_initializer(const OrtGraph *g, const char *name, const OrtValue *tensor, bool in_place) {
  if (name == NULL || *name == '\0')
    return ort_fail(ORT_INVALID_ARGUMENT, "AddInitializerToGraph: 'name' is NULL or empty");
  if (tensor == NULL) return ort_null_argument("AddInitializerToGraph", "tensor");
  ORT_TRY(check_graph(g));
  if (tensor->tensor->kind != OX_TENSOR || tensor->value == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "AddInitializerToGraph: '%s' is no tensor of the caller's", name);
  if (in_place && tensor->tensor->bytes < ORT_INLINE_BYTES)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "AddInitializerToGraph: '%s' has %zu bytes; only tensors of %d bytes and more are used where they "
                    "lie (data_is_external)",
                    name, tensor->tensor->bytes, ORT_INLINE_BYTES);
  for (size_t i = 0; i < g->n_initializers; i++)
    if (strcmp(g->initializers[i]->name, name) == 0)
      return ort_fail(ORT_INVALID_ARGUMENT, "AddInitializerToGraph: the graph has an initializer '%s' already", name);
  return NULL;
}

OrtStatus *ort_editor_AddInitializerToGraph(OrtGraph *graph, const char *name, OrtValue *tensor,
                                            bool data_is_external) {
  ORT_NEED(graph);
  ORT_TRY(check_initializer(graph, name, tensor, data_is_external));
  if (!ort_room_for((void **)&graph->initializers, &graph->initializers_room, graph->n_initializers,
                    sizeof *graph->initializers))
    return ort_out_of_memory();
  OrtValueInfo *v;
  ORT_TRY(ort_graph_add_value(graph, name, NULL, &v));
  v->editor = true, v->initializer = tensor, v->in_place = data_is_external;
  graph->initializers[graph->n_initializers++] = v;
  return NULL;
}

OrtStatus *ort_editor_AddNodeToGraph(OrtGraph *graph, OrtNode *node) {
  ORT_NEED(graph);
  ORT_NEED(node);
  ORT_TRY(check_graph(graph));
  if (!node->editor)
    return ort_fail(ORT_INVALID_ARGUMENT, "AddNodeToGraph: node '%s' was not made by the model editor", node->name);
  if (node->graph != NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "AddNodeToGraph: node '%s' is in a graph already", node->name);
  ORT_TRY(ort_graph_add_node(graph, node));
  node->id = node->place;
  return NULL;
}
