/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_model_write.c - see ort_model_write.h. The numbers are the fields of onnx.proto. */
#include "ort/model/ort_model_write.h"

#include <string.h>

#include "ort/ort_status.h"
#include "ort/ort_list.h"

/* AttributeProto.type */
enum { A_FLOAT = 1, A_INT = 2, A_STRING = 3, A_FLOATS = 6, A_INTS = 7, A_STRINGS = 8 };

/* ---- types ---- */

static OrtStatus *write_tensor_type(const OrtTensorTypeAndShapeInfo *t, const char *name, ort_bytes *out) {
  ort_bytes tensor = {0}, shape = {0}, dim = {0};
  if (t->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED)
    return ort_fail(ORT_FAIL, "value '%s' has the element type 0, which is none", name);
  ort_put_int(&tensor, 1, ort_type_to(t->type));
  for (size_t i = 0; t->has_shape && i < t->rank; i++) {
    if (t->dims[i] >= 0) {
      ort_put_int(&dim, 1, t->dims[i]);
    } else if (t->names[i] != NULL && t->names[i][0] != '\0') {
      ort_put_text(&dim, 2, t->names[i]);
    }
    ort_put_message(&shape, 1, &dim);
  }
  if (t->has_shape) ort_put_message(&tensor, 2, &shape);
  ort_put_message(out, 1, &tensor);
  ort_bytes_deinit(&dim);
  ort_bytes_deinit(&shape);
  ort_bytes_deinit(&tensor);
  return NULL;
}

OrtStatus *ort_value_write(const OrtValueInfo *v, uint32_t field, ort_bytes *graph) {
  ort_bytes value = {0}, type = {0};
  OrtStatus *st = write_tensor_type(&v->type->tensor, v->name, &type);
  ort_put_text(&value, 1, v->name);
  ort_put_message(&value, 2, &type);
  ort_put_message(graph, field, &value);
  ort_bytes_deinit(&type);
  ort_bytes_deinit(&value);
  return st;
}

/* ---- nodes ---- */

static void write_attr(const OrtOpAttr *a, ort_bytes *node) {
  ort_bytes attr = {0};
  ort_put_text(&attr, 1, a->name);
  switch (a->type) {
    case ORT_OP_ATTR_FLOAT:
      ort_put_float(&attr, 2, a->floats[0]);
      ort_put_int(&attr, 20, A_FLOAT);
      break;
    case ORT_OP_ATTR_INT:
      ort_put_int(&attr, 3, a->ints[0]);
      ort_put_int(&attr, 20, A_INT);
      break;
    case ORT_OP_ATTR_STRING:
      ort_put_bytes(&attr, 4, a->strings[0], a->string_bytes[0]);
      ort_put_int(&attr, 20, A_STRING);
      break;
    case ORT_OP_ATTR_FLOATS:
      for (size_t i = 0; i < a->n; i++) ort_put_float(&attr, 7, a->floats[i]);
      ort_put_int(&attr, 20, A_FLOATS);
      break;
    case ORT_OP_ATTR_INTS:
      for (size_t i = 0; i < a->n; i++) ort_put_int(&attr, 8, a->ints[i]);
      ort_put_int(&attr, 20, A_INTS);
      break;
    default: /* CreateOpAttr makes no others */
      for (size_t i = 0; i < a->n; i++) ort_put_bytes(&attr, 9, a->strings[i], a->string_bytes[i]);
      ort_put_int(&attr, 20, A_STRINGS);
      break;
  }
  ort_put_message(node, 5, &attr);
  ort_bytes_deinit(&attr);
}

void ort_node_write(const OrtNode *n, ort_bytes *graph) {
  ort_bytes node = {0};
  for (size_t i = 0; i < n->n_in; i++) ort_put_text(&node, 1, n->in_names[i]);
  for (size_t i = 0; i < n->n_out; i++) ort_put_text(&node, 2, n->out_names[i]);
  ort_put_text(&node, 3, n->name);
  ort_put_text(&node, 4, n->op);
  for (size_t i = 0; i < n->n_attrs; i++) write_attr(n->attrs[i], &node);
  ort_put_text(&node, 7, n->domain);
  ort_put_message(graph, ORT_GRAPH_NODE, &node);
  ort_bytes_deinit(&node);
}

/* ---- initializers ---- */

static bool is_inline(const OrtValueInfo *v) {
  const ox_tensor *t = v->initializer->tensor;
  return t->dtype == OX_STRING || t->bytes < ORT_INLINE_BYTES;
}

static void write_initializer(const OrtValueInfo *v, bool whole, ort_bytes *graph) {
  ort_bytes tensor = {0};
  const ox_tensor *t = v->initializer->tensor;
  for (int32_t i = 0; i < t->shape.rank; i++) ort_put_int(&tensor, 1, t->shape.dim[i]);
  ort_put_int(&tensor, 2, t->dtype);
  const ox_str *strings = t->data;
  size_t n = t->dtype == OX_STRING ? t->bytes / sizeof *strings : 0;
  for (size_t i = 0; i < n; i++) ort_put_bytes(&tensor, 6, strings[i].p, strings[i].n);
  ort_put_text(&tensor, 8, v->name);
  if ((whole || is_inline(v)) && t->dtype != OX_STRING) ort_put_bytes(&tensor, 9, t->data, t->bytes);
  ort_put_message(graph, ORT_GRAPH_INITIALIZER, &tensor);
  ort_bytes_deinit(&tensor);
}

OrtStatus *ort_options_give(OrtSessionOptions *options, const char *name, ox_value *value) {
  char *copy;
  ORT_TRY(ort_list_grow(&options->initializers, options->n_initializers, sizeof *options->initializers));
  ORT_TRY(ort_text_copy(name, &copy));
  options->initializers[options->n_initializers++] =
      (ort_given_initializer){.name = copy, .value = ox_value_retain(value)};
  return NULL;
}

/* What the client keeps in place is shared, the rest is the session's own copy: the client may change it. */
OrtStatus *ort_model_give(const OrtModel *model, OrtSessionOptions *options) {
  const OrtGraph *g = model->graph;
  for (size_t i = 0; i < g->n_initializers; i++) {
    const OrtValueInfo *v = g->initializers[i];
    if (is_inline(v)) continue;
    ox_value *value = v->in_place ? ox_value_retain(v->initializer->value) : NULL;
    if (value == NULL) ORT_TRY(ort_status_from(ox_value_create_copy(NULL, v->initializer->tensor, &value)));
    OrtStatus *st = ort_options_give(options, v->name, value);
    ox_value_release(value);
    if (st != NULL) return st;
  }
  return NULL;
}

/* ---- all ---- */

OrtStatus *ort_graph_write(const OrtGraph *graph, bool whole, ort_bytes *out) {
  for (size_t i = 0; i < graph->n_nodes; i++) ort_node_write(graph->nodes[i], out);
  for (size_t i = 0; i < graph->n_initializers; i++) write_initializer(graph->initializers[i], whole, out);
  for (size_t i = 0; i < graph->n_inputs; i++) ORT_TRY(ort_value_write(graph->inputs[i], ORT_GRAPH_INPUT, out));
  for (size_t i = 0; i < graph->n_outputs; i++) ORT_TRY(ort_value_write(graph->outputs[i], ORT_GRAPH_OUTPUT, out));
  return out->failed ? ort_out_of_memory() : NULL;
}

void ort_opset_write(ort_bytes *model, const char *domain, int64_t version) {
  ort_bytes opset = {0};
  ort_put_text(&opset, ORT_OPSET_DOMAIN, domain);
  ort_put_int(&opset, ORT_OPSET_VERSION, version);
  ort_put_message(model, ORT_MODEL_OPSET, &opset);
  ort_bytes_deinit(&opset);
}

static const char microsoft[] = "com.microsoft";

/* Microsoft's operators are there without being imported. */
static bool imports_microsoft(const OrtModel *model) {
  for (size_t i = 0; i < model->n_opsets; i++)
    if (strcmp(model->opset_domains[i], microsoft) == 0) return false;
  for (size_t i = 0; i < model->graph->n_nodes; i++)
    if (strcmp(model->graph->nodes[i]->domain, microsoft) == 0) return true;
  return false;
}

OrtStatus *ort_model_write(const OrtModel *model, bool whole, ort_bytes *out) {
  ort_bytes graph = {0};
  ort_put_int(out, ORT_MODEL_IR, ORT_EDITOR_IR);
  for (size_t i = 0; i < model->n_opsets; i++) ort_opset_write(out, model->opset_domains[i], model->opset_versions[i]);
  if (imports_microsoft(model)) ort_opset_write(out, microsoft, 1);
  OrtStatus *st = ort_graph_write(model->graph, whole, &graph);
  if (st == NULL) ort_put_message(out, ORT_MODEL_GRAPH, &graph);
  ort_bytes_deinit(&graph);
  return st == NULL && out->failed ? ort_out_of_memory() : st;
}
