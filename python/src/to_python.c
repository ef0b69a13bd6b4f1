/* SPDX-License-Identifier: Apache-2.0
 * to_python.c - values as Python objects: tensors as arrays over their memory, sequences as lists, maps as dicts. */
#include "npy.h"

PyObject *px_to_array(PyObject *holder) {
  OrtValue *value = ((px_value *)holder)->value;
  ONNXTensorElementDataType type;
  const int64_t *dims;
  size_t rank, n = 1;
  void *data = NULL;
  if (!px_ok(ort->GetTensorElementTypeAndShapeDataReference(value, &type, &dims, &rank))) return NULL;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return px_strings_to_array(value, dims, rank, n);
  PyObject *descr = px_type_descr(type);
  if (!descr) return NULL;
  if (n && !px_ok(ort->GetTensorMutableData(value, &data))) {
    Py_DECREF(descr);
    return NULL;
  }
  if (px_type_bits(type) >= 8) return px_npy_new(descr, (int)rank, dims, data, data ? holder : NULL, true);
  Py_DECREF(descr);
  return px_unpack(data, (int)type, dims, rank, n);
}

static PyObject *tensor(OrtValue *value) { /* takes |value| */
  PyObject *holder = px_value_holder(value);
  PyObject *array = holder ? px_to_array(holder) : NULL;
  Py_XDECREF(holder);
  return array;
}

/* Element |i| of a sequence; of a map, 0: the keys, 1: the values. */
static PyObject *element(const OrtValue *value, size_t i) {
  OrtAllocator *allocator = px_allocator();
  OrtValue *inner = NULL;
  if (!allocator || !px_ok(ort->GetValue(value, (int)i, allocator, &inner))) return NULL;
  return px_to_python(inner);
}

static PyObject *sequence(const OrtValue *value) {
  size_t n = 0;
  if (!px_ok(ort->GetValueCount(value, &n))) return NULL;
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = element(value, i);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

/* Keys or values as a list of Python's own numbers and strings. */
static PyObject *column(const OrtValue *value, size_t i) {
  PyObject *array = element(value, i);
  PyObject *list = array ? PyObject_CallMethod(array, "tolist", NULL) : NULL;
  Py_XDECREF(array);
  return list;
}

static PyObject *map(const OrtValue *value) {
  PyObject *keys = column(value, 0), *values = keys ? column(value, 1) : NULL;
  PyObject *dict = values ? PyDict_New() : NULL;
  for (Py_ssize_t i = 0, n = dict ? PyList_Size(keys) : 0; dict && i < n; i++) {
    PyObject *item = PyList_GetItem(values, i);
    if (!item || PyDict_SetItem(dict, PyList_GetItem(keys, i), item) < 0) Py_CLEAR(dict);
  }
  Py_XDECREF(keys);
  Py_XDECREF(values);
  return dict;
}

PyObject *px_list_or_dict(const OrtValue *value, ONNXType kind) {
  int there = 0;
  if (!px_ok(ort->HasValue(value, &there))) return NULL;
  if (!there) Py_RETURN_NONE;
  if (kind == ONNX_TYPE_SEQUENCE) return sequence(value);
  if (kind == ONNX_TYPE_MAP) return map(value);
  PyErr_Format(PyExc_RuntimeError, "Python has nothing for a value of ONNX type %d", (int)kind);
  return NULL;
}

PyObject *px_to_python(OrtValue *value) {
  if (!value) Py_RETURN_NONE;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  int there = 0;
  PyObject *out = NULL;
  /* an optional without a value has no kind */
  if (px_ok(ort->HasValue(value, &there)) && (!there || px_ok(ort->GetValueType(value, &kind)))) {
    if (kind == ONNX_TYPE_TENSOR) return tensor(value);
    if (kind == ONNX_TYPE_SPARSETENSOR) return px_sparse_new(value);
    out = px_list_or_dict(value, kind);
  }
  ort->ReleaseValue(value);
  return out;
}
