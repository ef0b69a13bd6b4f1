/* SPDX-License-Identifier: Apache-2.0
 * sparse.c - sparse tensors: made of arrays, and their parts as arrays over the library's memory. */
#include "npy.h"

static PyObject *public_class; /* SparseTensor of the Python layer: called with an OrtValue */

PyObject *px_sparse_new(OrtValue *value) { /* takes |value| */
  PyObject *holder = px_value_new(value, NULL);
  PyObject *self = holder ? PyObject_CallFunctionObjArgs(public_class, holder, NULL) : NULL;
  Py_XDECREF(holder);
  return self;
}

/* |object| as a plain array of |type| (NPY_*; -1: its own). New reference. */
static PyObject *plain(PyObject *object, int type) {
  PyObject *descr = type < 0 ? NULL : px_npy_descr(type);
  return type >= 0 && !descr ? NULL : px_npy_as_array(object, descr, type < 0 ? 0 : NPY_FORCECAST);
}

typedef struct parts {
  PyObject *arrays[3]; /* values, indices, outer indices */
  int64_t dims[PX_MAX_RANK];
  size_t rank;
  OrtValue *value;
} parts;

static void *data_of(PyObject *array) { return px_array(array)->data; }

static bool begin(parts *p, PyObject *shape, PyObject *values, PyObject *indices, int indices_type, PyObject *outer) {
  if (!px_dims(shape, p->dims, &p->rank)) return false;
  if (!(p->arrays[0] = plain(values, -1)) || !(p->arrays[1] = plain(indices, indices_type))) return false;
  if (outer && !(p->arrays[2] = plain(outer, NPY_LONG))) return false;
  int type = px_type_of_array(p->arrays[0]);
  if (type < 0 || px_type_bits((unsigned)type) < 8) {
    PyErr_Format(PyExc_RuntimeError, "values of a sparse tensor cannot be of NumPy's %S",
                 px_array(p->arrays[0])->descr);
    return false;
  }
  OrtAllocator *allocator = px_allocator();
  return allocator && px_ok(ort->CreateSparseTensorAsOrtValue(allocator, p->dims, p->rank, type, &p->value));
}

static PyObject *finish(parts *p, bool done) {
  for (int i = 0; i < 3; i++) Py_XDECREF(p->arrays[i]);
  if (done) return px_value_new(p->value, NULL);
  if (p->value) ort->ReleaseValue(p->value);
  return NULL;
}

static PyObject *coo(PyObject *module, PyObject *args) {
  PyObject *shape, *values, *indices;
  if (!PyArg_ParseTuple(args, "OOO", &shape, &values, &indices)) return NULL;
  parts p = {.rank = 0};
  const OrtMemoryInfo *cpu = px_cpu();
  bool done = cpu && begin(&p, shape, values, indices, NPY_LONG, NULL);
  if (done) {
    int64_t n = px_npy_count(px_array(p.arrays[0]));
    done = px_ok(ort->FillSparseTensorCoo(p.value, cpu, &n, 1, data_of(p.arrays[0]), (int64_t *)data_of(p.arrays[1]),
                                          (size_t)px_npy_count(px_array(p.arrays[1]))));
  }
  return finish(&p, done);
}

static PyObject *csr(PyObject *module, PyObject *args) {
  PyObject *shape, *values, *inner, *outer;
  if (!PyArg_ParseTuple(args, "OOOO", &shape, &values, &inner, &outer)) return NULL;
  parts p = {.rank = 0};
  const OrtMemoryInfo *cpu = px_cpu();
  bool done = cpu && begin(&p, shape, values, inner, NPY_LONG, outer);
  if (done) {
    int64_t n = px_npy_count(px_array(p.arrays[0]));
    done = px_ok(ort->FillSparseTensorCsr(p.value, cpu, &n, 1, data_of(p.arrays[0]), (int64_t *)data_of(p.arrays[1]),
                                          (size_t)px_npy_count(px_array(p.arrays[1])), (int64_t *)data_of(p.arrays[2]),
                                          (size_t)px_npy_count(px_array(p.arrays[2]))));
  }
  return finish(&p, done);
}

static PyObject *block_sparse(PyObject *module, PyObject *args) {
  PyObject *shape, *values, *indices;
  if (!PyArg_ParseTuple(args, "OOO", &shape, &values, &indices)) return NULL;
  parts p = {.rank = 0};
  const OrtMemoryInfo *cpu = px_cpu();
  bool done = cpu && begin(&p, shape, values, indices, NPY_INT, NULL);
  if (done) {
    npy_array *v = px_array(p.arrays[0]), *i = px_array(p.arrays[1]);
    done = px_ok(ort->FillSparseTensorBlockSparse(p.value, cpu, v->dims, (size_t)v->rank, v->data, i->dims,
                                                  (size_t)i->rank, (const int32_t *)(void *)i->data));
  }
  return finish(&p, done);
}

/* ---- parts ---- */

static PyObject *view(PyObject *holder, OrtTensorTypeAndShapeInfo *info, const void *data) { /* takes |info| */
  ONNXTensorElementDataType type;
  size_t rank = 0;
  int64_t dims[PX_MAX_RANK];
  bool done = px_ok(ort->GetTensorElementType(info, &type)) && px_ok(ort->GetDimensionsCount(info, &rank));
  if (done && rank > PX_MAX_RANK) rank = PX_MAX_RANK;
  done = done && px_ok(ort->GetDimensions(info, dims, rank));
  ort->ReleaseTensorTypeAndShapeInfo(info);
  PyObject *descr = done ? px_type_descr(type) : NULL;
  return descr ? px_npy_new(descr, (int)rank, dims, (void *)data, data ? holder : NULL, false) : NULL;
}

static PyObject *values_of(PyObject *module, PyObject *holder) {
  OrtValue *value = px_value_get(holder);
  OrtTensorTypeAndShapeInfo *info = NULL;
  const void *data = NULL;
  if (!value || !px_ok(ort->GetSparseTensorValuesTypeAndShape(value, &info))) return NULL;
  if (px_ok(ort->GetSparseTensorValues(value, &data))) return view(holder, info, data);
  ort->ReleaseTensorTypeAndShapeInfo(info);
  return NULL;
}

static PyObject *indices_of(PyObject *module, PyObject *args) {
  PyObject *holder;
  int kind;
  if (!PyArg_ParseTuple(args, "Oi", &holder, &kind)) return NULL;
  OrtValue *value = px_value_get(holder);
  OrtTensorTypeAndShapeInfo *info = NULL;
  const void *data = NULL;
  size_t n = 0;
  if (!value || !px_ok_as(ort->GetSparseTensorIndicesTypeShape(value, (OrtSparseIndicesFormat)kind, &info),
                          PyExc_RuntimeError, ""))
    return NULL;
  if (px_ok(ort->GetSparseTensorIndices(value, (OrtSparseIndicesFormat)kind, &n, &data)))
    return view(holder, info, data);
  ort->ReleaseTensorTypeAndShapeInfo(info);
  return NULL;
}

static PyObject *format_of(PyObject *module, PyObject *holder) {
  OrtValue *value = px_value_get(holder);
  OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
  if (!value || !px_ok(ort->GetSparseTensorFormat(value, &format))) return NULL;
  return PyLong_FromLong((long)format);
}

static PyObject *set_class(PyObject *module, PyObject *class) {
  Py_INCREF(class);
  px_replace(&public_class, class);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"sparse_coo", coo, METH_VARARGS, "(dense shape, values, indices): a sparse tensor of coordinates."},
    {"sparse_csr", csr, METH_VARARGS, "(dense shape, values, inner, outer indices): compressed rows."},
    {"sparse_block", block_sparse, METH_VARARGS, "(dense shape, values, indices): blocks."},
    {"sparse_values", values_of, METH_O, "The elements that are there, as an array over the tensor's memory."},
    {"sparse_indices", indices_of, METH_VARARGS, "(value, which): indices as an array over the tensor's memory."},
    {"sparse_format", format_of, METH_O, "A number of OrtSparseFormat."},
    {"_set_sparse_class", set_class, METH_O, "The class of sparse tensors that the module makes."},
    {NULL, NULL, 0, NULL}};

bool px_sparse_init(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
