/* SPDX-License-Identifier: Apache-2.0
 * strings.c - tensors of strings: UTF-8 in the library, arrays of objects, 'U' or 'S' in NumPy. */
#include "npy.h"

#include <stdlib.h>
#include <string.h>

static bool put(OrtValue *value, size_t i, const char *text, Py_ssize_t n) {
  char *room = NULL;
  if (!px_ok(ort->GetResizedStringTensorElementBuffer(value, i, (size_t)n, &room))) return false;
  if (n) memcpy(room, text, (size_t)n);
  return true;
}

static bool put_text(OrtValue *value, size_t i, PyObject *text) { /* takes |text|, which may be NULL */
  Py_ssize_t n = 0;
  const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
  bool done = utf8 && put(value, i, utf8, n);
  Py_XDECREF(text);
  return done;
}

/* bytes are taken as they are; what is neither is shown as str() shows it. */
static bool put_object(OrtValue *value, size_t i, PyObject *object) {
  if (object && PyBytes_Check(object)) {
    char *bytes;
    Py_ssize_t n;
    return PyBytes_AsStringAndSize(object, &bytes, &n) == 0 && put(value, i, bytes, n);
  }
  return put_text(value, i, PyObject_Str(object ? object : Py_None));
}

/* NumPy pads with zeros behind the text; with those at its end it cannot tell them apart. */
static Py_ssize_t ucs4_length(const Py_UCS4 *text, Py_ssize_t n) {
  while (n && !text[n - 1]) n--;
  return n;
}

static PyObject *from_ucs4(const Py_UCS4 *text, Py_ssize_t n) {
  int native = PY_BIG_ENDIAN ? 1 : -1;
  return PyUnicode_DecodeUTF32((const char *)text, 4 * n, "surrogatepass", &native);
}

static PyObject *from_padded(const char *text, Py_ssize_t n) {
  while (n && !text[n - 1]) n--;
  return PyUnicode_DecodeUTF8(text, n, NULL); /* the library's strings are UTF-8 */
}

static bool put_element(OrtValue *value, size_t i, int kind, const char *at, Py_ssize_t size) {
  if (kind == NPY_OBJECT) return put_object(value, i, *(PyObject *const *)at);
  if (kind == NPY_STRING) return put_text(value, i, from_padded(at, size));
  const Py_UCS4 *text = (const Py_UCS4 *)at;
  return put_text(value, i, from_ucs4(text, ucs4_length(text, size / 4)));
}

bool px_from_strings(PyObject *object, OrtValue **out) {
  PyObject *plain = px_npy_as_array(object, NULL, 0);
  if (!plain) return false;
  npy_array *array = px_array(plain);
  Py_ssize_t size = px_npy_item_size((PyObject *)array->descr), n = px_npy_count(array);
  OrtAllocator *allocator = px_allocator();
  bool done = size >= 0 && allocator &&
              px_ok(ort->CreateTensorAsOrtValue(allocator, array->dims, (size_t)array->rank,
                                                ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, out));
  for (Py_ssize_t i = 0; done && i < n; i++)
    done = put_element(*out, (size_t)i, array->descr->type, array->data + i * size, size);
  if (!done && *out) ort->ReleaseValue(*out), *out = NULL;
  Py_DECREF(plain);
  return done;
}

static bool fill(PyObject *array, const OrtValue *value, size_t n) {
  size_t bytes = 0;
  if (!px_ok(ort->GetStringTensorDataLength(value, &bytes))) return false;
  char *text = malloc(bytes + 1);
  size_t *starts = malloc((n + 1) * sizeof *starts);
  bool done = text && starts;
  if (!done) PyErr_NoMemory();
  done = done && px_ok(ort->GetStringTensorContent(value, text, bytes, starts, n));
  PyObject **cells = (PyObject **)px_array(array)->data;
  for (size_t i = 0; done && i < n; i++) {
    size_t end = i + 1 < n ? starts[i + 1] : bytes;
    PyObject *cell = PyUnicode_DecodeUTF8(text + starts[i], (Py_ssize_t)(end - starts[i]), NULL);
    done = cell != NULL;
    px_replace(&cells[i], cell);
  }
  free(text);
  free(starts);
  return done;
}

PyObject *px_strings_to_array(const OrtValue *value, const int64_t *dims, size_t rank, size_t n) {
  PyObject *descr = px_npy_descr(NPY_OBJECT);
  PyObject *array = descr ? px_npy_new(descr, (int)rank, dims, NULL, NULL, true) : NULL;
  if (array && n && !fill(array, value, n)) Py_CLEAR(array);
  return array;
}
