/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_sparse.c - sparse tensors: made empty and filled with copies, or made over the caller's values and
 * indices.
 */
#include "ort/value/ort_sparse.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"

/* ---- making ---- */

static void release(void *handle) {
  ort_sparse *s = *(ort_sparse **)ort_value_extra(handle);
  if (s == NULL) return;
  if (s->memory != NULL) {
    if (s->values.dtype == OX_STRING)
      ort_strings_release(&s->strings, s->values.data, s->values.bytes / sizeof(ox_str));
    s->allocator->Free(s->allocator, s->memory);
  }
  free(s->places);
  free(s);
}

static OrtStatus *check_type(const char *function, ONNXTensorElementDataType type) {
  uint32_t dtype = ort_type_to(type);
  bool whole = dtype == OX_STRING || (dtype != OX_UNDEFINED && ox_type_bits(dtype) % 8 == 0);
  if (whole && dtype != OX_C64 && dtype != OX_C128) return NULL;
  return ort_fail(ORT_NOT_IMPLEMENTED, "%s: 'type' is %d: no sparse tensors of it", function, (int)type);
}

/* Without values and indices. */
static OrtStatus *make(const char *function, const int64_t *dims, size_t rank, ONNXTensorElementDataType type,
                       OrtAllocator *allocator, OrtValue **out) {
  ox_tensor t;
  ORT_TRY(check_type(function, type));
  ORT_TRY(ort_shape_describe(function, ORT_INVALID_ARGUMENT, "dense_shape", dims, rank, &t.shape));
  ort_sparse *s = calloc(1, sizeof *s);
  if (s == NULL) return ort_out_of_memory();
  s->shape = t.shape, s->allocator = allocator;
  s->values = (ox_tensor){.kind = OX_TENSOR, .dtype = ort_type_to(type), .shape = {1, {0}}};
  s->indices = (ox_tensor){.kind = OX_TENSOR, .dtype = OX_I64, .shape = {1, {0}}};
  s->coo[0] = s->values, s->coo[1] = s->indices;
  t.kind = OX_SPARSE, t.dtype = s->values.dtype, t.data = s->coo, t.bytes = sizeof s->coo;
  OrtStatus *st = ort_value_create(&t, sizeof s, release, out);
  if (st != NULL) {
    free(s);
    return st;
  }
  *(ort_sparse **)ort_value_extra(*out) = s;
  (*out)->sparse = s;
  return NULL;
}

OrtStatus *ort_CreateSparseTensorAsOrtValue(OrtAllocator *allocator, const int64_t *dense_shape, size_t dense_shape_len,
                                            ONNXTensorElementDataType type, OrtValue **out) {
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(allocator);
  return make("CreateSparseTensorAsOrtValue", dense_shape, dense_shape_len, type, allocator, out);
}

OrtStatus *ort_CreateSparseTensorWithValuesAsOrtValue(const OrtMemoryInfo *info, void *p_data,
                                                      const int64_t *dense_shape, size_t dense_shape_len,
                                                      const int64_t *values_shape, size_t values_shape_len,
                                                      ONNXTensorElementDataType type, OrtValue **out) {
  static const char name[] = "CreateSparseTensorWithValuesAsOrtValue";
  ox_tensor values;
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(info);
  ORT_TRY(check_type(name, type));
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: 'type': Can not use strings in pre-allocated memory", name);
  ORT_TRY(ort_tensor_describe(name, ORT_INVALID_ARGUMENT, type, values_shape, values_shape_len, &values));
  if (values.bytes > 0 && p_data == NULL) return ort_null_argument(name, "p_data");
  ORT_TRY(make(name, dense_shape, dense_shape_len, type, NULL, out));
  values.data = p_data;
  (*out)->sparse->values = values;
  return NULL;
}

/* ---- filling ---- */

/* |value| is a sparse tensor of ours, without indices yet. */
static OrtStatus *open_sparse(const char *function, OrtValue *value, ort_sparse **out) {
  if (value == NULL) return ort_null_argument(function, "value");
  if (value->tensor->kind != OX_SPARSE)
    return ort_fail(ORT_RUNTIME_EXCEPTION, "%s: 'value' is not a sparse tensor", function);
  if (value->sparse == NULL || value->sparse->format != ORT_SPARSE_UNDEFINED)
    return ort_fail(ORT_FAIL, "%s: 'value': this tensor already has populated sparse_indices", function);
  *out = value->sparse;
  return NULL;
}

/* |n| indices of |item| bytes at |data|. */
static OrtStatus *describe_indices(const char *function, uint32_t dtype, size_t item, const void *data, size_t n,
                                   ox_tensor *out) {
  size_t bytes;
  if (n > INT64_MAX || !ort_mul_ok(n, item, &bytes))
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: %zu indices are too many", function, n);
  if (n > 0 && data == NULL) return ort_null_argument(function, "indices");
  *out = (ox_tensor){.kind = OX_TENSOR, .dtype = dtype, .data = (void *)(uintptr_t)data, .bytes = bytes};
  out->shape = (ox_shape){1, {(int64_t)n}};
  return NULL;
}

static OrtStatus *describe_indices64(const char *function, const int64_t *data, size_t n, ox_tensor *out) {
  return describe_indices(function, OX_I64, sizeof *data, data, n, out);
}

/* What Fill... gets: all of it is copied. */
typedef struct given {
  const OrtMemoryInfo *info;
  const int64_t *values_shape;
  size_t values_rank;
  const void *values; /* of strings: const char *const * */
} given;

static OrtStatus *describe_values(const char *function, const ort_sparse *s, const given *g, ox_tensor *out) {
  if (g->info == NULL) return ort_null_argument(function, "data_mem_info");
  if (!ort_memory_is_cpu(g->info))
    return ort_fail(ORT_NOT_IMPLEMENTED, "%s: 'data_mem_info' is '%s', which the CPU cannot read", function,
                    g->info->name);
  ORT_TRY(
      ort_tensor_describe(function, ORT_FAIL, ort_type_from(s->values.dtype), g->values_shape, g->values_rank, out));
  out->data = (void *)(uintptr_t)g->values;
  return out->bytes > 0 && g->values == NULL ? ort_null_argument(function, "values") : NULL;
}

static OrtStatus *copy_texts(const char *function, ort_sparse *s, const char *const *texts, size_t n) {
  ox_str *items = s->values.data, *from = malloc(n * sizeof *from);
  OrtValue handle = {.strings = &s->strings};
  OrtStatus *st = from == NULL ? ort_out_of_memory() : NULL;
  for (size_t i = 0; i < n; i++) items[i] = (ox_str){"", 0};
  for (size_t i = 0; st == NULL && i < n; i++) {
    if (texts[i] == NULL)
      st = ort_fail(ORT_INVALID_ARGUMENT, "%s: 'values' has NULL at %zu", function, i);
    else
      from[i] = (ox_str){texts[i], strlen(texts[i])};
  }
  if (st == NULL) st = ort_strings_copy(&handle, from, n, items);
  free(from);
  return st;
}

/* |bytes| and what is behind them up to a multiple of 8. */
static size_t padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

/* Puts |t| at |*at| and moves on. */
static void put(ox_tensor *t, char **at) {
  if (t->bytes > 0) memcpy(*at, t->data, t->bytes);
  t->data = t->bytes > 0 ? *at : NULL;
  *at += padded(t->bytes);
}

/* Copies what |s| leads to, the caller's, into one block. All of it lies in memory, so its size fits. */
static OrtStatus *copy_all(const char *function, ort_sparse *s) {
  size_t bytes = padded(s->values.bytes) + padded(s->indices.bytes) + padded(s->outer.bytes);
  if (bytes == 0) return NULL;
  ORT_TRY(ort_allocate(s->allocator, bytes, &s->memory));
  char *at = s->memory;
  const void *texts = s->values.data;
  if (s->values.dtype == OX_STRING) { /* the texts are elsewhere */
    s->values.data = at;
    at += padded(s->values.bytes);
    ORT_TRY(copy_texts(function, s, texts, s->values.bytes / sizeof(ox_str)));
  } else {
    put(&s->values, &at);
  }
  put(&s->indices, &at);
  put(&s->outer, &at);
  return NULL;
}

/* |s| with these values and the indices that it has: checked in place, then copied. On failure it is empty again. */
static OrtStatus *fill(const char *function, ort_sparse *s, const given *g, OrtSparseFormat format) {
  const ox_tensor none = s->values, no_indices = {.kind = OX_TENSOR, .dtype = OX_I64, .shape = {1, {0}}};
  OrtStatus *st = s->allocator == NULL ? ort_fail(ORT_FAIL, "%s: 'value' has values of its own", function) : NULL;
  ox_tensor values = none;
  if (st == NULL) st = describe_values(function, s, g, &values);
  s->values = values;
  if (st == NULL && format != ORT_SPARSE_BLOCK_SPARSE) s->values.shape = (ox_shape){1, {ox_tensor_count(&values)}};
  if (st == NULL) st = ort_sparse_set_format(function, s, format);
  if (st == NULL) st = copy_all(function, s);
  if (st == NULL) {
    s->coo[0].data = s->values.data;
    if (format == ORT_SPARSE_COO) s->coo[1].data = s->indices.data;
    return NULL;
  }
  if (s->memory != NULL) s->allocator->Free(s->allocator, s->memory);
  free(s->places);
  s->memory = NULL, s->places = NULL, s->format = ORT_SPARSE_UNDEFINED;
  s->values = none, s->indices = no_indices, s->outer = (ox_tensor){0};
  s->coo[0] = none, s->coo[1] = no_indices;
  return st;
}

OrtStatus *ort_FillSparseTensorCoo(OrtValue *value, const OrtMemoryInfo *data_mem_info, const int64_t *values_shape,
                                   size_t values_shape_len, const void *values, const int64_t *indices_data,
                                   size_t indices_num) {
  ort_sparse *s = NULL;
  ORT_TRY(open_sparse("FillSparseTensorCoo", value, &s));
  ORT_TRY(describe_indices64("FillSparseTensorCoo", indices_data, indices_num, &s->indices));
  const given g = {data_mem_info, values_shape, values_shape_len, values};
  return fill("FillSparseTensorCoo", s, &g, ORT_SPARSE_COO);
}

OrtStatus *ort_FillSparseTensorCsr(OrtValue *value, const OrtMemoryInfo *data_mem_info, const int64_t *values_shape,
                                   size_t values_shape_len, const void *values, const int64_t *inner_indices_data,
                                   size_t inner_indices_num, const int64_t *outer_indices_data,
                                   size_t outer_indices_num) {
  ort_sparse *s = NULL;
  ORT_TRY(open_sparse("FillSparseTensorCsr", value, &s));
  ORT_TRY(describe_indices64("FillSparseTensorCsr", inner_indices_data, inner_indices_num, &s->indices));
  ORT_TRY(describe_indices64("FillSparseTensorCsr", outer_indices_data, outer_indices_num, &s->outer));
  const given g = {data_mem_info, values_shape, values_shape_len, values};
  return fill("FillSparseTensorCsr", s, &g, ORT_SPARSE_CSRC);
}

/* |out| is |indices_data| in its shape. */
static OrtStatus *describe_blocks(const char *function, const int64_t *dims, size_t rank, const int32_t *data,
                                  ox_tensor *out) {
  ORT_TRY(ort_tensor_describe(function, ORT_INVALID_ARGUMENT, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, dims, rank, out));
  out->data = (void *)(uintptr_t)data;
  return out->bytes > 0 && data == NULL ? ort_null_argument(function, "indices_data") : NULL;
}

OrtStatus *ort_FillSparseTensorBlockSparse(OrtValue *value, const OrtMemoryInfo *data_mem_info,
                                           const int64_t *values_shape, size_t values_shape_len, const void *values,
                                           const int64_t *indices_shape_data, size_t indices_shape_len,
                                           const int32_t *indices_data) {
  static const char name[] = "FillSparseTensorBlockSparse";
  ort_sparse *s = NULL;
  ORT_TRY(open_sparse(name, value, &s));
  ORT_TRY(describe_blocks(name, indices_shape_data, indices_shape_len, indices_data, &s->indices));
  const given g = {data_mem_info, values_shape, values_shape_len, values};
  return fill(name, s, &g, ORT_SPARSE_BLOCK_SPARSE);
}

/* ---- using the caller's ---- */

OrtStatus *ort_UseCooIndices(OrtValue *value, int64_t *indices_data, size_t indices_num) {
  ort_sparse *s = NULL;
  ORT_TRY(open_sparse("UseCooIndices", value, &s));
  ORT_TRY(describe_indices64("UseCooIndices", indices_data, indices_num, &s->indices));
  return ort_sparse_set_format("UseCooIndices", s, ORT_SPARSE_COO);
}

OrtStatus *ort_UseCsrIndices(OrtValue *value, int64_t *inner_data, size_t inner_num, int64_t *outer_data,
                             size_t outer_num) {
  ort_sparse *s = NULL;
  ORT_TRY(open_sparse("UseCsrIndices", value, &s));
  ORT_TRY(describe_indices64("UseCsrIndices", inner_data, inner_num, &s->indices));
  ORT_TRY(describe_indices64("UseCsrIndices", outer_data, outer_num, &s->outer));
  return ort_sparse_set_format("UseCsrIndices", s, ORT_SPARSE_CSRC);
}

OrtStatus *ort_UseBlockSparseIndices(OrtValue *value, const int64_t *indices_shape, size_t indices_shape_len,
                                     int32_t *indices_data) {
  ort_sparse *s = NULL;
  ORT_TRY(open_sparse("UseBlockSparseIndices", value, &s));
  ORT_TRY(describe_blocks("UseBlockSparseIndices", indices_shape, indices_shape_len, indices_data, &s->indices));
  return ort_sparse_set_format("UseBlockSparseIndices", s, ORT_SPARSE_BLOCK_SPARSE);
}
