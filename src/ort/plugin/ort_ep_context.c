/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_context.c - nodes EPContext as bytes, as the objects do not outlive the compilation. */
#include "ort/plugin/ort_ep_context.h"

#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_model_write.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"

static int append(void *ctx, const void *bytes, size_t n) {
  ort_put_raw(ctx, bytes, n);
  return 0;
}

static OrtStatus *put_constant(const OrtValueInfo *v, ort_bytes *out) {
  ox_value *copy;
  ort_bytes tensor = {0};
  ORT_TRY(ort_status_from(ox_value_create_copy(NULL, v->initializer->tensor, &copy)));
  OrtStatus *st = ort_status_from(ox_value_serialize(copy, v->name, append, &tensor));
  if (st == NULL) ort_put_message(out, ORT_GRAPH_INITIALIZER, &tensor);
  ort_bytes_deinit(&tensor);
  ox_value_release(copy);
  return st;
}

/* Constants among its inputs may be the optimizer's, which the model lacks. */
static OrtStatus *put_constants(const OrtGraph *part, const OrtNode *node, ort_bytes *out) {
  for (size_t i = 0; i < node->n_in; i++)
    for (size_t k = 0; k < part->n_initializers; k++)
      if (strcmp(part->initializers[k]->name, node->in_names[i]) == 0)
        ORT_TRY(put_constant(part->initializers[k], out));
  return NULL;
}

static OrtStatus *put_values(const OrtGraph *part, ort_bytes *out) {
  for (size_t i = 0; i < part->n_outputs; i++) {
    const OrtValueInfo *v = part->outputs[i];
    if (v->type != NULL && v->type->kind == ONNX_TYPE_TENSOR) ORT_TRY(ort_value_write(v, ORT_GRAPH_VALUE, out));
  }
  return NULL;
}

OrtStatus *ort_context_node_create(const OrtGraph *part, const OrtNode *node, ort_context_node **out) {
  *out = NULL;
  if (!node->editor) return ort_fail(ORT_EP_FAIL, "a node EPContext was not made by OrtModelEditorApi.CreateNode");
  ort_context_node *c = calloc(1, sizeof *c);
  if (c == NULL) return ort_out_of_memory();
  ort_node_write(node, &c->node);
  OrtStatus *st = put_constants(part, node, &c->initializers);
  if (st == NULL) st = put_values(part, &c->values);
  if (st == NULL && (c->node.failed || c->initializers.failed || c->values.failed)) st = ort_out_of_memory();
  if (st == NULL)
    *out = c;
  else
    ort_context_nodes_release(c);
  return st;
}

void ort_context_nodes_release(ort_context_node *first) {
  for (ort_context_node *next; first != NULL; first = next) {
    next = first->next;
    ort_bytes_deinit(&first->node);
    ort_bytes_deinit(&first->initializers);
    ort_bytes_deinit(&first->values);
    free(first);
  }
}
