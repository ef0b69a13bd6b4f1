/* SPDX-License-Identifier: Apache-2.0
 * ort/values.h - values for clients' tests, and an allocator that counts. */
#ifndef OX_TESTS_ORT_VALUES_H
#define OX_TESTS_ORT_VALUES_H

#include "ort/client.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Short names of element types. */
#define F32 ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
#define F64 ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE
#define I32 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32
#define I64 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64
#define STR ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING

static inline OrtAllocator *heap(void) {
  OrtAllocator *allocator;
  OK(ort()->GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

/* A tensor over |data|. */
static inline OrtValue *tensor_over(ONNXTensorElementDataType type, const int64_t *dims, size_t rank, void *data,
                                    size_t bytes) {
  OrtMemoryInfo *info;
  OrtValue *value;
  OK(ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
  OK(ort()->CreateTensorWithDataAsOrtValue(info, data, bytes, dims, rank, type, &value));
  ort()->ReleaseMemoryInfo(info);
  return value;
}

/* |n| strings in one dimension. */
static inline OrtValue *strings_of(const char *const *texts, size_t n) {
  OrtValue *value;
  const int64_t dims[] = {(int64_t)n};
  OK(ort()->CreateTensorAsOrtValue(heap(), dims, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &value));
  OK(ort()->FillStringTensor(value, texts, n));
  return value;
}

static inline void *data_of(OrtValue *value) {
  void *data;
  OK(ort()->GetTensorMutableData(value, &data));
  return data;
}

static inline size_t count_of(const OrtValue *value) {
  OrtTensorTypeAndShapeInfo *info;
  size_t n;
  OK(ort()->GetTensorTypeAndShape(value, &info));
  OK(ort()->GetTensorShapeElementCount(info, &n));
  ort()->ReleaseTensorTypeAndShapeInfo(info);
  return n;
}

/* The strings of |value|, each in brackets. */
static inline const char *text_of(const OrtValue *value) {
  static char text[1024];
  size_t n = count_of(value), used = 0, length;
  for (size_t i = 0; i < n; i++) {
    OK(ort()->GetStringTensorElementLength(value, i, &length));
    assert_true(used + length + 3 < sizeof text);
    text[used++] = '[';
    OK(ort()->GetStringTensorElement(value, length, i, text + used));
    used += length;
    text[used++] = ']';
  }
  text[used] = 0;
  return text;
}

/* ---- an allocator of the client, which counts ---- */

typedef struct counting {
  OrtAllocator table; /* first */
  OrtMemoryInfo *info;
  size_t n_alloc, n_free, last_bytes;
  bool empty; /* gives nothing */
} counting;

static inline void *counting_alloc(OrtAllocator *a, size_t bytes) {
  counting *c = (counting *)a;
  if (c->empty) return NULL;
  c->n_alloc++, c->last_bytes = bytes;
  return malloc(bytes > 0 ? bytes : 1);
}

static inline void counting_free(OrtAllocator *a, void *p) {
  if (p == NULL) return;
  ((counting *)a)->n_free++;
  free(p);
}

static inline const OrtMemoryInfo *counting_info(const OrtAllocator *a) { return ((const counting *)a)->info; }

/* For API version 1: nothing behind Info is there. */
static inline void counting_init(counting *c) {
  *c = (counting){.table = {.version = 1, .Alloc = counting_alloc, .Free = counting_free, .Info = counting_info}};
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &c->info));
}

/* Fails if something was not given back. */
static inline void counting_deinit(counting *c) {
  assert_int_equal(c->n_alloc, c->n_free);
  ort()->ReleaseMemoryInfo(c->info);
}

#endif
