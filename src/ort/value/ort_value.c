/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_value.c - OrtValue: handles, and what every value answers. */
#include "ort/value/ort_value.h"

#include <stdlib.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/value/ort_own_memory.h"

/* Of a handle in a room; what is behind it is aligned for anything. */
#define HANDLE_BYTES ((sizeof(OrtValue) + 15) & ~(size_t)15)

OrtStatus *ort_value_create(const ox_tensor *t, size_t extra, void (*release)(void *handle), OrtValue **out) {
  ox_value *value;
  *out = NULL;
  ox_status *st = ox_value_view(NULL, t, HANDLE_BYTES + extra, release, &value);
  if (st != NULL) return ort_status_from(st);
  OrtValue *handle = ox_value_room(value);
  *handle = (OrtValue){.tensor = ox_value_get(value), .value = value, .home = value};
  *out = handle;
  return NULL;
}

void *ort_value_extra(OrtValue *value) { return (char *)value + HANDLE_BYTES; }

OrtStatus *ort_value_adopt(ox_value *value, OrtValue **out) {
  *out = malloc(sizeof **out);
  if (*out == NULL) {
    ox_value_release(value);
    return ort_out_of_memory();
  }
  **out = (OrtValue){.tensor = ox_value_get(value), .value = value};
  if (__builtin_expect(ox_value_memory(value) != NULL, 0)) (*out)->memory = ort_own_memory_info(ox_value_memory(value));
  return NULL;
}

OrtStatus *ort_value_share(const OrtValue *value, OrtValue **out) {
  *out = malloc(sizeof **out);
  if (*out == NULL) return ort_out_of_memory();
  **out = *value;
  (*out)->home = NULL;
  ox_value_retain(value->value);
  return NULL;
}

void ort_value_assign(OrtValue *value, OrtValue *content) {
  ox_value *home = value->home, *old = value->value;
  *value = *content;
  value->home = home;
  ox_value_retain(value->value);
  if (old != home) ox_value_release(old); /* a room is left with its handle */
  ort_ReleaseValue(content);
}

/* One that is lent (|value| NULL) belongs to who lends it. */
void ort_ReleaseValue(OrtValue *value) {
  if (value == NULL || value->value == NULL) return;
  ox_value *content = value->value, *home = value->home;
  if (home == NULL) free(value);
  if (content != home) ox_value_release(home);
  ox_value_release(content);
}

/* ---- types: from 24 on the numbers differ ---- */

ONNXTensorElementDataType ort_type_from(uint32_t dtype) {
  switch (dtype) {
    case OX_F8E8M0:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0;
    case OX_U2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2;
    case OX_I2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
    default:
      return dtype <= OX_F4E2M1 ? (ONNXTensorElementDataType)dtype : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  }
}

const char *ort_element_name(ONNXTensorElementDataType type) {
  static const char *const names[] = {
      "",          "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
      "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
      "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",     "int4",       "float4e2m1", "uint2",        "int2",           "float8e8m0"};
  return (size_t)type < sizeof names / sizeof *names ? names[type] : "";
}

uint32_t ort_type_to(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0:
      return OX_F8E8M0;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2:
      return OX_U2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2:
      return OX_I2;
    default:
      return (uint32_t)type <= OX_F4E2M1 ? (uint32_t)type : OX_UNDEFINED;
  }
}

ONNXType ort_kind_from(uint32_t kind) {
  static const ONNXType kinds[] = {[OX_TENSOR] = ONNX_TYPE_TENSOR,
                                   [OX_SEQUENCE] = ONNX_TYPE_SEQUENCE,
                                   [OX_MAP] = ONNX_TYPE_MAP,
                                   [OX_NONE_VALUE] = ONNX_TYPE_OPTIONAL,
                                   [OX_SPARSE] = ONNX_TYPE_SPARSETENSOR};
  return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : ONNX_TYPE_UNKNOWN;
}

/* ---- what a value is ---- */

static OrtStatus *is_kind(const char *function, const OrtValue *value, uint32_t kind, int *out) {
  if (value == NULL) return ort_null_argument(function, "value");
  if (out == NULL) return ort_null_argument(function, "out");
  *out = value->tensor->kind == kind;
  return NULL;
}

OrtStatus *ort_IsTensor(const OrtValue *value, int *out) { return is_kind("IsTensor", value, OX_TENSOR, out); }

OrtStatus *ort_IsSparseTensor(const OrtValue *value, int *out) {
  return is_kind("IsSparseTensor", value, OX_SPARSE, out);
}

OrtStatus *ort_HasValue(const OrtValue *value, int *out) {
  ORT_TRY(is_kind("HasValue", value, OX_NONE_VALUE, out));
  *out = !*out;
  return NULL;
}

OrtStatus *ort_GetValueType(const OrtValue *value, ONNXType *out) {
  ORT_NEED(value);
  ORT_NEED(out);
  *out = ort_kind_from(value->tensor->kind);
  return NULL;
}
