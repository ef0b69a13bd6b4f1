/* SPDX-License-Identifier: Apache-2.0
 * px.h - what the files of the extension module share. The module links nothing of Onyx: it is a client of
 * libonnxruntime.so.1 (onyx/ort_abi.h), which library.c opens. NumPy is not needed to compile it (npy.h).
 *
 * Functions return NULL, false or -1 with a Python exception set, as CPython's own do. */
#ifndef PX_H
#define PX_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "onyx/ort_abi.h"

/* Both are there since 3.7, but the headers give them to users of the limited API since 3.10 only. */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);

typedef PyObject *(*px_fastcall)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
#define PX_FAST(function) ((PyCFunction)(void (*)(void))(px_fastcall)(function))
#define PX_KEYWORDS(function) ((PyCFunction)(void (*)(void))(PyCFunctionWithKeywords)(function))

/* ---- library.c: the library behind the module ---- */

extern const OrtApi *ort; /* its table; NULL before px_library_open */
bool px_library_open(void);
OrtEnv *px_env(void);              /* the one environment, made at the first call */
OrtAllocator *px_allocator(void);  /* the library's default allocator */
const OrtMemoryInfo *px_cpu(void); /* plain memory of the host */
void *px_onyx(const char *name);   /* function |name| of onyx/onyx.h; NULL without an exception: another library */
extern PyMethodDef px_library_methods[];

/* ---- log.c: a function in Python that gets the log ---- */

typedef void (*px_log_print)(OrtLoggingLevel, const char *, const char *, const char *, const char *);
/* The environment's function; |print|, not NULL, is a px_log_print for what the Python function is not to get. */
void px_log(void *print, OrtLoggingLevel level, const char *category, const char *id, const char *where,
            const char *text);
bool px_log_set(PyObject *function); /* None: none. RuntimeError: neither */

/* ---- errors.c ---- */

bool px_errors_init(PyObject *module);
bool px_ok(OrtStatus *status);        /* true for NULL; else the exception is set and the status released */
PyObject *px_none(OrtStatus *status); /* None or NULL */
bool px_ok_as(OrtStatus *status, PyObject *type, const char *before); /* an exception of another class */

/* ---- dtype.c: element types ---- */

enum { PX_N_TYPES = 27 };
const char *px_type_name(unsigned type); /* "float", as in "tensor(float)" */
int px_type_bits(unsigned type);         /* 0 for strings and unknown types */
PyObject *px_type_descr(unsigned type);  /* new reference: NumPy's descriptor */
int px_type_of_array(PyObject *array);   /* ONNXTensorElementDataType, -1: none, no exception */
int px_type_of_object(PyObject *object); /* a number of ONNX, or what numpy.dtype() takes; -1 with exception */

/* ---- value.c: OrtValue ---- */

typedef struct px_value {
  PyObject_HEAD OrtValue *value;
  PyObject *owner; /* what the memory belongs to if not to |value|; may be NULL */
} px_value;

extern PyTypeObject *px_value_type;
bool px_value_init(PyObject *module);
PyObject *px_value_new(OrtValue *value,
                       PyObject *owner);    /* of the class that Python sees; takes |value|, also on failure */
PyObject *px_value_holder(OrtValue *value); /* the same, for the inside: a plain one */
OrtValue *px_value_get(PyObject *object);   /* borrowed; TypeError */
int px_is_value(PyObject *object);

/* ---- from_python.c, strings.c, packed.c: Python objects to values ---- */

/* A value for input |name| of |info| (may be NULL: not known). *owner: new reference to what must live as long as the
 * value, or NULL. None gives *out NULL: the input is left out. */
bool px_from_python(PyObject *object, const char *name, const OrtTypeInfo *info, OrtValue **out, PyObject **owner);
/* |array| is a NumPy array; |copy|: the value is to own its memory. */
bool px_from_array(PyObject *array, bool copy, OrtValue **out, PyObject **owner);
bool px_from_strings(PyObject *array, OrtValue **out);
bool px_pack(PyObject *array, int type, OrtValue **out);

/* ---- to_python.c ---- */

PyObject *px_to_python(OrtValue *value);                         /* takes |value|, also on failure; NULL: None */
PyObject *px_list_or_dict(const OrtValue *value, ONNXType kind); /* of a sequence or map; RuntimeError for others */
PyObject *px_to_array(PyObject *holder); /* a NumPy array over the memory of a tensor, strings as objects */
PyObject *px_strings_to_array(const OrtValue *value, const int64_t *dims, size_t rank, size_t n);
PyObject *px_unpack(const void *data, int type, const int64_t *dims, size_t rank, size_t n);

/* ---- type_info.c ---- */

PyObject *px_type_string(const OrtTypeInfo *info); /* "seq(tensor(float))" */
PyObject *px_type_shape(const OrtTypeInfo *info);  /* [2, "N", None] */
PyObject *px_shape_list(const int64_t *dims, size_t rank);

/* ---- options.c ---- */

typedef struct px_options {
  PyObject_HEAD OrtSessionOptions *options;
} px_options;
typedef struct px_run_options {
  PyObject_HEAD OrtRunOptions *options;
} px_run_options;
extern PyTypeObject *px_options_type, *px_run_options_type;
bool px_options_init(PyObject *module);
bool px_run_options_init(PyObject *module);
bool px_run_options_get(PyObject *object, OrtRunOptions **out); /* None: NULL. TypeError */

/* ---- session.c, run.c, run_async.c ---- */

typedef struct px_port { /* an input or output */
  PyObject *name;        /* str */
  const char *utf8;      /* of it */
  OrtTypeInfo *info;
  bool required;
} px_port;

typedef struct px_session {
  PyObject_HEAD OrtSession *session;
  px_port *ports; /* inputs, then inputs with a default, then outputs */
  size_t n_inputs, n_defaults, n_outputs;
  PyObject *keep; /* what the library reads as long as the session lives */
} px_session;

extern PyTypeObject *px_session_type;
bool px_session_init(PyObject *module);
px_session *px_session_of(PyObject *object);                             /* borrowed; RuntimeError: not made yet */
const px_port *px_session_input(const px_session *self, PyObject *name); /* NULL: there is none, no exception */
extern PyMethodDef px_session_methods[], px_run_methods[], px_async_methods[], px_inspect_methods[],
    px_assignment_methods[];

/* Inputs and outputs of a run. */
enum { PX_FEW = 16 };
typedef struct px_call {
  size_t n_inputs, n_outputs;
  const char **input_names, **output_names;
  OrtValue **inputs, **outputs;
  PyObject **owners; /* two for each input: what owns its memory (or NULL), its name */
  PyObject *names;   /* holds the output names */
  bool *borrowed;    /* inputs that belong to an OrtValue of the caller */
  void *memory;
  union {
    struct {
      const char *names[2 * PX_FEW];
      OrtValue *values[2 * PX_FEW];
      PyObject *owners[2 * PX_FEW]; /* for each input: of the memory, and the name */
      bool borrowed[PX_FEW];
    } few;
  } room;
} px_call;
bool px_call_begin(px_call *call, px_session *self, PyObject *names, PyObject *feeds, bool values_only);
void px_call_end(px_call *call);
/* run() with options that have a state, which knows the inputs that are not in |feeds|. */
PyObject *px_run_state(px_session *self, OrtRunOptions *options, PyObject *names, PyObject *feeds);

extern PyMethodDef px_inspect_functions[];

/* ---- interrupt.c: Ctrl-C while a run is under way ---- */

extern PyMethodDef px_interrupt_methods[];
/* Runs with the GIL released. |wait| is called once, or again when a signal has stopped it, but its handler raised
 * nothing. Returns its status; sets *raised if an exception of a signal handler is set, and no status then. */
typedef OrtStatus *(*px_wait)(void *ctx, const OrtRunOptions *options);
OrtStatus *px_interruptible(px_wait wait, void *ctx, OrtRunOptions *options, bool *raised);

/* ---- the rest ---- */

bool px_binding_init(PyObject *module);
bool px_device_init(PyObject *module);
bool px_memory_info_init(PyObject *module);
bool px_sparse_init(PyObject *module);
bool px_compile_init(PyObject *module);
bool px_ep_context_init(PyObject *module);
bool px_state_init(PyObject *module);
const OrtMemoryInfo *px_memory_info_get(PyObject *object);
PyObject *px_options_add_devices(PyObject *self, PyObject *args);
PyObject *px_options_set_delegate(PyObject *self, PyObject *function);
PyObject *px_options_context_reader(PyObject *self, PyObject *registration);
OrtStatus *px_context_write(void *function, const char *name, const void *bytes, size_t n); /* OrtWriteNamedBufferFunc */
PyObject *px_pairs_to_dict(const OrtKeyValuePairs *pairs);
PyObject *px_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *px_dlpack_device(PyObject *self, PyObject *ignored);
PyObject *px_from_dlpack(PyObject *module, PyObject *object);
PyObject *px_sparse_new(OrtValue *value);
extern PyTypeObject *px_lora_type;
OrtLoraAdapter *px_lora_get(PyObject *object);

/* ---- small helpers ---- */

static inline void px_replace(PyObject **slot, PyObject *object) { /* takes |object| */
  PyObject *old = *slot;
  *slot = object;
  Py_XDECREF(old);
}
PyTypeObject *px_add_type(PyObject *module, PyType_Spec *spec, const char *name);
void px_free(PyObject *self);                          /* the end of a tp_dealloc */
const char *px_utf8(PyObject *text, const char *what); /* TypeError naming |what| */
/* A str or a path to bytes as the library wants it: new reference to a bytes object. */
PyObject *px_path(PyObject *path);
enum { PX_MAX_RANK = 64 };
bool px_dims(PyObject *shape, int64_t dims[PX_MAX_RANK], size_t *rank);
/* Keys and values of a dict of strings; NULL arrays if it is empty. Free with px_strings_free. */
typedef struct px_strings {
  size_t n;
  const char **keys, **values;
  PyObject *hold;
} px_strings;
bool px_strings_from_dict(PyObject *dict, px_strings *out);
void px_strings_free(px_strings *strings);

#endif
