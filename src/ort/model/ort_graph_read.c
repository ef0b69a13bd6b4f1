/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_graph_read.c - what clients ask about a graph. */
#include "ort/model/ort_model_write.h"
#include "ort/model/ort_read.h"

void ort_ReleaseGraph(OrtGraph *graph) {
  if (graph != NULL && !graph->owned) ort_graph_release(graph);
}

OrtStatus *ort_Graph_GetName(const OrtGraph *graph, const char **graph_name) {
  ORT_ANSWER(graph, graph_name, graph->name);
}

OrtStatus *ort_Graph_GetModelPath(const OrtGraph *graph, const ORTCHAR_T **model_path) {
  ORT_ANSWER(graph, model_path, graph->facts != NULL ? graph->facts->path : "");
}

OrtStatus *ort_Graph_GetOnnxIRVersion(const OrtGraph *graph, int64_t *onnx_ir_version) {
  ORT_ANSWER(graph, onnx_ir_version, graph->facts != NULL ? graph->facts->ir_version : ORT_EDITOR_IR);
}

OrtStatus *ort_Graph_GetNumOperatorSets(const OrtGraph *graph, size_t *num_operator_sets) {
  ORT_ANSWER_READ(graph, "operator sets", num_operator_sets, graph->facts->n_opsets);
}

OrtStatus *ort_Graph_GetOperatorSets(const OrtGraph *graph, const char **domains, int64_t *opset_versions,
                                     size_t num_operator_sets) {
  ORT_NEED(graph);
  ORT_NEED(domains);
  ORT_NEED(opset_versions);
  ORT_NOT_OF_EDITOR(graph, "operator sets");
  ORT_NEED_ROOM(num_operator_sets, graph->facts->n_opsets);
  for (size_t i = 0; i < graph->facts->n_opsets; i++)
    domains[i] = graph->facts->opset_domains[i], opset_versions[i] = graph->facts->opset_versions[i];
  return NULL;
}

/* ---- lists ---- */

OrtStatus *ort_Graph_GetNumInputs(const OrtGraph *graph, size_t *num_inputs) {
  ORT_ANSWER(graph, num_inputs, graph->n_inputs);
}

OrtStatus *ort_Graph_GetInputs(const OrtGraph *graph, const OrtValueInfo **inputs, size_t num_inputs) {
  ORT_ANSWER_LIST(graph, "inputs", inputs, num_inputs, graph->inputs, graph->n_inputs);
}

OrtStatus *ort_Graph_GetNumOutputs(const OrtGraph *graph, size_t *num_outputs) {
  ORT_ANSWER(graph, num_outputs, graph->n_outputs);
}

OrtStatus *ort_Graph_GetOutputs(const OrtGraph *graph, const OrtValueInfo **outputs, size_t num_outputs) {
  ORT_ANSWER_LIST(graph, "outputs", outputs, num_outputs, graph->outputs, graph->n_outputs);
}

OrtStatus *ort_Graph_GetNumInitializers(const OrtGraph *graph, size_t *num_initializers) {
  ORT_ANSWER(graph, num_initializers, graph->n_initializers);
}

OrtStatus *ort_Graph_GetInitializers(const OrtGraph *graph, const OrtValueInfo **initializers,
                                     size_t num_initializers) {
  ORT_ANSWER_LIST(graph, "initializers", initializers, num_initializers, graph->initializers, graph->n_initializers);
}

OrtStatus *ort_Graph_GetNumNodes(const OrtGraph *graph, size_t *num_nodes) {
  ORT_ANSWER(graph, num_nodes, graph->n_nodes);
}

OrtStatus *ort_Graph_GetNodes(const OrtGraph *graph, const OrtNode **nodes, size_t num_nodes) {
  ORT_ANSWER_LIST(graph, "nodes", nodes, num_nodes, graph->nodes, graph->n_nodes);
}

OrtStatus *ort_Graph_GetParentNode(const OrtGraph *graph, const OrtNode **node) {
  ORT_ANSWER_READ(graph, "the parent node", node, graph->parent);
}
