/* SPDX-License-Identifier: Apache-2.0
 * assignment.c - where a session has its inputs and outputs, and which provider has which nodes. */
#include "handle.h"

typedef OrtStatus *(*infos_fn)(const OrtSession *, const OrtMemoryInfo **, size_t);
typedef OrtStatus *(*devices_fn)(const OrtSession *, const OrtEpDevice **, size_t);

/* |pointers| as objects that keep the session; None for NULL. */
static PyObject *handles(PyTypeObject *type, const void *const *pointers, size_t n, PyObject *session) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = Py_None;
    if (pointers[i])
      item = px_handle_new(type, pointers[i], false, session);
    else
      Py_INCREF(item);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *infos(px_session *self, infos_fn slot, size_t n) {
  const OrtMemoryInfo **pointers = PyMem_Calloc(n + 1, sizeof *pointers);
  if (!pointers) return PyErr_NoMemory();
  PyObject *list = NULL;
  if (px_ok(slot(self->session, pointers, n)))
    list = handles(px_memory_info_type, (const void *const *)pointers, n, (PyObject *)self);
  PyMem_Free(pointers);
  return list;
}

static PyObject *input_infos(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  return self ? infos(self, ort->SessionGetMemoryInfoForInputs, self->n_inputs) : NULL;
}

static PyObject *output_infos(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  return self ? infos(self, ort->SessionGetMemoryInfoForOutputs, self->n_outputs) : NULL;
}

static PyObject *devices(px_session *self, devices_fn slot, size_t n) {
  const OrtEpDevice **pointers = PyMem_Calloc(n + 1, sizeof *pointers);
  if (!pointers) return PyErr_NoMemory();
  PyObject *list = NULL;
  if (px_ok(slot(self->session, pointers, n)))
    list = handles(px_ep_device_type, (const void *const *)pointers, n, (PyObject *)self);
  PyMem_Free(pointers);
  return list;
}

static PyObject *input_devices(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  return self ? devices(self, ort->SessionGetEpDeviceForInputs, self->n_inputs) : NULL;
}

static PyObject *output_devices(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  return self ? devices(self, ort->SessionGetEpDeviceForOutputs, self->n_outputs) : NULL;
}

static PyObject *node_row(const OrtEpAssignedNode *node) {
  const char *name, *domain, *op;
  if (!px_ok(ort->EpAssignedNode_GetName(node, &name)) || !px_ok(ort->EpAssignedNode_GetDomain(node, &domain)) ||
      !px_ok(ort->EpAssignedNode_GetOperatorType(node, &op)))
    return NULL;
  return Py_BuildValue("(sss)", name, domain, op);
}

/* (provider, [(name, domain, operator)]) */
static PyObject *subgraph_row(const OrtEpAssignedSubgraph *subgraph) {
  const char *provider;
  const OrtEpAssignedNode *const *nodes;
  size_t n;
  if (!px_ok(ort->EpAssignedSubgraph_GetEpName(subgraph, &provider)) ||
      !px_ok(ort->EpAssignedSubgraph_GetNodes(subgraph, &nodes, &n)))
    return NULL;
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *row = node_row(nodes[i]);
    if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0) Py_CLEAR(list);
  }
  return list ? Py_BuildValue("(sN)", provider, list) : NULL;
}

static PyObject *assignment(PyObject *object, PyObject *ignored) {
  px_session *self = px_session_of(object);
  const OrtEpAssignedSubgraph *const *subgraphs;
  size_t n;
  if (!self || !px_ok(ort->Session_GetEpGraphAssignmentInfo(self->session, &subgraphs, &n))) return NULL;
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *row = subgraph_row(subgraphs[i]);
    if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0) Py_CLEAR(list);
  }
  return list;
}

PyMethodDef px_assignment_methods[] = {
    {"get_input_memory_infos", input_infos, METH_NOARGS, "OrtMemoryInfos: where each input is wanted."},
    {"get_output_memory_infos", output_infos, METH_NOARGS, "OrtMemoryInfos: where each output is made."},
    {"get_input_epdevices", input_devices, METH_NOARGS, "OrtEpDevices that take each input; None: not known."},
    {"get_output_epdevices", output_devices, METH_NOARGS, "OrtEpDevices that make each output; None: not known."},
    {"_assignment", assignment, METH_NOARGS, "[(provider, [(name, domain, operator)])]"},
    {NULL, NULL, 0, NULL}};
