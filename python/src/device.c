/* SPDX-License-Identifier: Apache-2.0
 * device.c - devices of execution providers. */
#include "handle.h"

#include <stdlib.h>

PyTypeObject *px_ep_device_type;
static PyTypeObject *hardware_type, *stream_type;

PyObject *px_pairs_to_dict(const OrtKeyValuePairs *pairs) {
  const char *const *keys = NULL, *const *values = NULL;
  size_t n = 0;
  PyObject *dict = PyDict_New();
  if (pairs) ort->GetKeyValuePairs(pairs, &keys, &values, &n);
  for (size_t i = 0; dict && i < n; i++) {
    PyObject *value = PyUnicode_FromString(values[i]);
    if (!value || PyDict_SetItemString(dict, keys[i], value) < 0) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}

static PyObject *text_or_none(const char *text) {
  if (!text) Py_RETURN_NONE;
  return PyUnicode_FromString(text);
}

/* ---- hardware and EP devices: the environment owns them ---- */

static const OrtHardwareDevice *hardware_of(PyObject *self) { return ((handle *)self)->it; }

static PyObject *hardware_kind(PyObject *self, void *unused) {
  return PyLong_FromLong(ort->HardwareDevice_Type(hardware_of(self)));
}
static PyObject *hardware_vendor(PyObject *self, void *unused) {
  return text_or_none(ort->HardwareDevice_Vendor(hardware_of(self)));
}
static PyObject *hardware_vendor_id(PyObject *self, void *unused) {
  return PyLong_FromUnsignedLong(ort->HardwareDevice_VendorId(hardware_of(self)));
}
static PyObject *hardware_id(PyObject *self, void *unused) {
  return PyLong_FromUnsignedLong(ort->HardwareDevice_DeviceId(hardware_of(self)));
}
static PyObject *hardware_metadata(PyObject *self, void *unused) {
  return px_pairs_to_dict(ort->HardwareDevice_Metadata(hardware_of(self)));
}

static PyGetSetDef hardware_members[] = {{"_type", hardware_kind, NULL, NULL, NULL},
                                         {"vendor", hardware_vendor, NULL, "Name of the vendor.", NULL},
                                         {"vendor_id", hardware_vendor_id, NULL, "PCI number of the vendor.", NULL},
                                         {"device_id", hardware_id, NULL, "PCI number of the device.", NULL},
                                         {"metadata", hardware_metadata, NULL, "What the system says of it.", NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};

static const OrtEpDevice *device_of(PyObject *self) { return ((handle *)self)->it; }

static PyObject *device_ep_name(PyObject *self, void *unused) {
  return text_or_none(ort->EpDevice_EpName(device_of(self)));
}
static PyObject *device_ep_vendor(PyObject *self, void *unused) {
  return text_or_none(ort->EpDevice_EpVendor(device_of(self)));
}
static PyObject *device_metadata(PyObject *self, void *unused) {
  return px_pairs_to_dict(ort->EpDevice_EpMetadata(device_of(self)));
}
static PyObject *device_options(PyObject *self, void *unused) {
  return px_pairs_to_dict(ort->EpDevice_EpOptions(device_of(self)));
}
static PyObject *device_hardware(PyObject *self, void *unused) {
  return px_handle_new(hardware_type, ort->EpDevice_Device(device_of(self)), false, NULL);
}

static PyObject *device_memory_info(PyObject *self, PyObject *kind) {
  long type = PyLong_AsLong(kind);
  if (type == -1 && PyErr_Occurred()) return NULL;
  const OrtMemoryInfo *info = ort->EpDevice_MemoryInfo(device_of(self), (OrtDeviceMemoryType)type);
  if (!info) Py_RETURN_NONE;
  return px_handle_new(px_memory_info_type, info, false, NULL);
}

static void stream_dealloc(PyObject *self) {
  ort->ReleaseSyncStream(((handle *)self)->it);
  px_handle_dealloc(self);
}

static PyObject *stream_handle(PyObject *self, PyObject *ignored) {
  return PyLong_FromVoidPtr(ort->SyncStream_GetHandle(((handle *)self)->it));
}

static PyMethodDef stream_methods[] = {
    {"get_handle", stream_handle, METH_NOARGS, "The device's own stream, an address."}, {NULL, NULL, 0, NULL}};

static PyObject *device_stream(PyObject *self, PyObject *ignored) {
  OrtSyncStream *stream = NULL;
  if (!px_ok(ort->CreateSyncStreamForEpDevice(device_of(self), NULL, &stream))) return NULL;
  PyObject *object = px_handle_new(stream_type, stream, true, NULL);
  if (!object) ort->ReleaseSyncStream(stream);
  return object;
}

static PyGetSetDef device_members[] = {
    {"ep_name", device_ep_name, NULL, "The execution provider that serves the device.", NULL},
    {"ep_vendor", device_ep_vendor, NULL, "Who makes the provider.", NULL},
    {"ep_metadata", device_metadata, NULL, "What the provider says of itself.", NULL},
    {"ep_options", device_options, NULL, "Options that it takes by default.", NULL},
    {"device", device_hardware, NULL, "The hardware.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef device_methods[] = {
    {"create_sync_stream", device_stream, METH_NOARGS, "An OrtSyncStream. NotImplemented: the device has no streams."},
    {"memory_info", device_memory_info, METH_O, "Its memory of a kind (OrtDeviceMemoryType); None: it has none."},
    {NULL, NULL, 0, NULL}};

static PyObject *device_list(const OrtEpDevice *const *devices, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = px_handle_new(px_ep_device_type, devices[i], false, NULL);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

/* Pointers of a list of devices, to be freed with PyMem_Free; NULL with an exception. */
static const OrtEpDevice **device_array(PyObject *list, size_t *n) {
  PyObject *items = PySequence_Tuple(list);
  if (!items) return NULL;
  *n = (size_t)PyTuple_Size(items);
  const OrtEpDevice **devices = PyMem_Calloc(*n + 1, sizeof *devices);
  if (!devices) PyErr_NoMemory();
  for (size_t i = 0; devices && i < *n; i++) {
    PyObject *item = PyTuple_GetItem(items, (Py_ssize_t)i);
    if (PyType_IsSubtype(Py_TYPE(item), px_ep_device_type)) {
      devices[i] = device_of(item);
      continue;
    }
    PyErr_Format(PyExc_TypeError, "wanted an OrtEpDevice, got %R", Py_TYPE(item));
    PyMem_Free(devices), devices = NULL;
  }
  Py_DECREF(items);
  return devices;
}

/* ---- choosing devices ---- */

PyObject *px_options_add_devices(PyObject *self, PyObject *args) {
  PyObject *list, *dict;
  px_strings options;
  size_t n;
  if (!PyArg_ParseTuple(args, "OO", &list, &dict) || !px_env()) return NULL;
  const OrtEpDevice **devices = device_array(list, &n);
  if (!devices) return NULL;
  PyObject *out = NULL;
  if (px_strings_from_dict(dict, &options)) {
    out = px_none(ort->SessionOptionsAppendExecutionProvider_V2(((px_options *)self)->options, px_env(), devices, n,
                                                                options.keys, options.values, options.n));
    px_strings_free(&options);
  }
  PyMem_Free(devices);
  return out;
}

/* Calls the Python function with devices, metadata of the model and of the run time, and the most it may choose. */
static OrtStatus *choose(const OrtEpDevice **devices, size_t n, const OrtKeyValuePairs *model,
                         const OrtKeyValuePairs *run, const OrtEpDevice **chosen, size_t most, size_t *n_chosen,
                         void *function) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *list = device_list(devices, n), *a = px_pairs_to_dict(model), *b = px_pairs_to_dict(run);
  PyObject *answer = list && a && b ? PyObject_CallFunction(function, "OOOn", list, a, b, (Py_ssize_t)most) : NULL;
  size_t count = 0;
  const OrtEpDevice **array = answer ? device_array(answer, &count) : NULL;
  OrtStatus *status = NULL;
  if (!array) {
    PyErr_WriteUnraisable(function);
    status = ort->CreateStatus(ORT_FAIL, "the function that chooses devices raised an exception");
  } else if (count > most) {
    status = ort->CreateStatus(ORT_INVALID_ARGUMENT, "the function chose more devices than it may");
  } else {
    for (size_t i = 0; i < count; i++) chosen[i] = array[i];
    *n_chosen = count;
  }
  PyMem_Free(array);
  Py_XDECREF(answer);
  Py_XDECREF(list);
  Py_XDECREF(a);
  Py_XDECREF(b);
  PyGILState_Release(state);
  return status;
}

PyObject *px_options_set_delegate(PyObject *self, PyObject *function) { /* the Python layer keeps |function| */
  return px_none(ort->SessionOptionsSetEpSelectionPolicyDelegate(((px_options *)self)->options, choose, function));
}

/* ---- functions of the module ---- */

static PyObject *ep_devices(PyObject *module, PyObject *ignored) {
  const OrtEpDevice *const *devices;
  size_t n;
  if (!px_env() || !px_ok(ort->GetEpDevices(px_env(), &devices, &n))) return NULL;
  return device_list(devices, n);
}

static PyObject *hardware_devices(PyObject *module, PyObject *ignored) {
  size_t n = 0;
  if (!px_env() || !px_ok(ort->GetNumHardwareDevices(px_env(), &n))) return NULL;
  const OrtHardwareDevice **devices = PyMem_Calloc(n + 1, sizeof *devices);
  if (!devices) return PyErr_NoMemory();
  PyObject *list = px_ok(ort->GetHardwareDevices(px_env(), devices, n)) ? PyList_New((Py_ssize_t)n) : NULL;
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = px_handle_new(hardware_type, devices[i], false, NULL);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  PyMem_Free(devices);
  return list;
}

static PyObject *register_library(PyObject *module, PyObject *args) {
  const char *name;
  PyObject *object;
  if (!PyArg_ParseTuple(args, "sO:register_execution_provider_library", &name, &object) || !px_env()) return NULL;
  PyObject *path = px_path(object), *out = NULL;
  if (path) out = px_none(ort->RegisterExecutionProviderLibrary(px_env(), name, PyBytes_AsString(path)));
  Py_XDECREF(path);
  return out;
}

static PyObject *unregister_library(PyObject *module, PyObject *name) {
  const char *text = px_utf8(name, "registration_name");
  if (!text || !px_env()) return NULL;
  return px_none(ort->UnregisterExecutionProviderLibrary(px_env(), text));
}

static PyObject *register_allocator(PyObject *module, PyObject *args) {
  const char *provider;
  PyObject *object, *dict, *settings;
  px_strings options, arena;
  if (!PyArg_ParseTuple(args, "zOOO", &provider, &object, &dict, &settings) || !px_env()) return NULL;
  const OrtMemoryInfo *info = px_memory_info_get(object);
  size_t numbers[16];
  OrtArenaCfg *cfg = NULL;
  if (!info || !px_strings_from_dict(dict, &options)) return NULL;
  bool done = px_strings_from_dict(settings, &arena);
  if (done) {
    for (size_t i = 0; i < arena.n && i < 16; i++) numbers[i] = strtoull(arena.values[i], NULL, 10);
    done = !arena.n || px_ok(ort->CreateArenaCfgV2(arena.keys, numbers, arena.n < 16 ? arena.n : 16, &cfg));
    px_strings_free(&arena);
  }
  PyObject *out = NULL;
  if (done && provider)
    out = px_none(
        ort->CreateAndRegisterAllocatorV2(px_env(), provider, info, cfg, options.keys, options.values, options.n));
  else if (done)
    out = px_none(ort->CreateAndRegisterAllocator(px_env(), info, cfg));
  if (cfg) ort->ReleaseArenaCfg(cfg);
  px_strings_free(&options);
  return out;
}

static PyObject *compatibility(PyObject *module, PyObject *args) {
  PyObject *list;
  const char *text;
  size_t n;
  OrtCompiledModelCompatibility answer;
  if (!PyArg_ParseTuple(args, "Os", &list, &text)) return NULL;
  const OrtEpDevice **devices = device_array(list, &n);
  if (!devices) return NULL;
  bool done = px_ok(ort->GetModelCompatibilityForEpDevices(devices, n, text, &answer));
  PyMem_Free(devices);
  return done ? PyLong_FromLong(answer) : NULL;
}

/* (provider, hardware): {reasons_bitmask, notes, error_code} of why the provider cannot use it */
static PyObject *incompatibility(PyObject *module, PyObject *args) {
  const char *provider, *notes = NULL;
  PyObject *hardware;
  OrtDeviceEpIncompatibilityDetails *details = NULL;
  uint32_t reasons = 0;
  int32_t code = 0;
  if (!PyArg_ParseTuple(args, "sO!", &provider, hardware_type, &hardware) || !px_env()) return NULL;
  if (!px_ok(ort->GetHardwareDeviceEpIncompatibilityDetails(px_env(), provider, hardware_of(hardware), &details)))
    return NULL;
  bool done = px_ok(ort->DeviceEpIncompatibilityDetails_GetReasonsBitmask(details, &reasons)) &&
              px_ok(ort->DeviceEpIncompatibilityDetails_GetNotes(details, &notes)) &&
              px_ok(ort->DeviceEpIncompatibilityDetails_GetErrorCode(details, &code));
  PyObject *out = done ? Py_BuildValue("{s:I,s:z,s:i}", "reasons_bitmask", (unsigned)reasons, "notes", notes,
                                       "error_code", (int)code)
                       : NULL;
  ort->ReleaseDeviceEpIncompatibilityDetails(details);
  return out;
}

/* (path or bytes, provider): what the model says about it, or None. */
static PyObject *compatibility_info(PyObject *module, PyObject *args) {
  PyObject *model, *out = NULL;
  const char *provider;
  char *text = NULL;
  OrtAllocator *allocator = px_allocator();
  if (!allocator || !PyArg_ParseTuple(args, "Os", &model, &provider)) return NULL;
  bool done;
  if (PyBytes_Check(model)) {
    done = px_ok(ort->GetCompatibilityInfoFromModelBytes(PyBytes_AsString(model), (size_t)PyBytes_Size(model), provider,
                                                         allocator, &text));
  } else {
    PyObject *path = px_path(model);
    done = path && px_ok(ort->GetCompatibilityInfoFromModel(PyBytes_AsString(path), provider, allocator, &text));
    Py_XDECREF(path);
  }
  if (done) out = text_or_none(text);
  if (text) allocator->Free(allocator, text);
  return out;
}

/* (from, to, stream or None): lists of OrtValues of the same length. */
static PyObject *copy_tensors(PyObject *module, PyObject *args) {
  PyObject *from, *to, *stream = Py_None;
  if (!PyArg_ParseTuple(args, "O!O!|O", &PyList_Type, &from, &PyList_Type, &to, &stream) || !px_env()) return NULL;
  if (stream != Py_None && !PyType_IsSubtype(Py_TYPE(stream), stream_type))
    return PyErr_Format(PyExc_TypeError, "stream: wanted an OrtSyncStream, got %R", Py_TYPE(stream));
  OrtSyncStream *on = stream == Py_None ? NULL : ((handle *)stream)->it;
  Py_ssize_t n = PyList_Size(from);
  if (n != PyList_Size(to)) return PyErr_Format(PyExc_ValueError, "%zd tensors to copy to %zd", n, PyList_Size(to));
  OrtValue **values = PyMem_Calloc(2 * (size_t)n + 1, sizeof *values);
  if (!values) return PyErr_NoMemory();
  bool done = true;
  for (Py_ssize_t i = 0; done && i < n; i++)
    done = (values[i] = px_value_get(PyList_GetItem(from, i))) && (values[n + i] = px_value_get(PyList_GetItem(to, i)));
  PyObject *out = NULL;
  if (done) out = px_none(ort->CopyTensors(px_env(), (const OrtValue *const *)values, values + n, on, (size_t)n));
  PyMem_Free(values);
  return out;
}

/* Statistics of an allocator: a dict of numbers. */
static PyObject *read_stats(OrtAllocator *allocator) {
  OrtKeyValuePairs *pairs = NULL;
  if (!px_ok(ort->AllocatorGetStats(allocator, &pairs))) return NULL;
  const char *const *keys = NULL, *const *values = NULL;
  size_t n = 0;
  PyObject *dict = PyDict_New();
  ort->GetKeyValuePairs(pairs, &keys, &values, &n);
  for (size_t i = 0; dict && i < n; i++) {
    PyObject *value = PyLong_FromString(values[i], NULL, 10);
    if (!value || PyDict_SetItemString(dict, keys[i], value) < 0) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  ort->ReleaseKeyValuePairs(pairs);
  return dict;
}

/* (memory info, session or None: the environment). */
static PyObject *allocator_stats(PyObject *module, PyObject *args) {
  PyObject *object, *session;
  OrtAllocator *allocator = NULL;
  if (!PyArg_ParseTuple(args, "OO", &object, &session) || !px_env()) return NULL;
  const OrtMemoryInfo *info = object == Py_None ? px_cpu() : px_memory_info_get(object);
  if (!info) return NULL;
  if (session == Py_None) {
    if (!px_ok(ort->GetSharedAllocator(px_env(), info, &allocator))) return NULL;
    if (!allocator) return PyErr_Format(PyExc_RuntimeError, "no provider serves this device");
    return read_stats(allocator);
  }
  if (!PyType_IsSubtype(Py_TYPE(session), px_session_type))
    return PyErr_Format(PyExc_TypeError, "wanted a session, got %R", Py_TYPE(session));
  px_session *made = px_session_of(session);
  if (!made || !px_ok_as(ort->CreateAllocator(made->session, info, &allocator), PyExc_RuntimeError, "")) return NULL;
  PyObject *stats = read_stats(allocator);
  ort->ReleaseAllocator(allocator);
  return stats;
}

static PyMethodDef functions[] = {
    {"get_ep_devices", ep_devices, METH_NOARGS, "Devices of all execution providers: a list of OrtEpDevice."},
    {"get_hardware_devices", hardware_devices, METH_NOARGS, "Devices of the machine: a list of OrtHardwareDevice."},
    {"register_execution_provider_library", register_library, METH_VARARGS,
     "(name, path): loads a provider from a shared library. Fail says why it cannot be loaded."},
    {"unregister_execution_provider_library", unregister_library, METH_O,
     "(name): forgets it; no session may use it any more."},
    {"_register_allocator", register_allocator, METH_VARARGS, "(provider, memory info, options, arena's settings)"},
    {"get_hardware_device_ep_incompatibility_details", incompatibility, METH_VARARGS,
     "(provider, OrtHardwareDevice): a dict of why the provider cannot use the device; reasons_bitmask 0: it can."},
    {"_compatibility", compatibility, METH_VARARGS, "(devices, info)"},
    {"_compatibility_info", compatibility_info, METH_VARARGS, "(path or bytes, provider)"},
    {"_allocator_stats", allocator_stats, METH_VARARGS, "(memory info, session or None)"},
    {"_copy_tensors", copy_tensors, METH_VARARGS, "(from, to)"},
    {NULL, NULL, 0, NULL}};

bool px_device_init(PyObject *module) {
  static PyType_Slot hardware_slots[] = {{Py_tp_new, px_no_new},
                                         {Py_tp_dealloc, px_handle_dealloc},
                                         {Py_tp_getset, hardware_members},
                                         {Py_tp_doc, "A device of the machine."},
                                         {0, NULL}};
  static PyType_Spec hardware_spec = {"onyx._onyx.HardwareDevice", sizeof(handle), 0, Py_TPFLAGS_DEFAULT,
                                      hardware_slots};
  static PyType_Slot device_slots[] = {{Py_tp_new, px_no_new},
                                       {Py_tp_dealloc, px_handle_dealloc},
                                       {Py_tp_getset, device_members},
                                       {Py_tp_methods, device_methods},
                                       {Py_tp_doc, "An execution provider on a device."},
                                       {0, NULL}};
  static PyType_Spec device_spec = {"onyx._onyx.EpDevice", sizeof(handle), 0, Py_TPFLAGS_DEFAULT, device_slots};
  static PyType_Slot stream_slots[] = {{Py_tp_new, px_no_new},
                                       {Py_tp_dealloc, stream_dealloc},
                                       {Py_tp_methods, stream_methods},
                                       {Py_tp_doc, "A stream of work of a device."},
                                       {0, NULL}};
  static PyType_Spec stream_spec = {"onyx._onyx.SyncStream", sizeof(handle), 0, Py_TPFLAGS_DEFAULT, stream_slots};
  stream_type = px_add_type(module, &stream_spec, "SyncStream");
  hardware_type = px_add_type(module, &hardware_spec, "HardwareDevice");
  px_ep_device_type = px_add_type(module, &device_spec, "EpDevice");
  return stream_type && hardware_type && px_ep_device_type && PyModule_AddFunctions(module, functions) == 0;
}
