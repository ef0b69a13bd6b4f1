/* SPDX-License-Identifier: Apache-2.0
 * memory_info.c - kinds of memory. */
#include "handle.h"

PyTypeObject *px_memory_info_type;

PyObject *px_handle_new(PyTypeObject *type, const void *it, bool owned, PyObject *lender) {
  handle *self = PyObject_New(handle, type);
  if (!self) return NULL;
  self->it = (void *)it, self->owned = owned;
  Py_XINCREF(lender);
  self->lender = lender;
  return (PyObject *)self;
}

PyObject *px_no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  return PyErr_Format(PyExc_TypeError, "%R: made by the library only", type);
}

void px_handle_dealloc(PyObject *self) {
  Py_CLEAR(((handle *)self)->lender);
  px_free(self);
}

static void info_dealloc(PyObject *self) {
  if (((handle *)self)->owned) ort->ReleaseMemoryInfo(((handle *)self)->it);
  px_handle_dealloc(self);
}

static const OrtMemoryInfo *info_of(PyObject *self) { return ((handle *)self)->it; }

const OrtMemoryInfo *px_memory_info_get(PyObject *object) {
  if (PyType_IsSubtype(Py_TYPE(object), px_memory_info_type)) return info_of(object);
  PyErr_Format(PyExc_TypeError, "wanted an OrtMemoryInfo, got %R", Py_TYPE(object));
  return NULL;
}

static PyObject *info_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  const char *name;
  int allocator, id, memory;
  OrtMemoryInfo *info = NULL;
  if (!PyArg_ParseTuple(args, "siii:OrtMemoryInfo", &name, &allocator, &id, &memory)) return NULL;
  if (!px_ok(ort->CreateMemoryInfo(name, (OrtAllocatorType)allocator, id, (OrtMemType)memory, &info))) return NULL;
  return px_handle_new(type, info, true, NULL);
}

static PyObject *info_create_v2(PyObject *unused, PyObject *args) {
  const char *name;
  int device, id, memory, allocator;
  unsigned vendor;
  Py_ssize_t alignment;
  OrtMemoryInfo *info = NULL;
  if (!PyArg_ParseTuple(args, "siIiini:create_v2", &name, &device, &vendor, &id, &memory, &alignment, &allocator))
    return NULL;
  if (!px_ok(ort->CreateMemoryInfo_V2(name, (OrtMemoryInfoDeviceType)device, vendor, id, (OrtDeviceMemoryType)memory,
                                      (size_t)alignment, (OrtAllocatorType)allocator, &info)))
    return NULL;
  return px_handle_new(px_memory_info_type, info, true, NULL);
}

static PyObject *info_name(PyObject *self, void *unused) {
  const char *name;
  return px_ok(ort->MemoryInfoGetName(info_of(self), &name)) ? PyUnicode_FromString(name) : NULL;
}

static PyObject *info_id(PyObject *self, void *unused) {
  int id;
  return px_ok(ort->MemoryInfoGetId(info_of(self), &id)) ? PyLong_FromLong(id) : NULL;
}

static PyObject *info_mem_type(PyObject *self, void *unused) {
  OrtMemType type;
  return px_ok(ort->MemoryInfoGetMemType(info_of(self), &type)) ? PyLong_FromLong(type) : NULL;
}

static PyObject *info_allocator_type(PyObject *self, void *unused) {
  OrtAllocatorType type;
  return px_ok(ort->MemoryInfoGetType(info_of(self), &type)) ? PyLong_FromLong(type) : NULL;
}

static PyObject *info_device_type(PyObject *self, void *unused) {
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  ort->MemoryInfoGetDeviceType(info_of(self), &type);
  return PyLong_FromLong(type);
}

static PyObject *info_device_mem_type(PyObject *self, void *unused) {
  return PyLong_FromLong(ort->MemoryInfoGetDeviceMemType(info_of(self)));
}

static PyObject *info_vendor(PyObject *self, void *unused) {
  return PyLong_FromUnsignedLong(ort->MemoryInfoGetVendorId(info_of(self)));
}

static PyGetSetDef info_members[] = {
    {"name", info_name, NULL, "Name of the allocator that serves this memory: \"Cpu\".", NULL},
    {"device_id", info_id, NULL, "Which of several devices.", NULL},
    {"_mem_type", info_mem_type, NULL, NULL, NULL},
    {"_allocator_type", info_allocator_type, NULL, NULL, NULL},
    {"_device_type", info_device_type, NULL, NULL, NULL},
    {"_device_mem_type", info_device_mem_type, NULL, NULL, NULL},
    {"device_vendor_id", info_vendor, NULL, "PCI number of the vendor.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef info_methods[] = {
    {"_create_v2", info_create_v2, METH_VARARGS | METH_STATIC, "With device type, vendor and alignment."},
    {NULL, NULL, 0, NULL}};

bool px_memory_info_init(PyObject *module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, info_new},         {Py_tp_dealloc, info_dealloc},    {Py_tp_getset, info_members},
      {Py_tp_methods, info_methods}, {Py_tp_doc, "A kind of memory."}, {0, NULL}};
  static PyType_Spec spec = {"onyx._onyx.MemoryInfo", sizeof(handle), 0, Py_TPFLAGS_DEFAULT, slots};
  px_memory_info_type = px_add_type(module, &spec, "MemoryInfo");
  return px_memory_info_type != NULL;
}
