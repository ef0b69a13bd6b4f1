/* SPDX-License-Identifier: Apache-2.0
 * library.c - opens the library that the package brings, or the one that ONYX_ORT_LIB names, and takes its table. */
#include "px.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "onyx/onyx.h"

const OrtApi *ort;
static const OrtApiBase *base;
static OrtEnv *env;
static OrtLoggingLevel level = ORT_LOGGING_LEVEL_WARNING;
static int pool_threads[2]; /* of the environment's own pools, if asked for */
static bool global_pools;

/* The library lies in lib/ beside the module, wherever the package was put. */
static bool path_beside_module(char out[PATH_MAX]) {
  Dl_info here;
  if (!dladdr((void *)path_beside_module, &here) || !here.dli_fname) return false;
  const char *slash = strrchr(here.dli_fname, '/');
  int folder = slash ? (int)(slash - here.dli_fname) : 1;
  int n = snprintf(out, PATH_MAX, "%.*s/lib/libonnxruntime.so.1", folder, slash ? here.dli_fname : ".");
  return n > 0 && n < PATH_MAX;
}

bool px_library_open(void) {
  char beside[PATH_MAX];
  const char *path = getenv("ONYX_ORT_LIB");
  if (!path || !*path) path = path_beside_module(beside) ? beside : "libonnxruntime.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    PyErr_Format(PyExc_ImportError, "the library of Onyx cannot be loaded: %s", dlerror());
    return false;
  }
  const OrtApiBase *(*get_base)(void) = NULL;
  *(void **)&get_base = dlsym(library, "OrtGetApiBase");
  base = get_base ? get_base() : NULL;
  ort = base ? base->GetApi(ORT_API_VERSION) : NULL;
  if (!ort)
    PyErr_Format(PyExc_ImportError, "%s has no API of version %d: it is %s", path, ORT_API_VERSION,
                 base ? base->GetVersionString() : "no such library");
  return ort != NULL;
}

/* Through a function of ours, so that one in Python may get the log later. Other libraries have no way back to their
 * own. */
static OrtStatus *make_env(const OrtThreadingOptions *threads) {
  void *print = px_onyx("ort_log_print");
  if (threads)
    return print ? ort->CreateEnvWithCustomLoggerAndGlobalThreadPools(px_log, print, level, "Default", threads, &env)
                 : ort->CreateEnvWithGlobalThreadPools(level, "Default", threads, &env);
  return print ? ort->CreateEnvWithCustomLogger(px_log, print, level, "Default", &env)
               : ort->CreateEnv(level, "Default", &env);
}

OrtEnv *px_env(void) {
  if (env) return env;
  OrtThreadingOptions *threads = NULL;
  OrtStatus *status = NULL;
  if (global_pools) {
    status = ort->CreateThreadingOptions(&threads);
    if (!status) status = ort->SetGlobalIntraOpNumThreads(threads, pool_threads[0]);
    if (!status) status = ort->SetGlobalInterOpNumThreads(threads, pool_threads[1]);
    if (!status) status = make_env(threads);
    ort->ReleaseThreadingOptions(threads);
  } else {
    status = make_env(NULL);
  }
  if (!status) status = ort->SetLanguageProjection(env, ORT_PROJECTION_PYTHON);
  return px_ok(status) ? env : NULL;
}

OrtAllocator *px_allocator(void) {
  static OrtAllocator *allocator;
  if (!allocator && !px_ok(ort->GetAllocatorWithDefaultOptions(&allocator))) return NULL;
  return allocator;
}

const OrtMemoryInfo *px_cpu(void) {
  static OrtMemoryInfo *info;
  if (!info && !px_ok(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info))) return NULL;
  return info;
}

void *px_onyx(const char *name) {
  OrtExperimentalFnPtr function = ort->GetExperimentalFunction(name);
  void *out;
  memcpy(&out, &function, sizeof out);
  return out;
}

/* ---- functions of the module ---- */

static PyObject *version(PyObject *self, PyObject *ignored) { return PyUnicode_FromString(base->GetVersionString()); }

static PyObject *build_info(PyObject *self, PyObject *ignored) {
  return PyUnicode_FromString(ort->GetBuildInfoString());
}

static PyObject *onyx_version(PyObject *self, PyObject *ignored) {
  const char *(*function)(void) = NULL;
  *(void **)&function = px_onyx("ox_version");
  if (!function) Py_RETURN_NONE;
  return PyUnicode_FromString(function());
}

static PyObject *available_providers(PyObject *self, PyObject *ignored) {
  char **names;
  int n;
  if (!px_ok(ort->GetAvailableProviders(&names, &n))) return NULL;
  PyObject *list = PyList_New(n);
  for (int i = 0; list && i < n; i++) {
    PyObject *name = PyUnicode_FromString(names[i]);
    if (!name || PyList_SetItem(list, i, name) < 0) Py_CLEAR(list);
  }
  if (!px_ok(ort->ReleaseAvailableProviders(names, n))) Py_CLEAR(list);
  return list;
}

/* Rows (name, name in ONNX Runtime, other names, how to have it, whether it comes as its maker's library); none with
 * another's library than Onyx's. */
static PyObject *known_providers(PyObject *self, PyObject *ignored) {
  int (*known)(size_t, ox_provider_info *) = NULL;
  *(void **)&known = px_onyx("ox_provider_known");
  ox_provider_info row;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && known && known(i, &row); i++) {
    PyObject *tuple = Py_BuildValue("sssss", row.name, row.ort_name, row.aliases, row.get, row.foreign ? "1" : "");
    if (!tuple || PyList_Append(list, tuple) < 0) Py_CLEAR(list);
    Py_XDECREF(tuple);
  }
  return list;
}

/* None: provider |name| is there; else why it is not. */
static PyObject *check_provider(PyObject *self, PyObject *arg) {
  OrtStatus *(*check)(const char *) = NULL;
  *(void **)&check = px_onyx("ort_provider_check");
  const char *name = px_utf8(arg, "the name of a provider");
  if (!name || !check || !px_env()) return name && !check ? PyUnicode_FromString("it is none of this library's") : NULL;
  OrtStatus *status = check(name);
  if (!status) Py_RETURN_NONE;
  PyObject *why = PyUnicode_FromString(ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  return why;
}

static bool is_level(long wanted) {
  if (wanted >= ORT_LOGGING_LEVEL_VERBOSE && wanted <= ORT_LOGGING_LEVEL_FATAL) return true;
  PyErr_Format(PyExc_RuntimeError, "Invalid logging severity %ld; 0: verbose, 1: info, 2: warning, 3: error, 4: fatal",
               wanted);
  return false;
}

static PyObject *take_level(long wanted) {
  level = (OrtLoggingLevel)wanted;
  if (env) return px_none(ort->UpdateEnvWithCustomLogLevel(env, level));
  Py_RETURN_NONE;
}

static PyObject *set_log_level(PyObject *self, PyObject *arg) {
  long wanted = PyLong_AsLong(arg);
  if (wanted == -1 && PyErr_Occurred()) return NULL;
  return is_level(wanted) ? take_level(wanted) : NULL;
}

static PyObject *set_log_function(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"callback", "severity", NULL};
  PyObject *function;
  long wanted = ORT_LOGGING_LEVEL_WARNING;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|l", names, &function, &wanted) || !is_level(wanted)) return NULL;
  if (!px_onyx("ort_log_print")) {
    PyErr_SetString(PyExc_RuntimeError, "this library's log cannot go to a function in Python");
    return NULL;
  }
  if (!px_log_set(function)) return NULL;
  if (function != Py_None) return take_level(wanted);
  Py_RETURN_NONE;
}

static PyObject *set_pool_threads(PyObject *self, PyObject *args) {
  int intra, inter;
  if (!PyArg_ParseTuple(args, "ii", &intra, &inter)) return NULL;
  if (env) {
    PyErr_SetString(PyExc_RuntimeError, "set_global_thread_pool_sizes must be called before the first session is made");
    return NULL;
  }
  pool_threads[0] = intra, pool_threads[1] = inter, global_pools = true;
  Py_RETURN_NONE;
}

static PyObject *telemetry(PyObject *self, PyObject *on) {
  int truth = PyObject_IsTrue(on);
  if (truth < 0 || !px_env()) return NULL;
  return px_none(truth ? ort->EnableTelemetryEvents(env) : ort->DisableTelemetryEvents(env));
}

PyMethodDef px_library_methods[] = {
    {"get_version_string", version, METH_NOARGS, "Version of the ABI that the library serves, as \"1.32.0\"."},
    {"get_build_info", build_info, METH_NOARGS, "What the library says about itself."},
    {"onyx_version", onyx_version, METH_NOARGS, "Version of Onyx; None if the library is another one."},
    {"_known_providers", known_providers, METH_NOARGS, "What is known of providers."},
    {"_check_provider", check_provider, METH_O, "(name): None, or why the provider is not there."},
    {"get_available_providers", available_providers, METH_NOARGS, "Names of the execution providers, best first."},
    {"set_default_logger_severity", set_log_level, METH_O,
     "Least level that is logged: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal. RuntimeError for others."},
    {"set_default_logger_callback", PX_KEYWORDS(set_log_function), METH_VARARGS | METH_KEYWORDS,
     "(callback, severity=2): calls callback(severity, category, logid, where, text) for each line of the log from "
     "that severity on, in the thread that it comes from. Lines of threads that Python does not know, and those that "
     "callback causes or for which it raises, are printed. None: all are, and the severity stays."},
    {"set_pool_threads", set_pool_threads, METH_VARARGS, "Threads of the pools that sessions share."},
    {"telemetry", telemetry, METH_O, "Whether events may be sent. (Onyx sends none.)"},
    {NULL, NULL, 0, NULL}};
