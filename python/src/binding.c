/* SPDX-License-Identifier: Apache-2.0
 * binding.c - inputs and outputs that stay bound to memory from run to run. */
#include "px.h"

static PyTypeObject *binding_type;

typedef struct binding {
  PyObject_HEAD OrtIoBinding *binding;
  px_session *session;        /* as it was when the binding was made */
  PyObject *inputs, *outputs; /* name: the object whose memory is bound */
} binding;

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *session;
  if (!PyArg_ParseTuple(args, "O!:IOBinding", px_session_type, &session)) return NULL;
  px_session *made = px_session_of(session);
  if (!made) return NULL;
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  binding *self = (binding *)alloc(type, 0);
  if (!self) return NULL;
  Py_INCREF(made);
  self->session = made;
  self->inputs = PyDict_New(), self->outputs = PyDict_New();
  if (!self->inputs || !self->outputs || !px_ok(ort->CreateIoBinding(made->session, &self->binding))) Py_CLEAR(self);
  return (PyObject *)self;
}

static void dealloc(PyObject *object) {
  binding *self = (binding *)object;
  if (self->binding) ort->ReleaseIoBinding(self->binding);
  Py_CLEAR(self->inputs);
  Py_CLEAR(self->outputs);
  Py_CLEAR(self->session);
  px_free(object);
}

static PyObject *bind_input(PyObject *object, PyObject *args) {
  binding *self = (binding *)object;
  PyObject *name, *holder;
  if (!PyArg_ParseTuple(args, "UO", &name, &holder)) return NULL;
  const char *text = px_utf8(name, "name");
  OrtValue *value = text ? px_value_get(holder) : NULL;
  if (!value) return NULL;
  if (!px_session_input(self->session, name))
    return PyErr_Format(PyExc_RuntimeError, "Failed to find NodeArg with name: %U in the def list", name);
  if (!px_ok_as(ort->BindInput(self->binding, text, value), PyExc_RuntimeError, "Error when binding input: "))
    return NULL;
  if (PyDict_SetItem(self->inputs, name, holder) < 0) return NULL;
  Py_RETURN_NONE;
}

/* A value to write, or the kind of memory that the library is to take for it on every run. */
static PyObject *bind_output(PyObject *object, PyObject *args) {
  binding *self = (binding *)object;
  PyObject *name, *to;
  if (!PyArg_ParseTuple(args, "UO", &name, &to)) return NULL;
  const char *text = px_utf8(name, "name");
  if (!text) return NULL;
  OrtStatus *status;
  if (px_is_value(to)) {
    OrtValue *value = px_value_get(to);
    if (!value) return NULL;
    status = ort->BindOutput(self->binding, text, value);
  } else {
    const OrtMemoryInfo *info = to == Py_None ? px_cpu() : px_memory_info_get(to);
    if (!info) return NULL;
    status = ort->BindOutputToDevice(self->binding, text, info);
  }
  if (!px_ok_as(status, PyExc_RuntimeError, "Error when binding output: ")) return NULL;
  if (PyDict_SetItem(self->outputs, name, to) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *clear_inputs(PyObject *object, PyObject *ignored) {
  ort->ClearBoundInputs(((binding *)object)->binding);
  PyDict_Clear(((binding *)object)->inputs);
  Py_RETURN_NONE;
}

static PyObject *clear_outputs(PyObject *object, PyObject *ignored) {
  ort->ClearBoundOutputs(((binding *)object)->binding);
  PyDict_Clear(((binding *)object)->outputs);
  Py_RETURN_NONE;
}

static PyObject *synchronize(OrtStatus *(*slot)(OrtIoBinding *), PyObject *object) {
  OrtStatus *status;
  Py_BEGIN_ALLOW_THREADS
  status = slot(((binding *)object)->binding);
  Py_END_ALLOW_THREADS
  return px_none(status);
}

static PyObject *synchronize_inputs(PyObject *object, PyObject *ignored) {
  return synchronize(ort->SynchronizeBoundInputs, object);
}

static PyObject *synchronize_outputs(PyObject *object, PyObject *ignored) {
  return synchronize(ort->SynchronizeBoundOutputs, object);
}

/* ---- results ---- */

static PyObject *output_names(PyObject *object, PyObject *ignored) {
  OrtAllocator *allocator = px_allocator();
  char *buffer = NULL;
  size_t *lengths = NULL, n = 0;
  if (!allocator || !px_ok(ort->GetBoundOutputNames(((binding *)object)->binding, allocator, &buffer, &lengths, &n)))
    return NULL;
  PyObject *list = PyList_New((Py_ssize_t)n);
  const char *at = buffer;
  for (size_t i = 0; list && i < n; at += lengths[i++]) {
    PyObject *name = PyUnicode_FromStringAndSize(at, (Py_ssize_t)lengths[i]);
    if (!name || PyList_SetItem(list, (Py_ssize_t)i, name) < 0) Py_CLEAR(list);
  }
  if (buffer) allocator->Free(allocator, buffer);
  if (lengths) allocator->Free(allocator, lengths);
  return list;
}

/* What was bound as output |i|, borrowed; its memory is the result's if it is a value. */
static PyObject *bound(binding *self, PyObject *names, size_t i) {
  PyObject *name = i < (size_t)PyList_Size(names) ? PyList_GetItem(names, (Py_ssize_t)i) : NULL;
  PyObject *to = name ? PyDict_GetItem(self->outputs, name) : NULL;
  return to && px_is_value(to) ? to : NULL;
}

static PyObject *outputs(PyObject *object, PyObject *ignored) {
  binding *self = (binding *)object;
  OrtAllocator *allocator = px_allocator();
  OrtValue **values = NULL;
  size_t n = 0;
  PyObject *names = output_names(object, NULL);
  if (!names) return NULL;
  if (!allocator || !px_ok(ort->GetBoundOutputValues(self->binding, allocator, &values, &n)))
    return Py_DECREF(names), NULL;
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; i < n; i++) {
    PyObject *item = px_value_new(values[i], bound(self, names, i)); /* takes the value in any case */
    if (!list)
      Py_XDECREF(item);
    else if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
      Py_CLEAR(list);
  }
  if (values) allocator->Free(allocator, values);
  Py_DECREF(names);
  return list;
}

typedef struct job {
  OrtSession *session;
  OrtIoBinding *binding;
} job;

static OrtStatus *run_bound(void *ctx, const OrtRunOptions *options) {
  job *j = ctx;
  return ort->RunWithBinding(j->session, options, j->binding);
}

static PyObject *run(PyObject *object, PyObject *run_options) {
  binding *self = (binding *)object;
  OrtRunOptions *options, *own = NULL;
  bool raised;
  if (!px_run_options_get(run_options, &options)) return NULL;
  if (!options && !px_ok(ort->CreateRunOptions(&own))) return NULL; /* this slot wants them */
  job j = {self->session->session, self->binding};
  Py_INCREF(object); /* its memory is in use while others hold the GIL */
  OrtStatus *status = px_interruptible(run_bound, &j, options ? options : own, &raised);
  Py_DECREF(object);
  if (own) ort->ReleaseRunOptions(own);
  if (raised || !px_ok_as(status, PyExc_RuntimeError, "Error in execution: ")) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_bind_input", bind_input, METH_VARARGS, "(name, OrtValue)"},
    {"_bind_output", bind_output, METH_VARARGS, "(name, OrtValue, OrtMemoryInfo or None: the host)"},
    {"_run", run, METH_O, "(run options or None)"},
    {"_outputs", outputs, METH_NOARGS, "OrtValues in the order of binding."},
    {"_output_names", output_names, METH_NOARGS, "Names in the order of binding."},
    {"synchronize_inputs", synchronize_inputs, METH_NOARGS, "Waits until copies of inputs to devices are done."},
    {"synchronize_outputs", synchronize_outputs, METH_NOARGS, "Waits until devices have written the outputs."},
    {"clear_binding_inputs", clear_inputs, METH_NOARGS, "Forgets the inputs."},
    {"clear_binding_outputs", clear_outputs, METH_NOARGS, "Forgets the outputs."},
    {NULL, NULL, 0, NULL}};

bool px_binding_init(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, new},
                                {Py_tp_dealloc, dealloc},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, "Inputs and outputs bound to memory."},
                                {0, NULL}};
  static PyType_Spec spec = {"onyx._onyx.Binding", sizeof(binding), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  binding_type = px_add_type(module, &spec, "Binding");
  return binding_type != NULL;
}
