/* SPDX-License-Identifier: Apache-2.0
 * inspect.c - what Onyx knows about a session and ONNX Runtime's ABI has no word for: where nodes run and why, memory,
 * times. Its functions come from the library by name (onyx/onyx.h); with another library there are none. */
#include "px.h"

#include "onyx/onyx.h"

#include <string.h>

/* The library's function |name| of onyx.h as |f|; false with an exception. */
static bool function(const char *name, void **f) {
  *f = px_onyx(name);
  if (!*f) PyErr_Format(PyExc_RuntimeError, "the library has no '%s': it is not Onyx's", name);
  return *f != NULL;
}

static ox_session *session_of(PyObject *object) {
  px_session *self = px_session_of(object);
  ox_session *(*get)(const OrtSession *) = NULL;
  if (!self || !function("ort_session_onyx", (void **)&get)) return NULL;
  ox_session *session = get(self->session);
  if (!session) PyErr_SetString(PyExc_RuntimeError, "the session has no plan");
  return session;
}

static bool status_ok(ox_status *status) {
  const char *(*message)(const ox_status *) = NULL;
  void (*release)(ox_status *) = NULL;
  if (!status) return true;
  if (!function("ox_status_message", (void **)&message) || !function("ox_status_free", (void **)&release)) return false;
  PyErr_SetString(PyExc_RuntimeError, message(status));
  release(status);
  return false;
}

static PyObject *text_list(const char *const *texts, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *text = PyUnicode_FromString(texts[i] ? texts[i] : "");
    if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *placement_row(const ox_placement *p) {
  PyObject *from = text_list(p->from, p->n_from), *by = text_list(p->refused_by, p->n_refusals),
           *why = text_list(p->refused_why, p->n_refusals), *row = NULL;
  if (from && by && why)
    row = Py_BuildValue("(sssskssOOO)", p->graph, p->name, p->op, p->domain, (unsigned long)p->version, p->owner,
                        p->how, from, by, why);
  Py_XDECREF(from);
  Py_XDECREF(by);
  Py_XDECREF(why);
  return row;
}

static PyObject *placement(PyObject *object, PyObject *ignored) {
  int (*get)(const ox_session *, size_t, ox_placement *) = NULL;
  ox_session *session = session_of(object);
  if (!session || !function("ox_session_placement", (void **)&get)) return NULL;
  PyObject *list = PyList_New(0);
  ox_placement p;
  for (size_t i = 0; list && get(session, i, &p); i++) {
    PyObject *row = placement_row(&p);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

static PyObject *applied(PyObject *object, PyObject *ignored) {
  void (*get)(const ox_session *, size_t, const char **, uint64_t *) = NULL;
  ox_session *session = session_of(object);
  if (!session || !function("ox_session_applied", (void **)&get)) return NULL;
  PyObject *dict = PyDict_New();
  const char *rule;
  uint64_t n;
  for (size_t i = 0; dict; i++) {
    get(session, i, &rule, &n);
    if (!rule) break;
    PyObject *count = PyLong_FromUnsignedLongLong(n);
    if (!count || PyDict_SetItemString(dict, rule, count) < 0) Py_CLEAR(dict);
    Py_XDECREF(count);
  }
  return dict;
}

static PyObject *size(PyObject *object, PyObject *ignored) {
  void (*get)(const ox_session *, uint64_t *, uint64_t *, uint64_t *) = NULL;
  uint64_t parameters, bytes, nodes;
  ox_session *session = session_of(object);
  if (!session || !function("ox_session_size", (void **)&get)) return NULL;
  get(session, &parameters, &bytes, &nodes);
  return Py_BuildValue("(KKK)", (unsigned long long)parameters, (unsigned long long)bytes, (unsigned long long)nodes);
}

/* ([shape of each input]): bytes of workspace of a run */
static PyObject *workspace(PyObject *object, PyObject *list) {
  ox_status *(*get)(ox_session *, const ox_shape *, size_t, size_t *) = NULL;
  ox_session *session = session_of(object);
  if (!session || !function("ox_session_plan", (void **)&get)) return NULL;
  if (!PyList_Check(list)) return PyErr_Format(PyExc_TypeError, "wanted a list of shapes");
  Py_ssize_t n = PyList_Size(list);
  ox_shape *shapes = PyMem_Calloc((size_t)n + 1, sizeof *shapes);
  if (!shapes) return PyErr_NoMemory();
  bool done = true;
  for (Py_ssize_t i = 0; done && i < n; i++) {
    int64_t dims[PX_MAX_RANK];
    size_t rank;
    done = px_dims(PyList_GetItem(list, i), dims, &rank);
    if (done && rank > OX_MAX_RANK) PyErr_Format(PyExc_ValueError, "rank %zu", rank), done = false;
    if (!done) break;
    shapes[i].rank = (int32_t)rank;
    memcpy(shapes[i].dim, dims, rank * sizeof *dims);
  }
  size_t bytes = 0;
  done = done && status_ok(get(session, shapes, (size_t)n, &bytes));
  PyMem_Free(shapes);
  return done ? PyLong_FromSize_t(bytes) : NULL;
}

/* ---- times ---- */

static PyObject *profile_switch(PyObject *object, PyObject *on) {
  void (*turn)(ox_session *) = NULL;
  int truth = PyObject_IsTrue(on);
  ox_session *session = truth < 0 ? NULL : session_of(object);
  if (!session || !function(truth ? "ox_session_profile_start" : "ox_session_profile_stop", (void **)&turn))
    return NULL;
  turn(session);
  Py_RETURN_NONE;
}

static PyObject *profile_events(PyObject *object, PyObject *ignored) {
  int (*get)(const ox_session *, size_t, ox_node_time *) = NULL;
  const char *(*form)(const ox_session *, size_t) = NULL;
  ox_session *session = session_of(object);
  if (!session || !function("ox_session_profile_event", (void **)&get) ||
      !function("ox_session_profile_form", (void **)&form))
    return NULL;
  PyObject *list = PyList_New(0);
  ox_node_time t;
  for (size_t i = 0; list && get(session, i, &t); i++) {
    PyObject *row = Py_BuildValue("(sssddKdz)", t.name, t.op, t.provider, t.start_us, t.duration_us,
                                  (unsigned long long)t.output_bytes, t.flops, form(session, i));
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

static PyObject *seed(PyObject *module, PyObject *arg) {
  void (*set)(uint64_t) = NULL;
  unsigned long long number = PyLong_AsUnsignedLongLongMask(arg);
  if (PyErr_Occurred()) return NULL;
  *(void **)&set = px_onyx("ox_random_seed");
  if (set) set(number);
  Py_RETURN_NONE;
}

PyMethodDef px_inspect_functions[] = {
    {"set_seed", seed, METH_O,
     "(seed): random operators without a seed of their own draw the same numbers again, in the order of runs."},
    {NULL, NULL, 0, NULL}};

PyMethodDef px_inspect_methods[] = {
    {"_placement", placement, METH_NOARGS, "Rows of where nodes run."},
    {"_applied", applied, METH_NOARGS, "Rules of the optimizer and how often they were applied."},
    {"_size", size, METH_NOARGS, "(parameters, their bytes, nodes)"},
    {"_workspace", workspace, METH_O, "([shape]): bytes"},
    {"_profile_switch", profile_switch, METH_O, "Starts or stops collecting times."},
    {"_profile_events", profile_events, METH_NOARGS, "Rows of times."},
    {NULL, NULL, 0, NULL}};
