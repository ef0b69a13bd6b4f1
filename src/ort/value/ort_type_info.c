/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_type_info.c - OrtTypeInfo: trees of kinds, made from what the engine says, and clients' looks into
 * them. */
#include "ort/value/ort_type_info.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"

/* ---- nodes ---- */

static OrtStatus *make(ONNXType kind, OrtTypeInfo **out) {
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return ort_out_of_memory();
  (*out)->kind = kind;
  return NULL;
}

void ort_ReleaseTypeInfo(OrtTypeInfo *info) {
  while (info != NULL) {
    OrtTypeInfo *elem = info->elem;
    ort_tensor_info_deinit(&info->tensor);
    free(info->denotation);
    free(info);
    info = elem;
  }
}

OrtStatus *ort_type_info_tensor(ONNXType kind, const OrtTensorTypeAndShapeInfo *tensor, OrtTypeInfo **out) {
  ORT_TRY(make(kind, out));
  OrtStatus *st = ort_tensor_info_copy(tensor, &(*out)->tensor);
  if (st == NULL) return NULL;
  ort_ReleaseTypeInfo(*out);
  *out = NULL;
  return st;
}

OrtStatus *ort_type_info_around(ONNXType kind, ONNXTensorElementDataType key, OrtTypeInfo *elem, OrtTypeInfo **out) {
  OrtStatus *st = make(kind, out);
  if (st != NULL) {
    ort_ReleaseTypeInfo(elem);
    return st;
  }
  (*out)->key = key, (*out)->elem = elem;
  return NULL;
}

OrtStatus *ort_type_info_copy(const OrtTypeInfo *from, OrtTypeInfo **out) {
  OrtTypeInfo *first = NULL, **at = &first;
  OrtStatus *st = NULL;
  *out = NULL;
  for (; st == NULL && from != NULL; from = from->elem, at = &(*at)->elem) {
    if ((st = ort_type_info_tensor(from->kind, &from->tensor, at)) != NULL) break;
    (*at)->key = from->key;
    if (from->denotation == NULL) continue;
    size_t n = strlen(from->denotation) + 1;
    if (((*at)->denotation = malloc(n)) == NULL)
      st = ort_out_of_memory();
    else
      memcpy((*at)->denotation, from->denotation, n);
  }
  if (st != NULL)
    ort_ReleaseTypeInfo(first);
  else
    *out = first;
  return st;
}

/* ---- from the engine ---- */

/* |dims| below 0 are not known; |names| may be NULL. */
static OrtStatus *make_tensor(uint32_t kind, uint32_t dtype, int32_t rank, const int64_t *dims,
                              const char *const *names, OrtTypeInfo **out) {
  OrtTensorTypeAndShapeInfo t = {.type = ort_type_from(dtype), .has_shape = rank >= 0};
  if (rank > 0) t.rank = (size_t)rank;
  for (size_t i = 0; i < t.rank; i++) {
    t.dims[i] = dims[i] < 0 ? -1 : dims[i];
    t.names[i] = names != NULL ? (char *)names[i] : NULL; /* to be copied */
  }
  return ort_type_info_tensor(ort_kind_from(kind), &t, out);
}

static OrtStatus *of_type(const ox_type *type, const char *const *dim_names, OrtTypeInfo **out) {
  if (type->kind == OX_TENSOR || type->kind == OX_SPARSE)
    return make_tensor(type->kind, type->dtype, type->shape.rank, type->shape.dim, dim_names, out);
  OrtTypeInfo *elem;
  if (type->elem != NULL)
    ORT_TRY(ort_type_info_of_type(type->elem, dim_names, &elem));
  else
    ORT_TRY(make_tensor(OX_TENSOR, type->dtype, -1, NULL, NULL, &elem));
  return ort_type_info_around(ort_kind_from(type->kind), ort_type_from(type->key_dtype), elem, out);
}

OrtStatus *ort_type_info_of_type(const ox_type *type, const char *const *dim_names, OrtTypeInfo **out) {
  *out = NULL;
  if (!type->optional) return of_type(type, dim_names, out);
  OrtTypeInfo *elem;
  ORT_TRY(of_type(type, dim_names, &elem));
  return ort_type_info_around(ONNX_TYPE_OPTIONAL, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, elem, out);
}

OrtStatus *ort_type_info_of_info(const ox_value_info *info, OrtTypeInfo **out) {
  *out = NULL;
  if (info->kind == OX_TENSOR && !(info->type != NULL && info->type->optional))
    return make_tensor(info->kind, info->dtype, info->rank, info->dims, info->dim_names, out);
  return ort_type_info_of_type(info->type, info->dim_names, out);
}

/* The type of what a sequence holds: that of its first item, but without a shape, as the others may have another. */
static OrtStatus *of_items(const ox_tensor *t, OrtTypeInfo **out) {
  const ox_tensor *const *items = t->data;
  if (t->shape.dim[0] == 0 || items[0]->kind == OX_TENSOR) return make_tensor(OX_TENSOR, t->dtype, -1, NULL, NULL, out);
  return ort_type_info_of_value(&(OrtValue){.tensor = items[0]}, out);
}

static OrtStatus *of_map(const ox_tensor *pair, OrtTypeInfo **out) {
  OrtTypeInfo *elem;
  if (pair[1].kind == OX_SEQUENCE)
    ORT_TRY(of_items(&pair[1], &elem));
  else
    ORT_TRY(make_tensor(OX_TENSOR, pair[1].dtype, -1, NULL, NULL, &elem));
  return ort_type_info_around(ONNX_TYPE_MAP, ort_type_from(pair[0].dtype), elem, out);
}

OrtStatus *ort_type_info_of_value(const OrtValue *value, OrtTypeInfo **out) {
  const ox_tensor *t = value->tensor;
  OrtTypeInfo *elem;
  *out = NULL;
  switch (t->kind) {
    case OX_SEQUENCE:
      ORT_TRY(of_items(t, &elem));
      return ort_type_info_around(ONNX_TYPE_SEQUENCE, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, elem, out);
    case OX_MAP:
      return of_map(t->data, out);
    case OX_NONE_VALUE:
      ORT_TRY(make_tensor(OX_TENSOR, t->dtype, -1, NULL, NULL, &elem));
      return ort_type_info_around(ONNX_TYPE_OPTIONAL, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, elem, out);
    default:
      return make_tensor(t->kind, t->dtype, t->shape.rank, t->shape.dim, NULL, out);
  }
}

/* ---- the ABI's calls ---- */

OrtStatus *ort_GetTypeInfo(const OrtValue *value, OrtTypeInfo **out) {
  ORT_NEED(value);
  ORT_NEED(out);
  return ort_type_info_of_value(value, out);
}

OrtStatus *ort_GetOnnxTypeFromTypeInfo(const OrtTypeInfo *info, ONNXType *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->kind;
  return NULL;
}

OrtStatus *ort_CastTypeInfoToTensorInfo(const OrtTypeInfo *info, const OrtTensorTypeAndShapeInfo **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->kind == ONNX_TYPE_TENSOR || info->kind == ONNX_TYPE_SPARSETENSOR ? &info->tensor : NULL;
  return NULL;
}

OrtStatus *ort_CastTypeInfoToMapTypeInfo(const OrtTypeInfo *info, const OrtMapTypeInfo **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->kind == ONNX_TYPE_MAP ? (const OrtMapTypeInfo *)info : NULL;
  return NULL;
}

OrtStatus *ort_CastTypeInfoToSequenceTypeInfo(const OrtTypeInfo *info, const OrtSequenceTypeInfo **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->kind == ONNX_TYPE_SEQUENCE ? (const OrtSequenceTypeInfo *)info : NULL;
  return NULL;
}

OrtStatus *ort_CastTypeInfoToOptionalTypeInfo(const OrtTypeInfo *info, const OrtOptionalTypeInfo **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->kind == ONNX_TYPE_OPTIONAL ? (const OrtOptionalTypeInfo *)info : NULL;
  return NULL;
}

OrtStatus *ort_GetDenotationFromTypeInfo(const OrtTypeInfo *info, const char **const denotation, size_t *len) {
  ORT_NEED(info);
  ORT_NEED(denotation);
  ORT_NEED(len);
  *denotation = info->denotation != NULL ? info->denotation : "";
  *len = strlen(*denotation);
  return NULL;
}

OrtStatus *ort_GetMapKeyType(const OrtMapTypeInfo *info, ONNXTensorElementDataType *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->type.key;
  return NULL;
}

OrtStatus *ort_GetMapValueType(const OrtMapTypeInfo *info, OrtTypeInfo **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  return ort_type_info_copy(info->type.elem, out);
}

OrtStatus *ort_GetSequenceElementType(const OrtSequenceTypeInfo *info, OrtTypeInfo **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  return ort_type_info_copy(info->type.elem, out);
}

OrtStatus *ort_GetOptionalContainedTypeInfo(const OrtOptionalTypeInfo *info, OrtTypeInfo **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  return ort_type_info_copy(info->type.elem, out);
}

/* No call gives these away: they are views of an OrtTypeInfo, which frees them. */
void ort_ReleaseMapTypeInfo(OrtMapTypeInfo *info) { (void)info; }
void ort_ReleaseSequenceTypeInfo(OrtSequenceTypeInfo *info) { (void)info; }
