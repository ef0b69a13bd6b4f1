/* SPDX-License-Identifier: Apache-2.0
 * dlpack.c - tensors to and from other libraries without a copy, by the DLPack protocol (dmlc/dlpack, versions 0 and 1;
 * the structures are the protocol's). */
#include "px.h"

#include <stdlib.h>
#include <strings.h>

typedef struct dl_device {
  int32_t type, id;
} dl_device;
typedef struct dl_type {
  uint8_t code, bits;
  uint16_t lanes;
} dl_type;
typedef struct dl_tensor {
  void *data;
  dl_device device;
  int32_t rank;
  dl_type type;
  int64_t *shape, *strides; /* in elements; NULL: rows after each other */
  uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
  dl_tensor tensor;
  void *ctx;
  void (*deleter)(struct dl_managed *);
} dl_managed;
typedef struct dl_versioned {
  uint32_t major, minor;
  void *ctx;
  void (*deleter)(struct dl_versioned *);
  uint64_t flags;
  dl_tensor tensor;
} dl_versioned;
enum { DL_CPU = 1, DL_CUDA = 2, DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

static const dl_type dl_types[PX_N_TYPES] = {
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT] = {DL_FLOAT, 32, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8] = {DL_UINT, 8, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8] = {DL_INT, 8, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16] = {DL_UINT, 16, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16] = {DL_INT, 16, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32] = {DL_INT, 32, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64] = {DL_INT, 64, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL] = {DL_BOOL, 8, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16] = {DL_FLOAT, 16, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE] = {DL_FLOAT, 64, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32] = {DL_UINT, 32, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64] = {DL_UINT, 64, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64] = {DL_COMPLEX, 64, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128] = {DL_COMPLEX, 128, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16] = {DL_BFLOAT, 16, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN] = {10, 8, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ] = {11, 8, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2] = {12, 8, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ] = {13, 8, 1},
    [ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0] = {14, 8, 1},
};

/* ---- giving ---- */

typedef struct handed { /* what an exported tensor needs */
  PyObject *value;
  int64_t numbers[2 * PX_MAX_RANK]; /* shape, strides */
  union {
    dl_managed old;
    dl_versioned versioned;
  } as;
} handed;

static void release(handed *h) { /* may be called from any thread, also without the GIL */
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(h->value);
  PyGILState_Release(state);
  free(h);
}

static void delete_old(dl_managed *managed) { release(managed->ctx); }
static void delete_versioned(dl_versioned *managed) { release(managed->ctx); }

/* A capsule that nobody took releases what it holds; who took it has renamed it. */
static void drop_old(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
  if (managed->deleter) managed->deleter(managed);
}

static void drop_versioned(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return;
  dl_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (managed->deleter) managed->deleter(managed);
}

/* Where the memory is, as the protocol says it; RuntimeError if it cannot. */
static bool device_of(OrtValue *value, dl_device *out) {
  const OrtMemoryInfo *info;
  OrtMemoryInfoDeviceType kind = OrtMemoryInfoDeviceType_CPU;
  const char *name;
  int id = 0;
  *out = (dl_device){DL_CPU, 0};
  if (!px_ok(ort->GetTensorMemoryInfo(value, &info))) return false;
  ort->MemoryInfoGetDeviceType(info, &kind);
  if (kind == OrtMemoryInfoDeviceType_CPU) return true;
  if (!px_ok(ort->MemoryInfoGetName(info, &name)) || !px_ok(ort->MemoryInfoGetId(info, &id))) return false;
  *out = (dl_device){DL_CUDA, id};
  if (strcasecmp(name, "cuda") == 0) return true;
  PyErr_Format(PyExc_RuntimeError, "DLPack cannot pass on memory of '%s'; numpy() makes a copy on the host", name);
  return false;
}

PyObject *px_dlpack_device(PyObject *self, PyObject *ignored) {
  dl_device device;
  OrtValue *value = px_value_get(self);
  if (!value || !device_of(value, &device)) return NULL;
  return Py_BuildValue("(ii)", (int)device.type, (int)device.id);
}

static bool describe(OrtValue *value, handed *h, dl_tensor *out) {
  ONNXTensorElementDataType type;
  const int64_t *dims;
  size_t rank;
  dl_device device;
  if (!px_ok(ort->GetTensorElementTypeAndShapeDataReference(value, &type, &dims, &rank))) return false;
  if (!device_of(value, &device)) return false;
  if ((unsigned)type >= PX_N_TYPES || !dl_types[type].bits || rank > PX_MAX_RANK) {
    PyErr_Format(PyExc_RuntimeError, "DLPack has no tensor of %s of rank %zu", px_type_name(type), rank);
    return false;
  }
  int64_t step = 1;
  for (size_t i = rank; i-- > 0; step *= dims[i]) h->numbers[i] = dims[i], h->numbers[PX_MAX_RANK + i] = step;
  *out = (dl_tensor){NULL, device, (int32_t)rank, dl_types[type], h->numbers, h->numbers + PX_MAX_RANK, 0};
  return px_ok(ort->GetTensorMutableData(value, &out->data));
}

static bool is_version_1(PyObject *version) {
  if (!version || version == Py_None) return false;
  long major = 0, minor = 0;
  if (!PyArg_ParseTuple(version, "ll", &major, &minor)) return PyErr_Clear(), false;
  return major >= 1;
}

PyObject *px_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = NULL, *version = NULL, *device = NULL, *copy = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:__dlpack__", names, &stream, &version, &device, &copy))
    return NULL;
  OrtValue *value = px_value_get(self);
  handed *h = value ? calloc(1, sizeof *h) : NULL;
  if (!h) return value ? PyErr_NoMemory() : NULL;
  if (copy == Py_True) {
    PyErr_SetString(PyExc_BufferError, "__dlpack__(copy=True): an OrtValue gives its own memory; copy what you get");
    return free(h), NULL;
  }
  bool versioned = is_version_1(version);
  if (!describe(value, h, versioned ? &h->as.versioned.tensor : &h->as.old.tensor)) return free(h), NULL;
  PyObject *capsule;
  if (versioned) {
    h->as.versioned.major = 1, h->as.versioned.ctx = h, h->as.versioned.deleter = delete_versioned;
    capsule = PyCapsule_New(&h->as.versioned, "dltensor_versioned", drop_versioned);
  } else {
    h->as.old.ctx = h, h->as.old.deleter = delete_old;
    capsule = PyCapsule_New(&h->as.old, "dltensor", drop_old);
  }
  if (!capsule) return free(h), NULL;
  Py_INCREF(self);
  h->value = self;
  return capsule;
}

/* ---- taking ---- */

static void end_old(PyObject *capsule) {
  dl_managed *managed = PyCapsule_GetPointer(capsule, "onyx.dltensor");
  if (managed && managed->deleter) managed->deleter(managed);
}

static void end_versioned(PyObject *capsule) {
  dl_versioned *managed = PyCapsule_GetPointer(capsule, "onyx.dltensor");
  if (managed && managed->deleter) managed->deleter(managed);
}

/* The capsule that the object gives: of version 1 if it knows it. New reference. */
static PyObject *ask(PyObject *object) {
  if (PyCapsule_IsValid(object, "dltensor") || PyCapsule_IsValid(object, "dltensor_versioned")) {
    Py_INCREF(object);
    return object;
  }
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  if (!method) return NULL;
  PyObject *args = PyTuple_New(0), *kwargs = Py_BuildValue("{s:(ii)}", "max_version", 1, 0), *capsule = NULL;
  if (args && kwargs) capsule = PyObject_Call(method, args, kwargs);
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = PyObject_CallObject(method, NULL);
  }
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  Py_DECREF(method);
  return capsule;
}

static int type_of(dl_type type) {
  for (int i = 1; type.lanes == 1 && i < PX_N_TYPES; i++)
    if (dl_types[i].bits && dl_types[i].bits == type.bits && dl_types[i].code == type.code) return i;
  PyErr_Format(PyExc_RuntimeError, "ONNX has no element type for DLPack's (code %d, %d bits, %d lanes)", type.code,
               type.bits, type.lanes);
  return -1;
}

static bool is_dense(const dl_tensor *t) {
  int64_t step = 1;
  for (int32_t i = t->rank; t->strides && i-- > 0; step *= t->shape[i])
    if (t->shape[i] != 1 && t->strides[i] != step) return false;
  return true;
}

static OrtValue *wrap(const dl_tensor *t) {
  int type = type_of(t->type);
  if (type < 0) return NULL;
  if (t->device.type != DL_CPU || !is_dense(t)) {
    PyErr_SetString(PyExc_RuntimeError, "only contiguous tensors on the host are taken from DLPack");
    return NULL;
  }
  size_t bytes = (size_t)px_type_bits((unsigned)type) / 8;
  for (int32_t i = 0; i < t->rank; i++) bytes *= (size_t)t->shape[i];
  static char nothing[16]; /* empty tensors may have no address */
  void *data = t->data ? (char *)t->data + t->byte_offset : nothing;
  const OrtMemoryInfo *cpu = px_cpu();
  OrtValue *value = NULL;
  if (cpu) px_ok(ort->CreateTensorWithDataAsOrtValue(cpu, data, bytes, t->shape, (size_t)t->rank, type, &value));
  return value;
}

PyObject *px_from_dlpack(PyObject *unused, PyObject *object) {
  PyObject *capsule = ask(object);
  if (!capsule) return NULL;
  bool versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
  void *managed = PyCapsule_GetPointer(capsule, versioned ? "dltensor_versioned" : "dltensor");
  PyObject *keeper = NULL, *self = NULL;
  OrtValue *value = NULL;
  if (managed && versioned && ((dl_versioned *)managed)->major != 1)
    PyErr_Format(PyExc_BufferError, "DLPack of version %u; this is for 0 and 1", ((dl_versioned *)managed)->major);
  else if (managed)
    value = wrap(versioned ? &((dl_versioned *)managed)->tensor : &((dl_managed *)managed)->tensor);
  if (value && PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor") == 0)
    keeper = PyCapsule_New(managed, "onyx.dltensor", versioned ? end_versioned : end_old);
  if (keeper)
    self = px_value_new(value, keeper);
  else if (value)
    ort->ReleaseValue(value);
  Py_XDECREF(keeper);
  Py_DECREF(capsule);
  return self;
}
