/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_tensor_info.c - OrtTensorTypeAndShapeInfo: an element type, dimensions and their names. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"
#include "ort/value/ort_type_info.h"
#include "ort/value/ort_value.h"

/* ---- memory ---- */

static OrtStatus *set_name(OrtTensorTypeAndShapeInfo *info, size_t i, const char *name) {
  char *copy = NULL;
  if (name != NULL && *name != 0) {
    size_t n = strlen(name) + 1;
    if ((copy = malloc(n)) == NULL) return ort_out_of_memory();
    memcpy(copy, name, n);
  }
  free(info->names[i]);
  info->names[i] = copy;
  return NULL;
}

void ort_tensor_info_deinit(OrtTensorTypeAndShapeInfo *info) {
  for (size_t i = 0; i < OX_MAX_RANK; i++) free(info->names[i]);
  memset(info->names, 0, sizeof info->names);
}

OrtStatus *ort_tensor_info_copy(const OrtTensorTypeAndShapeInfo *from, OrtTensorTypeAndShapeInfo *to) {
  *to = *from;
  memset(to->names, 0, sizeof to->names);
  for (size_t i = 0; i < from->rank; i++) {
    OrtStatus *st = set_name(to, i, from->names[i]);
    if (st == NULL) continue;
    ort_tensor_info_deinit(to);
    return st;
  }
  return NULL;
}

OrtStatus *ort_CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo **out) {
  ORT_NEED(out);
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return ort_out_of_memory();
  (*out)->type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  return NULL;
}

void ort_ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo *info) {
  if (info == NULL) return;
  for (size_t i = 0; i < OX_MAX_RANK; i++) free(info->names[i]);
  free(info);
}

OrtStatus *ort_GetTensorTypeAndShape(const OrtValue *value, OrtTensorTypeAndShapeInfo **out) {
  ORT_NEED(value);
  ORT_NEED(out);
  *out = NULL;
  const ox_tensor *t = value->tensor;
  if (t->kind != OX_TENSOR && t->kind != OX_SPARSE)
    return ort_fail(ORT_FAIL, "GetTensorTypeAndShape: 'value': Argument is not a tensor");
  ORT_TRY(ort_CreateTensorTypeAndShapeInfo(out));
  (*out)->type = ort_type_from(t->dtype), (*out)->has_shape = true, (*out)->rank = (size_t)t->shape.rank;
  memcpy((*out)->dims, t->shape.dim, (*out)->rank * sizeof *(*out)->dims);
  return NULL;
}

/* ---- writing ---- */

OrtStatus *ort_SetTensorElementType(OrtTensorTypeAndShapeInfo *info, ONNXTensorElementDataType type) {
  ORT_NEED(info);
  info->type = type;
  return NULL;
}

OrtStatus *ort_SetDimensions(OrtTensorTypeAndShapeInfo *info, const int64_t *dim_values, size_t dim_count) {
  ORT_NEED(info);
  if (dim_count > OX_MAX_RANK)
    return ort_fail(ORT_INVALID_ARGUMENT, "SetDimensions: 'dim_count' is %zu, at most %d dimensions are possible",
                    dim_count, OX_MAX_RANK);
  if (dim_count > 0) {
    ORT_NEED(dim_values);
    memcpy(info->dims, dim_values, dim_count * sizeof *dim_values);
  }
  info->rank = dim_count, info->has_shape = true;
  return NULL;
}

OrtStatus *ort_SetSymbolicDimensions(OrtTensorTypeAndShapeInfo *info, const char **dim_params,
                                     size_t dim_params_length) {
  ORT_NEED(info);
  if (dim_params_length > 0) ORT_NEED(dim_params);
  if (dim_params_length > OX_MAX_RANK)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "SetSymbolicDimensions: 'dim_params_length' is %zu, at most %d dimensions are possible",
                    dim_params_length, OX_MAX_RANK);
  for (size_t i = 0; i < dim_params_length; i++) ORT_TRY(set_name(info, i, dim_params[i]));
  for (size_t i = dim_params_length; i < OX_MAX_RANK; i++) ORT_TRY(set_name(info, i, NULL));
  return NULL;
}

/* ---- reading ---- */

OrtStatus *ort_GetTensorElementType(const OrtTensorTypeAndShapeInfo *info, ONNXTensorElementDataType *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->type;
  return NULL;
}

OrtStatus *ort_GetDimensionsCount(const OrtTensorTypeAndShapeInfo *info, size_t *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->rank;
  return NULL;
}

/* As many as there are and as have room. */
OrtStatus *ort_GetDimensions(const OrtTensorTypeAndShapeInfo *info, int64_t *dim_values, size_t dim_values_length) {
  ORT_NEED(info);
  size_t n = info->rank < dim_values_length ? info->rank : dim_values_length;
  if (n == 0) return NULL;
  ORT_NEED(dim_values);
  memcpy(dim_values, info->dims, n * sizeof *dim_values);
  return NULL;
}

OrtStatus *ort_GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo *info, const char **dim_params,
                                     size_t dim_params_length) {
  ORT_NEED(info);
  size_t n = info->rank < dim_params_length ? info->rank : dim_params_length;
  if (n == 0) return NULL;
  ORT_NEED(dim_params);
  for (size_t i = 0; i < n; i++) dim_params[i] = info->names[i] != NULL ? info->names[i] : "";
  return NULL;
}

OrtStatus *ort_GetTensorShapeElementCount(const OrtTensorTypeAndShapeInfo *info, size_t *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = 0;
  if (!info->has_shape) return NULL;
  size_t count = 1;
  bool fits = true;
  for (size_t i = 0; i < info->rank; i++) {
    if (info->dims[i] < 0)
      return ort_fail(ORT_FAIL, "GetTensorShapeElementCount: dimension %zu of 'info' is not known", i);
    if (info->dims[i] == 0) return NULL;
    if (fits) fits = ort_mul_ok(count, (size_t)info->dims[i], &count);
  }
  if (!fits || count > INT64_MAX)
    return ort_fail(ORT_FAIL, "GetTensorShapeElementCount: the count of 'info' is too large");
  *out = count;
  return NULL;
}

bool ort_TensorTypeAndShape_HasShape(const OrtTensorTypeAndShapeInfo *info) { return info != NULL && info->has_shape; }
