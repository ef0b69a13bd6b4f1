/* SPDX-License-Identifier: Apache-2.0
 * type_info.c - types of inputs and outputs as text and as lists. */
#include "px.h"

#include <stdlib.h>

static PyObject *tensor_string(const OrtTypeInfo *info, const char *before) {
  const OrtTensorTypeAndShapeInfo *tensor;
  ONNXTensorElementDataType type;
  if (!px_ok(ort->CastTypeInfoToTensorInfo(info, &tensor))) return NULL;
  if (!px_ok(ort->GetTensorElementType(tensor, &type))) return NULL;
  return PyUnicode_FromFormat("%s(%s)", before, px_type_name(type));
}

static PyObject *inner_string(OrtTypeInfo *inner, const char *before) { /* takes |inner| */
  PyObject *text = px_type_string(inner);
  ort->ReleaseTypeInfo(inner);
  PyObject *out = text ? PyUnicode_FromFormat("%s%U)", before, text) : NULL;
  Py_XDECREF(text);
  return out;
}

static PyObject *map_string(const OrtTypeInfo *info) {
  const OrtMapTypeInfo *map;
  ONNXTensorElementDataType key;
  OrtTypeInfo *value = NULL;
  char before[64];
  if (!px_ok(ort->CastTypeInfoToMapTypeInfo(info, &map))) return NULL;
  if (!px_ok(ort->GetMapKeyType(map, &key)) || !px_ok(ort->GetMapValueType(map, &value))) return NULL;
  PyOS_snprintf(before, sizeof before, "map(%s,", px_type_name(key));
  return inner_string(value, before);
}

PyObject *px_type_string(const OrtTypeInfo *info) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  OrtTypeInfo *inner = NULL;
  if (!px_ok(ort->GetOnnxTypeFromTypeInfo(info, &kind))) return NULL;
  switch (kind) {
    case ONNX_TYPE_TENSOR:
      return tensor_string(info, "tensor");
    case ONNX_TYPE_SPARSETENSOR:
      return tensor_string(info, "sparse_tensor");
    case ONNX_TYPE_MAP:
      return map_string(info);
    case ONNX_TYPE_SEQUENCE: {
      const OrtSequenceTypeInfo *sequence;
      if (!px_ok(ort->CastTypeInfoToSequenceTypeInfo(info, &sequence))) return NULL;
      if (!px_ok(ort->GetSequenceElementType(sequence, &inner))) return NULL;
      return inner_string(inner, "seq(");
    }
    case ONNX_TYPE_OPTIONAL: {
      const OrtOptionalTypeInfo *optional;
      if (!px_ok(ort->CastTypeInfoToOptionalTypeInfo(info, &optional))) return NULL;
      if (!px_ok(ort->GetOptionalContainedTypeInfo(optional, &inner))) return NULL;
      return inner_string(inner, "optional(");
    }
    case ONNX_TYPE_OPAQUE:
      return PyUnicode_FromString("opaque");
    default:
      return PyUnicode_FromString("unknown");
  }
}

PyObject *px_shape_list(const int64_t *dims, size_t rank) {
  PyObject *list = PyList_New((Py_ssize_t)rank);
  for (size_t i = 0; list && i < rank; i++) {
    PyObject *dim = PyLong_FromLongLong(dims[i]);
    if (!dim || PyList_SetItem(list, (Py_ssize_t)i, dim) < 0) Py_CLEAR(list);
  }
  return list;
}

/* A number, the name of a dimension that is not known, or None. */
static PyObject *dim_object(int64_t dim, const char *symbol) {
  if (dim >= 0) return PyLong_FromLongLong(dim);
  if (symbol && *symbol) return PyUnicode_FromString(symbol);
  Py_RETURN_NONE;
}

static PyObject *tensor_shape(const OrtTensorTypeAndShapeInfo *tensor) {
  size_t rank = 0;
  if (!px_ok(ort->GetDimensionsCount(tensor, &rank))) return NULL;
  int64_t *dims = calloc(rank + 1, sizeof *dims);
  const char **symbols = calloc(rank + 1, sizeof *symbols);
  PyObject *list = NULL;
  if (!dims || !symbols) {
    PyErr_NoMemory();
  } else if (px_ok(ort->GetDimensions(tensor, dims, rank)) &&
             px_ok(ort->GetSymbolicDimensions(tensor, symbols, rank))) {
    list = PyList_New((Py_ssize_t)rank);
    for (size_t i = 0; list && i < rank; i++) {
      PyObject *dim = dim_object(dims[i], symbols[i]);
      if (!dim || PyList_SetItem(list, (Py_ssize_t)i, dim) < 0) Py_CLEAR(list);
    }
  }
  free(dims);
  free(symbols);
  return list;
}

PyObject *px_type_shape(const OrtTypeInfo *info) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  if (!px_ok(ort->GetOnnxTypeFromTypeInfo(info, &kind))) return NULL;
  if (kind == ONNX_TYPE_TENSOR || kind == ONNX_TYPE_SPARSETENSOR) {
    const OrtTensorTypeAndShapeInfo *tensor;
    return px_ok(ort->CastTypeInfoToTensorInfo(info, &tensor)) ? tensor_shape(tensor) : NULL;
  }
  if (kind == ONNX_TYPE_OPTIONAL) {
    const OrtOptionalTypeInfo *optional;
    OrtTypeInfo *inner = NULL;
    if (!px_ok(ort->CastTypeInfoToOptionalTypeInfo(info, &optional))) return NULL;
    if (!px_ok(ort->GetOptionalContainedTypeInfo(optional, &inner))) return NULL;
    PyObject *shape = px_type_shape(inner);
    ort->ReleaseTypeInfo(inner);
    return shape;
  }
  return PyList_New(0);
}
