/* SPDX-License-Identifier: Apache-2.0
 * dtype.c - ONNX's element types and NumPy's. Types that NumPy lacks are those of the package ml_dtypes, if it is
 * there. */
#include "npy.h"

#include <string.h>

static const struct {
  const char *name; /* in "tensor(...)" */
  int bits;
  int numpy;      /* NPY_*; -1: |ml| */
  const char *ml; /* in ml_dtypes */
} types[PX_N_TYPES] = {
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED] = {"undefined", 0, -1, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT] = {"float", 32, NPY_FLOAT, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8] = {"uint8", 8, NPY_UBYTE, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8] = {"int8", 8, NPY_BYTE, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16] = {"uint16", 16, NPY_USHORT, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16] = {"int16", 16, NPY_SHORT, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32] = {"int32", 32, NPY_INT, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64] = {"int64", 64, sizeof(long) == 8 ? NPY_LONG : NPY_LONGLONG, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING] = {"string", 0, NPY_OBJECT, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL] = {"bool", 8, NPY_BOOL, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16] = {"float16", 16, NPY_HALF, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE] = {"double", 64, NPY_DOUBLE, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32] = {"uint32", 32, NPY_UINT, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64] = {"uint64", 64, sizeof(long) == 8 ? NPY_ULONG : NPY_ULONGLONG, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64] = {"complex64", 64, NPY_CFLOAT, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128] = {"complex128", 128, NPY_CDOUBLE, NULL},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16] = {"bfloat16", 16, -1, "bfloat16"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN] = {"float8e4m3fn", 8, -1, "float8_e4m3fn"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8, -1, "float8_e4m3fnuz"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2] = {"float8e5m2", 8, -1, "float8_e5m2"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8, -1, "float8_e5m2fnuz"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4] = {"uint4", 4, -1, "uint4"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4] = {"int4", 4, -1, "int4"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1] = {"float4e2m1", 4, -1, "float4_e2m1fn"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2] = {"uint2", 2, -1, "uint2"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2] = {"int2", 2, -1, "int2"},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0] = {"float8e8m0", 8, -1, "float8_e8m0fnu"},
};

/* NumPy's numbers to ONNX's; 0: none. */
static const signed char from_numpy[NPY_N_BUILT_IN] = {
    [NPY_BOOL] = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
    [NPY_BYTE] = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
    [NPY_UBYTE] = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
    [NPY_SHORT] = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
    [NPY_USHORT] = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
    [NPY_INT] = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
    [NPY_UINT] = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
    [NPY_LONG] = sizeof(long) == 8 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
    [NPY_ULONG] = sizeof(long) == 8 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
    [NPY_LONGLONG] = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
    [NPY_ULONGLONG] = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
    [NPY_FLOAT] = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
    [NPY_DOUBLE] = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
    [NPY_HALF] = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
    [NPY_CFLOAT] = ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64,
    [NPY_CDOUBLE] = ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128,
    [NPY_OBJECT] = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
    [NPY_STRING] = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
    [NPY_UNICODE] = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
};

static PyObject *descrs[PX_N_TYPES]; /* made at first use */

const char *px_type_name(unsigned type) { return types[type < PX_N_TYPES ? type : 0].name; }

int px_type_bits(unsigned type) { return type < PX_N_TYPES ? types[type].bits : 0; }

/* numpy.dtype(ml_dtypes.|name|) */
static PyObject *ml_descr(const char *name, const char *onnx_name) {
  PyObject *module = PyImport_ImportModule("ml_dtypes");
  PyObject *scalar = module ? PyObject_GetAttrString(module, name) : NULL;
  PyObject *numpy = scalar ? PyImport_ImportModule("numpy") : NULL;
  PyObject *descr = numpy ? PyObject_CallMethod(numpy, "dtype", "O", scalar) : NULL;
  if (!descr) {
    PyErr_Clear();
    PyErr_Format(PyExc_RuntimeError,
                 "No corresponding Numpy type for Tensor Type. %s: NumPy has none, and the package "
                 "ml_dtypes, which has %s, is not installed or too old; OrtValue and DLPack can hold it",
                 onnx_name, name);
  }
  Py_XDECREF(numpy);
  Py_XDECREF(scalar);
  Py_XDECREF(module);
  return descr;
}

PyObject *px_type_descr(unsigned type) {
  if (type == 0 || type >= PX_N_TYPES) {
    PyErr_Format(PyExc_RuntimeError, "No corresponding Numpy type for Tensor Type. %u", type);
    return NULL;
  }
  if (!descrs[type]) {
    int numpy = types[type].numpy;
    descrs[type] = numpy >= 0 ? px_npy_descr(numpy) : ml_descr(types[type].ml, types[type].name);
  }
  Py_XINCREF(descrs[type]);
  return descrs[type];
}

/* The type whose name in ml_dtypes is that of the scalar type; found by name, so that it is not imported for others. */
static int type_by_name(PyTypeObject *scalar) {
  PyObject *name = PyObject_GetAttrString((PyObject *)scalar, "__name__");
  const char *utf8 = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  int found = -1;
  for (int i = 1; utf8 && found < 0 && i < PX_N_TYPES; i++)
    if (types[i].ml && strcmp(types[i].ml, utf8) == 0) found = i;
  Py_XDECREF(name);
  PyErr_Clear();
  return found;
}

static int type_of_descr(const npy_descr *descr) {
  if (descr->type >= 0 && descr->type < NPY_N_BUILT_IN) return from_numpy[descr->type] ? from_numpy[descr->type] : -1;
  static PyTypeObject *last_scalar; /* programs use one such type, mostly */
  static int last_type;
  if (descr->scalar != last_scalar) last_type = type_by_name(descr->scalar), last_scalar = descr->scalar;
  return last_type;
}

int px_type_of_array(PyObject *array) { return type_of_descr(px_array(array)->descr); }

int px_type_of_object(PyObject *object) {
  if (PyLong_Check(object)) {
    long number = PyLong_AsLong(object);
    if (number > 0 && number < PX_N_TYPES) return (int)number;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "%ld is no element type of ONNX", number);
    return -1;
  }
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *descr = numpy ? PyObject_CallMethod(numpy, "dtype", "O", object) : NULL;
  int type = descr ? type_of_descr((const npy_descr *)descr) : -1;
  if (descr && type < 0) PyErr_Format(PyExc_RuntimeError, "ONNX has no element type for NumPy's %S", descr);
  Py_XDECREF(descr);
  Py_XDECREF(numpy);
  return type;
}
