/* SPDX-License-Identifier: Apache-2.0
 * run.c - runs: of arrays, of OrtValues, of what is bound. The GIL is released while the library works. */
#include "npy.h"

#include <string.h>

/* ---- a run's inputs and outputs ---- */

static bool make_room(px_call *call, size_t n_in, size_t n_out) {
  call->n_inputs = call->n_outputs = 0;
  call->names = NULL;
  call->memory = NULL;
  if (n_in <= PX_FEW && n_out <= PX_FEW) {
    call->input_names = call->room.few.names, call->output_names = call->room.few.names + PX_FEW;
    call->inputs = call->room.few.values, call->outputs = call->room.few.values + PX_FEW;
    call->owners = call->room.few.owners, call->borrowed = call->room.few.borrowed;
    return true;
  }
  size_t pointers = 4 * n_in + 2 * n_out;
  void **memory = PyMem_Calloc(pointers + n_in / sizeof(void *) + 1, sizeof *memory);
  if (!memory) return PyErr_NoMemory(), false;
  call->memory = memory;
  call->input_names = (const char **)memory, call->output_names = (const char **)memory + n_in;
  call->inputs = (OrtValue **)memory + n_in + n_out, call->outputs = call->inputs + n_in;
  call->owners = (PyObject **)(call->outputs + n_out); /* one for the value and one for the name of each input */
  call->borrowed = (bool *)(memory + pointers);
  return true;
}

void px_call_end(px_call *call) {
  for (size_t i = 0; i < call->n_inputs; i++) {
    if (!call->borrowed[i] && call->inputs[i]) ort->ReleaseValue(call->inputs[i]);
    Py_XDECREF(call->owners[2 * i]);
    Py_XDECREF(call->owners[2 * i + 1]);
  }
  for (size_t i = 0; i < call->n_outputs; i++)
    if (call->outputs[i]) ort->ReleaseValue(call->outputs[i]);
  Py_XDECREF(call->names);
  PyMem_Free(call->memory);
}

/* The OrtValue that |object| is or wraps. New reference to what owns it. */
static PyObject *value_object(PyObject *object, bool required) {
  if (!px_is_value(object) && required) return PyObject_CallMethod(object, "_get_c_value", NULL);
  Py_INCREF(object);
  return object;
}

static bool add_input(px_call *call, px_session *self, PyObject *name, PyObject *object, bool values_only) {
  size_t i = call->n_inputs;
  const char *text = px_utf8(name, "name of an input");
  if (!text) return false;
  OrtValue *value = NULL;
  PyObject *owner = NULL;
  bool borrowed = false;
  if (values_only || px_is_value(object)) {
    if (!(owner = value_object(object, values_only))) return false;
    if (!(value = px_value_get(owner))) return Py_DECREF(owner), false;
    borrowed = true;
  } else if (px_is_array(object)) {
    if (!px_from_array(object, false, &value, &owner)) return Py_XDECREF(owner), false;
  } else {
    const px_port *port = px_session_input(self, name);
    if (!px_from_python(object, text, port ? port->info : NULL, &value, &owner)) return false;
    if (!value) return true; /* None: left out */
  }
  Py_INCREF(name); /* the dict may change while the GIL is released */
  call->input_names[i] = text, call->inputs[i] = value, call->borrowed[i] = borrowed;
  call->owners[2 * i] = owner, call->owners[2 * i + 1] = name;
  call->n_inputs++;
  return true;
}

static bool check_required(const px_session *self, PyObject *feeds) {
  PyObject *missing = NULL;
  for (size_t i = 0; i < self->n_inputs; i++) {
    if (!self->ports[i].required) continue;
    int there = PyDict_Contains(feeds, self->ports[i].name);
    if (there > 0) continue;
    if (there < 0 || (!missing && !(missing = PyList_New(0))) || PyList_Append(missing, self->ports[i].name) < 0) {
      Py_XDECREF(missing);
      return false;
    }
  }
  if (!missing) return true;
  PyObject *given = PyDict_Keys(feeds);
  if (given) PyErr_Format(PyExc_ValueError, "Required inputs (%S) are missing from input feed (%S).", missing, given);
  Py_XDECREF(given);
  Py_DECREF(missing);
  return false;
}

/* A dict of |feeds|: itself, or a new one of another mapping. New reference. */
static PyObject *as_dict(PyObject *feeds) {
  if (PyDict_Check(feeds)) {
    Py_INCREF(feeds);
    return feeds;
  }
  PyObject *keys = PyObject_GetAttrString(feeds, "keys"), *dict = keys ? PyDict_New() : NULL;
  if (dict && PyDict_Update(dict, feeds) < 0) Py_CLEAR(dict);
  Py_XDECREF(keys);
  return dict;
}

/* None and [] ask for all outputs. */
static bool name_outputs(px_call *call, const px_session *self, size_t n) {
  if (!call->names) {
    const px_port *outputs = self->ports + self->n_inputs + self->n_defaults;
    for (size_t i = 0; i < n; i++) call->output_names[i] = outputs[i].utf8, call->outputs[i] = NULL;
  }
  for (size_t i = 0; call->names && i < n; i++) {
    call->outputs[i] = NULL;
    call->output_names[i] = px_utf8(PyTuple_GetItem(call->names, (Py_ssize_t)i), "output_names");
    if (!call->output_names[i]) return false;
  }
  call->n_outputs = n;
  return true;
}

/* |all|: every input that has no default must be there. */
static bool begin(px_call *call, px_session *self, PyObject *names, PyObject *feeds, bool values_only, bool all) {
  call->n_inputs = call->n_outputs = 0, call->names = NULL, call->memory = NULL;
  if (PyUnicode_Check(names)) {
    PyErr_SetString(PyExc_TypeError, "output_names: wanted a list of names, got a str");
    return false;
  }
  PyObject *wanted = names == Py_None ? NULL : PySequence_Tuple(names), *dict = as_dict(feeds);
  if ((names != Py_None && !wanted) || !dict) return Py_XDECREF(wanted), Py_XDECREF(dict), false;
  if (wanted && PyTuple_Size(wanted) == 0) Py_CLEAR(wanted);
  size_t n = wanted ? (size_t)PyTuple_Size(wanted) : self->n_outputs, n_feeds = (size_t)PyDict_Size(dict);
  bool done = (!all || check_required(self, dict)) && make_room(call, n_feeds, n);
  call->names = wanted; /* px_call_end releases it */
  PyObject *name, *object;
  Py_ssize_t at = 0;
  while (done && PyDict_Next(dict, &at, &name, &object) && call->n_inputs < n_feeds) {
    Py_INCREF(name); /* a conversion may run code that changes the dict */
    Py_INCREF(object);
    done = add_input(call, self, name, object, values_only);
    Py_DECREF(name);
    Py_DECREF(object);
  }
  Py_DECREF(dict);
  return done && name_outputs(call, self, n);
}

bool px_call_begin(px_call *call, px_session *self, PyObject *names, PyObject *feeds, bool values_only) {
  return begin(call, self, names, feeds, values_only, true);
}

/* ---- running ---- */

typedef struct job {
  OrtSession *session;
  px_call *call;
} job;

static OrtStatus *run_call(void *ctx, const OrtRunOptions *options) {
  job *j = ctx;
  px_call *c = j->call;
  return ort->Run(j->session, options, c->input_names, (const OrtValue *const *)c->inputs, c->n_inputs, c->output_names,
                  c->n_outputs, c->outputs);
}

static PyObject *results(px_call *call, bool values) {
  PyObject *list = PyList_New((Py_ssize_t)call->n_outputs);
  for (size_t i = 0; list && i < call->n_outputs; i++) {
    OrtValue *value = call->outputs[i];
    call->outputs[i] = NULL;
    PyObject *item = !values || !value ? px_to_python(value) : px_value_new(value, NULL);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

/* Arguments by position or by name; the last may be left out. */
static bool arguments(PyObject *const *args, Py_ssize_t n, PyObject *kwnames, const char *const names[3],
                      PyObject *out[3]) {
  out[0] = out[1] = NULL, out[2] = Py_None;
  if (n > 3) return PyErr_Format(PyExc_TypeError, "at most 3 arguments, got %zd", n), false;
  for (Py_ssize_t i = 0; i < n; i++) out[i] = args[i];
  for (Py_ssize_t k = 0, n_names = kwnames ? PyTuple_Size(kwnames) : 0; k < n_names; k++) {
    PyObject *name = PyTuple_GetItem(kwnames, k);
    int i = 0;
    while (i < 3 && PyUnicode_CompareWithASCIIString(name, names[i]) != 0) i++;
    if (i == 3 || i < n)
      return PyErr_Format(PyExc_TypeError, "argument %R: %s", name, i == 3 ? "there is none" : "twice"), false;
    out[i] = args[n + k];
  }
  for (int i = 0; i < 2; i++)
    if (!out[i]) return PyErr_Format(PyExc_TypeError, "missing argument '%s'", names[i]), false;
  return true;
}

static PyObject *run_begun(px_session *self, px_call *call, OrtRunOptions *options, bool values) {
  bool raised = false;
  job j = {self->session, call};
  OrtStatus *status = px_interruptible(run_call, &j, options, &raised);
  return !raised && px_ok(status) ? results(call, values) : NULL;
}

static PyObject *run_any(PyObject *object, PyObject *given[3], bool values) {
  px_session *self = px_session_of(object);
  OrtRunOptions *options;
  px_call call;
  PyObject *out = NULL;
  if (!self || !px_run_options_get(given[2], &options)) return NULL;
  Py_INCREF(self);
  if (px_call_begin(&call, self, given[0], given[1], values)) out = run_begun(self, &call, options, values);
  px_call_end(&call);
  Py_DECREF(self);
  return out;
}

PyObject *px_run_state(px_session *self, OrtRunOptions *options, PyObject *names, PyObject *feeds) {
  px_call call;
  PyObject *out = NULL;
  if (begin(&call, self, names, feeds, false, false)) out = run_begun(self, &call, options, false);
  px_call_end(&call);
  return out;
}

static PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  static const char *const names[3] = {"output_names", "input_feed", "run_options"};
  PyObject *given[3];
  return arguments(args, n, kwnames, names, given) ? run_any(self, given, false) : NULL;
}

static PyObject *run_values(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  static const char *const names[3] = {"output_names", "input_dict_ort_values", "run_options"};
  PyObject *given[3];
  return arguments(args, n, kwnames, names, given) ? run_any(self, given, true) : NULL;
}

PyMethodDef px_run_methods[] = {
    {"run", PX_FAST(run), METH_FASTCALL | METH_KEYWORDS,
     "run($self, output_names, input_feed, run_options=None)\n--\n\n"
     "Runs the model and returns a list of outputs, in the order of |output_names|; None or []: all.\n\n"
     "input_feed maps names of inputs to NumPy arrays of the input's type, whose shape fits get_inputs()'s: -1 and "
     "names\n"
     "there stand for any size. Arrays whose memory is contiguous are not copied. Lists of numbers become arrays; "
     "inputs\n"
     "of type seq(...) take lists, of type map(...) dicts, optional ones None; OrtValues are taken as they are.\n"
     "Outputs: arrays over memory of the library, lists, dicts, SparseTensors, None.\n\n"
     "ValueError: an input is missing. InvalidArgument: a wrong name, type or shape. RuntimeError: an object that is "
     "no\n"
     "input. Fail and others: a node failed. KeyboardInterrupt: Ctrl-C in the main thread cancels the run.\n"
     "Other threads may run at the same time, also the same session."},
    {"run_with_ort_values", PX_FAST(run_values), METH_FASTCALL | METH_KEYWORDS,
     "run_with_ort_values($self, output_names, input_dict_ort_values, run_options=None)\n--\n\n"
     "As run(), from OrtValues to OrtValues."},
    {NULL, NULL, 0, NULL}};
