/* SPDX-License-Identifier: Apache-2.0
 * OrtTypeInfo and OrtTensorTypeAndShapeInfo: of values of every kind, and built by hand. */
#include "ort/values.h"

static OrtTypeInfo *type_of(const OrtValue *value) {
  OrtTypeInfo *info = NULL;
  OK(ort()->GetTypeInfo(value, &info));
  assert_non_null(info);
  return info;
}

static void expect_kind(const OrtTypeInfo *info, ONNXType want) {
  ONNXType kind;
  OK(ort()->GetOnnxTypeFromTypeInfo(info, &kind));
  assert_int_equal(kind, want);
}

/* A tensor of |type| without a shape. */
static void expect_open_tensor(const OrtTypeInfo *info, ONNXTensorElementDataType want) {
  const OrtTensorTypeAndShapeInfo *tensor;
  ONNXTensorElementDataType type;
  size_t n = 7;
  expect_kind(info, ONNX_TYPE_TENSOR);
  OK(ort()->CastTypeInfoToTensorInfo(info, &tensor));
  OK(ort()->GetTensorElementType(tensor, &type));
  assert_int_equal(type, want);
  assert_false(ort()->TensorTypeAndShape_HasShape(tensor));
  OK(ort()->GetDimensionsCount(tensor, &n));
  assert_int_equal(n, 0);
}

static void test_of_a_tensor(void **state) {
  (void)state;
  float data[6];
  OrtValue *value = tensor_over(F32, (const int64_t[]){2, 3}, 2, data, sizeof data);
  OrtTypeInfo *info = type_of(value);
  ort()->ReleaseValue(value); /* the type stands alone */
  expect_kind(info, ONNX_TYPE_TENSOR);
  const OrtTensorTypeAndShapeInfo *tensor;
  const OrtMapTypeInfo *map;
  const OrtSequenceTypeInfo *sequence;
  const OrtOptionalTypeInfo *optional;
  OK(ort()->CastTypeInfoToTensorInfo(info, &tensor));
  OK(ort()->CastTypeInfoToMapTypeInfo(info, &map));
  OK(ort()->CastTypeInfoToSequenceTypeInfo(info, &sequence));
  OK(ort()->CastTypeInfoToOptionalTypeInfo(info, &optional));
  assert_null(map);
  assert_null(sequence);
  assert_null(optional);
  size_t n;
  int64_t dims[4] = {-9, -9, -9, -9};
  const char *names[4] = {NULL, NULL, NULL, NULL};
  ONNXTensorElementDataType type;
  OK(ort()->GetTensorElementType(tensor, &type));
  assert_int_equal(type, F32);
  assert_true(ort()->TensorTypeAndShape_HasShape(tensor));
  OK(ort()->GetDimensionsCount(tensor, &n));
  assert_int_equal(n, 2);
  OK(ort()->GetDimensions(tensor, dims, 1)); /* as many as have room */
  assert_true(dims[0] == 2 && dims[1] == -9);
  OK(ort()->GetDimensions(tensor, dims, 4)); /* as many as there are */
  assert_true(dims[1] == 3 && dims[2] == -9);
  OK(ort()->GetSymbolicDimensions(tensor, names, 4));
  assert_string_equal(names[1], "");
  assert_null(names[2]);
  OK(ort()->GetTensorShapeElementCount(tensor, &n));
  assert_int_equal(n, 6);
  const char *denotation = NULL;
  OK(ort()->GetDenotationFromTypeInfo(info, &denotation, &n));
  assert_int_equal(n, 0);
  ort()->ReleaseTypeInfo(info);
  ort()->ReleaseTypeInfo(NULL);
  ort()->ReleaseMapTypeInfo(NULL);
  ort()->ReleaseSequenceTypeInfo(NULL);
}

static void test_of_sequences_and_maps(void **state) {
  (void)state;
  int64_t keys[2] = {1, 2};
  float values[2] = {0, 0};
  const int64_t dims[] = {2};
  OrtValue *k = tensor_over(I64, dims, 1, keys, 16), *v = tensor_over(F32, dims, 1, values, 8), *list, *map, *maps;
  const OrtValue *const pair[] = {k, v}, *const items[] = {v, v};
  OK(ort()->CreateValue(items, 2, ONNX_TYPE_SEQUENCE, &list));
  OK(ort()->CreateValue(pair, 2, ONNX_TYPE_MAP, &map));
  const OrtValue *const one = map;
  OK(ort()->CreateValue(&one, 1, ONNX_TYPE_SEQUENCE, &maps));

  OrtTypeInfo *info = type_of(list), *elem, *value;
  const OrtTensorTypeAndShapeInfo *tensor;
  const OrtSequenceTypeInfo *sequence;
  const OrtMapTypeInfo *map_info;
  ONNXTensorElementDataType key;
  expect_kind(info, ONNX_TYPE_SEQUENCE);
  OK(ort()->CastTypeInfoToTensorInfo(info, &tensor));
  assert_null(tensor);
  OK(ort()->CastTypeInfoToSequenceTypeInfo(info, &sequence));
  OK(ort()->GetSequenceElementType(sequence, &elem));
  expect_open_tensor(elem, F32);
  ort()->ReleaseTypeInfo(elem), ort()->ReleaseTypeInfo(info);

  info = type_of(maps);
  OK(ort()->CastTypeInfoToSequenceTypeInfo(info, &sequence));
  OK(ort()->GetSequenceElementType(sequence, &elem));
  ort()->ReleaseTypeInfo(info); /* the element's type is a copy */
  expect_kind(elem, ONNX_TYPE_MAP);
  OK(ort()->CastTypeInfoToMapTypeInfo(elem, &map_info));
  OK(ort()->GetMapKeyType(map_info, &key));
  assert_int_equal(key, I64);
  OK(ort()->GetMapValueType(map_info, &value));
  const OrtTensorTypeAndShapeInfo *value_tensor;
  expect_kind(value, ONNX_TYPE_TENSOR);
  OK(ort()->CastTypeInfoToTensorInfo(value, &value_tensor));
  OK(ort()->GetTensorElementType(value_tensor, &key));
  assert_int_equal(key, F32);
  ort()->ReleaseTypeInfo(value), ort()->ReleaseTypeInfo(elem);
  ort()->ReleaseValue(k), ort()->ReleaseValue(v), ort()->ReleaseValue(list), ort()->ReleaseValue(map);
  ort()->ReleaseValue(maps);
}

static void test_built_by_hand(void **state) {
  (void)state;
  OrtTensorTypeAndShapeInfo *info;
  ONNXTensorElementDataType type;
  size_t n = 7;
  OK(ort()->CreateTensorTypeAndShapeInfo(&info));
  OK(ort()->GetTensorElementType(info, &type));
  assert_int_equal(type, F32);
  assert_false(ort()->TensorTypeAndShape_HasShape(info));
  OK(ort()->GetTensorShapeElementCount(info, &n));
  assert_int_equal(n, 0);
  OK(ort()->SetTensorElementType(info, STR));
  OK(ort()->GetTensorElementType(info, &type));
  assert_int_equal(type, STR);

  const int64_t dims[] = {2, -1, 3};
  const char *names[] = {"", "batch", "x"}, *got[3];
  OK(ort()->SetDimensions(info, dims, 3));
  assert_true(ort()->TensorTypeAndShape_HasShape(info));
  FAILS(ort()->GetTensorShapeElementCount(info, &n), ORT_FAIL, "dimension 1");
  OK(ort()->SetSymbolicDimensions(info, names, 3));
  OK(ort()->GetSymbolicDimensions(info, got, 3));
  for (size_t i = 0; i < 3; i++) assert_string_equal(got[i], names[i]);
  names[1] = "a name of another length";
  OK(ort()->SetSymbolicDimensions(info, names, 2));
  OK(ort()->GetSymbolicDimensions(info, got, 2));
  assert_string_equal(got[1], "a name of another length");
  const int64_t large[] = {(int64_t)1 << 40, (int64_t)1 << 40}, none[] = {INT64_MAX, 0};
  OK(ort()->SetDimensions(info, large, 2));
  FAILS(ort()->GetTensorShapeElementCount(info, &n), ORT_FAIL, "too large");
  OK(ort()->SetDimensions(info, none, 2));
  if (ort_is_onyx()) { /* Microsoft's finds its product too large */
    OK(ort()->GetTensorShapeElementCount(info, &n));
    assert_int_equal(n, 0);
  }
  ort()->ReleaseTensorTypeAndShapeInfo(info);
  ort()->ReleaseTensorTypeAndShapeInfo(NULL);
}

static void test_a_scalar_has_a_shape(void **state) {
  (void)state;
  float data[1];
  size_t n;
  OrtTensorTypeAndShapeInfo *info;
  OrtValue *value = tensor_over(F32, NULL, 0, data, 4);
  OK(ort()->GetTensorTypeAndShape(value, &info));
  assert_true(ort()->TensorTypeAndShape_HasShape(info));
  OK(ort()->GetDimensionsCount(info, &n));
  assert_int_equal(n, 0);
  OK(ort()->GetDimensions(info, NULL, 0));
  OK(ort()->GetTensorShapeElementCount(info, &n));
  assert_int_equal(n, 1);
  ort()->ReleaseTensorTypeAndShapeInfo(info);
  ort()->ReleaseValue(value);
}

static void test_null_is_an_error_that_names_the_argument(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's crashes */
  OrtTensorTypeAndShapeInfo *t;
  const OrtTensorTypeAndShapeInfo *view;
  OrtTypeInfo *info;
  ONNXTensorElementDataType type;
  ONNXType kind;
  size_t n;
  const char *text;
  int64_t dims[17] = {0};
  const char *names[17] = {0};
  float data[1];
  OrtValue *value = tensor_over(F32, (const int64_t[]){1}, 1, data, 4);
  OK(ort()->GetTensorTypeAndShape(value, &t));
#define REFUSES(call, argument) FAILS(call, ORT_INVALID_ARGUMENT, "'" argument "'")
  REFUSES(ort()->GetTypeInfo(NULL, &info), "value");
  REFUSES(ort()->GetTypeInfo(value, NULL), "out");
  REFUSES(ort()->GetTensorTypeAndShape(NULL, &t), "value");
  REFUSES(ort()->GetTensorTypeAndShape(value, NULL), "out");
  REFUSES(ort()->GetOnnxTypeFromTypeInfo(NULL, &kind), "info");
  REFUSES(ort()->CastTypeInfoToTensorInfo(NULL, &view), "info");
  REFUSES(ort()->CastTypeInfoToMapTypeInfo(NULL, NULL), "info");
  REFUSES(ort()->CastTypeInfoToSequenceTypeInfo(NULL, NULL), "info");
  REFUSES(ort()->CastTypeInfoToOptionalTypeInfo(NULL, NULL), "info");
  REFUSES(ort()->GetDenotationFromTypeInfo(NULL, &text, &n), "info");
  REFUSES(ort()->GetMapKeyType(NULL, &type), "info");
  REFUSES(ort()->GetMapValueType(NULL, &info), "info");
  REFUSES(ort()->GetSequenceElementType(NULL, &info), "info");
  REFUSES(ort()->GetOptionalContainedTypeInfo(NULL, &info), "info");
  REFUSES(ort()->CreateTensorTypeAndShapeInfo(NULL), "out");
  REFUSES(ort()->SetTensorElementType(NULL, F32), "info");
  REFUSES(ort()->SetDimensions(NULL, dims, 1), "info");
  REFUSES(ort()->SetDimensions(t, NULL, 1), "dim_values");
  REFUSES(ort()->SetDimensions(t, dims, 17), "dim_count");
  REFUSES(ort()->SetSymbolicDimensions(NULL, names, 1), "info");
  REFUSES(ort()->SetSymbolicDimensions(t, NULL, 1), "dim_params");
  REFUSES(ort()->SetSymbolicDimensions(t, names, 17), "dim_params_length");
  REFUSES(ort()->GetTensorElementType(NULL, &type), "info");
  REFUSES(ort()->GetTensorElementType(t, NULL), "out");
  REFUSES(ort()->GetDimensionsCount(NULL, &n), "info");
  REFUSES(ort()->GetDimensionsCount(t, NULL), "out");
  REFUSES(ort()->GetDimensions(NULL, dims, 1), "info");
  REFUSES(ort()->GetDimensions(t, NULL, 1), "dim_values");
  REFUSES(ort()->GetSymbolicDimensions(NULL, names, 1), "info");
  REFUSES(ort()->GetSymbolicDimensions(t, NULL, 1), "dim_params");
  REFUSES(ort()->GetTensorShapeElementCount(NULL, &n), "info");
  REFUSES(ort()->GetTensorShapeElementCount(t, NULL), "out");
  assert_false(ort()->TensorTypeAndShape_HasShape(NULL));
  ort()->ReleaseTensorTypeAndShapeInfo(t);
  ort()->ReleaseValue(value);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_of_a_tensor),
      cmocka_unit_test(test_of_sequences_and_maps),
      cmocka_unit_test(test_built_by_hand),
      cmocka_unit_test(test_a_scalar_has_a_shape),
      cmocka_unit_test(test_null_is_an_error_that_names_the_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
