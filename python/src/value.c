/* SPDX-License-Identifier: Apache-2.0
 * value.c - OrtValue: a tensor, sequence, map or sparse tensor of the library, as Python holds it. */
#include "npy.h"

#include <string.h>

PyTypeObject *px_value_type;
static PyObject *public_class; /* what Python makes of it; NULL: not yet */

PyObject *px_value_holder(OrtValue *value) {
  px_value *self = PyObject_New(px_value, px_value_type);
  if (!self) {
    ort->ReleaseValue(value);
    return NULL;
  }
  self->value = value;
  self->owner = NULL;
  return (PyObject *)self;
}

PyObject *px_value_new(OrtValue *value, PyObject *owner) {
  PyTypeObject *type = public_class ? (PyTypeObject *)public_class : px_value_type;
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  px_value *self = (px_value *)alloc(type, 0);
  if (!self) {
    ort->ReleaseValue(value);
    return NULL;
  }
  self->value = value;
  Py_XINCREF(owner);
  self->owner = owner;
  return (PyObject *)self;
}

int px_is_value(PyObject *object) {
  return Py_TYPE(object) == px_value_type || PyType_IsSubtype(Py_TYPE(object), px_value_type);
}

OrtValue *px_value_get(PyObject *object) {
  if (!px_is_value(object)) {
    PyErr_Format(PyExc_TypeError, "wanted an OrtValue, got %R", Py_TYPE(object));
    return NULL;
  }
  OrtValue *value = ((px_value *)object)->value;
  if (!value)
    PyErr_SetString(PyExc_ValueError, "this OrtValue holds nothing: it was not made by one of OrtValue's functions");
  return value;
}

static void dealloc(PyObject *object) {
  px_value *self = (px_value *)object;
  if (self->value) ort->ReleaseValue(self->value);
  Py_CLEAR(self->owner);
  px_free(object);
}

/* ---- making ---- */

static PyObject *from_array(PyObject *array, int type) {
  if (!px_is_array(array)) {
    PyErr_Format(PyExc_RuntimeError, "OrtValues are made of NumPy arrays; got %R", Py_TYPE(array));
    return NULL;
  }
  OrtValue *value = NULL;
  PyObject *owner = NULL;
  bool done = px_from_array(array, false, &value, &owner);
  if (done && type > 0) { /* the same bytes as another type */
    const npy_array *plain = owner ? px_array(owner) : NULL;
    size_t size = plain ? (size_t)px_npy_item_size((PyObject *)plain->descr) : 0;
    ort->ReleaseValue(value), value = NULL;
    done = plain && (size_t)px_type_bits((unsigned)type) == 8 * size;
    if (!done)
      PyErr_Format(PyExc_RuntimeError, "Items size in the incoming array: %zu specified by onnxtype: %d bits (%s)",
                   size, px_type_bits((unsigned)type), px_type_name((unsigned)type));
    const OrtMemoryInfo *cpu = px_cpu();
    done = done && cpu &&
           px_ok(ort->CreateTensorWithDataAsOrtValue(cpu, plain->data, size * (size_t)px_npy_count(plain), plain->dims,
                                                     (size_t)plain->rank, type, &value));
  }
  PyObject *self = done ? px_value_new(value, owner) : NULL;
  if (!done && value) ort->ReleaseValue(value);
  Py_XDECREF(owner);
  return self;
}

static PyObject *from_numpy(PyObject *unused, PyObject *array) { return from_array(array, 0); }

static PyObject *from_numpy_as(PyObject *unused, PyObject *args) {
  PyObject *array, *type_object;
  if (!PyArg_ParseTuple(args, "OO", &array, &type_object)) return NULL;
  int type = px_type_of_object(type_object);
  return type < 0 ? NULL : from_array(array, type);
}

/* Memory of |info|: the environment's shared allocator for it. */
static OrtAllocator *allocator_for(PyObject *info) {
  if (info == Py_None) return px_allocator();
  const OrtMemoryInfo *memory = px_memory_info_get(info);
  OrtAllocator *allocator = NULL;
  OrtMemoryInfoDeviceType device = OrtMemoryInfoDeviceType_CPU;
  if (!memory || !px_env()) return NULL;
  ort->MemoryInfoGetDeviceType(memory, &device);
  if (device == OrtMemoryInfoDeviceType_CPU) return px_allocator();
  if (!px_ok(ort->GetSharedAllocator(px_env(), memory, &allocator))) return NULL;
  if (!allocator) PyErr_SetString(PyExc_RuntimeError, "Can't allocate memory on this device: no provider serves it");
  return allocator;
}

static PyObject *empty(PyObject *unused, PyObject *args) {
  PyObject *shape, *type_object, *info = Py_None;
  int64_t dims[PX_MAX_RANK];
  size_t rank;
  if (!PyArg_ParseTuple(args, "OO|O", &shape, &type_object, &info)) return NULL;
  int type = px_type_of_object(type_object);
  if (type < 0 || !px_dims(shape, dims, &rank)) return NULL;
  OrtAllocator *allocator = allocator_for(info);
  OrtValue *value = NULL;
  if (!allocator) return NULL;
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] >= 0) continue;
    PyErr_Format(PyExc_RuntimeError, "Tensor shape.Size() must be >= 0: dimension %zu is %lld", i, (long long)dims[i]);
    return NULL;
  }
  if (!px_ok_as(ort->CreateTensorAsOrtValue(allocator, dims, rank, type, &value), PyExc_RuntimeError, "")) return NULL;
  return px_value_new(value, NULL);
}

/* Memory of the caller's, who keeps it. */
static PyObject *from_pointer(PyObject *unused, PyObject *args) {
  PyObject *shape, *type_object, *address, *info = Py_None;
  int64_t dims[PX_MAX_RANK];
  size_t rank;
  if (!PyArg_ParseTuple(args, "OOO|O", &address, &shape, &type_object, &info)) return NULL;
  int type = px_type_of_object(type_object);
  if (type < 0 || !px_dims(shape, dims, &rank)) return NULL;
  void *data = PyLong_AsVoidPtr(address);
  const OrtMemoryInfo *memory = PyErr_Occurred() ? NULL : info == Py_None ? px_cpu() : px_memory_info_get(info);
  size_t n = (size_t)px_type_bits((unsigned)type);
  if (!memory) return NULL;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  OrtValue *value = NULL;
  if (!px_ok(ort->CreateTensorWithDataAsOrtValue(memory, data, (n + 7) / 8, dims, rank, type, &value))) return NULL;
  return px_value_new(value, NULL);
}

/* ---- asking ---- */

static ONNXType kind_of(PyObject *self) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  OrtValue *value = px_value_get(self);
  if (value) px_ok(ort->GetValueType(value, &kind));
  return kind;
}

static PyObject *is_kind(PyObject *self, ONNXType wanted) {
  ONNXType kind = kind_of(self);
  return PyErr_Occurred() ? NULL : PyBool_FromLong(kind == wanted);
}

static PyObject *is_tensor(PyObject *self, PyObject *ignored) { return is_kind(self, ONNX_TYPE_TENSOR); }
static PyObject *is_sparse(PyObject *self, PyObject *ignored) { return is_kind(self, ONNX_TYPE_SPARSETENSOR); }
static PyObject *is_sequence(PyObject *self, PyObject *ignored) { return is_kind(self, ONNX_TYPE_SEQUENCE); }

static PyObject *has_value(PyObject *self, PyObject *ignored) {
  OrtValue *value = px_value_get(self);
  int there = 0;
  if (!value || !px_ok(ort->HasValue(value, &there))) return NULL;
  return PyBool_FromLong(there);
}

/* The value if it is a tensor; RuntimeError that names |what| was asked. */
static OrtValue *tensor_of(PyObject *self, const char *what) {
  OrtValue *value = px_value_get(self);
  ONNXType kind = value ? kind_of(self) : ONNX_TYPE_UNKNOWN;
  if (PyErr_Occurred()) return NULL;
  if (kind == ONNX_TYPE_TENSOR) return value;
  PyErr_Format(PyExc_RuntimeError, "Only OrtValues that are Tensors have %s", what);
  return NULL;
}

static PyObject *data_type(PyObject *self, PyObject *ignored) {
  OrtValue *value = px_value_get(self);
  OrtTypeInfo *info = NULL;
  if (!value || !px_ok(ort->GetTypeInfo(value, &info))) return NULL;
  if (!info) Py_RETURN_NONE;
  PyObject *text = px_type_string(info);
  ort->ReleaseTypeInfo(info);
  return text;
}

/* Of a tensor, a sparse one, or the tensors of a sequence. */
static PyObject *element_type(PyObject *self, PyObject *ignored) {
  PyObject *text = data_type(self, NULL);
  const char *utf8 = text && text != Py_None ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  const char *open = utf8 ? strstr(utf8, "tensor(") : NULL;
  long type = 0;
  for (unsigned i = 1; open && i < PX_N_TYPES; i++) {
    const char *name = px_type_name(i);
    size_t n = strlen(name);
    if (strncmp(open + 7, name, n) == 0 && open[7 + n] == ')') type = (long)i;
  }
  Py_XDECREF(text);
  return text ? PyLong_FromLong(type) : NULL;
}

static PyObject *shape(PyObject *self, PyObject *ignored) {
  OrtValue *value = px_value_get(self);
  ONNXType kind = value ? kind_of(self) : ONNX_TYPE_UNKNOWN;
  if (kind != ONNX_TYPE_TENSOR && kind != ONNX_TYPE_SPARSETENSOR && !PyErr_Occurred())
    PyErr_SetString(PyExc_RuntimeError, "Only OrtValues that are Tensors/SparseTensors have a shape");
  if (PyErr_Occurred()) return NULL;
  OrtTensorTypeAndShapeInfo *info = NULL;
  size_t rank = 0;
  int64_t dims[PX_MAX_RANK];
  if (!px_ok(ort->GetTensorTypeAndShape(value, &info))) return NULL;
  bool done = px_ok(ort->GetDimensionsCount(info, &rank));
  if (done && rank > PX_MAX_RANK) rank = PX_MAX_RANK;
  done = done && px_ok(ort->GetDimensions(info, dims, rank));
  ort->ReleaseTensorTypeAndShapeInfo(info);
  return done ? px_shape_list(dims, rank) : NULL;
}

static PyObject *data_ptr(PyObject *self, PyObject *ignored) {
  OrtValue *value = tensor_of(self, "a data pointer");
  void *data = NULL;
  if (!value || !px_ok(ort->GetTensorMutableData(value, &data))) return NULL;
  return PyLong_FromVoidPtr(data);
}

static PyObject *size_in_bytes(PyObject *self, PyObject *ignored) {
  OrtValue *value = tensor_of(self, "a size in bytes");
  size_t bytes = 0;
  if (!value || !px_ok_as(ort->GetTensorSizeInBytes(value, &bytes), PyExc_RuntimeError, "")) return NULL;
  return PyLong_FromSize_t(bytes);
}

static bool memory_of(OrtValue *value, const OrtMemoryInfo **info, OrtMemoryInfoDeviceType *device) {
  *device = OrtMemoryInfoDeviceType_CPU;
  if (!px_ok(ort->GetTensorMemoryInfo(value, info))) return false;
  ort->MemoryInfoGetDeviceType(*info, device);
  return true;
}

static PyObject *device_name(PyObject *self, PyObject *ignored) {
  OrtValue *value = px_value_get(self);
  const OrtMemoryInfo *info;
  OrtMemoryInfoDeviceType device;
  const char *name;
  ONNXType kind = value ? kind_of(self) : ONNX_TYPE_UNKNOWN;
  if (PyErr_Occurred()) return NULL;
  if (kind != ONNX_TYPE_TENSOR) return PyUnicode_FromString("cpu"); /* the library keeps others on the host */
  if (!memory_of(value, &info, &device) || !px_ok(ort->MemoryInfoGetName(info, &name))) return NULL;
  if (device == OrtMemoryInfoDeviceType_CPU) return PyUnicode_FromString("cpu");
  PyObject *text = PyUnicode_FromString(name), *lower = text ? PyObject_CallMethod(text, "lower", NULL) : NULL;
  Py_XDECREF(text);
  return lower;
}

/* A copy on the host of a tensor on a device; the tensor itself if it is there. New reference. */
static PyObject *on_host(PyObject *self, OrtValue *value) {
  const OrtMemoryInfo *info;
  OrtMemoryInfoDeviceType device;
  if (!memory_of(value, &info, &device)) return NULL;
  if (device == OrtMemoryInfoDeviceType_CPU) {
    Py_INCREF(self);
    return self;
  }
  ONNXTensorElementDataType type;
  const int64_t *dims;
  size_t rank;
  OrtValue *copy = NULL;
  OrtAllocator *allocator = px_allocator();
  if (!allocator || !px_ok(ort->GetTensorElementTypeAndShapeDataReference(value, &type, &dims, &rank))) return NULL;
  if (!px_ok(ort->CreateTensorAsOrtValue(allocator, dims, rank, type, &copy))) return NULL;
  const OrtValue *from[1] = {value};
  OrtValue *to[1] = {copy};
  if (px_env() && px_ok(ort->CopyTensors(px_env(), from, to, NULL, 1))) return px_value_holder(copy);
  ort->ReleaseValue(copy);
  return NULL;
}

static PyObject *numpy(PyObject *self, PyObject *ignored) {
  OrtValue *value = tensor_of(self, "a NumPy array");
  PyObject *host = value ? on_host(self, value) : NULL;
  PyObject *array = host ? px_to_array(host) : NULL;
  Py_XDECREF(host);
  return array;
}

/* What the value is as run() gives it: an array, list, dict, SparseTensor or None. */
static PyObject *to_python(PyObject *self, PyObject *ignored) {
  OrtValue *value = px_value_get(self);
  if (!value) return NULL;
  ONNXType kind = kind_of(self);
  if (PyErr_Occurred()) return NULL;
  if (kind == ONNX_TYPE_TENSOR) return numpy(self, NULL);
  return px_list_or_dict(value, kind);
}

static bool copy_into(OrtValue *to, OrtValue *from, size_t bytes) {
  const OrtMemoryInfo *info;
  OrtMemoryInfoDeviceType device;
  void *target, *source;
  if (!memory_of(to, &info, &device)) return false;
  if (device != OrtMemoryInfoDeviceType_CPU) {
    const OrtValue *sources[1] = {from};
    return px_env() && px_ok(ort->CopyTensors(px_env(), sources, &to, NULL, 1));
  }
  if (!bytes) return true;
  if (!px_ok(ort->GetTensorMutableData(to, &target)) || !px_ok(ort->GetTensorMutableData(from, &source))) return false;
  memcpy(target, source, bytes);
  return true;
}

static PyObject *update_inplace(PyObject *self, PyObject *array) {
  OrtValue *value = tensor_of(self, "memory to write"), *from = NULL;
  PyObject *owner = NULL;
  size_t have = 0, given = 0;
  if (!value) return NULL;
  if (!px_is_array(array))
    return PyErr_Format(PyExc_TypeError, "update_inplace: wanted an array, got %R", Py_TYPE(array));
  ONNXTensorElementDataType type;
  const int64_t *dims;
  size_t rank;
  bool done = px_from_array(array, false, &from, &owner) &&
              px_ok(ort->GetTensorElementTypeAndShapeDataReference(value, &type, &dims, &rank)) &&
              px_ok(ort->GetTensorSizeInBytes(value, &have)) && px_ok(ort->GetTensorSizeInBytes(from, &given));
  if (done && (have != given || px_type_of_array(array) != (int)type)) {
    PyErr_Format(PyExc_RuntimeError,
                 "The input size of numpy arrays does not match the size of the OrtValue: it has %zu "
                 "bytes of %s, the array has %zu of %s",
                 have, px_type_name(type), given, px_type_name((unsigned)px_type_of_array(array)));
    done = false;
  }
  done = done && copy_into(value, from, given);
  if (from) ort->ReleaseValue(from);
  Py_XDECREF(owner);
  if (!done) return NULL;
  Py_RETURN_NONE;
}

static PyObject *set_class(PyObject *module, PyObject *class) {
  Py_INCREF(class);
  px_replace(&public_class, class);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_from_numpy", from_numpy, METH_O | METH_STATIC, "A tensor over the memory of an array."},
    {"_from_numpy_as", from_numpy_as, METH_VARARGS | METH_STATIC, "The same, its bytes taken as another element type."},
    {"_empty", empty, METH_VARARGS | METH_STATIC,
     "(shape, element type, memory info or None): memory of the library's."},
    {"_from_pointer", from_pointer, METH_VARARGS | METH_STATIC, "(address, shape, element type, memory info or None)"},
    {"_from_dlpack", px_from_dlpack, METH_O | METH_STATIC, "A tensor over the memory of another library's."},
    {"is_tensor", is_tensor, METH_NOARGS, "Whether this is a tensor."},
    {"is_sparse_tensor", is_sparse, METH_NOARGS, "Whether this is a sparse tensor."},
    {"is_tensor_sequence", is_sequence, METH_NOARGS, "Whether this is a sequence."},
    {"has_value", has_value, METH_NOARGS, "False for an optional that holds nothing."},
    {"data_type", data_type, METH_NOARGS, "The type as text: \"tensor(float)\", \"seq(tensor(int64))\"."},
    {"element_type", element_type, METH_NOARGS, "The element type as a number of ONNX: 1 for float."},
    {"shape", shape, METH_NOARGS, "The dimensions as a list. RuntimeError if this is no tensor."},
    {"data_ptr", data_ptr, METH_NOARGS, "Address of the first element. RuntimeError if this is no tensor."},
    {"tensor_size_in_bytes", size_in_bytes, METH_NOARGS, "Bytes of all elements."},
    {"device_name", device_name, METH_NOARGS, "Where the memory is: \"cpu\"."},
    {"numpy", numpy, METH_NOARGS,
     "A NumPy array of the tensor: over the same memory, which it keeps, on the host; a copy of a device's. Strings "
     "and\n"
     "elements of fewer than eight bits are copied. RuntimeError if this is no tensor, or NumPy has no such type."},
    {"to_python", to_python, METH_NOARGS, "The value as run() gives it: an array, a list, a dict or None."},
    {"update_inplace", update_inplace, METH_O,
     "Copies an array of the same type and size into the tensor. RuntimeError if they differ."},
    {"__dlpack_device__", px_dlpack_device, METH_NOARGS, "(1, 0): the host; (2, n): CUDA device n."},
    {"__dlpack__", PX_KEYWORDS(px_to_dlpack), METH_VARARGS | METH_KEYWORDS,
     "The tensor for another library, over the same memory."},
    {NULL, NULL, 0, NULL}};

static PyMethodDef functions[] = {{"_set_value_class", set_class, METH_O, "The class of values that the module makes."},
                                  {NULL, NULL, 0, NULL}};

bool px_value_init(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, "A tensor, sequence, map or sparse tensor of the library."},
                                {0, NULL}};
  static PyType_Spec spec = {"onyx._onyx.Value", sizeof(px_value), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  px_value_type = px_add_type(module, &spec, "Value");
  return px_value_type && PyModule_AddFunctions(module, functions) == 0;
}
