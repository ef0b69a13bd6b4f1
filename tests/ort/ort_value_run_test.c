/* SPDX-License-Identifier: Apache-2.0
 * Values that go into runs and come out of them: sequences, maps, optionals, strings, and what they say of themselves.
 */
#include "ort/models.h"
#include "ort/values.h"

/* TypeProtos around |elem|. */
static message around(uint32_t field, int key, const message *elem) {
  message type = {0}, inner = {0};
  if (key != 0) put_int(&inner, 1, key);
  put_message(&inner, key != 0 ? 2 : 1, elem);
  put_message(&type, field, &inner);
  return type;
}
enum { MAP = 5, OPTIONAL = 9 }; /* their fields in TypeProto */

/* Runs |graph|, whose inputs are |names| and whose output is y. */
static OrtValue *run_model(const message *graph, const char *domain, const char *const *names,
                           const OrtValue *const *in, size_t n) {
  OrtEnv *env = test_env();
  message m = model_of(graph, domain, 3);
  OrtSession *s = open_model(env, &m, NULL);
  const char *const output = "y";
  OrtValue *y = NULL;
  OK(ort()->Run(s, NULL, names, in, n, &output, 1, &y));
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
  return y;
}

/* float[N,3] x => seq(map(int64 or string, float)) y { y = ZipMap(x) } */
static OrtValue *zip(bool strings) {
  static float x[] = {1, 2, 3, 4, 5, 6};
  message g = {0}, n = node("zip", "ai.onnx.ml:ZipMap", "x", "y"), label, type;
  label = attribute(strings ? "classlabels_strings" : "classlabels_int64s", strings ? A_STRINGS : A_INTS);
  if (strings) {
    put_text(&label, 9, "z"), put_text(&label, 9, ""), put_text(&label, 9, "mm");
  } else {
    put_int(&label, 8, 5), put_int(&label, 8, 1), put_int(&label, 8, 9);
  }
  put_message(&n, 5, &label);
  put_message(&g, 1, &n);
  graph_input(&g, "x", FLOAT, "N,3");
  type = tensor_type(FLOAT, NULL);
  type = around(MAP, strings ? ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &type);
  type = sequence_type(&type);
  put_value(&g, 12, "y", &type);
  OrtValue *in = tensor_over(F32, (const int64_t[]){2, 3}, 2, x, sizeof x);
  const char *const name = "x";
  const OrtValue *const given = in;
  OrtValue *y = run_model(&g, "ai.onnx.ml", &name, &given, 1);
  ort()->ReleaseValue(in);
  return y;
}

static OrtValue *part(const OrtValue *value, int index) {
  OrtValue *item;
  OK(ort()->GetValue(value, index, heap(), &item));
  return item;
}

static void test_maps_of_a_run_are_in_the_order_of_their_keys(void **state) {
  (void)state;
  OrtValue *list = zip(false), *map = part(list, 1), *keys = part(map, 0), *values = part(map, 1);
  size_t n;
  OK(ort()->GetValueCount(list, &n));
  assert_int_equal(n, 2);
  ort()->ReleaseValue(list), ort()->ReleaseValue(map);
  static const int64_t want_keys[] = {1, 5, 9};
  static const float want[] = {5, 4, 6};
  assert_memory_equal(data_of(keys), want_keys, sizeof want_keys);
  assert_memory_equal(data_of(values), want, sizeof want);
  ort()->ReleaseValue(keys), ort()->ReleaseValue(values);

  list = zip(true), map = part(list, 0), keys = part(map, 0), values = part(map, 1);
  static const float want_first[] = {2, 3, 1};
  assert_string_equal(text_of(keys), "[][mm][z]");
  assert_memory_equal(data_of(values), want_first, sizeof want_first);
  OrtTypeInfo *type;
  const OrtMapTypeInfo *map_type;
  ONNXTensorElementDataType key;
  OK(ort()->GetTypeInfo(map, &type));
  OK(ort()->CastTypeInfoToMapTypeInfo(type, &map_type));
  OK(ort()->GetMapKeyType(map_type, &key));
  assert_int_equal(key, STR);
  ort()->ReleaseTypeInfo(type);
  ort()->ReleaseValue(keys), ort()->ReleaseValue(values), ort()->ReleaseValue(map), ort()->ReleaseValue(list);
}

static void test_a_sequence_of_the_client_goes_in(void **state) {
  (void)state;
  float data[] = {1, 2, 3};
  int64_t index[] = {1};
  message g = {0}, type = tensor_type(FLOAT, "N");
  graph_node(&g, "at", "SequenceAt", "s,i", "y");
  type = sequence_type(&type);
  put_value(&g, 11, "s", &type);
  graph_input(&g, "i", INT64, "");
  graph_output(&g, "y", FLOAT, "N");
  OrtValue *one = tensor_over(F32, (const int64_t[]){1}, 1, data, 4), *list;
  OrtValue *two = tensor_over(F32, (const int64_t[]){2}, 1, data + 1, 8);
  OrtValue *i = tensor_over(I64, NULL, 0, index, sizeof index);
  const OrtValue *const items[] = {one, two};
  OK(ort()->CreateValue(items, 2, ONNX_TYPE_SEQUENCE, &list));
  static const char *const names[] = {"s", "i"};
  const OrtValue *const in[] = {list, i};
  OrtValue *y = run_model(&g, NULL, names, in, 2);
  assert_int_equal(count_of(y), 2);
  assert_memory_equal(data_of(y), data + 1, 8);
  ort()->ReleaseValue(y), ort()->ReleaseValue(list), ort()->ReleaseValue(one), ort()->ReleaseValue(two);
  ort()->ReleaseValue(i);
}

/* float[2] x => optional(float[2]) y: x if |full|, else nothing. */
static OrtValue *optional(bool full) {
  static float x[] = {1, 2};
  message g = {0}, n = node("maybe", "Optional", full ? "x" : "", "y"), type = tensor_type(FLOAT, "2");
  if (!full) {
    message a = attribute("type", 13); /* TYPE_PROTO */
    put_message(&a, 14, &type);
    put_message(&n, 5, &a);
  }
  put_message(&g, 1, &n);
  graph_input(&g, "x", FLOAT, "2");
  type = around(OPTIONAL, 0, &type);
  put_value(&g, 12, "y", &type);
  OrtValue *in = tensor_over(F32, (const int64_t[]){2}, 1, x, sizeof x);
  const char *const name = "x";
  const OrtValue *const given = in;
  OrtValue *y = run_model(&g, NULL, &name, &given, 1);
  ort()->ReleaseValue(in);
  return y;
}

static bool has_element(const OrtValue *value) {
  message g = {0}, type = tensor_type(FLOAT, "2");
  graph_node(&g, "has", "OptionalHasElement", "o", "y");
  type = around(OPTIONAL, 0, &type);
  put_value(&g, 11, "o", &type);
  graph_output(&g, "y", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "");
  const char *const name = "o";
  OrtValue *y = run_model(&g, NULL, &name, &value, 1);
  bool has = *(const bool *)data_of(y);
  ort()->ReleaseValue(y);
  return has;
}

static void test_optionals(void **state) {
  (void)state;
  int has = -1;
  OrtValue *full = optional(true);
  OK(ort()->HasValue(full, &has));
  assert_int_equal(has, 1);
  assert_int_equal(count_of(full), 2);
  assert_true(has_element(full));
  ort()->ReleaseValue(full);
  OrtValue *none = optional(false);
  OK(ort()->HasValue(none, &has));
  assert_int_equal(has, 0);
  if (ort_is_onyx()) { /* Microsoft's crashes */
    OrtTypeInfo *type;
    const OrtOptionalTypeInfo *view;
    ONNXType kind;
    void *p;
    OK(ort()->GetValueType(none, &kind));
    assert_int_equal(kind, ONNX_TYPE_OPTIONAL);
    OK(ort()->GetTypeInfo(none, &type));
    OK(ort()->CastTypeInfoToOptionalTypeInfo(type, &view));
    assert_non_null(view);
    ort()->ReleaseTypeInfo(type);
    FAILS(ort()->GetTensorMutableData(none, &p), ORT_RUNTIME_EXCEPTION, "'value' is not a tensor");
    assert_false(has_element(none));
  }
  ort()->ReleaseValue(none);
}

static void test_strings_of_a_run_can_be_written(void **state) {
  (void)state;
  static const char *const words[] = {"one", "", "three"}, *const others[] = {"x", "yy", ""};
  message g = {0}, n = node("join", "Concat", "s", "y"), axis = int_attribute("axis", 0);
  put_message(&n, 5, &axis);
  put_message(&g, 1, &n);
  graph_input(&g, "s", ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, "N");
  graph_output(&g, "y", ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, "N");
  OrtValue *in = strings_of(words, 3);
  const char *const name = "s";
  const OrtValue *const given = in;
  OrtValue *y = run_model(&g, NULL, &name, &given, 1);
  assert_string_equal(text_of(y), "[one][][three]");
  OK(ort()->FillStringTensorElement(y, "written", 1));
  assert_string_equal(text_of(y), "[one][written][three]");
  OK(ort()->FillStringTensor(y, others, 3));
  assert_string_equal(text_of(y), "[x][yy][]");
  assert_string_equal(text_of(in), "[one][][three]");
  const OrtMemoryInfo *info;
  OrtAllocatorType type;
  OK(ort()->GetTensorMemoryInfo(y, &info));
  OK(ort()->MemoryInfoGetType(info, &type));
  assert_int_equal(type, OrtArenaAllocator);
  ort()->ReleaseValue(in), ort()->ReleaseValue(y);
}

/* The result takes the place of what the client's tensor had; both are released once, and it can be written again. */
static void test_strings_go_where_the_client_says(void **state) {
  (void)state;
  static const char *const words[] = {"a longer word than most", "", "three"}, *const old[] = {"before", "run", "went"};
  message g = {0}, n = node("same", "Identity", "s", "y");
  put_message(&g, 1, &n);
  graph_input(&g, "s", ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, "N");
  graph_output(&g, "y", ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, "N");
  OrtEnv *env = test_env();
  message m = model_of(&g, NULL, 0);
  OrtSession *s = open_model(env, &m, NULL);
  OrtValue *in = strings_of(words, 3), *y = strings_of(old, 3), *same = y;
  for (int i = 0; i < 2; i++) {
    OK(ort()->Run(s, NULL, (const char *const[]){"s"}, (const OrtValue *const *)&in, 1, (const char *const[]){"y"}, 1,
                  &y));
    assert_ptr_equal(y, same);
    assert_string_equal(text_of(y), "[a longer word than most][][three]");
    OK(ort()->FillStringTensorElement(y, "written over the result", 1));
    assert_string_equal(text_of(y), "[a longer word than most][written over the result][three]");
    assert_string_equal(text_of(in), "[a longer word than most][][three]");
  }
  ort()->ReleaseSession(s);
  assert_string_equal(text_of(y), "[a longer word than most][written over the result][three]");
  ort()->ReleaseValue(in), ort()->ReleaseValue(y);
  ort()->ReleaseEnv(env);
}

/* An allocator that has no memory makes these fail, and nothing stays behind. */
static void test_without_memory_nothing_is_taken_out(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's writes to NULL */
  static const char *const words[] = {"a"};
  OrtValue *list = zip(true), *map = part(list, 0), *strings = strings_of(words, 1), *sequence, *item;
  const OrtValue *const one = strings;
  counting c;
  counting_init(&c);
  c.empty = true;
  OK(ort()->CreateValue(&one, 1, ONNX_TYPE_SEQUENCE, &sequence));
  FAILS(ort()->GetValue(sequence, 0, &c.table, &item), ORT_RUNTIME_EXCEPTION, "out of memory");
  FAILS(ort()->GetValue(map, 0, &c.table, &item), ORT_RUNTIME_EXCEPTION, "out of memory");
  FAILS(ort()->GetValue(map, 1, &c.table, &item), ORT_RUNTIME_EXCEPTION, "out of memory");
  OrtMemoryInfo *info = c.info;
  static const int64_t dims[] = {2}, n[] = {1}, at[] = {1};
  static const float value[] = {1};
  OrtValue *sparse;
  OK(ort()->CreateSparseTensorAsOrtValue(&c.table, dims, 1, F32, &sparse));
  FAILS(ort()->FillSparseTensorCoo(sparse, info, n, 1, value, at, 1), ORT_RUNTIME_EXCEPTION, "out of memory");
  c.empty = false;
  OK(ort()->FillSparseTensorCoo(sparse, info, n, 1, value, at, 1));
  ort()->ReleaseValue(sparse), ort()->ReleaseValue(sequence), ort()->ReleaseValue(strings), ort()->ReleaseValue(map);
  ort()->ReleaseValue(list);
  counting_deinit(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps_of_a_run_are_in_the_order_of_their_keys),
      cmocka_unit_test(test_a_sequence_of_the_client_goes_in),
      cmocka_unit_test(test_optionals),
      cmocka_unit_test(test_strings_of_a_run_can_be_written),
      cmocka_unit_test(test_strings_go_where_the_client_says),
      cmocka_unit_test(test_without_memory_nothing_is_taken_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
