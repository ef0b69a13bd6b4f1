/* SPDX-License-Identifier: Apache-2.0
 * options.c - SessionOptions and RunOptions: setters by name from one table each. The library cannot be asked what was
 * set; the Python layer remembers. */
#include "px.h"

#include <stddef.h>
#include <string.h>

PyTypeObject *px_options_type, *px_run_options_type;

/* How a option is called: with a number, a text, a path, nothing; or one slot for true, another for false. */
enum { INT, TEXT, PATH, SWITCH, TRUTH };
typedef struct option {
  const char *name;
  int kind;
  size_t slot, slot_off;
} option;
#define SLOT(name) offsetof(OrtApi, name)

static const option session_rows[] = {
    {"intra_op_num_threads", INT, SLOT(SetIntraOpNumThreads), 0},
    {"inter_op_num_threads", INT, SLOT(SetInterOpNumThreads), 0},
    {"execution_mode", INT, SLOT(SetSessionExecutionMode), 0},
    {"graph_optimization_level", INT, SLOT(SetSessionGraphOptimizationLevel), 0},
    {"log_severity_level", INT, SLOT(SetSessionLogSeverityLevel), 0},
    {"log_verbosity_level", INT, SLOT(SetSessionLogVerbosityLevel), 0},
    {"selection_policy", INT, SLOT(SessionOptionsSetEpSelectionPolicy), 0},
    {"logid", TEXT, SLOT(SetSessionLogId), 0},
    {"optimized_model_filepath", PATH, SLOT(SetOptimizedModelFilePath), 0},
    {"profile_file_prefix", PATH, SLOT(EnableProfiling), 0},
    {"custom_ops_library", PATH, SLOT(RegisterCustomOpsLibrary_V2), 0},
    {"enable_cpu_mem_arena", SWITCH, SLOT(EnableCpuMemArena), SLOT(DisableCpuMemArena)},
    {"enable_mem_pattern", SWITCH, SLOT(EnableMemPattern), SLOT(DisableMemPattern)},
    {"disable_profiling", SWITCH, SLOT(DisableProfiling), SLOT(DisableProfiling)},
    {"disable_per_session_threads", SWITCH, SLOT(DisablePerSessionThreads), SLOT(DisablePerSessionThreads)},
    {"use_deterministic_compute", TRUTH, SLOT(SetDeterministicCompute), 0},
    {"load_cancellation_flag", TRUTH, SLOT(SessionOptionsSetLoadCancellationFlag), 0},
    {NULL, 0, 0, 0}};

static const option run_rows[] = {{"log_severity_level", INT, SLOT(RunOptionsSetRunLogSeverityLevel), 0},
                                  {"log_verbosity_level", INT, SLOT(RunOptionsSetRunLogVerbosityLevel), 0},
                                  {"logid", TEXT, SLOT(RunOptionsSetRunTag), 0},
                                  {"terminate", SWITCH, SLOT(RunOptionsSetTerminate), SLOT(RunOptionsUnsetTerminate)},
                                  {NULL, 0, 0, 0}};

/* The slots of a table row have these types; the first parameter is a pointer to the options. */
typedef OrtStatus *(*set_int)(void *, int);
typedef OrtStatus *(*set_text)(void *, const char *);
typedef OrtStatus *(*set_nothing)(void *);
typedef OrtStatus *(*set_bool)(void *, bool);

static void *slot_at(size_t offset) {
  void *function;
  memcpy(&function, (const char *)ort + offset, sizeof function);
  return function;
}

static PyObject *set_path(void *options, set_text function, PyObject *value) {
  PyObject *path = px_path(value);
  PyObject *out = path ? px_none(function(options, PyBytes_AsString(path))) : NULL;
  Py_XDECREF(path);
  return out;
}

static PyObject *set(void *options, const option *rows, PyObject *args) {
  const char *name;
  PyObject *value;
  if (!PyArg_ParseTuple(args, "sO", &name, &value)) return NULL;
  const option *row = rows;
  while (row->name && strcmp(row->name, name) != 0) row++;
  if (!row->name) return PyErr_Format(PyExc_AttributeError, "no option '%s'", name);
  void *function = slot_at(row->slot);
  if (row->kind == INT) {
    long number = PyLong_AsLong(value);
    if (number == -1 && PyErr_Occurred()) return NULL;
    return px_none(((set_int)function)(options, (int)number));
  }
  if (row->kind == TEXT) {
    const char *text = px_utf8(value, name);
    return text ? px_none(((set_text)function)(options, text)) : NULL;
  }
  if (row->kind == PATH) return set_path(options, (set_text)function, value);
  int truth = PyObject_IsTrue(value);
  if (truth < 0) return NULL;
  if (row->kind == TRUTH) return px_none(((set_bool)function)(options, truth != 0));
  return px_none(((set_nothing)(truth ? function : slot_at(row->slot_off)))(options));
}

/* ---- SessionOptions ---- */

static PyObject *options_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  px_options *self = (px_options *)alloc(type, 0);
  if (self && !px_ok(ort->CreateSessionOptions(&self->options))) Py_CLEAR(self);
  return (PyObject *)self;
}

static void options_dealloc(PyObject *self) {
  ort->ReleaseSessionOptions(((px_options *)self)->options);
  px_free(self);
}

static OrtSessionOptions *options_of(PyObject *self) { return ((px_options *)self)->options; }

static PyObject *options_set(PyObject *self, PyObject *args) { return set(options_of(self), session_rows, args); }

/* A copy whose changes do not reach the original. */
static PyObject *options_clone(PyObject *self, PyObject *ignored) {
  OrtSessionOptions *options = NULL;
  if (!px_ok(ort->CloneSessionOptions(options_of(self), &options))) return NULL;
  px_options *copy = PyObject_New(px_options, px_options_type);
  if (copy)
    copy->options = options;
  else
    ort->ReleaseSessionOptions(options);
  return (PyObject *)copy;
}

static PyObject *config(PyObject *self, PyObject *args) {
  const char *key, *value;
  if (!PyArg_ParseTuple(args, "ss:add_session_config_entry", &key, &value)) return NULL;
  if (!px_ok_as(ort->AddSessionConfigEntry(options_of(self), key, value), PyExc_RuntimeError, "")) return NULL;
  Py_RETURN_NONE;
}

static PyObject *free_dimension(PyObject *self, PyObject *args) {
  const char *name;
  long long value;
  int by_name;
  if (!PyArg_ParseTuple(args, "sLp", &name, &value, &by_name)) return NULL;
  return px_none(by_name ? ort->AddFreeDimensionOverrideByName(options_of(self), name, value)
                         : ort->AddFreeDimensionOverride(options_of(self), name, value));
}

static PyObject *initializer(PyObject *self, PyObject *args) {
  const char *name;
  PyObject *object;
  if (!PyArg_ParseTuple(args, "sO:add_initializer", &name, &object)) return NULL;
  OrtValue *value = px_value_get(object);
  return value ? px_none(ort->AddInitializer(options_of(self), name, value)) : NULL;
}

/* A list of names and one of values. */
static PyObject *external_initializers(PyObject *self, PyObject *args) {
  PyObject *names, *values;
  if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &names, &PyList_Type, &values)) return NULL;
  Py_ssize_t n = PyList_Size(names);
  if (n != PyList_Size(values)) return PyErr_Format(PyExc_ValueError, "%zd names, %zd values", n, PyList_Size(values));
  const char **texts = PyMem_Calloc((size_t)n + 1, sizeof *texts);
  const OrtValue **handles = PyMem_Calloc((size_t)n + 1, sizeof *handles);
  PyObject *out = NULL;
  Py_ssize_t i = 0;
  if (!texts || !handles) PyErr_NoMemory();
  for (; texts && handles && i < n; i++) {
    texts[i] = px_utf8(PyList_GetItem(names, i), "names");
    handles[i] = texts[i] ? px_value_get(PyList_GetItem(values, i)) : NULL;
    if (!handles[i]) break;
  }
  if (!PyErr_Occurred()) out = px_none(ort->AddExternalInitializers(options_of(self), texts, handles, (size_t)n));
  PyMem_Free(texts);
  PyMem_Free(handles);
  return out;
}

/* (file name, bytes): one file that models name, in memory. */
static PyObject *external_file(PyObject *self, PyObject *args) {
  PyObject *name;
  char *bytes;
  Py_ssize_t n;
  if (!PyArg_ParseTuple(args, "Os#", &name, &bytes, &n)) return NULL;
  PyObject *path = px_path(name);
  if (!path) return NULL;
  const char *paths[1] = {PyBytes_AsString(path)};
  size_t sizes[1] = {(size_t)n};
  OrtStatus *status = ort->AddExternalInitializersFromFilesInMemory(options_of(self), paths, &bytes, sizes, 1);
  Py_DECREF(path);
  return px_none(status);
}

static PyObject *provider(PyObject *self, PyObject *args) {
  const char *name;
  PyObject *dict;
  px_strings options;
  if (!PyArg_ParseTuple(args, "sO:add_provider", &name, &dict) || !px_strings_from_dict(dict, &options)) return NULL;
  OrtStatus *status =
      ort->SessionOptionsAppendExecutionProvider(options_of(self), name, options.keys, options.values, options.n);
  px_strings_free(&options);
  return px_none(status);
}

static PyMethodDef options_methods[] = {
    {"_set", options_set, METH_VARARGS, "(name, value): sets one option of the library's."},
    {"_clone", options_clone, METH_NOARGS, "A copy."},
    {"_config", config, METH_VARARGS, "(key, value): adds a configuration entry."},
    {"_free_dimension", free_dimension, METH_VARARGS, "(name, value, by name): fixes a symbolic dimension."},
    {"_initializer", initializer, METH_VARARGS, "(name, OrtValue): replaces an initializer."},
    {"_external_initializers", external_initializers, METH_VARARGS, "(names, OrtValues): replaces external ones."},
    {"_external_file", external_file, METH_VARARGS, "(file name, bytes): a file of external data in memory."},
    {"_provider", provider, METH_VARARGS, "(name, options): adds an execution provider."},
    {"_devices", px_options_add_devices, METH_VARARGS, "(devices, options): adds the provider of these devices."},
    {"_delegate", px_options_set_delegate, METH_O, "A function that chooses devices."},
    {"_context_reader", px_options_context_reader, METH_O, "(function, most bytes) that finds EPContext data; or None."},
    {NULL, NULL, 0, NULL}};

bool px_options_init(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, options_new},
                                {Py_tp_dealloc, options_dealloc},
                                {Py_tp_methods, options_methods},
                                {Py_tp_doc, "Options of a session, as the library holds them."},
                                {0, NULL}};
  static PyType_Spec spec = {"onyx._onyx.Options", sizeof(px_options), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  px_options_type = px_add_type(module, &spec, "Options");
  return px_options_type != NULL;
}

/* ---- RunOptions ---- */

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  px_run_options *self = (px_run_options *)alloc(type, 0);
  if (self && !px_ok(ort->CreateRunOptions(&self->options))) Py_CLEAR(self);
  return (PyObject *)self;
}

static void run_dealloc(PyObject *self) {
  ort->ReleaseRunOptions(((px_run_options *)self)->options);
  px_free(self);
}

static OrtRunOptions *run_of(PyObject *self) { return ((px_run_options *)self)->options; }

static PyObject *run_set(PyObject *self, PyObject *args) { return set(run_of(self), run_rows, args); }

static PyObject *run_config(PyObject *self, PyObject *args) {
  const char *key, *value;
  if (!PyArg_ParseTuple(args, "ss:add_run_config_entry", &key, &value)) return NULL;
  if (!px_ok_as(ort->AddRunConfigEntry(run_of(self), key, value), PyExc_RuntimeError, "")) return NULL;
  Py_RETURN_NONE;
}

static PyObject *run_adapter(PyObject *self, PyObject *object) {
  OrtLoraAdapter *adapter = px_lora_get(object);
  return adapter ? px_none(ort->RunOptionsAddActiveLoraAdapter(run_of(self), adapter)) : NULL;
}

static PyMethodDef run_methods[] = {{"_set", run_set, METH_VARARGS, "(name, value): sets one option of the library's."},
                                    {"_config", run_config, METH_VARARGS, "(key, value): adds a configuration entry."},
                                    {"_adapter", run_adapter, METH_O, "Adds a LoraAdapter."},
                                    {NULL, NULL, 0, NULL}};

bool px_run_options_init(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, run_new},
                                {Py_tp_dealloc, run_dealloc},
                                {Py_tp_methods, run_methods},
                                {Py_tp_doc, "Options of a run, as the library holds them."},
                                {0, NULL}};
  static PyType_Spec spec = {"onyx._onyx.RunOptions", sizeof(px_run_options), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  px_run_options_type = px_add_type(module, &spec, "RunOptions");
  return px_run_options_type != NULL;
}

bool px_run_options_get(PyObject *object, OrtRunOptions **out) {
  *out = NULL;
  if (!object || object == Py_None) return true;
  if (!PyType_IsSubtype(Py_TYPE(object), px_run_options_type)) {
    PyErr_Format(PyExc_TypeError, "run_options: wanted a RunOptions, got %R", Py_TYPE(object));
    return false;
  }
  *out = run_of(object);
  return true;
}
