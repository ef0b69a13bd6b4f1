/* SPDX-License-Identifier: Apache-2.0
 * state.c - states: outputs of a run that are inputs of the next one, kept by the library (ox_state in onyx/onyx.h).
 * Its functions come from the library by name; with another library there are none. */
#include "px.h"

#include "onyx/onyx.h"

typedef struct state {
  PyObject_HEAD ox_state *state;
  OrtRunOptions *options; /* which have it */
  px_session *session;    /* as it was when the state was made */
} state;

/* The library's functions. */
static struct {
  ox_session *(*session_of)(const OrtSession *);
  OrtStatus *(*set)(OrtRunOptions *, ox_state *);
  ox_status *(*create)(ox_session *, const ox_state_pair *, size_t, ox_state **);
  void (*release)(ox_state *);
  int (*pair_at)(const ox_state *, size_t, ox_state_pair *);
  ox_status *(*get)(const ox_state *, const char *, ox_value **);
  int64_t (*length)(const ox_state *);
  ox_status *(*truncate)(ox_state *, int64_t);
  void (*reserve)(ox_state *, int64_t);
  OrtStatus *(*adopt)(ox_value *, OrtValue **);
  const char *(*message)(const ox_status *);
  void (*free_status)(ox_status *);
} ox;

static bool find_functions(void) {
  static const struct {
    const char *name;
    void **function;
  } all[] = {{"ort_session_onyx", (void **)&ox.session_of}, {"ort_run_options_state", (void **)&ox.set},
             {"ox_state_create", (void **)&ox.create},      {"ox_state_release", (void **)&ox.release},
             {"ox_state_pair_at", (void **)&ox.pair_at},    {"ox_state_get", (void **)&ox.get},
             {"ox_state_length", (void **)&ox.length},      {"ox_state_truncate", (void **)&ox.truncate},
             {"ort_value_adopt", (void **)&ox.adopt},       {"ox_status_message", (void **)&ox.message},
             {"ox_status_free", (void **)&ox.free_status},  {"ox_state_reserve", (void **)&ox.reserve}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!(*all[i].function = px_onyx(all[i].name)))
      return PyErr_Format(PyExc_RuntimeError, "the library has no '%s': it is not Onyx's", all[i].name), false;
  return true;
}

/* Its errors are about arguments. */
static bool fine(ox_status *status) {
  if (!status) return true;
  PyErr_SetString(PyExc_ValueError, ox.message(status));
  ox.free_status(status);
  return false;
}

/* ---- life ---- */

/* The pairs of a dict from names of outputs to names of inputs, NULL for None. */
static bool read_pairs(PyObject *object, px_strings *strings, ox_state_pair **out) {
  *out = NULL, *strings = (px_strings){0, NULL, NULL, NULL};
  if (object == Py_None) return true;
  if (!px_strings_from_dict(object, strings)) return false;
  ox_state_pair *pairs = *out = PyMem_Calloc(strings->n + 1, sizeof **out);
  if (!pairs) return PyErr_NoMemory(), px_strings_free(strings), false;
  for (size_t i = 0; i < strings->n; i++) pairs[i] = (ox_state_pair){strings->keys[i], strings->values[i]};
  return true;
}

static bool fill(state *self, PyObject *pairs) {
  px_strings strings;
  ox_state_pair *list;
  ox_session *session = ox.session_of(self->session->session);
  if (!session) return PyErr_SetString(PyExc_RuntimeError, "the session was released"), false;
  if (!read_pairs(pairs, &strings, &list)) return false;
  bool done = fine(ox.create(session, list, strings.n, &self->state)) && px_ok(ort->CreateRunOptions(&self->options)) &&
              px_ok(ox.set(self->options, self->state));
  PyMem_Free(list);
  px_strings_free(&strings);
  return done;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *session, *pairs = Py_None;
  if (!PyArg_ParseTuple(args, "O!|O:State", px_session_type, &session, &pairs)) return NULL;
  px_session *made = px_session_of(session);
  if (!made || !find_functions()) return NULL;
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  state *self = (state *)alloc(type, 0);
  if (!self) return NULL;
  Py_INCREF(made);
  self->session = made;
  if (!fill(self, pairs)) Py_CLEAR(self);
  return (PyObject *)self;
}

static void dealloc(PyObject *object) {
  state *self = (state *)object;
  if (self->options) ort->ReleaseRunOptions(self->options);
  if (self->state) ox.release(self->state);
  Py_CLEAR(self->session);
  px_free(object);
}

/* ---- what it does ---- */

static PyObject *run(PyObject *object, PyObject *args) {
  state *self = (state *)object;
  PyObject *names, *feeds;
  if (!PyArg_ParseTuple(args, "OO:run", &names, &feeds)) return NULL;
  Py_INCREF(self);
  PyObject *out = px_run_state(self->session, self->options, names, feeds);
  Py_DECREF(self);
  return out;
}

static PyObject *pairs(PyObject *object, PyObject *ignored) {
  PyObject *dict = PyDict_New();
  ox_state_pair pair;
  for (size_t i = 0; dict && ox.pair_at(((state *)object)->state, i, &pair); i++) {
    PyObject *input = PyUnicode_FromString(pair.input);
    if (!input || PyDict_SetItemString(dict, pair.output, input) < 0) Py_CLEAR(dict);
    Py_XDECREF(input);
  }
  return dict;
}

static PyObject *get(PyObject *object, PyObject *name) {
  const char *text = px_utf8(name, "name of an input");
  ox_value *value;
  OrtValue *handle;
  if (!text || !fine(ox.get(((state *)object)->state, text, &value)) || !px_ok(ox.adopt(value, &handle))) return NULL;
  return px_to_python(handle);
}

static PyObject *length(PyObject *object, PyObject *ignored) {
  return PyLong_FromLongLong(ox.length(((state *)object)->state));
}

static PyObject *truncate_to(PyObject *object, PyObject *args) {
  long long n;
  if (!PyArg_ParseTuple(args, "L:truncate", &n) || !fine(ox.truncate(((state *)object)->state, n))) return NULL;
  Py_RETURN_NONE;
}

static PyObject *reserve(PyObject *object, PyObject *args) {
  long long n;
  if (!PyArg_ParseTuple(args, "L:reserve", &n)) return NULL;
  ox.reserve(((state *)object)->state, n);
  Py_RETURN_NONE;
}

bool px_state_init(PyObject *module) {
  static PyMethodDef methods[] = {{"_run", run, METH_VARARGS, NULL},
                                  {"_pairs", pairs, METH_NOARGS, NULL},
                                  {"_get", get, METH_O, NULL},
                                  {"_length", length, METH_NOARGS, NULL},
                                  {"_truncate", truncate_to, METH_VARARGS, NULL},
                                  {"_reserve", reserve, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
  static PyType_Slot slots[] = {
      {Py_tp_new, (void *)new}, {Py_tp_dealloc, (void *)dealloc}, {Py_tp_methods, methods}, {0, NULL}};
  static PyType_Spec spec = {"onyx._onyx.State", sizeof(state), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return px_add_type(module, &spec, "State") != NULL;
}
