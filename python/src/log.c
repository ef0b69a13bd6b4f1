/* SPDX-License-Identifier: Apache-2.0
 * log.c - the log goes to a function in Python, or is printed as without one: lines of threads that Python does not
 * know (a worker that waited for the interpreter could hold up what the interpreter waits for), lines that the function
 * itself causes, and those for which it raises. */
#include "px.h"

#include <stdatomic.h>
#include <string.h>

static PyObject *function; /* read and written by who holds the interpreter; NULL: none */
static atomic_bool is_set; /* the same, for a look beforehand */
static _Thread_local bool at_work;

static PyObject *text_of(const char *text) {
  return PyUnicode_DecodeUTF8(text ? text : "", text ? (Py_ssize_t)strlen(text) : 0, "replace");
}

/* False: it raised, which was reported as Python reports exceptions of callbacks. */
static bool call(OrtLoggingLevel level, const char *category, const char *id, const char *where, const char *text) {
  PyObject *f = function;
  if (!f) return false;
  Py_INCREF(f);
  PyObject *answer =
      PyObject_CallFunction(f, "iNNNN", (int)level, text_of(category), text_of(id), text_of(where), text_of(text));
  if (!answer) PyErr_WriteUnraisable(f);
  bool done = answer != NULL;
  Py_XDECREF(answer);
  Py_DECREF(f);
  return done;
}

static bool hand_over(OrtLoggingLevel level, const char *category, const char *id, const char *where,
                      const char *text) {
  PyObject *type, *value, *trace; /* of an exception that is under way where the line comes from */
  PyGILState_STATE state = PyGILState_Ensure();
  PyErr_Fetch(&type, &value, &trace);
  at_work = true;
  bool done = call(level, category, id, where, text);
  at_work = false;
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
  return done;
}

void px_log(void *print, OrtLoggingLevel level, const char *category, const char *id, const char *where,
            const char *text) {
  bool knows = atomic_load(&is_set) && !at_work && Py_IsInitialized() && PyGILState_GetThisThreadState() != NULL;
  px_log_print print_line;
  memcpy(&print_line, &print, sizeof print_line);
  if (!knows || !hand_over(level, category, id, where, text)) print_line(level, category, id, where, text);
}

bool px_log_set(PyObject *wanted) {
  if (wanted != Py_None && !PyCallable_Check(wanted)) {
    PyErr_Format(PyExc_RuntimeError, "callback: wanted a function or None, got %R", Py_TYPE(wanted));
    return false;
  }
  PyObject *before = function;
  function = wanted != Py_None ? wanted : NULL;
  Py_XINCREF(function);
  atomic_store(&is_set, function != NULL);
  Py_XDECREF(before);
  return true;
}
