/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_editor_types.c - the model editor's types and values. */
#include "ort/model/ort_read.h"

OrtStatus *ort_editor_CreateTensorTypeInfo(const OrtTensorTypeAndShapeInfo *tensor_info, OrtTypeInfo **type_info) {
  ORT_NEED(tensor_info);
  ORT_NEED(type_info);
  return ort_type_info_tensor(ONNX_TYPE_TENSOR, tensor_info, type_info);
}

OrtStatus *ort_editor_CreateSparseTensorTypeInfo(const OrtTensorTypeAndShapeInfo *tensor_info,
                                                 OrtTypeInfo **type_info) {
  ORT_NEED(tensor_info);
  ORT_NEED(type_info);
  return ort_type_info_tensor(ONNX_TYPE_SPARSETENSOR, tensor_info, type_info);
}

static OrtStatus *around(ONNXType kind, ONNXTensorElementDataType key, const OrtTypeInfo *elem, OrtTypeInfo **out) {
  OrtTypeInfo *copy;
  *out = NULL;
  ORT_TRY(ort_type_info_copy(elem, &copy));
  return ort_type_info_around(kind, key, copy, out);
}

OrtStatus *ort_editor_CreateMapTypeInfo(ONNXTensorElementDataType map_key_type, const OrtTypeInfo *map_value_type,
                                        OrtTypeInfo **type_info) {
  ORT_NEED(map_value_type);
  ORT_NEED(type_info);
  return around(ONNX_TYPE_MAP, map_key_type, map_value_type, type_info);
}

OrtStatus *ort_editor_CreateSequenceTypeInfo(const OrtTypeInfo *sequence_type, OrtTypeInfo **type_info) {
  ORT_NEED(sequence_type);
  ORT_NEED(type_info);
  return around(ONNX_TYPE_SEQUENCE, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, sequence_type, type_info);
}

OrtStatus *ort_editor_CreateOptionalTypeInfo(const OrtTypeInfo *contained_type, OrtTypeInfo **type_info) {
  ORT_NEED(contained_type);
  ORT_NEED(type_info);
  return around(ONNX_TYPE_OPTIONAL, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, contained_type, type_info);
}

OrtStatus *ort_editor_CreateValueInfo(const char *name, const OrtTypeInfo *type_info, OrtValueInfo **value_info) {
  ORT_NEED(value_info);
  *value_info = NULL;
  if (name == NULL || *name == '\0') return ort_fail(ORT_INVALID_ARGUMENT, "CreateValueInfo: 'name' is NULL or empty");
  ORT_NEED(type_info);
  if (type_info->kind != ONNX_TYPE_TENSOR)
    return ort_fail(ORT_FAIL, "CreateValueInfo: '%s' is of kind %d; the model editor knows tensors only", name,
                    (int)type_info->kind);
  OrtValueInfo *v;
  ORT_TRY(ort_value_info_create(name, &v));
  OrtStatus *st = ort_type_info_copy(type_info, &v->type);
  v->editor = true;
  if (st == NULL) *value_info = v, v = NULL;
  ort_value_info_release(v);
  return st;
}
