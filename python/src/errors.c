/* SPDX-License-Identifier: Apache-2.0
 * errors.c - statuses of the library as exceptions: a class for each code. */
#include "px.h"

#include <string.h>

static const struct {
  const char *name, *text, *doc;
} kinds[] = {
    [ORT_FAIL] = {"Fail", "FAIL", "A failure that fits no other class."},
    [ORT_INVALID_ARGUMENT] = {"InvalidArgument", "INVALID_ARGUMENT", "A wrong name, type, shape or value."},
    [ORT_NO_SUCHFILE] = {"NoSuchFile", "NO_SUCHFILE", "A file is missing or cannot be read."},
    [ORT_NO_MODEL] = {"NoModel", "NO_MODEL", "No model was given."},
    [ORT_ENGINE_ERROR] = {"EngineError", "ENGINE_ERROR", "The engine failed."},
    [ORT_RUNTIME_EXCEPTION] = {"RuntimeException", "RUNTIME_EXCEPTION", "A node failed while it ran."},
    [ORT_INVALID_PROTOBUF] = {"InvalidProtobuf", "INVALID_PROTOBUF", "The bytes are no ONNX model."},
    [ORT_MODEL_LOADED] = {"ModelLoaded", "MODEL_LOADED", "A model is loaded already."},
    [ORT_NOT_IMPLEMENTED] = {"NotImplemented", "NOT_IMPLEMENTED", "An operator, type or call that is not implemented."},
    [ORT_INVALID_GRAPH] = {"InvalidGraph", "INVALID_GRAPH", "The model breaks ONNX's rules."},
    [ORT_EP_FAIL] = {"EPFail", "EP_FAIL", "An execution provider failed."},
    [ORT_MODEL_LOAD_CANCELED] = {"ModelLoadCanceled", "MODEL_LOAD_CANCELED", "Loading was cancelled."},
    [ORT_MODEL_REQUIRES_COMPILATION] = {"ModelRequiresCompilation", "MODEL_REQUIRES_COMPILATION",
                                        "A provider would compile the model, which the options forbid."},
    [ORT_NOT_FOUND] = {"NotFound", "NOT_FOUND", "Something that was asked for is not there."},
    [ORT_DEVICE_RESET] = {"DeviceReset", "DEVICE_RESET", "The device was reset; the session is to be made anew."},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };
static PyObject *classes[N_KINDS];

bool px_errors_init(PyObject *module) {
  for (int i = ORT_FAIL; i < N_KINDS; i++) {
    PyObject *full = PyUnicode_FromFormat("onyx.%s", kinds[i].name);
    if (!full) return false;
    classes[i] = PyErr_NewExceptionWithDoc(PyUnicode_AsUTF8AndSize(full, NULL), kinds[i].doc, PyExc_Exception, NULL);
    Py_DECREF(full);
    if (!classes[i]) return false;
    Py_INCREF(classes[i]); /* PyModule_AddObject takes one */
    if (PyModule_AddObject(module, kinds[i].name, classes[i]) < 0) return false;
  }
  return true;
}

/* Messages may hold bytes of a broken model. */
static PyObject *text_of(const OrtStatus *status) {
  const char *text = ort->GetErrorMessage(status);
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

bool px_ok(OrtStatus *status) {
  if (!status) return true;
  unsigned code = (unsigned)ort->GetErrorCode(status);
  if (code == ORT_OK || code >= N_KINDS) code = ORT_FAIL;
  PyObject *text = text_of(status);
  if (text) PyErr_Format(classes[code], "[ONNXRuntimeError] : %u : %s : %U", code, kinds[code].text, text);
  Py_XDECREF(text);
  ort->ReleaseStatus(status);
  return false;
}

bool px_ok_as(OrtStatus *status, PyObject *type, const char *before) {
  if (!status) return true;
  PyObject *text = text_of(status);
  if (text) PyErr_Format(type, "%s%U", before, text);
  Py_XDECREF(text);
  ort->ReleaseStatus(status);
  return false;
}

PyObject *px_none(OrtStatus *status) {
  if (!px_ok(status)) return NULL;
  Py_RETURN_NONE;
}
