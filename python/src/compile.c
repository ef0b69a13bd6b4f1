/* SPDX-License-Identifier: Apache-2.0
 * compile.c - models compiled ahead, and LoRA adapters. */
#include "px.h"

PyTypeObject *px_lora_type;

/* ---- compiling ---- */

static OrtStatus *write_to(void *function, const void *bytes, size_t n) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *answer = PyObject_CallFunction(function, "y#", (const char *)bytes, (Py_ssize_t)n);
  OrtStatus *status = NULL;
  if (!answer) {
    PyErr_WriteUnraisable(function);
    status = ort->CreateStatus(ORT_FAIL, "the function that writes the model raised an exception");
  }
  Py_XDECREF(answer);
  PyGILState_Release(state);
  return status;
}

static PyObject *info_row(const OrtExternalInitializerInfo *info) { /* (path, offset, bytes), or None */
  if (!info) Py_RETURN_NONE;
  return Py_BuildValue("(sLn)", ort->ExternalInitializerInfo_GetFilePath(info),
                       (long long)ort->ExternalInitializerInfo_GetFileOffset(info),
                       (Py_ssize_t)ort->ExternalInitializerInfo_GetByteSize(info));
}

/* Asks the Python function where an initializer is to lie: it gets (name, OrtValue, where it lies now) and returns
 * (path, offset, bytes), or None: in the model. The value is lent for the call. */
static OrtStatus *locate(void *function, const char *name, const OrtValue *value, const OrtExternalInitializerInfo *now,
                         OrtExternalInitializerInfo **out) {
  PyGILState_STATE state = PyGILState_Ensure();
  OrtStatus *status = NULL;
  const char *path;
  long long offset;
  Py_ssize_t bytes;
  *out = NULL;
  PyObject *lent = px_value_new((OrtValue *)(uintptr_t)value, NULL), *row = info_row(now);
  PyObject *answer = lent && row ? PyObject_CallFunction(function, "sOO", name, lent, row) : NULL;
  if (lent) ((px_value *)lent)->value = NULL;
  if (!answer) {
    PyErr_WriteUnraisable(function);
    status = ort->CreateStatus(ORT_FAIL, "the function that places initializers raised an exception");
  } else if (answer != Py_None) {
    if (PyArg_ParseTuple(answer, "sLn", &path, &offset, &bytes)) {
      status = ort->CreateExternalInitializerInfo(path, offset, (size_t)bytes, out);
    } else {
      PyErr_Clear();
      status = ort->CreateStatus(ORT_FAIL, "the function that places initializers returned something else");
    }
  }
  Py_XDECREF(answer);
  Py_XDECREF(row);
  Py_XDECREF(lent);
  PyGILState_Release(state);
  return status;
}

static OrtStatus *set_input(const OrtCompileApi *api, OrtModelCompilationOptions *o, PyObject *model) {
  if (PyBytes_Check(model))
    return api->ModelCompilationOptions_SetInputModelFromBuffer(o, PyBytes_AsString(model),
                                                                (size_t)PyBytes_Size(model));
  PyObject *path = px_path(model);
  if (!path) return ort->CreateStatus(ORT_INVALID_ARGUMENT, "the model is neither bytes nor a path");
  OrtStatus *status = api->ModelCompilationOptions_SetInputModelPath(o, PyBytes_AsString(path));
  Py_DECREF(path);
  return status;
}

typedef struct wish {
  PyObject *model, *external;
  PyObject *locate; /* a function, or None */
  PyObject *write;  /* a function that stores EPContext data, or None */
  PyObject *place;  /* (folder, name) of EPContext data in files, both bytes, or None */
  PyObject *output; /* a path, a function that takes bytes, or None: the bytes are returned */
  int embed, level;
  Py_ssize_t threshold;
  unsigned flags;
} wish;

static OrtStatus *set_all(const OrtCompileApi *api, OrtModelCompilationOptions *o, const wish *w, void **bytes,
                          size_t *n) {
  OrtStatus *status = set_input(api, o, w->model);
  if (!status) status = api->ModelCompilationOptions_SetEpContextEmbedMode(o, w->embed != 0);
  if (!status) status = api->ModelCompilationOptions_SetFlags(o, w->flags);
  if (!status) status = api->ModelCompilationOptions_SetGraphOptimizationLevel(o, (GraphOptimizationLevel)w->level);
  PyObject *path;
  if (!status && w->external != Py_None && (path = px_path(w->external))) {
    status = api->ModelCompilationOptions_SetOutputModelExternalInitializersFile(o, PyBytes_AsString(path),
                                                                                 (size_t)w->threshold);
    Py_DECREF(path);
  }
  if (!status && w->locate != Py_None)
    status = api->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(o, locate, w->locate);
  if (!status && w->write != Py_None)
    status = api->ModelCompilationOptions_SetEpContextDataWriteFunc(o, px_context_write, w->write);
  const char *folder, *name;
  if (!status && w->place != Py_None && PyArg_ParseTuple(w->place, "yy", &folder, &name))
    status = api->ModelCompilationOptions_SetEpContextBinaryInformation(o, folder, name);
  if (status || PyErr_Occurred()) return status;
  if (w->output == Py_None) return api->ModelCompilationOptions_SetOutputModelBuffer(o, px_allocator(), bytes, n);
  if (PyCallable_Check(w->output)) return api->ModelCompilationOptions_SetOutputModelWriteFunc(o, write_to, w->output);
  if (!(path = px_path(w->output))) return NULL;
  status = api->ModelCompilationOptions_SetOutputModelPath(o, PyBytes_AsString(path));
  Py_DECREF(path);
  return status;
}

static PyObject *compile_model(PyObject *module, PyObject *args) {
  PyObject *options;
  wish w;
  if (!PyArg_ParseTuple(args, "O!OpOnIiOOOO", px_options_type, &options, &w.model, &w.embed, &w.external, &w.threshold,
                        &w.flags, &w.level, &w.locate, &w.write, &w.place, &w.output))
    return NULL;
  if (w.place != Py_None && !PyTuple_Check(w.place))
    return PyErr_Format(PyExc_TypeError, "place: wanted a tuple or None, got %R", Py_TYPE(w.place));
  const OrtCompileApi *api = ort->GetCompileApi();
  OrtModelCompilationOptions *o = NULL;
  OrtAllocator *allocator = px_allocator();
  void *bytes = NULL;
  size_t n = 0;
  if (!api || !allocator || !px_env())
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_RuntimeError, "this library cannot compile models");
  OrtStatus *status =
      api->CreateModelCompilationOptionsFromSessionOptions(px_env(), ((px_options *)options)->options, &o);
  if (!status) status = set_all(api, o, &w, &bytes, &n);
  if (!status && !PyErr_Occurred()) {
    Py_BEGIN_ALLOW_THREADS
    status = api->CompileModel(px_env(), o);
    Py_END_ALLOW_THREADS
  }
  api->ReleaseModelCompilationOptions(o);
  PyObject *out = NULL;
  if (px_ok(status) && !PyErr_Occurred()) {
    out = bytes ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)n) : Py_None;
    if (!bytes) Py_INCREF(out);
  }
  if (bytes) allocator->Free(allocator, bytes);
  return out;
}

/* ---- LoRA adapters ---- */

typedef struct lora {
  PyObject_HEAD OrtLoraAdapter *adapter;
} lora;

static PyObject *lora_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return alloc(type, 0);
}

static void lora_dealloc(PyObject *self) {
  if (((lora *)self)->adapter) ort->ReleaseLoraAdapter(((lora *)self)->adapter);
  px_free(self);
}

static PyObject *lora_load(PyObject *self, PyObject *object) {
  OrtLoraAdapter *adapter = NULL;
  PyObject *path = px_path(object);
  if (!path) return NULL;
  bool done = px_ok(ort->CreateLoraAdapter(PyBytes_AsString(path), NULL, &adapter));
  Py_DECREF(path);
  if (!done) return NULL;
  if (((lora *)self)->adapter) ort->ReleaseLoraAdapter(((lora *)self)->adapter);
  ((lora *)self)->adapter = adapter;
  Py_RETURN_NONE;
}

OrtLoraAdapter *px_lora_get(PyObject *object) {
  if (!PyType_IsSubtype(Py_TYPE(object), px_lora_type)) {
    PyErr_Format(PyExc_TypeError, "wanted a LoraAdapter, got %R", Py_TYPE(object));
    return NULL;
  }
  OrtLoraAdapter *adapter = ((lora *)object)->adapter;
  if (!adapter) PyErr_SetString(PyExc_RuntimeError, "the LoraAdapter is empty: Load() a file first");
  return adapter;
}

static PyMethodDef lora_methods[] = {{"Load", lora_load, METH_O, "(path): maps the file of an adapter."},
                                     {NULL, NULL, 0, NULL}};
static PyMethodDef functions[] = {
    {"_compile", compile_model, METH_VARARGS,
     "(options, model, embed, external file, its threshold, flags, level, locate, write, place, output): "
     "bytes, or None if they went elsewhere"},
    {NULL, NULL, 0, NULL}};

bool px_compile_init(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, lora_new},
                                {Py_tp_dealloc, lora_dealloc},
                                {Py_tp_methods, lora_methods},
                                {Py_tp_doc, "Parameters of a LoRA adapter, for RunOptions.add_active_adapter."},
                                {0, NULL}};
  static PyType_Spec spec = {"onyx._onyx.LoraAdapter", sizeof(lora), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  px_lora_type = px_add_type(module, &spec, "LoraAdapter");
  return px_lora_type && PyModule_AddFunctions(module, functions) == 0;
}
