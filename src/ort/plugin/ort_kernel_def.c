/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_kernel_def.c - definitions of kernels, and the builder that libraries make them with. The builder is a
 * definition that grows. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_kernel_def.h"
#include "ort/ort_list.h"

/* ---- types ---- */

struct OrtDataType {
  ONNXTensorElementDataType element;
};

static const OrtDataType data_types[] = {
    {0},  {1},  {2},  {3},  {4},  {5},  {6},  {7},  {8},  {9},  {10}, {11}, {12}, {13},
    {14}, {15}, {16}, {17}, {18}, {19}, {20}, {21}, {22}, {23}, {24}, {25}, {26},
};
_Static_assert(sizeof data_types / sizeof *data_types == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0 + 1, "one per type");

ONNXTensorElementDataType ort_data_type_element(const OrtDataType *type) { return type->element; }

OrtStatus *ort_ep_GetTensorDataType(ONNXTensorElementDataType elem_type, const OrtDataType **out) {
  ORT_NEED(out);
  *out = NULL;
  if ((int)elem_type <= 0 || elem_type > ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0)
    return ort_fail(ORT_NOT_IMPLEMENTED, "OrtEpApi.GetTensorDataType: tensor type %d is not supported", (int)elem_type);
  *out = &data_types[elem_type];
  return NULL;
}

/* ---- definitions ---- */

static void deinit(OrtKernelDef *d) {
  for (size_t i = 0; i < d->n_constraints; i++) free(d->constraints[i].name);
  free(d->constraints);
  free(d->op), free(d->domain), free(d->ep);
}

static bool init(OrtKernelDef *d) {
  *d = (OrtKernelDef){.op = strdup(""), .domain = strdup(""), .ep = strdup(""), .since = 1, .until = INT_MAX};
  return d->op != NULL && d->domain != NULL && d->ep != NULL;
}

static OrtStatus *set_text(char **field, const char *text) {
  char *copy = strdup(text);
  if (copy == NULL) return ort_out_of_memory();
  free(*field);
  *field = copy;
  return NULL;
}

static OrtStatus *constrain(OrtKernelDef *d, const char *name, uint64_t types) {
  for (size_t i = 0; i < d->n_constraints; i++) {
    if (strcmp(d->constraints[i].name, name) != 0) continue;
    d->constraints[i].types = types;
    return NULL;
  }
  ORT_TRY(ort_list_grow(&d->constraints, d->n_constraints, sizeof *d->constraints));
  d->constraints[d->n_constraints] = (ort_type_constraint){.name = strdup(name), .types = types};
  if (d->constraints[d->n_constraints].name == NULL) return ort_out_of_memory();
  d->n_constraints++;
  return NULL;
}

static OrtStatus *fill(OrtKernelDef *to, const OrtKernelDef *from) {
  ORT_TRY(set_text(&to->op, from->op));
  ORT_TRY(set_text(&to->domain, from->domain));
  ORT_TRY(set_text(&to->ep, from->ep));
  to->since = from->since, to->until = from->until;
  memcpy(to->in, from->in, sizeof to->in);
  memcpy(to->out, from->out, sizeof to->out);
  for (size_t i = 0; i < from->n_constraints; i++)
    ORT_TRY(constrain(to, from->constraints[i].name, from->constraints[i].types));
  return NULL;
}

OrtStatus *ort_kernel_def_copy(const OrtKernelDef *from, OrtKernelDef **out) {
  OrtKernelDef *d = *out = malloc(sizeof *d);
  if (d == NULL) return ort_out_of_memory();
  OrtStatus *st = init(d) ? fill(d, from) : ort_out_of_memory();
  if (st != NULL) {
    ort_ep_ReleaseKernelDef(d);
    *out = NULL;
  }
  return st;
}

void ort_ep_ReleaseKernelDef(OrtKernelDef *kernel_def) {
  if (kernel_def == NULL) return;
  deinit(kernel_def);
  free(kernel_def);
}

const char *ort_ep_KernelDef_GetOperatorType(const OrtKernelDef *kernel_def) {
  return kernel_def != NULL ? kernel_def->op : NULL;
}
const char *ort_ep_KernelDef_GetDomain(const OrtKernelDef *kernel_def) {
  return kernel_def != NULL ? kernel_def->domain : NULL;
}
const char *ort_ep_KernelDef_GetExecutionProvider(const OrtKernelDef *kernel_def) {
  return kernel_def != NULL ? kernel_def->ep : NULL;
}

OrtStatus *ort_ep_KernelDef_GetSinceVersion(const OrtKernelDef *kernel_def, int *start_version, int *end_version) {
  ORT_NEED(kernel_def);
  ORT_NEED(start_version);
  ORT_NEED(end_version);
  *start_version = kernel_def->since, *end_version = kernel_def->until;
  return NULL;
}

static OrtMemType place(const int8_t *places, size_t i) {
  return i < ORT_MOST_PLACES ? (OrtMemType)places[i] : OrtMemTypeDefault;
}

OrtStatus *ort_ep_KernelDef_GetInputMemType(const OrtKernelDef *kernel_def, size_t input_index, OrtMemType *mem_type) {
  ORT_NEED(kernel_def);
  ORT_NEED(mem_type);
  *mem_type = place(kernel_def->in, input_index);
  return NULL;
}

OrtStatus *ort_ep_KernelDef_GetOutputMemType(const OrtKernelDef *kernel_def, size_t output_index,
                                             OrtMemType *mem_type) {
  ORT_NEED(kernel_def);
  ORT_NEED(mem_type);
  *mem_type = place(kernel_def->out, output_index);
  return NULL;
}

/* ---- the builder ---- */

struct OrtKernelDefBuilder {
  OrtKernelDef def;
};

OrtStatus *ort_ep_CreateKernelDefBuilder(OrtKernelDefBuilder **kernel_def_builder_out) {
  ORT_NEED(kernel_def_builder_out);
  *kernel_def_builder_out = NULL;
  OrtKernelDefBuilder *b = malloc(sizeof *b);
  if (b == NULL) return ort_out_of_memory();
  if (!init(&b->def)) {
    ort_ep_ReleaseKernelDefBuilder(b);
    return ort_out_of_memory();
  }
  *kernel_def_builder_out = b;
  return NULL;
}

void ort_ep_ReleaseKernelDefBuilder(OrtKernelDefBuilder *kernel_def_builder) {
  if (kernel_def_builder == NULL) return;
  deinit(&kernel_def_builder->def);
  free(kernel_def_builder);
}

#define BUILDER_TEXT(Slot, field, argument)                                                                  \
  OrtStatus *ort_ep_KernelDefBuilder_##Slot(OrtKernelDefBuilder *kernel_def_builder, const char *argument) { \
    ORT_NEED(kernel_def_builder);                                                                            \
    ORT_NEED(argument);                                                                                      \
    return set_text(&kernel_def_builder->def.field, argument);                                               \
  }
BUILDER_TEXT(SetOperatorType, op, op_type)
BUILDER_TEXT(SetDomain, domain, domain)
BUILDER_TEXT(SetExecutionProvider, ep, ep_name)

OrtStatus *ort_ep_KernelDefBuilder_SetSinceVersion(OrtKernelDefBuilder *kernel_def_builder, int since_version_start,
                                                   int since_version_end) {
  ORT_NEED(kernel_def_builder);
  if (since_version_start < 1)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "OrtEpApi.KernelDefBuilder_SetSinceVersion: 'since_version_start' is %d, at least 1 wanted",
                    since_version_start);
  if (since_version_end < since_version_start)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "OrtEpApi.KernelDefBuilder_SetSinceVersion: 'since_version_end' is %d, before the start, %d",
                    since_version_end, since_version_start);
  kernel_def_builder->def.since = since_version_start, kernel_def_builder->def.until = since_version_end;
  return NULL;
}

static OrtStatus *set_place(int8_t *places, const char *slot, size_t i, OrtMemType type) {
  if (i >= ORT_MOST_PLACES)
    return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.%s: index %zu, the most is %d", slot, i, ORT_MOST_PLACES - 1);
  if ((int)type < OrtMemTypeCPUInput || (int)type > OrtMemTypeDefault)
    return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.%s: there is no OrtMemType %d", slot, (int)type);
  places[i] = (int8_t)type;
  return NULL;
}

OrtStatus *ort_ep_KernelDefBuilder_SetInputMemType(OrtKernelDefBuilder *kernel_def_builder, size_t input_index,
                                                   OrtMemType mem_type) {
  ORT_NEED(kernel_def_builder);
  return set_place(kernel_def_builder->def.in, "KernelDefBuilder_SetInputMemType", input_index, mem_type);
}

OrtStatus *ort_ep_KernelDefBuilder_SetOutputMemType(OrtKernelDefBuilder *kernel_def_builder, size_t output_index,
                                                    OrtMemType mem_type) {
  ORT_NEED(kernel_def_builder);
  return set_place(kernel_def_builder->def.out, "KernelDefBuilder_SetOutputMemType", output_index, mem_type);
}

OrtStatus *ort_ep_KernelDefBuilder_AddTypeConstraint(OrtKernelDefBuilder *kernel_def_builder, const char *arg_name,
                                                     const OrtDataType *const *types, size_t num_types) {
  ORT_NEED(kernel_def_builder);
  ORT_NEED(arg_name);
  ORT_NEED(types);
  uint64_t set = 0;
  if (num_types == 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.KernelDefBuilder_AddTypeConstraint: 'num_types' is 0");
  for (size_t i = 0; i < num_types; i++) {
    if (types[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.KernelDefBuilder_AddTypeConstraint: 'types[%zu]' is NULL", i);
    set |= (uint64_t)1 << types[i]->element;
  }
  return constrain(&kernel_def_builder->def, arg_name, set);
}

/* Aliases are a right to share memory that the engine plans without. */
static OrtStatus *check_aliases(const char *slot, const int *in, const int *out, size_t n) {
  if (n > 0 && (in == NULL || out == NULL))
    return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.%s: '%s' is NULL", slot,
                    in == NULL ? "input_indices" : "output_indices");
  for (size_t i = 0; i < n; i++)
    if (in[i] < 0 || out[i] < 0)
      return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.%s: alias %zu: input %d, output %d", slot, i, in[i], out[i]);
  return NULL;
}

OrtStatus *ort_ep_KernelDefBuilder_AddInputOutputAliases(OrtKernelDefBuilder *kernel_def_builder,
                                                         const int *input_indices, const int *output_indices,
                                                         size_t num_io_indices) {
  ORT_NEED(kernel_def_builder);
  return check_aliases("KernelDefBuilder_AddInputOutputAliases", input_indices, output_indices, num_io_indices);
}

OrtStatus *ort_ep_KernelDefBuilder_AddInputOutputMutableAliases(OrtKernelDefBuilder *kernel_def_builder,
                                                                const int *input_indices, const int *output_indices,
                                                                size_t num_io_indices) {
  ORT_NEED(kernel_def_builder);
  return check_aliases("KernelDefBuilder_AddInputOutputMutableAliases", input_indices, output_indices, num_io_indices);
}

OrtStatus *ort_ep_KernelDefBuilder_Build(OrtKernelDefBuilder *kernel_def_builder, OrtKernelDef **kernel_def_out) {
  ORT_NEED(kernel_def_builder);
  ORT_NEED(kernel_def_out);
  return ort_kernel_def_copy(&kernel_def_builder->def, kernel_def_out);
}
