/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_tensor.c - tensors: over memory of the caller, or with memory of an allocator that gets it back. Making
 * one of the first kind and reading its shape and data are what a client does around every run: one allocation. */
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"
#include "ort/value/ort_own_memory.h"
#include "ort/value/ort_value.h"

/* What a tensor with memory of an allocator has beside its handle. */
typedef struct tensor_own {
  OrtAllocator *allocator;
  ort_strings strings;
} tensor_own;

/* ---- describing ---- */

static OrtStatus *count_bytes(const char *function, ox_tensor *t) {
  size_t count = 1, bits = t->dtype == OX_STRING ? 8 * sizeof(ox_str) : ox_type_bits(t->dtype), total;
  bool fits = true, none = false;
  for (int32_t i = 0; i < t->shape.rank; i++) {
    if (t->shape.dim[i] == 0) none = true;
    if (fits) fits = ort_mul_ok(count, (size_t)t->shape.dim[i], &count);
  }
  t->bytes = 0;
  if (none) return NULL;
  /* two numbers below SIZE_MAX / 16, so that nobody's sums overflow */
  if (!fits || !ort_mul_ok(count, bits, &total) || total > SIZE_MAX / 2 - 7)
    return ort_fail(ORT_FAIL, "%s: 'shape' has more elements than memory can", function);
  t->bytes = (total + 7) / 8;
  return NULL;
}

OrtStatus *ort_shape_describe(const char *function, OrtErrorCode negative, const char *argument, const int64_t *dims,
                              size_t rank, ox_shape *out) {
  if (rank > OX_MAX_RANK)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: '%s_len' is %zu, at most %d dimensions are possible", function, argument,
                    rank, OX_MAX_RANK);
  if (rank > 0 && dims == NULL) return ort_null_argument(function, argument);
  out->rank = (int32_t)rank;
  for (size_t i = 0; i < rank; i++) out->dim[i] = dims[i];
  for (size_t i = rank; i < OX_MAX_RANK; i++) out->dim[i] = 0;
  for (size_t i = 0; i < rank; i++)
    if (dims[i] < 0)
      return ort_fail(negative, "%s: dimension %zu of '%s' is %lld: negative value in shape", function, i, argument,
                      (long long)dims[i]);
  return NULL;
}

OrtStatus *ort_tensor_describe(const char *function, OrtErrorCode negative, ONNXTensorElementDataType type,
                               const int64_t *dims, size_t rank, ox_tensor *t) {
  t->kind = OX_TENSOR, t->dtype = ort_type_to(type), t->data = NULL;
  if (t->dtype == OX_UNDEFINED)
    return ort_fail(ORT_NOT_IMPLEMENTED, "%s: 'type' is %d: no such element type", function, (int)type);
  ORT_TRY(ort_shape_describe(function, negative, "shape", dims, rank, &t->shape));
  return count_bytes(function, t);
}

/* ---- making ---- */

static void release_own(void *handle) {
  OrtValue *value = handle;
  tensor_own *own = ort_value_extra(value);
  const ox_tensor *t = ox_value_get(value->home); /* the handle may have been given another content */
  if (t->dtype == OX_STRING) ort_strings_release(&own->strings, t->data, t->bytes / sizeof(ox_str));
  if (t->data != NULL) own->allocator->Free(own->allocator, t->data);
}

/* Of |t| with |t->data| in memory of |allocator|, which it takes over if it succeeds. */
static OrtStatus *own_data(OrtAllocator *allocator, const ox_tensor *t, OrtValue **out) {
  ORT_TRY(ort_value_create(t, sizeof(tensor_own), release_own, out));
  tensor_own *own = ort_value_extra(*out);
  own->allocator = allocator;
  (*out)->memory = allocator->Info(allocator);
  if (t->dtype == OX_STRING) (*out)->strings = &own->strings;
  return NULL;
}

/* In memory of one of the engine's providers, which gets it back itself. */
static OrtStatus *allocate_there(ox_memory *m, ox_tensor *t, OrtValue **out) {
  ox_value *value;
  ORT_TRY(ort_status_from(ox_value_create_in(m, t->dtype, t->shape.dim, (size_t)t->shape.rank, &value)));
  t->data = ox_value_data(value);
  return ort_value_adopt(value, out);
}

static OrtStatus *allocate_tensor(OrtAllocator *allocator, ox_tensor *t, OrtValue **out) {
  ox_memory *there = ort_own_memory_of(allocator);
  if (there != NULL) return allocate_there(there, t, out);
  if (t->bytes > 0) ORT_TRY(ort_allocate(allocator, t->bytes, &t->data));
  if (t->dtype == OX_STRING) {
    ox_str *items = t->data;
    for (size_t i = 0; i < t->bytes / sizeof *items; i++) items[i] = (ox_str){"", 0};
  }
  OrtStatus *st = own_data(allocator, t, out);
  if (st != NULL && t->data != NULL) allocator->Free(allocator, t->data);
  return st;
}

OrtStatus *ort_tensor_create(OrtAllocator *allocator, uint32_t dtype, const int64_t *dims, size_t rank,
                             OrtValue **out) {
  ox_tensor t;
  *out = NULL;
  ORT_TRY(ort_tensor_describe("tensor", ORT_FAIL, ort_type_from(dtype), dims, rank, &t));
  return allocate_tensor(allocator, &t, out);
}

static OrtStatus *copy_there(const ox_tensor *from, OrtValue *to) {
  ox_value *view;
  ORT_TRY(ort_status_from(ox_value_view(NULL, from, 0, NULL, &view)));
  OrtStatus *st = ort_status_from(ox_value_copy_to(view, to->value));
  ox_value_release(view);
  return st;
}

OrtStatus *ort_tensor_copy(OrtAllocator *allocator, const ox_tensor *from, OrtValue **out) {
  ox_tensor t = *from;
  t.data = NULL;
  ORT_TRY(allocate_tensor(allocator, &t, out));
  OrtStatus *st = NULL;
  if (ox_value_memory((*out)->value) != NULL)
    st = copy_there(from, *out);
  else if (t.dtype == OX_STRING)
    st = ort_strings_copy(*out, from->data, t.bytes / sizeof(ox_str), t.data);
  else if (t.bytes > 0)
    memcpy(t.data, from->data, t.bytes);
  if (st == NULL) return NULL;
  ort_ReleaseValue(*out);
  *out = NULL;
  return st;
}

OrtStatus *ort_CreateTensorAsOrtValue(OrtAllocator *allocator, const int64_t *shape, size_t shape_len,
                                      ONNXTensorElementDataType type, OrtValue **out) {
  ox_tensor t;
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(allocator);
  ORT_TRY(ort_tensor_describe("CreateTensorAsOrtValue", ORT_FAIL, type, shape, shape_len, &t));
  return allocate_tensor(allocator, &t, out);
}

/* |t| over |data| of |bytes|. */
static OrtStatus *use_data(const char *function, void *data, size_t bytes, ONNXTensorElementDataType type,
                           const int64_t *shape, size_t shape_len, ox_tensor *t) {
  ORT_TRY(ort_tensor_describe(function, ORT_INVALID_ARGUMENT, type, shape, shape_len, t));
  if (bytes < t->bytes)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: 'p_data_len' is not enough space: expected %zu, got %zu", function,
                    t->bytes, bytes);
  if (t->bytes > 0 && data == NULL) return ort_null_argument(function, "p_data");
  if (t->bytes > 0 && t->dtype == OX_STRING)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "%s: 'type': strings cannot lie in the caller's memory; see CreateTensorAsOrtValue", function);
  t->data = data;
  return NULL;
}

/* Memory of a client's at a place of one of the engine's providers: the engine is to know. */
static OrtStatus *mark(OrtValue *value) {
  ort_engine engine;
  if (!ort_value_is_elsewhere(value)) return NULL;
  ORT_TRY(ort_engine_open(&engine));
  ox_value_set_memory(value->value, ort_own_memory_find(engine.held, value->memory));
  ort_engine_close(&engine);
  return NULL;
}

OrtStatus *ort_CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *info, void *p_data, size_t p_data_len,
                                              const int64_t *shape, size_t shape_len, ONNXTensorElementDataType type,
                                              OrtValue **out) {
  ox_tensor t;
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(info);
  ORT_TRY(use_data("CreateTensorWithDataAsOrtValue", p_data, p_data_len, type, shape, shape_len, &t));
  const OrtMemoryInfo *memory = ort_static_memory(info);
  ORT_TRY(ort_value_create(&t, memory == NULL ? sizeof *info : 0, NULL, out));
  (*out)->memory = memory;
  if (memory != NULL) return NULL;
  OrtMemoryInfo *copy = ort_value_extra(*out); /* the caller may release its own */
  *copy = *info;
  (*out)->memory = copy;
  return mark(*out);
}

OrtStatus *ort_CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator *deleter, void *p_data, size_t p_data_len,
                                                        const int64_t *shape, size_t shape_len,
                                                        ONNXTensorElementDataType type, OrtValue **out) {
  ox_tensor t;
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(deleter);
  ORT_TRY(use_data("CreateTensorWithDataAndDeleterAsOrtValue", p_data, p_data_len, type, shape, shape_len, &t));
  return own_data(deleter, &t, out);
}

/* ---- reading ---- */

OrtStatus *ort_need_tensor(const char *function, OrtErrorCode code, const OrtValue *value) {
  if (value == NULL) return ort_null_argument(function, "value");
  if (value->tensor->kind == OX_TENSOR) return NULL;
  return ort_fail(code, "%s: 'value' is not a tensor", function);
}

static OrtStatus *get_data(const char *function, const OrtValue *value, void **out) {
  if (out == NULL) return ort_null_argument(function, "out");
  ORT_TRY(ort_need_tensor(function, ORT_RUNTIME_EXCEPTION, value));
  *out = value->tensor->data;
  return NULL;
}

OrtStatus *ort_GetTensorMutableData(OrtValue *value, void **out) {
  return get_data("GetTensorMutableData", value, out);
}

OrtStatus *ort_GetTensorData(const OrtValue *value, const void **out) {
  void *data;
  ORT_NEED(out);
  ORT_TRY(get_data("GetTensorData", value, &data));
  *out = data;
  return NULL;
}

OrtStatus *ort_GetTensorSizeInBytes(const OrtValue *value, size_t *out) {
  ORT_NEED(out);
  ORT_TRY(ort_need_tensor("GetTensorSizeInBytes", ORT_INVALID_ARGUMENT, value));
  if (value->tensor->dtype == OX_STRING)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "GetTensorSizeInBytes: 'value': String tensors are not supported by this API");
  *out = value->tensor->bytes;
  return NULL;
}

OrtStatus *ort_GetTensorMemoryInfo(const OrtValue *value, const OrtMemoryInfo **out) {
  ORT_NEED(out);
  ORT_TRY(ort_need_tensor("GetTensorMemoryInfo", ORT_RUNTIME_EXCEPTION, value));
  *out = value->memory != NULL ? value->memory : ort_cpu_memory();
  return NULL;
}

OrtStatus *ort_GetTensorElementTypeAndShapeDataReference(const OrtValue *value, ONNXTensorElementDataType *type,
                                                         const int64_t **shape, size_t *shape_len) {
  ORT_NEED(value);
  ORT_NEED(type);
  ORT_NEED(shape);
  ORT_NEED(shape_len);
  const ox_tensor *t = value->tensor;
  if (t->kind != OX_TENSOR && t->kind != OX_SPARSE)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "GetTensorElementTypeAndShapeDataReference: 'value' is neither a tensor nor a sparse tensor");
  *type = ort_type_from(t->dtype);
  *shape = t->shape.rank > 0 ? t->shape.dim : NULL;
  *shape_len = (size_t)t->shape.rank;
  return NULL;
}

OrtStatus *ort_TensorAt(OrtValue *value, const int64_t *location, size_t n, void **out) {
  ORT_NEED(out);
  ORT_TRY(ort_need_tensor("TensorAt", ORT_RUNTIME_EXCEPTION, value));
  const ox_tensor *t = value->tensor;
  size_t bits = ox_type_bits(t->dtype), at = 0;
  if (t->dtype == OX_STRING)
    return ort_fail(ORT_INVALID_ARGUMENT, "TensorAt: 'value': this API does not support strings");
  if (n != (size_t)t->shape.rank)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "TensorAt: 'location_values_count' is %zu: location dimensions do not match shape size, %d", n,
                    (int)t->shape.rank);
  if (n > 0) ORT_NEED(location);
  for (size_t i = 0; i < n; i++) {
    if (location[i] < 0 || location[i] >= t->shape.dim[i])
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "TensorAt: 'location_values' has %lld for dimension %zu: invalid location range, it has %lld",
                      (long long)location[i], i, (long long)t->shape.dim[i]);
    at = at * (size_t)t->shape.dim[i] + (size_t)location[i];
  }
  *out = (char *)t->data + at * bits / 8; /* of types of less than a byte: the byte that it is in */
  return NULL;
}
