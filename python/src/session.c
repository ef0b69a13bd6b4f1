/* SPDX-License-Identifier: Apache-2.0
 * session.c - a session: made of a file or of bytes, and what it says of itself. */
#include "px.h"

#include <string.h>

PyTypeObject *px_session_type;

static PyTypeObject *made_type;

typedef struct session {        /* what Python has */
  PyObject_HEAD PyObject *made; /* a px_session */
} session;

px_session *px_session_of(PyObject *object) {
  px_session *made = (px_session *)((session *)object)->made;
  if (!made)
    PyErr_SetString(PyExc_RuntimeError, "the session was not made: __init__ of its base class has not been called");
  return made;
}

/* ---- inputs and outputs ---- */

typedef OrtStatus *(*name_fn)(const OrtSession *, size_t, OrtAllocator *, char **);
typedef OrtStatus *(*type_fn)(const OrtSession *, size_t, OrtTypeInfo **);

static bool is_optional(const OrtTypeInfo *info) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  return px_ok(ort->GetOnnxTypeFromTypeInfo(info, &kind)) && kind == ONNX_TYPE_OPTIONAL;
}

static bool fill(px_session *self, px_port *ports, size_t n, name_fn name_of, type_fn type_of) {
  OrtAllocator *allocator = px_allocator();
  for (size_t i = 0; i < n; i++) {
    char *name = NULL;
    if (!allocator || !px_ok(name_of(self->session, i, allocator, &name))) return false;
    PyObject *text = PyUnicode_FromString(name);
    allocator->Free(allocator, name);
    if (!text) return false;
    PyUnicode_InternInPlace(&text); /* names in programs are interned: dicts find them faster */
    ports[i].name = text;
    ports[i].utf8 = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!ports[i].utf8 || !px_ok(type_of(self->session, i, &ports[i].info))) return false;
    ports[i].required = !is_optional(ports[i].info);
    if (PyErr_Occurred()) return false;
  }
  return true;
}

static bool read_ports(px_session *self) {
  OrtSession *s = self->session;
  if (!px_ok(ort->SessionGetInputCount(s, &self->n_inputs)) ||
      !px_ok(ort->SessionGetOutputCount(s, &self->n_outputs)) ||
      !px_ok(ort->SessionGetOverridableInitializerCount(s, &self->n_defaults)))
    return false;
  px_port *p = PyMem_Calloc(self->n_inputs + self->n_defaults + self->n_outputs + 1, sizeof *p);
  if (!p) return PyErr_NoMemory(), false;
  self->ports = p;
  return fill(self, p, self->n_inputs, ort->SessionGetInputName, ort->SessionGetInputTypeInfo) &&
         fill(self, p + self->n_inputs, self->n_defaults, ort->SessionGetOverridableInitializerName,
              ort->SessionGetOverridableInitializerTypeInfo) &&
         fill(self, p + self->n_inputs + self->n_defaults, self->n_outputs, ort->SessionGetOutputName,
              ort->SessionGetOutputTypeInfo);
}

const px_port *px_session_input(const px_session *self, PyObject *name) {
  size_t n = self->n_inputs + self->n_defaults;
  for (size_t i = 0; i < n; i++)
    if (self->ports[i].name == name) return &self->ports[i];
  for (size_t i = 0; i < n; i++)
    if (PyUnicode_Check(name) && PyUnicode_Compare(self->ports[i].name, name) == 0) return &self->ports[i];
  return NULL;
}

static void made_dealloc(PyObject *object) {
  px_session *self = (px_session *)object;
  size_t n = self->ports ? self->n_inputs + self->n_defaults + self->n_outputs : 0;
  for (size_t i = 0; i < n; i++) {
    Py_XDECREF(self->ports[i].name);
    ort->ReleaseTypeInfo(self->ports[i].info);
  }
  PyMem_Free(self->ports);
  PyThreadState *state = PyEval_SaveThread(); /* may join threads */
  ort->ReleaseSession(self->session);
  PyEval_RestoreThread(state);
  Py_XDECREF(self->keep);
  px_free(object);
}

/* ---- making ---- */

static OrtSession *create(PyObject *path, PyObject *bytes, const OrtSessionOptions *options) {
  OrtEnv *env = px_env();
  OrtSession *made = NULL;
  OrtStatus *status;
  if (!env) return NULL;
  const char *text = path ? PyBytes_AsString(path) : PyBytes_AsString(bytes);
  size_t n = path ? 0 : (size_t)PyBytes_Size(bytes);
  Py_BEGIN_ALLOW_THREADS
  status =
      path ? ort->CreateSession(env, text, options, &made) : ort->CreateSessionFromArray(env, text, n, options, &made);
  Py_END_ALLOW_THREADS
  return px_ok(status) ? made : NULL;
}

/* (path, None or None, bytes; options; what the session needs as long as it lives) */
static PyObject *open_session(PyObject *object, PyObject *args) {
  PyObject *path_object, *bytes, *options, *keep, *path = NULL;
  if (!PyArg_ParseTuple(args, "OOO!O", &path_object, &bytes, px_options_type, &options, &keep)) return NULL;
  if (bytes != Py_None && !PyBytes_Check(bytes)) return PyErr_Format(PyExc_TypeError, "the model must be bytes");
  if (bytes == Py_None && !(path = px_path(path_object))) return NULL;
  allocfunc alloc = (allocfunc)PyType_GetSlot(made_type, Py_tp_alloc);
  px_session *made = (px_session *)alloc(made_type, 0);
  if (made) made->session = create(path, bytes, ((px_options *)options)->options);
  Py_XDECREF(path);
  /* the library may use bytes and initializers in place */
  if (!made || !made->session || !(made->keep = Py_BuildValue("(OOO)", bytes, options, keep)) || !read_ports(made)) {
    Py_XDECREF(made);
    return NULL;
  }
  px_replace(&((session *)object)->made, (PyObject *)made);
  Py_RETURN_NONE;
}

static void dealloc(PyObject *object) {
  Py_CLEAR(((session *)object)->made);
  px_free(object);
}

/* ---- what it says of itself ---- */

static PyObject *port_list(const px_port *ports, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *type = px_type_string(ports[i].info), *shape = type ? px_type_shape(ports[i].info) : NULL;
    PyObject *item = shape ? Py_BuildValue("(OOO)", ports[i].name, type, shape) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(shape);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *inputs(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  return self ? port_list(self->ports, self->n_inputs) : NULL;
}

static PyObject *defaults(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  return self ? port_list(self->ports + self->n_inputs, self->n_defaults) : NULL;
}

static PyObject *outputs(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  return self ? port_list(self->ports + self->n_inputs + self->n_defaults, self->n_outputs) : NULL;
}

typedef OrtStatus *(*text_fn)(const OrtModelMetadata *, OrtAllocator *, char **);

static bool add_text(PyObject *dict, const char *key, const OrtModelMetadata *meta, text_fn get) {
  OrtAllocator *allocator = px_allocator();
  char *text = NULL;
  if (!allocator || !px_ok(get(meta, allocator, &text))) return false;
  PyObject *value = PyUnicode_DecodeUTF8(text ? text : "", text ? (Py_ssize_t)strlen(text) : 0, "replace");
  if (text) allocator->Free(allocator, text);
  bool done = value && PyDict_SetItemString(dict, key, value) == 0;
  Py_XDECREF(value);
  return done;
}

static bool add_custom(PyObject *dict, const OrtModelMetadata *meta) {
  OrtAllocator *allocator = px_allocator();
  char **keys = NULL;
  int64_t n = 0;
  if (!allocator || !px_ok(ort->ModelMetadataGetCustomMetadataMapKeys(meta, allocator, &keys, &n))) return false;
  PyObject *map = PyDict_New();
  for (int64_t i = 0; i < n; i++) {
    char *text = NULL;
    PyObject *value = NULL;
    if (map && px_ok(ort->ModelMetadataLookupCustomMetadataMap(meta, allocator, keys[i], &text)))
      value = PyUnicode_DecodeUTF8(text ? text : "", text ? (Py_ssize_t)strlen(text) : 0, "replace");
    if (map && (!value || PyDict_SetItemString(map, keys[i], value) < 0)) Py_CLEAR(map);
    Py_XDECREF(value);
    if (text) allocator->Free(allocator, text);
    allocator->Free(allocator, keys[i]);
  }
  if (keys) allocator->Free(allocator, keys);
  bool done = map && PyDict_SetItemString(dict, "custom_metadata_map", map) == 0;
  Py_XDECREF(map);
  return done;
}

static PyObject *metadata(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  OrtModelMetadata *meta = NULL;
  int64_t version = 0;
  if (!self || !px_ok(ort->SessionGetModelMetadata(self->session, &meta))) return NULL;
  PyObject *dict = PyDict_New(), *number = NULL;
  bool done = dict && add_text(dict, "producer_name", meta, ort->ModelMetadataGetProducerName) &&
              add_text(dict, "graph_name", meta, ort->ModelMetadataGetGraphName) &&
              add_text(dict, "domain", meta, ort->ModelMetadataGetDomain) &&
              add_text(dict, "description", meta, ort->ModelMetadataGetDescription) &&
              add_text(dict, "graph_description", meta, ort->ModelMetadataGetGraphDescription) &&
              px_ok(ort->ModelMetadataGetVersion(meta, &version)) && (number = PyLong_FromLongLong(version)) &&
              PyDict_SetItemString(dict, "version", number) == 0 && add_custom(dict, meta);
  Py_XDECREF(number);
  if (!done) Py_CLEAR(dict);
  ort->ReleaseModelMetadata(meta);
  return dict;
}

static PyObject *end_profiling(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  OrtAllocator *allocator = px_allocator();
  char *file = NULL;
  if (!allocator || !self || !px_ok(ort->SessionEndProfiling(self->session, allocator, &file))) return NULL;
  PyObject *name = PyUnicode_DecodeFSDefault(file ? file : "");
  if (file) allocator->Free(allocator, file);
  return name;
}

static PyObject *profiling_start(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  uint64_t ns = 0;
  if (!self || !px_ok(ort->SessionGetProfilingStartTimeNs(self->session, &ns))) return NULL;
  return PyLong_FromUnsignedLongLong(ns);
}

static PyObject *set_dynamic(PyObject *object, PyObject *dict) {
  px_session *self = px_session_of(object);
  px_strings options;
  if (!self || !px_strings_from_dict(dict, &options)) return NULL;
  OrtStatus *status = ort->SetEpDynamicOptions(self->session, options.keys, options.values, options.n);
  px_strings_free(&options);
  return px_none(status);
}

static PyObject *release_graph(PyObject *object, PyObject *number) {
  px_session *self = px_session_of(object);
  long id = PyLong_AsLong(number);
  if (!self || (id == -1 && PyErr_Occurred())) return NULL;
  return px_none(ort->SessionReleaseCapturedGraph(self->session, (int)id));
}

PyMethodDef px_session_methods[] = {
    {"_open", open_session, METH_VARARGS, "(path, bytes, options, what to keep): makes the session."},
    {"_inputs", inputs, METH_NOARGS, "[(name, type, shape)] of the inputs that every run names."},
    {"_defaults", defaults, METH_NOARGS, "The same of inputs with a default."},
    {"_outputs", outputs, METH_NOARGS, "The same of outputs."},
    {"_metadata", metadata, METH_NOARGS, "A dict."},
    {"end_profiling", end_profiling, METH_NOARGS,
     "Ends profiling (SessionOptions.enable_profiling) and returns the name of the file of events; \"\": there was "
     "none."},
    {"get_profiling_start_time_ns", profiling_start, METH_NOARGS, "When profiling began, in ns of a steady clock."},
    {"_release_captured_graph", release_graph, METH_O, "(number): forgets what a provider captured."},
    {"set_ep_dynamic_options", set_dynamic, METH_O,
     "({name: value}): options of providers that may change at any time."},
    {NULL, NULL, 0, NULL}};

bool px_session_init(PyObject *module) {
  static PyMethodDef methods[64];
  PyMethodDef *const lists[] = {px_session_methods, px_run_methods, px_async_methods, px_inspect_methods,
                                px_assignment_methods};
  size_t n = 0;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    for (const PyMethodDef *m = lists[i]; m->ml_name; m++) methods[n++] = *m;
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {Py_tp_doc, "A model that can run."}, {0, NULL}};
  static PyType_Slot made_slots[] = {{Py_tp_dealloc, made_dealloc}, {0, NULL}};
  static PyType_Spec made_spec = {"onyx._onyx.MadeSession", sizeof(px_session), 0, Py_TPFLAGS_DEFAULT, made_slots};
  made_type = (PyTypeObject *)PyType_FromSpec(&made_spec); /* not for Python */
  static PyType_Spec spec = {"onyx._onyx.Session", sizeof(session), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  px_session_type = px_add_type(module, &spec, "Session");
  return made_type && px_session_type;
}
