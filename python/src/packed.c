/* SPDX-License-Identifier: Apache-2.0
 * packed.c - elements of four and two bits: several to a byte in ONNX, the first in the lowest bits; a byte each in
 * arrays of ml_dtypes. */
#include "npy.h"

#include <string.h>

static bool is_signed(int type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
}

bool px_pack(PyObject *object, int type, OrtValue **out) {
  PyObject *plain = px_npy_as_array(object, NULL, 0);
  if (!plain) return false;
  npy_array *array = px_array(plain);
  OrtAllocator *allocator = px_allocator();
  void *data = NULL;
  bool done = allocator && px_ok(ort->CreateTensorAsOrtValue(allocator, array->dims, (size_t)array->rank, type, out)) &&
              px_ok(ort->GetTensorMutableData(*out, &data));
  if (done) {
    size_t bits = (size_t)px_type_bits((unsigned)type), per_byte = 8 / bits, n = (size_t)px_npy_count(array);
    unsigned char mask = (unsigned char)((1u << bits) - 1), *bytes = data;
    if (n) memset(bytes, 0, (n + per_byte - 1) / per_byte);
    for (size_t i = 0; i < n; i++)
      bytes[i / per_byte] |= (unsigned char)((array->data[i] & mask) << (i % per_byte * bits));
  } else if (*out) {
    ort->ReleaseValue(*out), *out = NULL;
  }
  Py_DECREF(plain);
  return done;
}

PyObject *px_unpack(const void *data, int type, const int64_t *dims, size_t rank, size_t n) {
  PyObject *descr = px_type_descr((unsigned)type);
  PyObject *array = descr ? px_npy_new(descr, (int)rank, dims, NULL, NULL, true) : NULL;
  if (!array) return NULL;
  size_t bits = (size_t)px_type_bits((unsigned)type), per_byte = 8 / bits;
  unsigned mask = (1u << bits) - 1, sign = is_signed(type) ? 1u << (bits - 1) : 0;
  const unsigned char *bytes = data;
  char *cells = px_array(array)->data;
  for (size_t i = 0; i < n; i++) {
    unsigned x = bytes[i / per_byte] >> (i % per_byte * bits) & mask;
    cells[i] = (char)((x ^ sign) - sign); /* extends the sign */
  }
  return array;
}
