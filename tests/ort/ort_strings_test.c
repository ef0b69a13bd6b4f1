/* SPDX-License-Identifier: Apache-2.0
 * Tensors of strings: filled at once, one by one and through buffers; read at once and one by one. */
#include "ort/values.h"

static const char *const four[] = {"ab", "", "h\303\251llo", "x"};

static OrtValue *make(int64_t rows, int64_t columns) {
  OrtValue *value;
  OK(ort()->CreateTensorAsOrtValue(heap(), (const int64_t[]){rows, columns}, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
                                   &value));
  return value;
}

static void test_new_strings_are_empty(void **state) {
  (void)state;
  size_t n = 7;
  OrtValue *value = make(2, 2), *none = make(0, 2);
  assert_string_equal(text_of(value), "[][][][]");
  OK(ort()->GetStringTensorDataLength(value, &n));
  assert_int_equal(n, 0);
  OK(ort()->FillStringTensor(none, NULL, 0));
  OK(ort()->GetStringTensorDataLength(none, &n));
  assert_int_equal(n, 0);
  OK(ort()->GetStringTensorContent(none, NULL, 0, NULL, 0));
  ort()->ReleaseValue(value), ort()->ReleaseValue(none);
}

static void test_filled_at_once_and_read_at_once(void **state) {
  (void)state;
  char text[16];
  size_t offsets[4], n;
  OrtValue *value = make(2, 2);
  OK(ort()->FillStringTensor(value, four, 4));
  assert_string_equal(text_of(value), "[ab][][h\303\251llo][x]");
  OK(ort()->GetStringTensorDataLength(value, &n));
  assert_int_equal(n, 9);
  memset(text, '#', sizeof text);
  OK(ort()->GetStringTensorContent(value, text, 9, offsets, 4));
  assert_memory_equal(text, "abh\303\251llox#######", 16);
  static const size_t want[] = {0, 2, 2, 8};
  assert_memory_equal(offsets, want, sizeof want);
  FAILS(ort()->GetStringTensorContent(value, text, 8, offsets, 4), ORT_FAIL, "'s_len' is 8");
  FAILS(ort()->GetStringTensorContent(value, text, 9, offsets, 3), ORT_FAIL, "'offsets_len' is 3");
  FAILS(ort()->GetStringTensorContent(value, text, 9, offsets, 5), ORT_FAIL, "'offsets_len' is 5");
  FAILS(ort()->FillStringTensor(value, four, 3), ORT_INVALID_ARGUMENT, "'s_len' is 3");
  FAILS(ort()->FillStringTensor(value, four, 5), ORT_INVALID_ARGUMENT, "'s_len' is 5");
  static const char *const others[] = {"", "a much longer text than before, in a block of its own", "", "y"};
  OK(ort()->FillStringTensor(value, others, 4));
  assert_string_equal(text_of(value), "[][a much longer text than before, in a block of its own][][y]");
  ort()->ReleaseValue(value);
}

static void test_one_by_one(void **state) {
  (void)state;
  char text[16];
  size_t n;
  OrtValue *value = make(2, 2);
  OK(ort()->FillStringTensor(value, four, 4));
  OK(ort()->FillStringTensorElement(value, "new", 1));
  OK(ort()->FillStringTensorElement(value, "", 0));
  OK(ort()->FillStringTensorElement(value, "once more", 1));
  assert_string_equal(text_of(value), "[][once more][h\303\251llo][x]");
  OK(ort()->GetStringTensorElementLength(value, 2, &n));
  assert_int_equal(n, 6);
  memset(text, '#', sizeof text);
  OK(ort()->GetStringTensorElement(value, 16, 2, text));
  assert_memory_equal(text, "h\303\251llo##", 8);
  FAILS(ort()->GetStringTensorElement(value, 5, 2, text), ORT_FAIL, "'s_len' is 5");
  FAILS(ort()->GetStringTensorElement(value, 16, 4, text), ORT_INVALID_ARGUMENT, "'index' is 4");
  FAILS(ort()->GetStringTensorElementLength(value, 4, &n), ORT_INVALID_ARGUMENT, "'index' is 4");
  FAILS(ort()->FillStringTensorElement(value, "z", 4), ORT_INVALID_ARGUMENT, "'index' is 4");
  OK(ort()->FillStringTensor(value, four, 4)); /* over singles */
  assert_string_equal(text_of(value), "[ab][][h\303\251llo][x]");
  ort()->ReleaseValue(value);
}

static void test_buffers_keep_what_fits_and_are_zeroed_behind(void **state) {
  (void)state;
  char *p = NULL;
  OrtValue *value = make(1, 4);
  OK(ort()->FillStringTensor(value, four, 4));
  OK(ort()->GetResizedStringTensorElementBuffer(value, 0, 5, &p));
  assert_memory_equal(p, "ab\0\0\0", 5);
  memcpy(p, "abcde", 5);
  assert_string_equal(text_of(value), "[abcde][][h\303\251llo][x]");
  OK(ort()->GetResizedStringTensorElementBuffer(value, 0, 2, &p));
  OK(ort()->GetResizedStringTensorElementBuffer(value, 2, 0, &p));
  assert_non_null(p);
  OK(ort()->GetResizedStringTensorElementBuffer(value, 1, 1, &p));
  *p = 'q';
  assert_string_equal(text_of(value), "[ab][q][][x]");
  FAILS(ort()->GetResizedStringTensorElementBuffer(value, 4, 1, &p), ORT_INVALID_ARGUMENT, "'index' is 4");
  ort()->ReleaseValue(value);
}

static void test_what_is_no_string_tensor(void **state) {
  (void)state;
  float data[4];
  char text[16];
  size_t n, offsets[4];
  char *p;
  void *at;
  OrtValue *numbers = tensor_over(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, (const int64_t[]){4}, 1, data, sizeof data);
  const OrtValue *const one = numbers;
  OrtValue *list, *strings = make(1, 4);
  OK(ort()->CreateValue(&one, 1, ONNX_TYPE_SEQUENCE, &list));
  FAILS(ort()->FillStringTensor(numbers, four, 4), ORT_FAIL, "FillStringTensor: 'value' is a tensor of float32");
  FAILS(ort()->FillStringTensorElement(numbers, "a", 0), ORT_FAIL, "FillStringTensorElement: 'value'");
  FAILS(ort()->GetResizedStringTensorElementBuffer(numbers, 0, 0, &p), ORT_FAIL, "'value'");
  FAILS(ort()->GetStringTensorDataLength(numbers, &n), ORT_FAIL, "'value'");
  FAILS(ort()->GetStringTensorElementLength(numbers, 0, &n), ORT_FAIL, "'value'");
  FAILS(ort()->GetStringTensorElement(numbers, 8, 0, text), ORT_FAIL, "'value'");
  FAILS(ort()->GetStringTensorContent(numbers, text, 8, offsets, 4), ORT_FAIL, "'value'");
  FAILS(ort()->GetStringTensorDataLength(list, &n), ORT_NOT_IMPLEMENTED, "Tensors or SparseTensors");
  FAILS(ort()->GetTensorSizeInBytes(strings, &n), ORT_INVALID_ARGUMENT, "String tensors");
  FAILS(ort()->TensorAt(strings, (const int64_t[]){0, 0}, 2, &at), ORT_INVALID_ARGUMENT, "strings");
  ort()->ReleaseValue(list), ort()->ReleaseValue(numbers), ort()->ReleaseValue(strings);
}

static void test_null_is_an_error_that_names_the_argument(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's crashes */
  char text[16];
  size_t n, offsets[4];
  char *p;
  static const char *const holes[] = {"a", NULL, "c", "d"};
  OrtValue *value = make(2, 2);
  FAILS(ort()->FillStringTensor(value, NULL, 4), ORT_INVALID_ARGUMENT, "'s'");
  FAILS(ort()->FillStringTensor(value, holes, 4), ORT_INVALID_ARGUMENT, "'s' has NULL at 1");
  FAILS(ort()->FillStringTensor(NULL, four, 4), ORT_INVALID_ARGUMENT, "'value'");
  FAILS(ort()->FillStringTensorElement(NULL, "a", 0), ORT_INVALID_ARGUMENT, "'value'");
  FAILS(ort()->FillStringTensorElement(value, NULL, 0), ORT_INVALID_ARGUMENT, "'s'");
  FAILS(ort()->GetResizedStringTensorElementBuffer(value, 0, 1, NULL), ORT_INVALID_ARGUMENT, "'buffer'");
  FAILS(ort()->GetResizedStringTensorElementBuffer(NULL, 0, 1, &p), ORT_INVALID_ARGUMENT, "'value'");
  OK(ort()->FillStringTensor(value, four, 4));
  FAILS(ort()->GetStringTensorDataLength(NULL, &n), ORT_INVALID_ARGUMENT, "'value'");
  FAILS(ort()->GetStringTensorDataLength(value, NULL), ORT_INVALID_ARGUMENT, "'len'");
  FAILS(ort()->GetStringTensorContent(value, NULL, 9, offsets, 4), ORT_INVALID_ARGUMENT, "'s'");
  FAILS(ort()->GetStringTensorContent(value, text, 9, NULL, 4), ORT_INVALID_ARGUMENT, "'offsets'");
  FAILS(ort()->GetStringTensorElement(value, 8, 0, NULL), ORT_INVALID_ARGUMENT, "'s'");
  FAILS(ort()->GetStringTensorElementLength(value, 0, NULL), ORT_INVALID_ARGUMENT, "'out'");
  ort()->ReleaseValue(value);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_new_strings_are_empty),
      cmocka_unit_test(test_filled_at_once_and_read_at_once),
      cmocka_unit_test(test_one_by_one),
      cmocka_unit_test(test_buffers_keep_what_fits_and_are_zeroed_behind),
      cmocka_unit_test(test_what_is_no_string_tensor),
      cmocka_unit_test(test_null_is_an_error_that_names_the_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
