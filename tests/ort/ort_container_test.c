/* SPDX-License-Identifier: Apache-2.0
 * Sequences and maps: what they are made of, what is taken out, what they say of themselves. */
#include "ort/values.h"

static OrtValue *create(const OrtValue *a, const OrtValue *b, ONNXType type) {
  const OrtValue *const in[] = {a, b};
  OrtValue *value;
  OK(ort()->CreateValue(in, 2, type, &value));
  return value;
}

static OrtValue *take(const OrtValue *value, int index) {
  OrtValue *item;
  OK(ort()->GetValue(value, index, heap(), &item));
  return item;
}

static void test_a_sequence_shares_and_gives_copies(void **state) {
  (void)state;
  float data[] = {1, 2, 3, 4, 5, 6};
  counting c;
  size_t n;
  counting_init(&c);
  OrtValue *a = tensor_over(F32, (const int64_t[]){2, 2}, 2, data, 16);
  OrtValue *b = tensor_over(F32, (const int64_t[]){2}, 1, data + 4, 8);
  OrtValue *list = create(a, b, ONNX_TYPE_SEQUENCE), *item;
  ort()->ReleaseValue(a), ort()->ReleaseValue(b); /* the sequence keeps them */
  OK(ort()->GetValueCount(list, &n));
  assert_int_equal(n, 2);
  data[4] = 77;
  OK(ort()->GetValue(list, 1, &c.table, &item));
  assert_int_equal(c.n_alloc, 1);
  assert_true(((float *)data_of(item))[0] == 77);
  data[4] = 5;
  assert_true(((float *)data_of(item))[0] == 77);
  ort()->ReleaseValue(list);
  assert_true(((float *)data_of(item))[1] == 6);
  ort()->ReleaseValue(item);
  counting_deinit(&c);
}

static void test_sequences_of_strings_and_of_maps(void **state) {
  (void)state;
  static const char *const words[] = {"one", "", "a text of more bytes than fit into a handle"};
  OrtValue *strings = strings_of(words, 3), *list = create(strings, strings, ONNX_TYPE_SEQUENCE);
  OrtValue *item = take(list, 1);
  ort()->ReleaseValue(strings), ort()->ReleaseValue(list);
  assert_string_equal(text_of(item), "[one][][a text of more bytes than fit into a handle]");
  ort()->ReleaseValue(item);

  int64_t keys[] = {1, 2};
  float values[] = {.25, .5};
  OrtValue *k = tensor_over(I64, (const int64_t[]){2}, 1, keys, 16),
           *v = tensor_over(F32, (const int64_t[]){2}, 1, values, 8);
  OrtValue *map = create(k, v, ONNX_TYPE_MAP), *maps = create(map, map, ONNX_TYPE_SEQUENCE);
  ort()->ReleaseValue(k), ort()->ReleaseValue(v), ort()->ReleaseValue(map);
  map = take(maps, 1);
  ort()->ReleaseValue(maps); /* the map lives on */
  ONNXType kind;
  OK(ort()->GetValueType(map, &kind));
  assert_int_equal(kind, ONNX_TYPE_MAP);
  v = take(map, 1);
  assert_true(((float *)data_of(v))[1] == .5);
  ort()->ReleaseValue(v), ort()->ReleaseValue(map);
}

static void test_a_map_has_its_keys_in_order_and_once(void **state) {
  (void)state;
  int64_t keys[] = {5, INT64_MIN, 9, 5};
  float values[] = {.5, .1, .9, .7};
  const int64_t dims[] = {4};
  OrtValue *k = tensor_over(I64, dims, 1, keys, sizeof keys), *v = tensor_over(F32, dims, 1, values, sizeof values);
  OrtValue *map = create(k, v, ONNX_TYPE_MAP);
  keys[0] = 0, values[0] = 0; /* it has copies */
  size_t n;
  OK(ort()->GetValueCount(map, &n));
  assert_int_equal(n, 2);
  ort()->ReleaseValue(k), ort()->ReleaseValue(v);
  k = take(map, 0), v = take(map, 1);
  assert_int_equal(count_of(k), 3);
  assert_int_equal(count_of(v), 3);
  static const int64_t want_keys[] = {INT64_MIN, 5, 9};
  static const float want_values[] = {.1f, .5f, .9f};
  assert_memory_equal(data_of(k), want_keys, sizeof want_keys);
  assert_memory_equal(data_of(v), want_values, sizeof want_values);
  ort()->ReleaseValue(k), ort()->ReleaseValue(v), ort()->ReleaseValue(map);
}

static void test_maps_of_strings(void **state) {
  (void)state;
  static const char *const names[] = {"b", "a", "ab", "", "b", "\377"};
  static const char *const texts[] = {"1", "2", "3", "4", "5", "6"};
  OrtValue *k = strings_of(names, 6), *v = strings_of(texts, 6), *map = create(k, v, ONNX_TYPE_MAP);
  ort()->ReleaseValue(k), ort()->ReleaseValue(v);
  k = take(map, 0), v = take(map, 1);
  assert_string_equal(text_of(k), "[][a][ab][b][\377]"); /* bytes are unsigned */
  assert_string_equal(text_of(v), "[4][2][3][1][6]");
  ort()->ReleaseValue(k), ort()->ReleaseValue(v), ort()->ReleaseValue(map);
}

static void test_what_cannot_be_in_a_map(void **state) {
  (void)state;
  static const ONNXTensorElementDataType types[] = {F32, I32, I64, STR, F64};
  const int64_t dims[] = {2}, square[] = {2, 1};
  double data[4] = {0};
  OrtValue *map;
  for (size_t i = 0; i < COUNT(types); i++)
    for (size_t k = 0; k < COUNT(types); k++) {
      OrtValue *keys, *values;
      OK(ort()->CreateTensorAsOrtValue(heap(), dims, 1, types[i], &keys));
      OK(ort()->CreateTensorAsOrtValue(heap(), dims, 1, types[k], &values));
      if (types[i] != STR) memset(data_of(keys), 0, 8);
      if (types[k] != STR) memset(data_of(values), 0, 8);
      const OrtValue *const in[] = {keys, values};
      if (types[i] != I64 && types[i] != STR)
        FAILS(ort()->CreateValue(in, 2, ONNX_TYPE_MAP, &map), ORT_FAIL, "Key type is not supported yet");
      else if (types[k] == I32)
        FAILS(ort()->CreateValue(in, 2, ONNX_TYPE_MAP, &map), ORT_FAIL, "Value type is not supported yet: int32");
      else {
        OK(ort()->CreateValue(in, 2, ONNX_TYPE_MAP, &map));
        ort()->ReleaseValue(map);
      }
      ort()->ReleaseValue(keys), ort()->ReleaseValue(values);
    }
  OrtValue *two = tensor_over(I64, dims, 1, data, 16), *one = tensor_over(F32, (const int64_t[]){1}, 1, data, 4);
  OrtValue *flat = tensor_over(I64, square, 2, data, 16);
  const OrtValue *const uneven[] = {two, one}, *const deep[] = {flat, two};
  FAILS(ort()->CreateValue(uneven, 2, ONNX_TYPE_MAP, &map), ORT_FAIL, "unequal number of elements: 2 and 1");
  FAILS(ort()->CreateValue(deep, 2, ONNX_TYPE_MAP, &map), ORT_FAIL, "NumDimensions > 1");
  FAILS(ort()->CreateValue(uneven, 1, ONNX_TYPE_MAP, &map), ORT_FAIL, "num_values MUST be 2");
  FAILS(ort()->CreateValue(uneven, 3, ONNX_TYPE_MAP, &map), ORT_FAIL, "num_values MUST be 2");
  ort()->ReleaseValue(two), ort()->ReleaseValue(one), ort()->ReleaseValue(flat);
}

static void test_what_cannot_be_in_a_sequence(void **state) {
  (void)state;
  double data[2] = {0};
  const int64_t dims[] = {1};
  size_t n;
  OrtValue *f = tensor_over(F32, dims, 1, data, 4), *i = tensor_over(I64, dims, 1, data, 8), *out;
  OrtValue *list = create(f, f, ONNX_TYPE_SEQUENCE), *map = create(i, f, ONNX_TYPE_MAP);
  OrtValue *other = create(i, i, ONNX_TYPE_MAP);
  const OrtValue *const rows[][2] = {{f, i}, {list, list}, {f, map}, {map, f}, {map, other}};
  for (size_t r = 0; r < COUNT(rows); r++)
    FAILS(ort()->CreateValue(rows[r], 2, ONNX_TYPE_SEQUENCE, &out), ORT_FAIL, "CreateValue: 'in'");
  FAILS(ort()->CreateValue(rows[0], 0, ONNX_TYPE_SEQUENCE, &out), ORT_FAIL, "'num_values' is 0");
  static const ONNXType kinds[] = {ONNX_TYPE_UNKNOWN,      ONNX_TYPE_TENSOR,   ONNX_TYPE_OPAQUE,
                                   ONNX_TYPE_SPARSETENSOR, ONNX_TYPE_OPTIONAL, (ONNXType)77};
  for (size_t k = 0; k < COUNT(kinds); k++)
    FAILS(ort()->CreateValue(rows[0], 1, kinds[k], &out), ORT_FAIL, "'value_type'");
  FAILS(ort()->GetValue(list, 2, heap(), &out), ORT_FAIL, "'index' is 2");
  FAILS(ort()->GetValue(list, -1, heap(), &out), ORT_FAIL, "'index' is -1");
  FAILS(ort()->GetValue(map, 2, heap(), &out), ORT_FAIL, "'index' is 2");
  FAILS(ort()->GetValue(f, 0, heap(), &out), ORT_FAIL, "neither a sequence nor a map");
  FAILS(ort()->GetValueCount(f, &n), ORT_FAIL, "neither a sequence nor a map");
  ort()->ReleaseValue(f), ort()->ReleaseValue(i), ort()->ReleaseValue(list), ort()->ReleaseValue(map);
  ort()->ReleaseValue(other);
}

static void test_a_container_is_no_tensor(void **state) {
  (void)state;
  float data[1];
  size_t n;
  void *p;
  const void *cp;
  const OrtMemoryInfo *info;
  OrtTensorTypeAndShapeInfo *shape;
  ONNXTensorElementDataType type;
  const int64_t *dims;
  int is;
  OrtValue *f = tensor_over(F32, NULL, 0, data, 4), *list = create(f, f, ONNX_TYPE_SEQUENCE);
  OK(ort()->IsTensor(list, &is));
  assert_int_equal(is, 0);
  OK(ort()->HasValue(list, &is));
  assert_int_equal(is, 1);
  FAILS(ort()->GetTensorMutableData(list, &p), ORT_RUNTIME_EXCEPTION, "'value' is not a tensor");
  FAILS(ort()->GetTensorData(list, &cp), ORT_RUNTIME_EXCEPTION, "'value' is not a tensor");
  FAILS(ort()->GetTensorMemoryInfo(list, &info), ORT_RUNTIME_EXCEPTION, "'value' is not a tensor");
  FAILS(ort()->GetTensorTypeAndShape(list, &shape), ORT_FAIL, "not a tensor");
  FAILS(ort()->GetTensorSizeInBytes(list, &n), ORT_INVALID_ARGUMENT, "'value' is not a tensor");
  FAILS(ort()->GetTensorElementTypeAndShapeDataReference(list, &type, &dims, &n), ORT_INVALID_ARGUMENT, "'value'");
  ort()->ReleaseValue(list), ort()->ReleaseValue(f);
}

static void test_there_are_no_opaque_types(void **state) {
  (void)state;
  float data[1];
  OrtValue *out, *f = tensor_over(F32, NULL, 0, data, 4);
  FAILS(ort()->CreateOpaqueValue("d", "t", data, 4, &out), ORT_FAIL, "no opaque type 't' of domain 'd'");
  FAILS(ort()->GetOpaqueValue("d", "t", f, data, 4), ORT_FAIL, "no opaque type 't' of domain 'd'");
  ort()->ReleaseValue(f);
}

static void test_null_is_an_error_that_names_the_argument(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's crashes */
  float data[1];
  size_t n;
  OrtValue *out, *f = tensor_over(F32, NULL, 0, data, 4), *list = create(f, f, ONNX_TYPE_SEQUENCE);
  const OrtValue *const holes[] = {f, NULL};
  FAILS(ort()->CreateValue(NULL, 1, ONNX_TYPE_SEQUENCE, &out), ORT_INVALID_ARGUMENT, "'in'");
  FAILS(ort()->CreateValue(holes, 2, ONNX_TYPE_SEQUENCE, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->CreateValue(holes, 2, ONNX_TYPE_SEQUENCE, &out), ORT_INVALID_ARGUMENT, "'in' has NULL at 1");
  FAILS(ort()->CreateValue(holes, 2, ONNX_TYPE_MAP, &out), ORT_INVALID_ARGUMENT, "'in' has NULL at 1");
  FAILS(ort()->GetValue(NULL, 0, heap(), &out), ORT_INVALID_ARGUMENT, "'value'");
  FAILS(ort()->GetValue(list, 0, NULL, &out), ORT_INVALID_ARGUMENT, "'allocator'");
  FAILS(ort()->GetValue(list, 0, heap(), NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->GetValueCount(NULL, &n), ORT_INVALID_ARGUMENT, "'value'");
  FAILS(ort()->GetValueCount(list, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->CreateOpaqueValue(NULL, "t", data, 4, &out), ORT_INVALID_ARGUMENT, "'domain_name'");
  FAILS(ort()->GetOpaqueValue("d", NULL, f, data, 4), ORT_INVALID_ARGUMENT, "'type_name'");
  ort()->ReleaseValue(list), ort()->ReleaseValue(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_sequence_shares_and_gives_copies),
      cmocka_unit_test(test_sequences_of_strings_and_of_maps),
      cmocka_unit_test(test_a_map_has_its_keys_in_order_and_once),
      cmocka_unit_test(test_maps_of_strings),
      cmocka_unit_test(test_what_cannot_be_in_a_map),
      cmocka_unit_test(test_what_cannot_be_in_a_sequence),
      cmocka_unit_test(test_a_container_is_no_tensor),
      cmocka_unit_test(test_there_are_no_opaque_types),
      cmocka_unit_test(test_null_is_an_error_that_names_the_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
