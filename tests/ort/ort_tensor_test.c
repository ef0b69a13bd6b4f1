/* SPDX-License-Identifier: Apache-2.0
 * Tensors: made over the caller's memory or in that of an allocator, looked at, refused. */
#include "ort/values.h"

/* Bytes of 5 elements of each type. */
static const struct {
  ONNXTensorElementDataType type;
  size_t bytes;
} types[] = {
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 20},         {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 5},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, 5},           {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 10},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 10},         {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 20},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 40},         {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 5},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 10},       {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 40},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, 20},        {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, 40},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, 10},      {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, 5},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, 5}, {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, 5},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, 5}, {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, 5},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, 3},          {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, 3},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, 3},     {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, 2},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, 2},
};

static void expect(const OrtValue *value, ONNXTensorElementDataType type, const int64_t *dims, size_t rank,
                   size_t bytes) {
  ONNXTensorElementDataType got_type;
  const int64_t *got_dims;
  size_t got_rank, got_bytes;
  int is;
  ONNXType kind;
  OK(ort()->GetTensorElementTypeAndShapeDataReference(value, &got_type, &got_dims, &got_rank));
  assert_int_equal(got_type, type);
  assert_int_equal(got_rank, rank);
  for (size_t i = 0; i < rank; i++) assert_int_equal(got_dims[i], dims[i]);
  OK(ort()->GetTensorSizeInBytes(value, &got_bytes));
  assert_int_equal(got_bytes, bytes);
  OK(ort()->IsTensor(value, &is));
  assert_int_equal(is, 1);
  OK(ort()->IsSparseTensor(value, &is));
  assert_int_equal(is, 0);
  OK(ort()->HasValue(value, &is));
  assert_int_equal(is, 1);
  OK(ort()->GetValueType(value, &kind));
  assert_int_equal(kind, ONNX_TYPE_TENSOR);
}

static void test_every_type_has_its_bytes(void **state) {
  (void)state;
  uint8_t data[64];
  const int64_t dims[] = {5};
  for (size_t i = 0; i < COUNT(types); i++) {
    OrtValue *over = tensor_over(types[i].type, dims, 1, data, types[i].bytes), *made;
    expect(over, types[i].type, dims, 1, types[i].bytes);
    assert_ptr_equal(data_of(over), data);
    ort()->ReleaseValue(over);
    OK(ort()->CreateTensorAsOrtValue(heap(), dims, 1, types[i].type, &made));
    expect(made, types[i].type, dims, 1, types[i].bytes);
    memset(data_of(made), 1, types[i].bytes);
    ort()->ReleaseValue(made);
    OrtMemoryInfo *info;
    OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
    FAILS(ort()->CreateTensorWithDataAsOrtValue(info, data, types[i].bytes - 1, dims, 1, types[i].type, &over),
          ORT_INVALID_ARGUMENT, "not enough space");
    ort()->ReleaseMemoryInfo(info);
  }
}

static void test_shapes(void **state) {
  (void)state;
  static const struct {
    size_t rank;
    int64_t dims[16];
    size_t bytes;
  } rows[] = {
      {0, {0}, 4},
      {1, {0}, 0},
      {1, {1}, 4},
      {3, {2, 0, 3}, 0},
      {3, {0, INT64_MAX, INT64_MAX}, 0}, /* no element, whatever the others are */
      {4, {2, 3, 1, 4}, 96},
      {16, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, 8},
  };
  float data[24] = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    OrtValue *value = tensor_over(F32, rows[i].dims, rows[i].rank, data, sizeof data);
    expect(value, F32, rows[i].dims, rows[i].rank, rows[i].bytes);
    ort()->ReleaseValue(value);
    OK(ort()->CreateTensorAsOrtValue(heap(), rows[i].dims, rows[i].rank, F32, &value));
    expect(value, F32, rows[i].dims, rows[i].rank, rows[i].bytes);
    ort()->ReleaseValue(value);
  }
}

static void test_no_element_needs_no_memory(void **state) {
  (void)state;
  OrtMemoryInfo *info;
  OrtValue *value;
  const int64_t dims[] = {0, 4};
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  OK(ort()->CreateTensorWithDataAsOrtValue(info, NULL, 0, dims, 2, F32, &value));
  assert_null(data_of(value));
  ort()->ReleaseValue(value);
  ort()->ReleaseMemoryInfo(info);
}

static void test_shapes_that_are_none(void **state) {
  (void)state;
  static const struct {
    int64_t dims[3];
    OrtErrorCode over, made;
    const char *part;
  } rows[] = {
      {{2, -1, 2}, ORT_INVALID_ARGUMENT, ORT_FAIL, "dimension 1 of 'shape' is -1"},
      {{INT64_MIN, 1, 1}, ORT_INVALID_ARGUMENT, ORT_FAIL, "dimension 0"},
      {{(int64_t)1 << 40, (int64_t)1 << 40, 1}, ORT_FAIL, ORT_FAIL, "more elements than memory"},
      {{INT64_MAX, 2, 1}, ORT_FAIL, ORT_FAIL, "more elements than memory"},
  };
  OrtMemoryInfo *info;
  OrtValue *value;
  float data[4];
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  for (size_t i = 0; i < COUNT(rows); i++) {
    FAILS(ort()->CreateTensorWithDataAsOrtValue(info, data, sizeof data, rows[i].dims, 3, F32, &value), rows[i].over,
          rows[i].part);
    FAILS(ort()->CreateTensorAsOrtValue(heap(), rows[i].dims, 3, F32, &value), rows[i].made, rows[i].part);
  }
  static const int wrong[] = {ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, 27, 99, -1};
  const int64_t one[17] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    ONNXTensorElementDataType type = (ONNXTensorElementDataType)wrong[i];
    FAILS(ort()->CreateTensorWithDataAsOrtValue(info, data, 4, one, 1, type, &value), ORT_NOT_IMPLEMENTED, "'type'");
    FAILS(ort()->CreateTensorAsOrtValue(heap(), one, 1, type, &value), ORT_NOT_IMPLEMENTED, "'type'");
  }
  if (ort_is_onyx()) /* tensors of 17 dimensions are not for us */
    FAILS(ort()->CreateTensorAsOrtValue(heap(), one, 17, F32, &value), ORT_INVALID_ARGUMENT, "'shape_len' is 17");
  FAILS(ort()->CreateTensorWithDataAsOrtValue(info, data, sizeof data, one, 1, STR, &value), ORT_INVALID_ARGUMENT, "");
  ort()->ReleaseMemoryInfo(info);
}

static void test_an_allocator_of_the_client_gets_its_memory_back(void **state) {
  (void)state;
  counting c;
  OrtValue *value;
  const OrtMemoryInfo *info;
  const int64_t dims[] = {2, 3};
  counting_init(&c);
  OK(ort()->CreateTensorAsOrtValue(&c.table, dims, 2, F32, &value));
  assert_int_equal(c.n_alloc, 1);
  assert_int_equal(c.last_bytes, 24);
  OK(ort()->GetTensorMemoryInfo(value, &info));
  int differ = 1;
  OK(ort()->CompareMemoryInfo(info, c.info, &differ));
  assert_int_equal(differ, 0);
  ort()->ReleaseValue(value);
  assert_int_equal(c.n_free, 1);
  OK(ort()->CreateTensorAsOrtValue(&c.table, dims, 2, STR, &value));
  OK(ort()->FillStringTensorElement(value, "a string that is longer than what std::string has inside", 3));
  ort()->ReleaseValue(value);
  assert_int_equal(c.n_alloc, 2);

  void *data = counting_alloc(&c.table, 24);
  OK(ort()->CreateTensorWithDataAndDeleterAsOrtValue(&c.table, data, 24, dims, 2, F32, &value));
  assert_ptr_equal(data_of(value), data);
  ort()->ReleaseValue(value);
  assert_int_equal(c.n_free, 3);
  float on_stack[6];
  FAILS(ort()->CreateTensorWithDataAndDeleterAsOrtValue(&c.table, on_stack, 23, dims, 2, F32, &value),
        ORT_INVALID_ARGUMENT, "expected 24, got 23");
  counting_deinit(&c);
}

static void test_an_allocator_without_memory_is_an_error(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's gives a tensor without data */
  counting c;
  OrtValue *value;
  void *p;
  const int64_t dims[] = {2, 3};
  counting_init(&c);
  c.empty = true;
  FAILS(ort()->CreateTensorAsOrtValue(&c.table, dims, 2, F32, &value), ORT_RUNTIME_EXCEPTION, "24 bytes");
  FAILS(ort()->CreateTensorAsOrtValue(&c.table, dims, 2, STR, &value), ORT_RUNTIME_EXCEPTION, "out of memory");
  FAILS(ort()->AllocatorAlloc(&c.table, 8, &p), ORT_RUNTIME_EXCEPTION, "8 bytes");
  counting_deinit(&c);
}

static void test_the_place_of_an_element(void **state) {
  (void)state;
  float data[24];
  const int64_t dims[] = {2, 3, 4};
  static const struct {
    int64_t at[3];
    size_t n;
    int want; /* -1: refused */
  } rows[] = {{{0, 0, 0}, 3, 0},  {{1, 2, 3}, 3, 23}, {{0, 1, 2}, 3, 6},  {{1, 2, 3}, 2, -1}, {{0, 0, 0}, 0, -1},
              {{2, 0, 0}, 3, -1}, {{0, 3, 0}, 3, -1}, {{0, 0, 4}, 3, -1}, {{-1, 0, 0}, 3, -1}};
  OrtValue *value = tensor_over(F32, dims, 3, data, sizeof data), *scalar = tensor_over(F32, NULL, 0, data, 4);
  for (size_t i = 0; i < COUNT(rows); i++) {
    void *p = NULL;
    if (rows[i].want < 0) {
      FAILS(ort()->TensorAt(value, rows[i].at, rows[i].n, &p), ORT_INVALID_ARGUMENT, "location");
    } else {
      OK(ort()->TensorAt(value, rows[i].at, rows[i].n, &p));
      assert_ptr_equal(p, data + rows[i].want);
    }
  }
  void *p;
  OK(ort()->TensorAt(scalar, NULL, 0, &p));
  assert_ptr_equal(p, data);
  ort()->ReleaseValue(value), ort()->ReleaseValue(scalar);
}

static void test_where_a_tensor_lies(void **state) {
  (void)state;
  static const struct {
    const char *name;
    OrtAllocatorType allocator;
    OrtMemType mem;
  } rows[] = {{"Cpu", OrtArenaAllocator, OrtMemTypeDefault},
              {"Cpu", OrtDeviceAllocator, OrtMemTypeDefault},
              {"Cpu", OrtDeviceAllocator, OrtMemTypeCPUInput},
              {"Cpu", OrtReadOnlyAllocator, OrtMemTypeDefault},
              {"Cuda", OrtDeviceAllocator, OrtMemTypeDefault}};
  float data[1];
  for (size_t i = 0; i < COUNT(rows); i++) {
    OrtMemoryInfo *given, *again;
    const OrtMemoryInfo *got;
    OrtValue *value;
    int differ = 1;
    OK(ort()->CreateMemoryInfo(rows[i].name, rows[i].allocator, 0, rows[i].mem, &given));
    OK(ort()->CreateMemoryInfo(rows[i].name, rows[i].allocator, 0, rows[i].mem, &again));
    OK(ort()->CreateTensorWithDataAsOrtValue(given, data, 4, NULL, 0, F32, &value));
    ort()->ReleaseMemoryInfo(given); /* the tensor does not need it any more */
    OK(ort()->GetTensorMemoryInfo(value, &got));
    OK(ort()->CompareMemoryInfo(got, again, &differ));
    assert_int_equal(differ, 0);
    ort()->ReleaseValue(value);
    ort()->ReleaseMemoryInfo(again);
  }
}

static void test_null_is_an_error_that_names_the_argument(void **state) {
  (void)state;
  ort()->ReleaseValue(NULL);
  if (!ort_is_onyx()) skip(); /* Microsoft's crashes */
  OrtMemoryInfo *info;
  OrtValue *value;
  void *p;
  const void *cp;
  const OrtMemoryInfo *where;
  int i;
  size_t n;
  ONNXType kind;
  ONNXTensorElementDataType type;
  const int64_t *shape, dims[] = {1};
  float data[1];
  OK(ort()->CreateCpuMemoryInfo(0, 0, &info));
#define REFUSES(call, argument) FAILS(call, ORT_INVALID_ARGUMENT, "'" argument "' is NULL")
  REFUSES(ort()->CreateTensorAsOrtValue(NULL, dims, 1, F32, &value), "allocator");
  REFUSES(ort()->CreateTensorAsOrtValue(heap(), NULL, 1, F32, &value), "shape");
  REFUSES(ort()->CreateTensorAsOrtValue(heap(), dims, 1, F32, NULL), "out");
  REFUSES(ort()->CreateTensorWithDataAsOrtValue(NULL, data, 4, dims, 1, F32, &value), "info");
  REFUSES(ort()->CreateTensorWithDataAsOrtValue(info, NULL, 4, dims, 1, F32, &value), "p_data");
  REFUSES(ort()->CreateTensorWithDataAsOrtValue(info, data, 4, NULL, 1, F32, &value), "shape");
  REFUSES(ort()->CreateTensorWithDataAsOrtValue(info, data, 4, dims, 1, F32, NULL), "out");
  REFUSES(ort()->CreateTensorWithDataAndDeleterAsOrtValue(NULL, data, 4, dims, 1, F32, &value), "deleter");
  REFUSES(ort()->CreateTensorWithDataAndDeleterAsOrtValue(heap(), NULL, 4, dims, 1, F32, &value), "p_data");
  REFUSES(ort()->GetTensorMutableData(NULL, &p), "value");
  REFUSES(ort()->GetTensorData(NULL, &cp), "value");
  REFUSES(ort()->GetTensorSizeInBytes(NULL, &n), "value");
  REFUSES(ort()->GetTensorMemoryInfo(NULL, &where), "value");
  REFUSES(ort()->GetTensorElementTypeAndShapeDataReference(NULL, &type, &shape, &n), "value");
  REFUSES(ort()->TensorAt(NULL, dims, 1, &p), "value");
  REFUSES(ort()->IsTensor(NULL, &i), "value");
  REFUSES(ort()->HasValue(NULL, &i), "value");
  REFUSES(ort()->GetValueType(NULL, &kind), "value");
  value = tensor_over(F32, dims, 1, data, 4);
  REFUSES(ort()->GetTensorMutableData(value, NULL), "out");
  REFUSES(ort()->GetTensorData(value, NULL), "out");
  REFUSES(ort()->GetTensorSizeInBytes(value, NULL), "out");
  REFUSES(ort()->GetTensorMemoryInfo(value, NULL), "out");
  REFUSES(ort()->GetTensorElementTypeAndShapeDataReference(value, NULL, &shape, &n), "type");
  REFUSES(ort()->GetTensorElementTypeAndShapeDataReference(value, &type, NULL, &n), "shape");
  REFUSES(ort()->GetTensorElementTypeAndShapeDataReference(value, &type, &shape, NULL), "shape_len");
  REFUSES(ort()->TensorAt(value, NULL, 1, &p), "location");
  REFUSES(ort()->TensorAt(value, dims, 1, NULL), "out");
  REFUSES(ort()->IsTensor(value, NULL), "out");
  REFUSES(ort()->GetValueType(value, NULL), "out");
  ort()->ReleaseValue(value);
  ort()->ReleaseMemoryInfo(info);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_type_has_its_bytes),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_no_element_needs_no_memory),
      cmocka_unit_test(test_shapes_that_are_none),
      cmocka_unit_test(test_an_allocator_of_the_client_gets_its_memory_back),
      cmocka_unit_test(test_an_allocator_without_memory_is_an_error),
      cmocka_unit_test(test_the_place_of_an_element),
      cmocka_unit_test(test_where_a_tensor_lies),
      cmocka_unit_test(test_null_is_an_error_that_names_the_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
