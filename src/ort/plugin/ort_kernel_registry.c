/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_kernel_registry.c - finds the kernel for a node: by domain, operator and version, then by the element
 * types of what the definition constrains, by type variable or by the name of an input or output. */
#include "ort/plugin/ort_kernel_registry.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_graph.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_op_schema.h"

OrtStatus *ort_ep_CreateKernelRegistry(OrtKernelRegistry **out_kernel_registry) {
  ORT_NEED(out_kernel_registry);
  *out_kernel_registry = calloc(1, sizeof **out_kernel_registry);
  return *out_kernel_registry != NULL ? NULL : ort_out_of_memory();
}

void ort_ep_ReleaseKernelRegistry(OrtKernelRegistry *registry) {
  if (registry == NULL) return;
  for (size_t i = 0; i < registry->n; i++) ort_ep_ReleaseKernelDef(registry->kernels[i].def);
  free(registry->kernels);
  free(registry);
}

OrtStatus *ort_ep_KernelRegistry_AddKernel(OrtKernelRegistry *kernel_registry, const OrtKernelDef *kernel_def,
                                           OrtKernelCreateFunc kernel_create_func, void *kernel_create_func_state) {
  ORT_NEED(kernel_registry);
  ORT_NEED(kernel_def);
  ORT_NEED(kernel_create_func);
  OrtKernelRegistry *r = kernel_registry;
  OrtKernelDef *copy;
  if (r->n == r->room) {
    size_t room = r->room != 0 ? 2 * r->room : 16;
    ort_registered_kernel *grown = realloc(r->kernels, room * sizeof *grown);
    if (grown == NULL) return ort_out_of_memory();
    r->kernels = grown, r->room = room;
  }
  ORT_TRY(ort_kernel_def_copy(kernel_def, &copy));
  r->kernels[r->n++] = (ort_registered_kernel){copy, kernel_create_func, kernel_create_func_state};
  return NULL;
}

/* ---- finding ---- */

/* Whether the element types of those of |values| that |which| names are in |types|. What is left out, or has no known
 * type, fits. */
static bool fit(OrtValueInfo *const *values, size_t n, uint64_t which, size_t n_schema, uint64_t types) {
  for (size_t i = 0; i < n; i++) {
    size_t k = i < n_schema ? i : n_schema - 1; /* the last one may be variadic */
    if (n_schema == 0 || (which >> (k & 63) & 1) == 0 || values[i] == NULL || values[i]->type == NULL) continue;
    const OrtTypeInfo *t = values[i]->type;
    while (t->elem != NULL) t = t->elem;
    if (t->tensor.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED && (types >> t->tensor.type & 1) == 0) return false;
  }
  return true;
}

static bool types_fit(const OrtKernelDef *d, const OrtNode *node) {
  OrtOpSchema *schema;
  if (d->n_constraints == 0) return true;
  OrtStatus *st = ort_op_schema_find(node->domain, node->op, node->since, &schema);
  bool fits = st == NULL;
  ort_ReleaseStatus(st);
  for (size_t i = 0; fits && schema != NULL && i < d->n_constraints; i++) {
    const ort_type_constraint *c = &d->constraints[i];
    fits =
        fit(node->in, node->n_in, ort_op_schema_inputs(schema, c->name), ort_op_schema_n_inputs(schema), c->types) &&
        fit(node->out, node->n_out, ort_op_schema_outputs(schema, c->name), ort_op_schema_n_outputs(schema), c->types);
  }
  ort_ep_ReleaseOpSchema(schema);
  return fits;
}

static bool same_domain(const char *a, const char *b) {
  return strcmp(strcmp(a, "ai.onnx") == 0 ? "" : a, strcmp(b, "ai.onnx") == 0 ? "" : b) == 0;
}

/* A kernel without an end serves the version that it begins with: the next one may mean something else. */
static bool version_fits(const OrtKernelDef *d, int since) {
  return d->since == since || (d->since < since && d->until != INT_MAX && since <= d->until);
}

const ort_registered_kernel *ort_kernel_find(const OrtKernelRegistry *registry, const OrtNode *node) {
  for (size_t i = 0; registry != NULL && i < registry->n; i++) {
    const OrtKernelDef *d = registry->kernels[i].def;
    if (strcmp(d->op, node->op) != 0 || !same_domain(d->domain, node->domain)) continue;
    if (version_fits(d, node->since) && types_fit(d, node)) return &registry->kernels[i];
  }
  return NULL;
}
