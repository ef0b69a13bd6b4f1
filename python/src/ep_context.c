/* SPDX-License-Identifier: Apache-2.0
 * ep_context.c - functions in Python for what providers keep beside a compiled model: they store and find it by name.
 * What such a function gets is the library's memory, so objects that outlive the call answer RuntimeError. */
#include <stdio.h>
#include <string.h>

#include "handle.h"

static PyTypeObject *data_type, *room_type;

/* The exception that is set becomes a status. */
static OrtStatus *failed(const char *what) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *said = value ? PyObject_Str(value) : NULL;
  const char *utf8 = said ? PyUnicode_AsUTF8AndSize(said, NULL) : NULL;
  char text[1024];
  snprintf(text, sizeof text, "the function that %s EPContext data raised an exception: %s", what, utf8 ? utf8 : "");
  Py_XDECREF(said);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_Clear();
  return ort->CreateStatus(ORT_FAIL, text);
}

static PyObject *closed(void) {
  PyErr_SetString(PyExc_RuntimeError, "EPContext data is valid only while the function that got it runs");
  return NULL;
}

/* ---- OrtEpContextData: bytes to store ---- */

typedef struct data {
  PyObject_HEAD const char *bytes;
  size_t n;
  bool open;
} data;

static PyObject *data_read(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"offset", "length", NULL};
  const data *self = (const data *)object;
  Py_ssize_t offset = 0;
  PyObject *length = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|nO:read", names, &offset, &length)) return NULL;
  if (!self->open) return closed();
  bool inside = offset >= 0 && (size_t)offset <= self->n;
  Py_ssize_t n = inside ? (Py_ssize_t)self->n - offset : 0;
  if (length != Py_None) {
    Py_ssize_t rest = n;
    n = PyNumber_AsSsize_t(length, PyExc_OverflowError);
    if (n == -1 && PyErr_Occurred()) return NULL;
    inside = inside && n >= 0 && n <= rest;
  }
  if (!inside) return PyErr_Format(PyExc_RuntimeError, "EPContext data has %zu bytes: the range exceeds them", self->n);
  return PyBytes_FromStringAndSize(n ? self->bytes + offset : "", n);
}

static PyObject *data_size(PyObject *object, void *unused) {
  return ((const data *)object)->open ? PyLong_FromSize_t(((const data *)object)->n) : closed();
}

OrtStatus *px_context_write(void *function, const char *name, const void *bytes, size_t n) {
  PyGILState_STATE state = PyGILState_Ensure();
  data *view = PyObject_New(data, data_type);
  if (view) view->bytes = bytes, view->n = n, view->open = true;
  PyObject *answer = view ? PyObject_CallFunction(function, "sO", name, view) : NULL;
  OrtStatus *status = answer ? NULL : failed("writes");
  if (view) view->open = false;
  Py_XDECREF(answer);
  Py_XDECREF((PyObject *)view);
  PyGILState_Release(state);
  return status;
}

/* ---- OrtEpContextDataBuffer: room to fill ---- */

typedef struct room {
  PyObject_HEAD OrtAllocator *allocator; /* NULL: the call is over */
  char *bytes;
  size_t n, most;
} room;

static PyObject *room_allocate(PyObject *object, PyObject *number) {
  room *self = (room *)object;
  Py_ssize_t n = PyNumber_AsSsize_t(number, PyExc_OverflowError);
  if (n == -1 && PyErr_Occurred()) return NULL;
  if (!self->allocator) return closed();
  if (self->bytes) return PyErr_Format(PyExc_RuntimeError, "EPContext data has been allocated already");
  if (n < 0 || (size_t)n > self->most)
    return PyErr_Format(PyExc_RuntimeError, "EPContext data of %zd bytes: at most %zu may be", n, self->most);
  self->bytes = self->allocator->Alloc(self->allocator, n ? (size_t)n : 1);
  if (!self->bytes) return PyErr_NoMemory();
  memset(self->bytes, 0, n ? (size_t)n : 1);
  self->n = (size_t)n;
  Py_RETURN_NONE;
}

/* Copies the contents of |chunk|, of any type with a buffer. */
static PyObject *room_write(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"data", "offset", NULL};
  room *self = (room *)object;
  PyObject *chunk;
  Py_ssize_t offset = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|n:write", names, &chunk, &offset)) return NULL;
  PyObject *view = PyMemoryView_FromObject(chunk), *bytes = view ? PyBytes_FromObject(view) : NULL;
  Py_XDECREF(view);
  if (!bytes) return NULL;
  size_t n = (size_t)PyBytes_Size(bytes);
  bool fits = offset >= 0 && (size_t)offset <= self->n && n <= self->n - (size_t)offset;
  PyObject *out = NULL;
  if (!self->allocator) {
    closed();
  } else if (!self->bytes || !fits) {
    PyErr_Format(PyExc_RuntimeError, "EPContext data has room for %zu bytes: %zu from byte %zd do not fit", self->n, n,
                 offset);
  } else {
    memcpy(self->bytes + offset, PyBytes_AsString(bytes), n);
    Py_INCREF(out = Py_None);
  }
  Py_DECREF(bytes);
  return out;
}

static PyObject *room_number(PyObject *object, void *which) {
  const room *self = (const room *)object;
  if (!self->allocator) return closed();
  return PyLong_FromSize_t(which ? self->most : self->n);
}

static PyObject *room_is_allocated(PyObject *object, void *unused) {
  return ((const room *)object)->allocator ? PyBool_FromLong(((const room *)object)->bytes != NULL) : closed();
}

/* |registration| is what px_options_context_reader got: (function, most bytes). */
static OrtStatus *read_data(void *registration, const char *name, OrtAllocator *allocator, void **out, size_t *out_n) {
  PyGILState_STATE state = PyGILState_Ensure();
  OrtStatus *status = NULL;
  room *self = PyObject_New(room, room_type);
  if (self) {
    self->allocator = allocator, self->bytes = NULL, self->n = 0;
    self->most = PyLong_AsSize_t(PyTuple_GetItem(registration, 1));
  }
  PyObject *answer = self ? PyObject_CallFunction(PyTuple_GetItem(registration, 0), "sO", name, self) : NULL;
  if (!answer)
    status = failed("reads");
  else if (!self->bytes)
    status = ort->CreateStatus(ORT_FAIL, "the function that reads EPContext data did not allocate() the buffer");
  else
    *out = self->bytes, *out_n = self->n, self->bytes = NULL;
  if (self) {
    if (self->bytes) allocator->Free(allocator, self->bytes);
    self->allocator = NULL, self->bytes = NULL;
  }
  Py_XDECREF(answer);
  Py_XDECREF((PyObject *)self);
  PyGILState_Release(state);
  return status;
}

PyObject *px_options_context_reader(PyObject *self, PyObject *registration) { /* the Python layer keeps it */
  OrtSessionOptions *options = ((px_options *)self)->options;
  if (registration == Py_None) return px_none(ort->SessionOptionsSetEpContextDataReadFunc(options, NULL, NULL));
  PyObject *function;
  Py_ssize_t most;
  if (!PyArg_ParseTuple(registration, "On", &function, &most)) return NULL;
  return px_none(ort->SessionOptionsSetEpContextDataReadFunc(options, read_data, registration));
}

static void dealloc(PyObject *self) { px_free(self); }

bool px_ep_context_init(PyObject *module) {
  static PyMethodDef data_methods[] = {
      {"read", PX_KEYWORDS(data_read), METH_VARARGS | METH_KEYWORDS, "(offset=0, length=None): a copy of a range."},
      {NULL, NULL, 0, NULL}};
  static PyGetSetDef data_members[] = {{"size", data_size, NULL, "Bytes.", NULL}, {NULL, NULL, NULL, NULL, NULL}};
  static PyMethodDef room_methods[] = {
      {"allocate", room_allocate, METH_O, "(size): takes the memory, once, at most max_size bytes."},
      {"write", PX_KEYWORDS(room_write), METH_VARARGS | METH_KEYWORDS, "(data, offset=0): copies bytes there."},
      {NULL, NULL, 0, NULL}};
  static PyGetSetDef room_members[] = {
      {"size", room_number, NULL, "Bytes that were allocated.", NULL},
      {"max_size", room_number, NULL, "Most bytes that may be.", (void *)room_members},
      {"is_allocated", room_is_allocated, NULL, "Whether allocate() was called.", NULL},
      {NULL, NULL, NULL, NULL, NULL}};
  static PyType_Slot data_slots[] = {
      {Py_tp_new, px_no_new},
      {Py_tp_dealloc, dealloc},
      {Py_tp_methods, data_methods},
      {Py_tp_getset, data_members},
      {Py_tp_doc, "Data that a provider stores beside a compiled model, while the function that gets it runs."},
      {0, NULL}};
  static PyType_Slot room_slots[] = {
      {Py_tp_new, px_no_new},
      {Py_tp_dealloc, dealloc},
      {Py_tp_methods, room_methods},
      {Py_tp_getset, room_members},
      {Py_tp_doc,
       "Room for data that a provider stored beside a compiled model, while the function that fills it runs."},
      {0, NULL}};
  static PyType_Spec data_spec = {"onyx._onyx.OrtEpContextData", sizeof(data), 0, Py_TPFLAGS_DEFAULT, data_slots};
  static PyType_Spec room_spec = {"onyx._onyx.OrtEpContextDataBuffer", sizeof(room), 0, Py_TPFLAGS_DEFAULT, room_slots};
  data_type = px_add_type(module, &data_spec, "OrtEpContextData");
  room_type = px_add_type(module, &room_spec, "OrtEpContextDataBuffer");
  return data_type && room_type;
}
