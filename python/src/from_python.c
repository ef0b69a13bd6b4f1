/* SPDX-License-Identifier: Apache-2.0
 * from_python.c - Python objects as values: arrays as tensors, without a copy if their memory is a tensor's; lists as
 * tensors or sequences, dicts as maps, by the type of the input. */
#include "npy.h"
#include "onyx/onyx.h"

#include <string.h>

static bool put(PyObject *object, const char *name, const OrtTypeInfo *info, bool copy, OrtValue **out,
                PyObject **owner);

static bool refuse(PyObject *object, const char *name) {
  PyErr_Format(PyExc_RuntimeError, "Unable to handle object of type %R for input '%s'", Py_TYPE(object), name);
  return false;
}

static bool copy_of(npy_array *array, int type, size_t bytes, OrtValue **out) {
  OrtAllocator *allocator = px_allocator();
  void *data = NULL;
  if (!allocator || !px_ok(ort->CreateTensorAsOrtValue(allocator, array->dims, (size_t)array->rank, type, out)))
    return false;
  if (!px_ok(ort->GetTensorMutableData(*out, &data))) return false;
  if (bytes) memcpy(data, array->data, bytes);
  return true;
}

bool px_from_array(PyObject *object, bool copy, OrtValue **out, PyObject **owner) {
  int type = px_type_of_array(object);
  if (type < 0) {
    PyErr_Format(PyExc_RuntimeError, "Numpy_type %d can't be converted to MLDataType. ONNX has no element type for %S",
                 px_array(object)->descr->type, px_array(object)->descr);
    return false;
  }
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return px_from_strings(object, out);
  size_t bits = (size_t)px_type_bits((unsigned)type);
  if (bits < 8) return px_pack(object, type, out);
  if (px_npy_is_plain(px_array(object)))
    Py_INCREF(object);
  else if (!(object = px_npy_as_array(object, NULL, 0)))
    return false;
  npy_array *array = px_array(object);
  size_t bytes = (size_t)px_npy_count(array) * (bits / 8);
  if (copy) {
    bool done = copy_of(array, type, bytes, out);
    Py_DECREF(object);
    return done;
  }
  *owner = object;
  const OrtMemoryInfo *cpu = px_cpu();
  return cpu && px_ok(ort->CreateTensorWithDataAsOrtValue(cpu, array->data, bytes, array->dims, (size_t)array->rank,
                                                          type, out));
}

/* Lists become arrays of the input's own type; other objects that are arrays in their way keep theirs. */
static bool put_tensor(PyObject *object, const char *name, const OrtTypeInfo *info, bool copy, OrtValue **out,
                       PyObject **owner) {
  PyObject *descr = NULL;
  if (PyList_Check(object) || PyTuple_Check(object)) {
    const OrtTensorTypeAndShapeInfo *tensor;
    ONNXTensorElementDataType type;
    if (!px_ok(ort->CastTypeInfoToTensorInfo(info, &tensor)) || !px_ok(ort->GetTensorElementType(tensor, &type)))
      return false;
    if (!(descr = px_type_descr(type))) return false;
  } else if (px_is_scalar(object) || !PyObject_HasAttrString(object, "__array__")) {
    return refuse(object, name);
  }
  PyObject *array = px_npy_as_array(object, descr, descr ? NPY_FORCECAST : 0);
  if (!array) return false;
  bool done = px_from_array(array, copy, out, owner);
  Py_DECREF(array);
  return done;
}

/* Whether |value| is what a sequence of |inner| holds; RuntimeError. */
static bool fits(const OrtValue *value, const OrtTypeInfo *inner, const char *name) {
  OrtTypeInfo *own = NULL;
  if (!px_ok(ort->GetTypeInfo(value, &own))) return false;
  PyObject *given = px_type_string(own), *wanted = px_type_string(inner);
  bool same = given && wanted && PyUnicode_Compare(given, wanted) == 0;
  if (!same && given && wanted)
    PyErr_Format(PyExc_RuntimeError, "an element of the sequence for input '%s' is %U, wanted %U", name, given, wanted);
  ort->ReleaseTypeInfo(own);
  Py_XDECREF(given);
  Py_XDECREF(wanted);
  return same;
}

/* CreateValue takes the type from the first item; Onyx can do without one. */
static bool put_empty_sequence(const OrtTypeInfo *inner, OrtValue **out) {
  ox_status *(*copy)(ox_env *, const ox_tensor *, ox_value **) = NULL;
  OrtStatus *(*adopt)(ox_value *, OrtValue **) = NULL;
  *(void **)&copy = px_onyx("ox_value_create_copy");
  *(void **)&adopt = px_onyx("ort_value_adopt");
  const OrtTensorTypeAndShapeInfo *tensor = NULL;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  ox_tensor empty = {.kind = OX_SEQUENCE, .shape = {1, {0}}};
  ox_value *value = NULL;
  if (!copy || !adopt) return px_ok(ort->CreateValue(NULL, 0, ONNX_TYPE_SEQUENCE, out));
  if (!px_ok(ort->CastTypeInfoToTensorInfo(inner, &tensor))) return false;
  if (tensor && !px_ok(ort->GetTensorElementType(tensor, &type))) return false;
  empty.dtype = type < ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2 ? type : OX_UNDEFINED; /* the rest has other numbers there */
  if (copy(NULL, &empty, &value)) return PyErr_NoMemory(), false;                 /* the only way for it to fail */
  return px_ok(adopt(value, out));
}

/* Elements own their memory: an output may be a sequence of the same elements. */
static bool put_sequence(PyObject *object, const char *name, const OrtTypeInfo *info, OrtValue **out) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) return refuse(object, name);
  const OrtSequenceTypeInfo *sequence;
  OrtTypeInfo *inner = NULL;
  if (!px_ok(ort->CastTypeInfoToSequenceTypeInfo(info, &sequence))) return false;
  if (!px_ok(ort->GetSequenceElementType(sequence, &inner))) return false;
  PyObject *items = PySequence_Tuple(object); /* a conversion may run code that changes the list */
  Py_ssize_t n = items ? PyTuple_Size(items) : 0, i = 0;
  OrtValue **values = PyMem_Calloc((size_t)n + 1, sizeof *values);
  bool done = items && values;
  if (items && !values) PyErr_NoMemory();
  for (; done && i < n; i++) {
    PyObject *owner = NULL;
    done = put(PyTuple_GetItem(items, i), name, inner, true, &values[i], &owner);
    Py_XDECREF(owner);
    if (done && !values[i]) done = refuse(Py_None, name);
    done = done && fits(values[i], inner, name);
  }
  if (done && !n)
    done = put_empty_sequence(inner, out);
  else if (done)
    done = px_ok(ort->CreateValue((const OrtValue *const *)values, (size_t)n, ONNX_TYPE_SEQUENCE, out));
  for (Py_ssize_t k = 0; values && k < n; k++) ort->ReleaseValue(values[k]);
  PyMem_Free(values);
  ort->ReleaseTypeInfo(inner);
  Py_XDECREF(items);
  return done;
}

/* A tensor of what |list| holds, of element type |type|. */
static OrtValue *column(PyObject *list, int type) {
  OrtValue *value = NULL;
  PyObject *owner = NULL, *descr = list ? px_type_descr((unsigned)type) : NULL;
  PyObject *array = descr ? px_npy_as_array(list, descr, 0) : NULL;
  if (array) px_from_array(array, true, &value, &owner);
  Py_XDECREF(array);
  Py_XDECREF(owner);
  return value;
}

/* Keys are what they are, so that the library can refuse those of another type. */
static int key_type(PyObject *keys) {
  int type = 0;
  for (Py_ssize_t i = 0, n = PyList_Size(keys); i < n; i++) {
    PyObject *key = PyList_GetItem(keys, i);
    int own = PyUnicode_Check(key) ? ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING
              : PyIndex_Check(key) ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64
                                   : -1;
    if (own < 0 || (type && own != type)) return -1;
    type = own;
  }
  return type;
}

static int map_value_type(const OrtTypeInfo *info) {
  const OrtMapTypeInfo *map;
  OrtTypeInfo *inner = NULL;
  const OrtTensorTypeAndShapeInfo *tensor = NULL;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  if (!px_ok(ort->CastTypeInfoToMapTypeInfo(info, &map)) || !px_ok(ort->GetMapValueType(map, &inner))) return -1;
  bool done = px_ok(ort->CastTypeInfoToTensorInfo(inner, &tensor)) && px_ok(ort->GetTensorElementType(tensor, &type));
  ort->ReleaseTypeInfo(inner);
  return done ? (int)type : -1;
}

static bool put_map(PyObject *dict, const char *name, const OrtTypeInfo *info, OrtValue **out) {
  if (!PyDict_Size(dict)) {
    PyErr_Format(PyExc_RuntimeError, "Size of dictionary is empty, unable to run the prediction. Input '%s'", name);
    return false;
  }
  int value_type = map_value_type(info);
  if (value_type < 0) return false;
  PyObject *keys = PyDict_Keys(dict), *values = PyDict_Values(dict);
  int type = keys ? key_type(keys) : -1;
  OrtValue *pair[2] = {NULL, NULL};
  if (type < 0 && !PyErr_Occurred())
    PyErr_Format(PyExc_RuntimeError, "Keys of the dictionary for input '%s' must be all str or all int", name);
  if (type > 0) pair[0] = column(keys, type);
  if (pair[0]) pair[1] = column(values, value_type);
  if (pair[0] && !pair[1] && !PyErr_ExceptionMatches(PyExc_MemoryError)) {
    PyErr_Clear();
    PyErr_Format(PyExc_RuntimeError, "Unexpected value type in the dictionary for input '%s': wanted %s", name,
                 px_type_name((unsigned)value_type));
  }
  bool done = pair[0] && pair[1] && px_ok(ort->CreateValue((const OrtValue *const *)pair, 2, ONNX_TYPE_MAP, out));
  ort->ReleaseValue(pair[0]);
  ort->ReleaseValue(pair[1]);
  Py_XDECREF(keys);
  Py_XDECREF(values);
  return done;
}

static bool put_optional(PyObject *object, const char *name, const OrtTypeInfo *info, bool copy, OrtValue **out,
                         PyObject **owner) {
  const OrtOptionalTypeInfo *optional;
  OrtTypeInfo *inner = NULL;
  if (!px_ok(ort->CastTypeInfoToOptionalTypeInfo(info, &optional))) return false;
  if (!px_ok(ort->GetOptionalContainedTypeInfo(optional, &inner))) return false;
  bool done = put(object, name, inner, copy, out, owner);
  ort->ReleaseTypeInfo(inner);
  return done;
}

static bool put(PyObject *object, const char *name, const OrtTypeInfo *info, bool copy, OrtValue **out,
                PyObject **owner) {
  if (px_is_array(object)) return px_from_array(object, copy, out, owner);
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  if (info && !px_ok(ort->GetOnnxTypeFromTypeInfo(info, &kind))) return false;
  switch (kind) {
    case ONNX_TYPE_TENSOR:
      return put_tensor(object, name, info, copy, out, owner);
    case ONNX_TYPE_SEQUENCE:
      return put_sequence(object, name, info, out);
    case ONNX_TYPE_MAP:
      return PyDict_Check(object) ? put_map(object, name, info, out) : refuse(object, name);
    case ONNX_TYPE_OPTIONAL:
      return put_optional(object, name, info, copy, out, owner);
    default:
      return refuse(object, name);
  }
}

bool px_from_python(PyObject *object, const char *name, const OrtTypeInfo *info, OrtValue **out, PyObject **owner) {
  *out = NULL;
  *owner = NULL;
  if (object == Py_None) return true;
  if (put(object, name, info, false, out, owner)) return true;
  if (*out) ort->ReleaseValue(*out), *out = NULL;
  Py_CLEAR(*owner);
  return false;
}
