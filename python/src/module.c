/* SPDX-License-Identifier: Apache-2.0
 * module.c - the extension module onyx._onyx, and helpers of its files. */
#include "npy.h"

PyTypeObject *px_add_type(PyObject *module, PyType_Spec *spec, const char *name) {
  PyObject *type = PyType_FromSpec(spec);
  if (!type) return NULL;
  Py_INCREF(type); /* one for the module, one for us */
  if (PyModule_AddObject(module, name, type) == 0) return (PyTypeObject *)type;
  Py_DECREF(type);
  Py_DECREF(type);
  return NULL;
}

void px_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc free_it = (freefunc)PyType_GetSlot(type, Py_tp_free);
  free_it(self);
  Py_DECREF(type);
}

const char *px_utf8(PyObject *text, const char *what) {
  if (PyUnicode_Check(text)) return PyUnicode_AsUTF8AndSize(text, NULL);
  PyErr_Format(PyExc_TypeError, "%s: wanted a str, got %R", what, Py_TYPE(text));
  return NULL;
}

PyObject *px_path(PyObject *path) {
  PyObject *bytes = NULL;
  return PyUnicode_FSConverter(path, &bytes) ? bytes : NULL;
}

bool px_dims(PyObject *shape, int64_t dims[PX_MAX_RANK], size_t *rank) {
  PyObject *items = PySequence_Tuple(shape);
  Py_ssize_t n = items ? PyTuple_Size(items) : -1;
  if (n > PX_MAX_RANK) PyErr_Format(PyExc_ValueError, "a shape of rank %zd; at most %d can be", n, PX_MAX_RANK);
  for (Py_ssize_t i = 0; n <= PX_MAX_RANK && i < n; i++) {
    PyObject *number = PyNumber_Index(PyTuple_GetItem(items, i));
    dims[i] = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (dims[i] == -1 && PyErr_Occurred()) break;
  }
  Py_XDECREF(items);
  *rank = n > 0 ? (size_t)n : 0;
  return !PyErr_Occurred();
}

bool px_strings_from_dict(PyObject *dict, px_strings *out) {
  *out = (px_strings){0, NULL, NULL, NULL};
  if (!PyDict_Check(dict)) {
    PyErr_Format(PyExc_TypeError, "wanted a dict of str to str, got %R", Py_TYPE(dict));
    return false;
  }
  size_t n = (size_t)PyDict_Size(dict);
  out->keys = PyMem_Calloc(2 * n + 1, sizeof *out->keys);
  out->hold = PyList_New(0);
  if (!out->keys || !out->hold) return PyErr_NoMemory(), px_strings_free(out), false;
  out->values = out->keys + n;
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (out->n < n && PyDict_Next(dict, &at, &key, &value)) {
    const char *k = px_utf8(key, "option"), *v = k ? px_utf8(value, k) : NULL;
    if (!v || PyList_Append(out->hold, key) < 0 || PyList_Append(out->hold, value) < 0)
      return px_strings_free(out), false;
    out->keys[out->n] = k, out->values[out->n++] = v;
  }
  return true;
}

void px_strings_free(px_strings *strings) {
  PyMem_Free(strings->keys);
  Py_CLEAR(strings->hold);
  strings->keys = NULL, strings->n = 0;
}

PyMODINIT_FUNC PyInit__onyx(void) {
  static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                          "onyx._onyx",
                                          "ONNX models on Onyx: see onyx.",
                                          -1,
                                          px_library_methods,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL};
  if (!px_npy_open() || !px_library_open()) return NULL;
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (px_errors_init(module) && px_value_init(module) && px_sparse_init(module) && px_memory_info_init(module) &&
      px_device_init(module) && px_options_init(module) && px_run_options_init(module) && px_session_init(module) &&
      px_binding_init(module) && px_compile_init(module) && px_ep_context_init(module) &&
      px_state_init(module) &&
      PyModule_AddFunctions(module, px_interrupt_methods) == 0 &&
      PyModule_AddFunctions(module, px_inspect_functions) == 0)
    return module;
  Py_DECREF(module);
  return NULL;
}
