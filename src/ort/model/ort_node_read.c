/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_node_read.c - what clients ask about a node. */
#include <string.h>

#include "ort/model/ort_read.h"

void ort_ReleaseNode(OrtNode *node) {
  if (node != NULL && node->graph == NULL) ort_node_release(node);
}

OrtStatus *ort_Node_GetId(const OrtNode *node, size_t *node_id) { ORT_ANSWER(node, node_id, node->id); }

OrtStatus *ort_Node_GetName(const OrtNode *node, const char **node_name) { ORT_ANSWER(node, node_name, node->name); }

OrtStatus *ort_Node_GetOperatorType(const OrtNode *node, const char **operator_type) {
  ORT_ANSWER(node, operator_type, node->op);
}

OrtStatus *ort_Node_GetDomain(const OrtNode *node, const char **domain_name) {
  ORT_ANSWER(node, domain_name, node->domain);
}

OrtStatus *ort_Node_GetSinceVersion(const OrtNode *node, int *since_version) {
  ORT_ANSWER_READ(node, "the version", since_version, node->since);
}

/* ---- edges ---- */

OrtStatus *ort_Node_GetNumInputs(const OrtNode *node, size_t *num_inputs) { ORT_ANSWER(node, num_inputs, node->n_in); }

OrtStatus *ort_Node_GetInputs(const OrtNode *node, const OrtValueInfo **inputs, size_t num_inputs) {
  ORT_ANSWER_LIST(node, "inputs", inputs, num_inputs, node->in, node->n_in);
}

OrtStatus *ort_Node_GetNumOutputs(const OrtNode *node, size_t *num_outputs) {
  ORT_ANSWER(node, num_outputs, node->n_out);
}

OrtStatus *ort_Node_GetOutputs(const OrtNode *node, const OrtValueInfo **outputs, size_t num_outputs) {
  ORT_ANSWER_LIST(node, "outputs", outputs, num_outputs, node->out, node->n_out);
}

OrtStatus *ort_Node_GetNumImplicitInputs(const OrtNode *node, size_t *num_implicit_inputs) {
  ORT_ANSWER_READ(node, "implicit inputs", num_implicit_inputs, node->n_implicit);
}

OrtStatus *ort_Node_GetImplicitInputs(const OrtNode *node, const OrtValueInfo **implicit_inputs,
                                      size_t num_implicit_inputs) {
  ORT_ANSWER_LIST(node, "implicit inputs", implicit_inputs, num_implicit_inputs, node->implicit, node->n_implicit);
}

/* ---- attributes ---- */

OrtStatus *ort_Node_GetNumAttributes(const OrtNode *node, size_t *num_attributes) {
  ORT_ANSWER(node, num_attributes, node->n_attrs);
}

OrtStatus *ort_Node_GetAttributes(const OrtNode *node, const OrtOpAttr **attributes, size_t num_attributes) {
  ORT_ANSWER_LIST(node, "attributes", attributes, num_attributes, node->attrs, node->n_attrs);
}

OrtStatus *ort_Node_GetAttributeByName(const OrtNode *node, const char *attribute_name, const OrtOpAttr **attribute) {
  ORT_NEED(node);
  ORT_NEED(attribute_name);
  ORT_NEED(attribute);
  *attribute = NULL;
  if (node->editor)
    return ort_fail(ORT_INVALID_ARGUMENT, "Node_GetAttributeByName: a node that the model editor made cannot be read");
  for (size_t i = 0; i < node->n_attrs; i++)
    if (strcmp(node->attrs[i]->name, attribute_name) == 0) *attribute = node->attrs[i];
  return *attribute != NULL ? NULL
                            : ort_fail(ORT_NOT_FOUND, "Node_GetAttributeByName: node '%s' has no attribute '%s'",
                                       node->name, attribute_name);
}

static size_t count_bodies(const OrtNode *node) {
  size_t n = 0;
  for (size_t i = 0; i < node->n_attrs; i++) n += node->attrs[i]->graph != NULL;
  return n;
}

OrtStatus *ort_Node_GetNumSubgraphs(const OrtNode *node, size_t *num_subgraphs) {
  ORT_ANSWER_READ(node, "subgraphs", num_subgraphs, count_bodies(node));
}

OrtStatus *ort_Node_GetSubgraphs(const OrtNode *node, const OrtGraph **subgraphs, size_t num_subgraphs,
                                 const char **attribute_names) {
  ORT_NEED(node);
  ORT_NEED(subgraphs);
  ORT_NOT_OF_EDITOR(node, "subgraphs");
  ORT_NEED_ROOM(num_subgraphs, count_bodies(node));
  for (size_t i = 0, k = 0; i < node->n_attrs; i++) {
    if (node->attrs[i]->graph == NULL) continue;
    subgraphs[k] = node->attrs[i]->graph;
    if (attribute_names != NULL) attribute_names[k] = node->attrs[i]->name;
    k++;
  }
  return NULL;
}

/* ---- where it is ---- */

OrtStatus *ort_Node_GetGraph(const OrtNode *node, const OrtGraph **graph) {
  ORT_ANSWER_READ(node, "the graph", graph, node->graph);
}

OrtStatus *ort_Node_GetEpName(const OrtNode *node, const char **out) {
  ORT_NEED(node);
  ORT_NEED(out);
  if (node->editor)
    return ort_fail(ORT_INVALID_ARGUMENT, "Node_GetEpName: a node that the model editor made cannot be read");
  *out = node->ep;
  return NULL;
}
