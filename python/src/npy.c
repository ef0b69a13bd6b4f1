/* SPDX-License-Identifier: Apache-2.0
 * npy.c - takes NumPy's C API at run time. */
#include "npy.h"

typedef PyObject *(*descr_from_type_fn)(int);
typedef PyObject *(*from_any_fn)(PyObject *, PyObject *, int, int, int, PyObject *);
typedef PyObject *(*new_from_descr_fn)(PyTypeObject *, PyObject *, int, const Py_ssize_t *, const Py_ssize_t *, void *,
                                       int, PyObject *);
typedef int (*set_base_fn)(PyObject *, PyObject *);

static struct {
  PyTypeObject *array_type, *scalar_type;
  descr_from_type_fn descr_from_type;
  from_any_fn check_from_any;
  new_from_descr_fn new_from_descr;
  set_base_fn set_base;
} api;

_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "NumPy's dimensions are ONNX's");

bool px_npy_open(void) {
  PyObject *module = PyImport_ImportModule("numpy._core._multiarray_umath"); /* 2.x */
  if (!module && PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Clear();
    module = PyImport_ImportModule("numpy.core._multiarray_umath");
  }
  PyObject *capsule = module ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
  void **slots = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
  Py_XDECREF(capsule);
  Py_XDECREF(module); /* sys.modules keeps it */
  if (!slots) return false;
  api.array_type = slots[2];
  api.descr_from_type = (descr_from_type_fn)slots[45];
  api.new_from_descr = (new_from_descr_fn)slots[94];
  api.check_from_any = (from_any_fn)slots[108];
  api.set_base = (set_base_fn)slots[282];
  PyObject *numpy = PyImport_ImportModule("numpy");
  api.scalar_type = numpy ? (PyTypeObject *)PyObject_GetAttrString(numpy, "generic") : NULL;
  Py_XDECREF(numpy);
  return api.scalar_type != NULL;
}

int px_is_array(PyObject *object) {
  return Py_TYPE(object) == api.array_type || PyType_IsSubtype(Py_TYPE(object), api.array_type);
}

int px_is_scalar(PyObject *object) { return PyType_IsSubtype(Py_TYPE(object), api.scalar_type); }

PyObject *px_npy_descr(int type) { return api.descr_from_type(type); }

PyObject *px_npy_as_array(PyObject *object, PyObject *descr, int more_flags) {
  int flags = NPY_C_CONTIGUOUS | NPY_ALIGNED | NPY_NOTSWAPPED | NPY_ENSUREARRAY | more_flags;
  return api.check_from_any(object, descr, 0, 0, flags, NULL);
}

PyObject *px_npy_new(PyObject *descr, int rank, const int64_t *dims, void *data, PyObject *base, bool writeable) {
  int flags = data ? NPY_C_CONTIGUOUS | NPY_ALIGNED | (writeable ? NPY_WRITEABLE : 0) : 0;
  PyObject *array = api.new_from_descr(api.array_type, descr, rank, (const Py_ssize_t *)dims, NULL, data, flags, NULL);
  if (array && base) {
    Py_INCREF(base); /* set_base takes one, also on failure */
    if (api.set_base(array, base) < 0) Py_CLEAR(array);
  }
  return array;
}

Py_ssize_t px_npy_item_size(PyObject *descr) {
  PyObject *size = PyObject_GetAttrString(descr, "itemsize");
  Py_ssize_t bytes = size ? PyLong_AsSsize_t(size) : -1;
  Py_XDECREF(size);
  return bytes;
}

Py_ssize_t px_npy_count(const npy_array *array) {
  Py_ssize_t n = 1;
  for (int i = 0; i < array->rank; i++) n *= array->dims[i];
  return n;
}
