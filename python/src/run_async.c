/* SPDX-License-Identifier: Apache-2.0
 * run_async.c - runs that call back. */
#include "px.h"

#include <string.h>

typedef struct pending {
  px_call call;
  PyObject *session, *callback, *user_data, *options;
} pending;

static void forget(pending *p) {
  px_call_end(&p->call);
  Py_XDECREF(p->session);
  Py_XDECREF(p->callback);
  Py_XDECREF(p->user_data);
  Py_XDECREF(p->options);
  PyMem_Free(p);
}

static PyObject *outputs_of(OrtValue **outputs, size_t n) { /* takes the values */
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; i < n; i++) {
    if (!list) {
      if (outputs[i]) ort->ReleaseValue(outputs[i]);
      continue;
    }
    PyObject *item = px_to_python(outputs[i]);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

/* The text of the exception that is set, which goes. */
static PyObject *text_of_exception(void) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *text = value ? PyObject_Str(value) : PyUnicode_FromString("");
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return text;
}

/* Called by a thread of the library. */
static void done(void *ctx, OrtValue **outputs, size_t n, OrtStatus *status) {
  pending *p = ctx;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *list = NULL, *error = NULL;
  if (status) {
    const char *text = ort->GetErrorMessage(status);
    error = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    list = PyList_New(0);
    ort->ReleaseStatus(status);
  } else {
    list = outputs_of(outputs, n);
    for (size_t i = 0; i < p->call.n_outputs; i++) p->call.outputs[i] = NULL; /* outputs is that array */
    error = list ? PyUnicode_FromString("") : text_of_exception();
    if (!list) list = PyList_New(0);
  }
  PyObject *answer = list && error ? PyObject_CallFunctionObjArgs(p->callback, list, p->user_data, error, NULL) : NULL;
  if (!answer) PyErr_WriteUnraisable(p->callback);
  Py_XDECREF(answer);
  Py_XDECREF(list);
  Py_XDECREF(error);
  forget(p);
  PyGILState_Release(state);
}

static PyObject *run_async(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *words[] = {"output_names", "input_feed", "callback", "user_data", "run_options", NULL};
  px_session *self = px_session_of(object);
  PyObject *names, *feeds, *callback, *user_data, *run_options = Py_None;
  OrtRunOptions *options;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|O:run_async", words, &names, &feeds, &callback, &user_data,
                                   &run_options))
    return NULL;
  if (!PyCallable_Check(callback))
    return PyErr_Format(PyExc_TypeError, "callback: wanted a function, got %R", callback);
  if (!self || !px_run_options_get(run_options, &options)) return NULL;
  pending *p = PyMem_Calloc(1, sizeof *p);
  if (!p) return PyErr_NoMemory();
  Py_INCREF(self), Py_INCREF(callback), Py_INCREF(user_data), Py_INCREF(run_options);
  p->session = (PyObject *)self, p->callback = callback, p->user_data = user_data, p->options = run_options;
  if (!px_call_begin(&p->call, self, names, feeds, false)) return forget(p), NULL;
  px_call *c = &p->call;
  OrtStatus *status;
  Py_BEGIN_ALLOW_THREADS
  status = ort->RunAsync(self->session, options, c->input_names, (const OrtValue *const *)c->inputs, c->n_inputs,
                         c->output_names, c->n_outputs, c->outputs, done, p);
  Py_END_ALLOW_THREADS
  if (!status) Py_RETURN_NONE; /* |p| may be gone already */
  forget(p);
  px_ok(status);
  return NULL;
}

PyMethodDef px_async_methods[] = {
    {"run_async", PX_KEYWORDS(run_async), METH_VARARGS | METH_KEYWORDS,
     "run_async($self, output_names, input_feed, callback, user_data, run_options=None)\n--\n\n"
     "As run(), but returns at once. callback(outputs, user_data, error) is called by a thread of the library when the "
     "run\n"
     "is done; error is \"\", or says what failed, and outputs is [] then. The session needs two threads at least\n"
     "(SessionOptions.intra_op_num_threads)."},
    {NULL, NULL, 0, NULL}};
