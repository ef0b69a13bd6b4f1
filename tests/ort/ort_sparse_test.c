/* SPDX-License-Identifier: Apache-2.0
 * Sparse tensors: coordinates, CSR and blocks, copied in or over the caller's memory. */
#include "ort/values.h"

static const int64_t dense[] = {3, 4}, three[] = {3};
static float values[] = {1, 2, 3};
static int64_t linear[] = {0, 5, 11}, pairs[] = {0, 0, 1, 1, 2, 3};
static int64_t inner[] = {0, 1, 3}, outer[] = {0, 1, 2, 3};

static OrtMemoryInfo *cpu(void) {
  OrtMemoryInfo *info;
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  return info;
}

static OrtValue *empty(OrtAllocator *allocator, const int64_t *dims, size_t rank, ONNXTensorElementDataType type) {
  OrtValue *value;
  OK(ort()->CreateSparseTensorAsOrtValue(allocator, dims, rank, type, &value));
  return value;
}

static OrtValue *over(void *data, const int64_t *dims, const int64_t *shape, size_t rank) {
  OrtValue *value;
  OrtMemoryInfo *info = cpu();
  OK(ort()->CreateSparseTensorWithValuesAsOrtValue(info, data, dims, 2, shape, rank, F32, &value));
  ort()->ReleaseMemoryInfo(info);
  return value;
}

static void expect_shape(OrtTensorTypeAndShapeInfo *info, ONNXTensorElementDataType want_type, const int64_t *want,
                         size_t want_rank) {
  ONNXTensorElementDataType type;
  size_t rank;
  int64_t dims[4];
  OK(ort()->GetTensorElementType(info, &type));
  assert_int_equal(type, want_type);
  OK(ort()->GetDimensionsCount(info, &rank));
  assert_int_equal(rank, want_rank);
  OK(ort()->GetDimensions(info, dims, rank));
  for (size_t i = 0; i < rank; i++) assert_int_equal(dims[i], want[i]);
  ort()->ReleaseTensorTypeAndShapeInfo(info);
}

static void expect_values(const OrtValue *value, OrtSparseFormat want_format, const int64_t *shape, size_t rank,
                          const float *want, size_t n) {
  OrtSparseFormat format;
  OrtTensorTypeAndShapeInfo *info;
  const void *data;
  OK(ort()->GetSparseTensorFormat(value, &format));
  assert_int_equal(format, want_format);
  OK(ort()->GetSparseTensorValuesTypeAndShape(value, &info));
  expect_shape(info, F32, shape, rank);
  OK(ort()->GetSparseTensorValues(value, &data));
  if (n > 0) assert_memory_equal(data, want, n * sizeof *want);
}

/* Compares |n| indices of |bytes| each; those of the other formats are refused. */
static void expect_indices(const OrtValue *value, OrtSparseIndicesFormat which, const int64_t *shape, size_t rank,
                           const void *want, size_t n, size_t bytes) {
  OrtTensorTypeAndShapeInfo *info;
  const void *data;
  size_t count;
  OK(ort()->GetSparseTensorIndicesTypeShape(value, which, &info));
  expect_shape(info, bytes == 8 ? I64 : I32, shape, rank);
  OK(ort()->GetSparseTensorIndices(value, which, &count, &data));
  assert_int_equal(count, n);
  if (n > 0) assert_memory_equal(data, want, n * bytes);
  bool csr = which == ORT_SPARSE_CSR_INNER_INDICES || which == ORT_SPARSE_CSR_OUTER_INDICES;
  for (int other = ORT_SPARSE_COO_INDICES; other <= ORT_SPARSE_BLOCK_SPARSE_INDICES; other++) {
    bool other_csr = other == ORT_SPARSE_CSR_INNER_INDICES || other == ORT_SPARSE_CSR_OUTER_INDICES;
    if (other == (int)which || (csr && other_csr)) continue;
    FAILS(ort()->GetSparseTensorIndices(value, (OrtSparseIndicesFormat)other, &count, &data), ORT_FAIL,
          "'indices_format'");
  }
}

static void test_an_empty_one_has_a_dense_shape_only(void **state) {
  (void)state;
  OrtValue *value = empty(heap(), dense, 2, F32);
  OrtSparseFormat format;
  OrtTensorTypeAndShapeInfo *info;
  const void *data;
  size_t n;
  int is;
  ONNXType kind;
  OK(ort()->GetSparseTensorFormat(value, &format));
  assert_int_equal(format, ORT_SPARSE_UNDEFINED);
  OK(ort()->GetTensorTypeAndShape(value, &info));
  expect_shape(info, F32, dense, 2);
  OK(ort()->IsTensor(value, &is));
  assert_int_equal(is, 0);
  OK(ort()->IsSparseTensor(value, &is));
  assert_int_equal(is, 1);
  OK(ort()->GetValueType(value, &kind));
  assert_int_equal(kind, ONNX_TYPE_SPARSETENSOR);
  FAILS(ort()->GetSparseTensorValues(value, &data), ORT_FAIL, "does not contain sparse data");
  FAILS(ort()->GetSparseTensorValuesTypeAndShape(value, &info), ORT_FAIL, "does not contain sparse data");
  FAILS(ort()->GetSparseTensorIndices(value, ORT_SPARSE_COO_INDICES, &n, &data), ORT_FAIL, "does not contain");
  ort()->ReleaseValue(value);
}

static void test_coordinates_are_copied(void **state) {
  (void)state;
  counting c;
  OrtMemoryInfo *info = cpu();
  counting_init(&c);
  OrtValue *value = empty(&c.table, dense, 2, F32);
  OK(ort()->FillSparseTensorCoo(value, info, three, 1, values, linear, 3));
  assert_int_equal(c.n_alloc, 1);
  assert_int_equal(c.last_bytes, 40);
  expect_values(value, ORT_SPARSE_COO, three, 1, values, 3);
  expect_indices(value, ORT_SPARSE_COO_INDICES, three, 1, linear, 3, 8);
  FAILS(ort()->FillSparseTensorCoo(value, info, three, 1, values, linear, 3), ORT_FAIL, "already has populated");
  ort()->ReleaseValue(value);
  value = empty(&c.table, dense, 2, F32);
  OK(ort()->FillSparseTensorCoo(value, info, three, 1, values, pairs, 6));
  expect_indices(value, ORT_SPARSE_COO_INDICES, (const int64_t[]){3, 2}, 2, pairs, 6, 8);
  ort()->ReleaseValue(value);
  value = empty(&c.table, dense, 2, F32); /* nothing but zeros */
  OK(ort()->FillSparseTensorCoo(value, info, (const int64_t[]){0}, 1, NULL, NULL, 0));
  expect_values(value, ORT_SPARSE_COO, (const int64_t[]){0}, 1, NULL, 0);
  expect_indices(value, ORT_SPARSE_COO_INDICES, (const int64_t[]){0, 2}, 2, NULL, 0, 8);
  ort()->ReleaseValue(value);
  counting_deinit(&c);
  ort()->ReleaseMemoryInfo(info);
}

static void test_wrong_coordinates(void **state) {
  (void)state;
  OrtMemoryInfo *info = cpu();
  OrtValue *value = empty(heap(), dense, 2, F32);
  int64_t behind[] = {0, 5, 12}, before[] = {-1, 5, 11};
  FAILS(ort()->FillSparseTensorCoo(value, info, three, 1, values, pairs, 5), ORT_INVALID_ARGUMENT, "5 indices");
  FAILS(ort()->FillSparseTensorCoo(value, info, three, 1, values, pairs, 0), ORT_INVALID_ARGUMENT, "must be provided");
  FAILS(ort()->FillSparseTensorCoo(value, info, three, 1, values, behind, 3), ORT_INVALID_ARGUMENT, "12 must be in");
  FAILS(ort()->FillSparseTensorCoo(value, info, three, 1, values, before, 3), ORT_INVALID_ARGUMENT, "-1 must be in");
  FAILS(ort()->FillSparseTensorCoo(value, info, (const int64_t[]){-3}, 1, values, linear, 3), ORT_FAIL, "is -3");
  FAILS(ort()->UseCooIndices(value, linear, 3), ORT_INVALID_ARGUMENT, "the values count, 0");
  OK(ort()->FillSparseTensorCoo(value, info, three, 1, values, linear, 3)); /* it is still empty */
  expect_values(value, ORT_SPARSE_COO, three, 1, values, 3);
  ort()->ReleaseValue(value);
  ort()->ReleaseMemoryInfo(info);
}

static void test_rows(void **state) {
  (void)state;
  OrtMemoryInfo *info = cpu();
  OrtValue *value = empty(heap(), dense, 2, F32);
  int64_t far_inner[] = {0, 1, 9}, far_outer[] = {0, 1, 2, 7};
  FAILS(ort()->FillSparseTensorCsr(value, info, three, 1, values, inner, 2, outer, 4), ORT_INVALID_ARGUMENT, "(2)");
  FAILS(ort()->FillSparseTensorCsr(value, info, three, 1, values, inner, 3, outer, 3), ORT_INVALID_ARGUMENT, "got: 2");
  FAILS(ort()->FillSparseTensorCsr(value, info, three, 1, values, inner, 3, far_outer, 4), ORT_INVALID_ARGUMENT,
        "got: 7");
  FAILS(ort()->FillSparseTensorCsr(value, info, three, 1, values, far_inner, 3, outer, 4), ORT_INVALID_ARGUMENT,
        "9 must be in [0, 4)");
  OK(ort()->FillSparseTensorCsr(value, info, three, 1, values, inner, 3, outer, 4));
  expect_values(value, ORT_SPARSE_CSRC, three, 1, values, 3);
  expect_indices(value, ORT_SPARSE_CSR_INNER_INDICES, three, 1, inner, 3, 8);
  expect_indices(value, ORT_SPARSE_CSR_OUTER_INDICES, (const int64_t[]){4}, 1, outer, 4, 8);
  ort()->ReleaseValue(value);
  value = empty(heap(), (const int64_t[]){3, 4, 2}, 3, F32);
  FAILS(ort()->FillSparseTensorCsr(value, info, three, 1, values, inner, 3, outer, 4), ORT_FAIL, "two dimensions");
  ort()->ReleaseValue(value);
  ort()->ReleaseMemoryInfo(info);
}

static void test_blocks(void **state) {
  (void)state;
  static const int64_t square[] = {4, 4}, shape[] = {2, 2, 2}, two[] = {2, 2};
  static float data[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static int32_t at[] = {0, 1, 0, 1};
  OrtMemoryInfo *info = cpu();
  OrtValue *value = empty(heap(), square, 2, F32);
  FAILS(ort()->FillSparseTensorBlockSparse(value, info, shape, 3, data, (const int64_t[]){1, 2}, 2, at), ORT_FAIL, "");
  FAILS(ort()->FillSparseTensorBlockSparse(value, info, shape, 3, data, (const int64_t[]){2, 3}, 2, at), ORT_FAIL, "");
  FAILS(ort()->FillSparseTensorBlockSparse(value, info, shape, 2, data, two, 2, at), ORT_FAIL, "");
  FAILS(ort()->FillSparseTensorBlockSparse(value, info, shape, 3, data, two, 1, at), ORT_FAIL, "");
  OK(ort()->FillSparseTensorBlockSparse(value, info, shape, 3, data, two, 2, at));
  expect_values(value, ORT_SPARSE_BLOCK_SPARSE, shape, 3, data, 8);
  expect_indices(value, ORT_SPARSE_BLOCK_SPARSE_INDICES, two, 2, at, 4, 4);
  ort()->ReleaseValue(value);
  value = over(data, square, shape, 3);
  OK(ort()->UseBlockSparseIndices(value, two, 2, at));
  expect_indices(value, ORT_SPARSE_BLOCK_SPARSE_INDICES, two, 2, at, 4, 4);
  ort()->ReleaseValue(value);
  ort()->ReleaseMemoryInfo(info);
}

static void test_the_callers_memory_is_used(void **state) {
  (void)state;
  const void *data;
  size_t n;
  OrtValue *value = over(values, dense, three, 1);
  OK(ort()->UseCooIndices(value, linear, 3));
  OK(ort()->GetSparseTensorValues(value, &data));
  assert_ptr_equal(data, values);
  OK(ort()->GetSparseTensorIndices(value, ORT_SPARSE_COO_INDICES, &n, &data));
  assert_ptr_equal(data, linear);
  FAILS(ort()->UseCooIndices(value, linear, 3), ORT_FAIL, "already has populated");
  FAILS(ort()->UseCsrIndices(value, inner, 3, outer, 4), ORT_FAIL, "already has populated");
  ort()->ReleaseValue(value);
  value = over(values, dense, three, 1);
  OK(ort()->UseCsrIndices(value, inner, 3, outer, 4));
  expect_values(value, ORT_SPARSE_CSRC, three, 1, values, 3);
  ort()->ReleaseValue(value);
}

static void test_strings(void **state) {
  (void)state;
  static const char *const words[] = {"a", "", "a text that is longer than the others"};
  OrtMemoryInfo *info = cpu();
  OrtValue *value = empty(heap(), dense, 2, STR), *other;
  const void *data;
  size_t n, offsets[3];
  char text[64];
  OK(ort()->FillSparseTensorCoo(value, info, three, 1, words, linear, 3));
  OK(ort()->GetStringTensorDataLength(value, &n));
  assert_int_equal(n, 38);
  OK(ort()->GetStringTensorElementLength(value, 2, &n));
  assert_int_equal(n, 37);
  OK(ort()->GetStringTensorContent(value, text, 38, offsets, 3));
  assert_memory_equal(text, "aa text", 7);
  OK(ort()->GetStringTensorElement(value, 64, 0, text));
  FAILS(ort()->GetSparseTensorValues(value, &data), ORT_INVALID_ARGUMENT, "GetStringTensor*()");
  FAILS(ort()->FillStringTensor(value, words, 3), ORT_RUNTIME_EXCEPTION, "not a tensor");
  FAILS(ort()->FillStringTensorElement(value, "b", 0), ORT_RUNTIME_EXCEPTION, "not a tensor");
  FAILS(ort()->CreateSparseTensorWithValuesAsOrtValue(info, values, dense, 2, three, 1, STR, &other),
        ORT_INVALID_ARGUMENT, "strings in pre-allocated memory");
  ort()->ReleaseValue(value);
  ort()->ReleaseMemoryInfo(info);
}

static void test_what_is_no_sparse_tensor(void **state) {
  (void)state;
  OrtMemoryInfo *info = cpu();
  OrtValue *f = tensor_over(F32, three, 1, values, sizeof values), *list, *sparse = over(values, dense, three, 1);
  OrtSparseFormat format;
  OrtTensorTypeAndShapeInfo *shape;
  const void *data;
  void *p;
  size_t n;
  FAILS(ort()->FillSparseTensorCoo(f, info, three, 1, values, linear, 3), ORT_RUNTIME_EXCEPTION, "not a sparse");
  FAILS(ort()->UseCooIndices(f, linear, 3), ORT_RUNTIME_EXCEPTION, "not a sparse");
  FAILS(ort()->GetSparseTensorFormat(f, &format), ORT_RUNTIME_EXCEPTION, "not a sparse");
  FAILS(ort()->GetSparseTensorValuesTypeAndShape(f, &shape), ORT_RUNTIME_EXCEPTION, "not a sparse");
  FAILS(ort()->GetSparseTensorValues(f, &data), ORT_RUNTIME_EXCEPTION, "not a sparse");
  FAILS(ort()->GetSparseTensorIndices(f, ORT_SPARSE_COO_INDICES, &n, &data), ORT_RUNTIME_EXCEPTION, "not a sparse");
  const OrtValue *const one = sparse;
  FAILS(ort()->CreateValue(&one, 1, ONNX_TYPE_SEQUENCE, &list), ORT_FAIL, "either tensor or map");
  FAILS(ort()->GetValueCount(sparse, &n), ORT_FAIL, "neither");
  FAILS(ort()->TensorAt(sparse, dense, 2, &p), ORT_RUNTIME_EXCEPTION, "not a tensor");
  FAILS(ort()->GetTensorMutableData(sparse, &p), ORT_RUNTIME_EXCEPTION, "not a tensor");
  ort()->ReleaseValue(f), ort()->ReleaseValue(sparse);
  static const ONNXTensorElementDataType none[] = {
      ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,  ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2};
  for (size_t i = 0; i < COUNT(none); i++)
    FAILS(ort()->CreateSparseTensorAsOrtValue(heap(), dense, 2, none[i], &list), ORT_NOT_IMPLEMENTED, "'type'");
  FAILS(ort()->CreateSparseTensorAsOrtValue(heap(), (const int64_t[]){3, -1}, 2, F32, &list), ORT_INVALID_ARGUMENT,
        "dimension 1 of 'dense_shape' is -1");
  ort()->ReleaseMemoryInfo(info);
}

static void test_null_is_an_error_that_names_the_argument(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's crashes */
  OrtMemoryInfo *info = cpu();
  OrtValue *out, *value = empty(heap(), dense, 2, F32), *words = empty(heap(), dense, 2, STR);
  static const char *const holes[] = {"a", NULL, "c"};
#define REFUSES(call, argument) FAILS(call, ORT_INVALID_ARGUMENT, "'" argument "'")
  REFUSES(ort()->CreateSparseTensorAsOrtValue(NULL, dense, 2, F32, &out), "allocator");
  REFUSES(ort()->CreateSparseTensorAsOrtValue(heap(), NULL, 2, F32, &out), "dense_shape");
  REFUSES(ort()->CreateSparseTensorAsOrtValue(heap(), dense, 2, F32, NULL), "out");
  REFUSES(ort()->CreateSparseTensorWithValuesAsOrtValue(NULL, values, dense, 2, three, 1, F32, &out), "info");
  REFUSES(ort()->CreateSparseTensorWithValuesAsOrtValue(info, NULL, dense, 2, three, 1, F32, &out), "p_data");
  REFUSES(ort()->FillSparseTensorCoo(NULL, info, three, 1, values, linear, 3), "value");
  REFUSES(ort()->FillSparseTensorCoo(value, NULL, three, 1, values, linear, 3), "data_mem_info");
  REFUSES(ort()->FillSparseTensorCoo(value, info, NULL, 1, values, linear, 3), "shape");
  REFUSES(ort()->FillSparseTensorCoo(value, info, three, 1, NULL, linear, 3), "values");
  REFUSES(ort()->FillSparseTensorCoo(value, info, three, 1, values, NULL, 3), "indices");
  REFUSES(ort()->FillSparseTensorCoo(words, info, three, 1, holes, linear, 3), "values");
  REFUSES(ort()->FillSparseTensorCsr(value, info, three, 1, values, inner, 3, NULL, 4), "indices");
  REFUSES(ort()->FillSparseTensorBlockSparse(value, info, three, 1, values, dense, 2, NULL), "indices_data");
  REFUSES(ort()->UseCooIndices(NULL, linear, 3), "value");
  REFUSES(ort()->UseCsrIndices(NULL, inner, 3, outer, 4), "value");
  REFUSES(ort()->UseBlockSparseIndices(NULL, dense, 2, NULL), "value");
  REFUSES(ort()->GetSparseTensorFormat(NULL, NULL), "out");
  REFUSES(ort()->GetSparseTensorValues(value, NULL), "out");
  REFUSES(ort()->GetSparseTensorIndices(value, ORT_SPARSE_COO_INDICES, NULL, NULL), "num_indices");
  REFUSES(ort()->IsSparseTensor(NULL, NULL), "value");
  ort()->ReleaseValue(value), ort()->ReleaseValue(words);
  ort()->ReleaseMemoryInfo(info);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_empty_one_has_a_dense_shape_only),
      cmocka_unit_test(test_coordinates_are_copied),
      cmocka_unit_test(test_wrong_coordinates),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_the_callers_memory_is_used),
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_what_is_no_sparse_tensor),
      cmocka_unit_test(test_null_is_an_error_that_names_the_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
