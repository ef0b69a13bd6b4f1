/* SPDX-License-Identifier: Apache-2.0
 * to_python.c - values as Python objects: tensors as arrays over their memory, sequences as lists, maps as dicts. */
#include "npy.h"

#include <string.h>

#include "onyx/ep.h"

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

/* ---- maps of ours, read in place: ZipMap makes one a row, all with the same keys ---- */

/* Element |i| as a number or string of Python's own; NULL without an exception: of another type. */
static PyObject *scalar(const ox_tensor *t, int64_t i) {
  switch (t->dtype) {
    case OX_F32:
      return PyFloat_FromDouble(((const float *)t->data)[i]);
    case OX_F64:
      return PyFloat_FromDouble(((const double *)t->data)[i]);
    case OX_I64:
      return PyLong_FromLongLong(((const int64_t *)t->data)[i]);
    case OX_STRING: {
      ox_str s = ((const ox_str *)t->data)[i];
      return PyUnicode_DecodeUTF8(s.n ? s.p : "", (Py_ssize_t)s.n, NULL);
    }
    default:
      return NULL;
  }
}

/* Whether the keys rise, as those of a map that a client sees do. */
static bool in_order(const ox_tensor *keys, int64_t i) {
  if (keys->dtype == OX_I64) return ((const int64_t *)keys->data)[i - 1] < ((const int64_t *)keys->data)[i];
  ox_str a = ((const ox_str *)keys->data)[i - 1], b = ((const ox_str *)keys->data)[i];
  int order = memcmp(a.n ? a.p : "", b.n ? b.p : "", a.n < b.n ? a.n : b.n);
  return order < 0 || (order == 0 && a.n < b.n);
}

/* The keys as a tuple; NULL without an exception: not such keys. */
static PyObject *keys_of(const ox_tensor *keys) {
  if (keys->kind != OX_TENSOR || (keys->dtype != OX_I64 && keys->dtype != OX_STRING) || keys->shape.rank != 1)
    return NULL;
  for (int64_t i = 1; i < keys->shape.dim[0]; i++)
    if (!in_order(keys, i)) return NULL;
  PyObject *tuple = PyTuple_New((Py_ssize_t)keys->shape.dim[0]);
  for (int64_t i = 0; tuple && i < keys->shape.dim[0]; i++) {
    PyObject *key = scalar(keys, i);
    if (!key || PyTuple_SetItem(tuple, (Py_ssize_t)i, key) < 0) Py_CLEAR(tuple);
  }
  return tuple;
}

static bool same_keys(const ox_tensor *a, const ox_tensor *b) {
  if (a->dtype != b->dtype || a->shape.rank != b->shape.rank || a->shape.dim[0] != b->shape.dim[0]) return false;
  size_t n = (size_t)a->shape.dim[0];
  if (a->data == b->data || n == 0) return true;
  if (a->dtype == OX_I64) return !memcmp(a->data, b->data, n * sizeof(int64_t));
  const ox_str *p = a->data, *q = b->data;
  for (size_t i = 0; i < n; i++)
    if (p[i].n != q[i].n || (p[i].n && memcmp(p[i].p, q[i].p, p[i].n) != 0)) return false;
  return true;
}

/* NULL without an exception: not such values. */
static PyObject *dict_of(PyObject *keys, const ox_tensor *values) {
  Py_ssize_t n = PyTuple_Size(keys);
  if (values->kind != OX_TENSOR || values->shape.rank != 1 || values->shape.dim[0] != n) return NULL;
  PyObject *dict = PyDict_New();
  for (Py_ssize_t i = 0; dict && i < n; i++) {
    PyObject *item = scalar(values, i);
    if (!item || PyDict_SetItem(dict, PyTuple_GetItem(keys, i), item) < 0) Py_CLEAR(dict);
    Py_XDECREF(item);
  }
  return dict;
}

/* The maps of |value| as a list. NULL without an exception: it is none of our library's, or of something else. */
static PyObject *maps_in_place(const OrtValue *value) {
  const ox_tensor *(*tensor_of)(const OrtValue *) = NULL;
  *(void **)&tensor_of = px_onyx("ort_value_tensor");
  const ox_tensor *t = tensor_of ? tensor_of(value) : NULL;
  Py_ssize_t n = t ? (Py_ssize_t)t->shape.dim[0] : 0;
  const ox_tensor *const *items = n ? t->data : NULL;
  if (!n || items[0]->kind != OX_MAP) return NULL;
  const ox_tensor *known = NULL; /* whose keys |keys| are */
  PyObject *keys = NULL, *list = PyList_New(n);
  for (Py_ssize_t i = 0; list && i < n; i++) {
    const ox_tensor *pair = items[i]->data;
    if (!keys || !same_keys(known, &pair[0])) {
      Py_XDECREF(keys);
      keys = keys_of(&pair[0]), known = &pair[0];
    }
    PyObject *dict = keys ? dict_of(keys, &pair[1]) : NULL;
    if (!dict || PyList_SetItem(list, i, dict) < 0) Py_CLEAR(list);
  }
  Py_XDECREF(keys);
  return list;
}

static PyObject *sequence(const OrtValue *value) {
  size_t n = 0;
  PyObject *maps = maps_in_place(value);
  if (maps || PyErr_Occurred()) return maps;
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
