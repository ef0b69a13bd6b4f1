/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_part.c - a part of a graph that a provider compiles, and the node that stands for it. */
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_graph_view.h"
#include "ort/ort_status.h"

/* Adds |v| to |list| unless a node of the part makes it or it is there already. */
static void add_read(OrtValueInfo *v, OrtValueInfo **list, size_t *n) {
  if (v == NULL || v->producer != NULL || v->listed) return;
  v->listed = true;
  list[(*n)++] = v;
}

OrtStatus *ort_graph_list_constants_as_inputs(OrtGraph *part) {
  size_t n = 0;
  OrtValueInfo **inputs = calloc(part->n_values + 1, sizeof *inputs);
  if (inputs == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < part->n_nodes; i++) {
    const OrtNode *node = part->nodes[i];
    for (size_t k = 0; k < node->n_in; k++) add_read(node->in[k], inputs, &n);
    for (size_t k = 0; k < node->n_implicit; k++) add_read(node->implicit[k], inputs, &n);
  }
  for (size_t i = 0; i < n; i++) inputs[i]->listed = false, inputs[i]->optional_input = inputs[i]->initializer != NULL;
  free(part->inputs);
  part->inputs = inputs, part->n_inputs = n;
  return NULL;
}

static OrtStatus *copy_list(OrtValueInfo *const *from, size_t n, OrtValueInfo ***out, size_t *out_n) {
  *out = calloc(n + 1, sizeof **out);
  if (*out == NULL) return ort_out_of_memory();
  if (n > 0) memcpy(*out, from, n * sizeof **out);
  *out_n = n;
  return NULL;
}

OrtStatus *ort_graph_fused_node(const OrtGraph *part, const char *name, const char *domain, const char *ep,
                                OrtNode **out) {
  OrtNode *node;
  *out = NULL;
  ORT_TRY(ort_node_create(name, name, domain, &node));
  node->since = 1, node->ep = ep;
  OrtStatus *st = copy_list(part->inputs, part->n_inputs, &node->in, &node->n_in);
  if (st == NULL) st = copy_list(part->outputs, part->n_outputs, &node->out, &node->n_out);
  if (st == NULL) *out = node, node = NULL;
  ort_node_release(node);
  return st;
}
