/* SPDX-License-Identifier: Apache-2.0
 * What a kernel learns of its node when it is created: counts, names, types, constants, attributes, the session. All
 * checks run in the constructor, and those on the copy once more when it computes. */
#include "ort/op_world.h"

static const float constant[] = {5, 6};
static const int64_t two[] = {2};

/* x: float[N], c = {5, 6} => y, with an attribute of each kind. */
static message model(void) {
  message g = {0}, n = node("n0", "t:Info", "x,-,c", "y"), a;
  message c = tensor("c", F32, two, 1, constant, sizeof constant);
  graph_input(&g, "x", F32, "N");
  graph_output(&g, "y", F32, NULL);
  put_message(&g, 5, &c);
  a = float_attribute("f", 2.5f);
  put_message(&n, 5, &a);
  a = int_attribute("i", -7);
  put_message(&n, 5, &a);
  a = text_attribute("s", "hello");
  put_message(&n, 5, &a);
  a = attribute("fs", A_FLOATS);
  put_float(&a, 7, 1);
  put_float(&a, 7, 2);
  put_message(&n, 5, &a);
  a = attribute("is", A_INTS);
  put_int(&a, 8, 3);
  put_int(&a, 8, -4);
  put_message(&n, 5, &a);
  a = attribute("ss", A_STRINGS);
  put_text(&a, 9, "one");
  put_text(&a, 9, "");
  put_message(&n, 5, &a);
  a = attribute("none", A_INTS);
  put_message(&n, 5, &a);
  a = attribute("t", A_TENSOR);
  put_message(&a, 5, &c);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  return model_of(&g, "t", 3);
}

/* ---- texts ---- */

/* Each call: with room, with too little, without a buffer. |get| gives |want|. */
#define CHECK_TEXT(want, call)                             \
  do {                                                     \
    char out[32];                                          \
    size_t size = sizeof out;                              \
    OK(call);                                              \
    assert_string_equal(out, want);                        \
    assert_int_equal(size, sizeof want);                   \
    size = sizeof want - 1;                                \
    FAILS(call, ORT_INVALID_ARGUMENT, "not large enough"); \
    assert_int_equal(size, sizeof want);                   \
  } while (0)
#define CHECK_SIZE(want, call)           \
  do {                                   \
    size_t size = 0;                     \
    OK(call);                            \
    assert_int_equal(size, sizeof want); \
  } while (0)

static void check_node(const OrtKernelInfo *info) {
  int since;
  CHECK_TEXT("n0", ort()->KernelInfo_GetNodeName(info, out, &size));
  CHECK_SIZE("n0", ort()->KernelInfo_GetNodeName(info, NULL, &size));
  CHECK_TEXT("Info", ort()->KernelInfo_GetOperatorType(info, out, &size));
  CHECK_SIZE("Info", ort()->KernelInfo_GetOperatorType(info, NULL, &size));
  CHECK_TEXT("t", ort()->KernelInfo_GetOperatorDomain(info, out, &size));
  CHECK_SIZE("t", ort()->KernelInfo_GetOperatorDomain(info, NULL, &size));
  OK(ort()->KernelInfo_GetOperatorSinceVersion(info, &since));
  assert_int_equal(since, 1);
}

/* ---- inputs and outputs ---- */

static void check_type(OrtTypeInfo *type, size_t rank, int64_t dim, const char *symbol) {
  const OrtTensorTypeAndShapeInfo *info;
  ONNXTensorElementDataType elem;
  size_t n;
  int64_t got;
  const char *name;
  OK(ort()->CastTypeInfoToTensorInfo(type, &info));
  assert_non_null(info);
  OK(ort()->GetTensorElementType(info, &elem));
  OK(ort()->GetDimensionsCount(info, &n));
  assert_int_equal(elem, F32);
  assert_int_equal(n, rank);
  if (rank == 1) {
    OK(ort()->GetDimensions(info, &got, 1));
    OK(ort()->GetSymbolicDimensions(info, &name, 1));
    assert_int_equal(got, dim);
    assert_string_equal(name, symbol);
  }
  ort()->ReleaseTypeInfo(type);
}

static void check_values(const OrtKernelInfo *info) {
  OrtTypeInfo *type;
  const OrtValue *value;
  int is_constant;
  size_t n;
  char name[8];
  OK(ort()->KernelInfo_GetInputCount(info, &n));
  assert_int_equal(n, 3);
  OK(ort()->KernelInfo_GetOutputCount(info, &n));
  assert_int_equal(n, 1);
  CHECK_TEXT("x", ort()->KernelInfo_GetInputName(info, 0, out, &size));
  CHECK_TEXT("", ort()->KernelInfo_GetInputName(info, 1, out, &size));
  CHECK_TEXT("c", ort()->KernelInfo_GetInputName(info, 2, out, &size));
  CHECK_TEXT("y", ort()->KernelInfo_GetOutputName(info, 0, out, &size));
  n = sizeof name;
  FAILS(ort()->KernelInfo_GetInputName(info, 3, name, &n), ORT_INVALID_ARGUMENT, "3 of 3");
  FAILS(ort()->KernelInfo_GetOutputName(info, 1, name, &n), ORT_INVALID_ARGUMENT, "1 of 1");
  OK(ort()->KernelInfo_GetInputTypeInfo(info, 0, &type));
  check_type(type, 1, -1, "N");
  FAILS(ort()->KernelInfo_GetInputTypeInfo(info, 1, &type), ORT_INVALID_GRAPH, "input 1");
  OK(ort()->KernelInfo_GetInputTypeInfo(info, 2, &type));
  check_type(type, 1, 2, "");
  FAILS(ort()->KernelInfo_GetInputTypeInfo(info, 3, &type), ORT_INVALID_ARGUMENT, "3 of 3");
  OK(ort()->KernelInfo_GetOutputTypeInfo(info, 0, &type));
  check_type(type, 0, 0, "");
  FAILS(ort()->KernelInfo_GetOutputTypeInfo(info, 1, &type), ORT_INVALID_ARGUMENT, "1 of 1");
  for (size_t i = 0; i < 5; i++) {
    value = NULL;
    OK(ort()->KernelInfoGetConstantInput_tensor(info, i, &is_constant, &value));
    if (is_constant != (i == 2)) fail_msg("input %zu: %d", i, is_constant);
    assert_int_equal(value != NULL, i == 2);
    if (i == 2) assert_memory_equal(data_of((OrtValue *)(uintptr_t)value), constant, sizeof constant);
  }
}

/* ---- attributes ---- */

static void check_numbers(const OrtKernelInfo *info) {
  float f, fs[2];
  int64_t i, is[2];
  size_t n;
  OK(ort()->KernelInfoGetAttribute_float(info, "f", &f));
  assert_true(f == 2.5f);
  FAILS(ort()->KernelInfoGetAttribute_float(info, "i", &f), ORT_FAIL, "'i' of node 'n0' (Info)");
  FAILS(ort()->KernelInfoGetAttribute_float(info, "g", &f), ORT_FAIL, "'g'");
  OK(ort()->KernelInfoGetAttribute_int64(info, "i", &i));
  assert_int_equal(i, -7);
  FAILS(ort()->KernelInfoGetAttribute_int64(info, "f", &i), ORT_FAIL, "'f' of node 'n0' (Info)");
  FAILS(ort()->KernelInfoGetAttribute_int64(info, "g", &i), ORT_FAIL, "'g'");
  n = 2;
  OK(ort()->KernelInfoGetAttributeArray_float(info, "fs", fs, &n));
  assert_true(n == 2 && fs[0] == 1 && fs[1] == 2);
  n = 1;
  FAILS(ort()->KernelInfoGetAttributeArray_float(info, "fs", fs, &n), ORT_INVALID_ARGUMENT, "'fs' needs 2, got 1");
  OK(ort()->KernelInfoGetAttributeArray_float(info, "fs", NULL, &n));
  assert_int_equal(n, 2);
  OK(ort()->KernelInfoGetAttributeArray_float(info, "is", NULL, &n));
  assert_int_equal(n, 0); /* of another kind */
  FAILS(ort()->KernelInfoGetAttributeArray_float(info, "g", NULL, &n), ORT_FAIL, "'g'");
  n = 2;
  OK(ort()->KernelInfoGetAttributeArray_int64(info, "is", is, &n));
  assert_true(n == 2 && is[0] == 3 && is[1] == -4);
  n = 1;
  FAILS(ort()->KernelInfoGetAttributeArray_int64(info, "is", is, &n), ORT_INVALID_ARGUMENT, "'is' needs 2, got 1");
  OK(ort()->KernelInfoGetAttributeArray_int64(info, "none", is, &n));
  assert_int_equal(n, 0);
  FAILS(ort()->KernelInfoGetAttributeArray_int64(info, "g", is, &n), ORT_FAIL, "'g'");
}

static void check_texts(const OrtKernelInfo *info) {
  OrtAllocator *allocator = heap();
  OrtValue *value;
  char text[8], **texts;
  size_t n = sizeof text;
  CHECK_TEXT("hello", ort()->KernelInfoGetAttribute_string(info, "s", out, &size));
  CHECK_SIZE("hello", ort()->KernelInfoGetAttribute_string(info, "s", NULL, &size));
  FAILS(ort()->KernelInfoGetAttribute_string(info, "i", text, &n), ORT_FAIL, "'i' of node 'n0' (Info)");
  FAILS(ort()->KernelInfoGetAttribute_string(info, "g", text, &n), ORT_FAIL, "'g'");
  OK(ort()->KernelInfoGetAttributeArray_string(info, "ss", allocator, &texts, &n));
  assert_int_equal(n, 2);
  assert_string_equal(texts[0], "one");
  assert_string_equal(texts[1], "");
  for (size_t i = 0; i < n; i++) OK(ort()->AllocatorFree(allocator, texts[i]));
  OK(ort()->AllocatorFree(allocator, (void *)texts));
  OK(ort()->KernelInfoGetAttributeArray_string(info, "none", allocator, &texts, &n));
  assert_true(n == 0 && texts == NULL);
  FAILS(ort()->KernelInfoGetAttributeArray_string(info, "g", allocator, &texts, &n), ORT_FAIL, "'g'");
  OK(ort()->KernelInfoGetAttribute_tensor(info, "t", allocator, &value));
  assert_int_equal(count_of(value), 2);
  assert_memory_equal(data_of(value), constant, sizeof constant);
  ort()->ReleaseValue(value);
  FAILS(ort()->KernelInfoGetAttribute_tensor(info, "i", allocator, &value), ORT_FAIL, "'i' of node 'n0' (Info)");
  FAILS(ort()->KernelInfoGetAttribute_tensor(info, "g", allocator, &value), ORT_FAIL, "'g'");
}

/* ---- the session ---- */

static void check_session(const OrtKernelInfo *info) {
  const OrtLogger *logger;
  OrtLoggingLevel level;
  OrtAllocator *allocator;
  OrtKeyValuePairs *pairs;
  OK(ort()->KernelInfo_GetLogger(info, &logger));
  assert_non_null(logger);
  OK(ort()->Logger_GetLoggingSeverityLevel(logger, &level));
  assert_int_equal(level, ORT_LOGGING_LEVEL_FATAL);
  OK(ort()->KernelInfoGetAllocator(info, OrtMemTypeDefault, &allocator));
  void *p = allocator->Alloc(allocator, 100);
  assert_non_null(p);
  memset(p, 1, 100);
  allocator->Free(allocator, p);
  OK(ort()->KernelInfo_GetConfigEntries(info, &pairs));
  assert_string_equal(ort()->GetKeyValue(pairs, "test.key"), "test value");
  ort()->ReleaseKeyValuePairs(pairs);
}

static void check_nulls(const OrtKernelInfo *info) {
  const OrtApi *a = ort();
  OrtAllocator *allocator = heap();
  size_t n = 0;
  float f;
  if (!ort_is_onyx()) return; /* Microsoft's library crashes */
  FAILS(a->KernelInfo_GetInputCount(NULL, &n), ORT_INVALID_ARGUMENT, "'info'");
  FAILS(a->KernelInfo_GetInputCount(info, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(a->KernelInfo_GetOutputCount(info, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(a->KernelInfo_GetInputName(info, 0, NULL, NULL), ORT_INVALID_ARGUMENT, "'size'");
  FAILS(a->KernelInfo_GetOutputName(info, 0, NULL, NULL), ORT_INVALID_ARGUMENT, "'size'");
  FAILS(a->KernelInfo_GetInputTypeInfo(info, 0, NULL), ORT_INVALID_ARGUMENT, "'type_info'");
  FAILS(a->KernelInfo_GetOutputTypeInfo(info, 0, NULL), ORT_INVALID_ARGUMENT, "'type_info'");
  FAILS(a->KernelInfo_GetNodeName(NULL, NULL, &n), ORT_INVALID_ARGUMENT, "'info'");
  FAILS(a->KernelInfo_GetOperatorType(info, NULL, NULL), ORT_INVALID_ARGUMENT, "'size'");
  FAILS(a->KernelInfo_GetOperatorDomain(info, NULL, NULL), ORT_INVALID_ARGUMENT, "'size'");
  FAILS(a->KernelInfo_GetOperatorSinceVersion(info, NULL), ORT_INVALID_ARGUMENT, "'since_version'");
  FAILS(a->KernelInfo_GetLogger(info, NULL), ORT_INVALID_ARGUMENT, "'logger'");
  FAILS(a->KernelInfo_GetConfigEntries(info, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(a->KernelInfoGetAllocator(info, OrtMemTypeDefault, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(a->KernelInfoGetConstantInput_tensor(info, 0, NULL, NULL), ORT_INVALID_ARGUMENT, "'is_constant'");
  FAILS(a->KernelInfoGetAttribute_float(info, NULL, &f), ORT_INVALID_ARGUMENT, "'name'");
  FAILS(a->KernelInfoGetAttribute_float(info, "f", NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(a->KernelInfoGetAttribute_int64(info, "i", NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(a->KernelInfoGetAttribute_string(info, "s", NULL, NULL), ORT_INVALID_ARGUMENT, "'size'");
  FAILS(a->KernelInfoGetAttributeArray_float(info, "fs", NULL, NULL), ORT_INVALID_ARGUMENT, "'size'");
  FAILS(a->KernelInfoGetAttributeArray_int64(info, "is", NULL, NULL), ORT_INVALID_ARGUMENT, "'size'");
  FAILS(a->KernelInfoGetAttributeArray_string(info, "ss", NULL, NULL, &n), ORT_INVALID_ARGUMENT, "'allocator'");
  FAILS(a->KernelInfoGetAttributeArray_string(info, "ss", allocator, NULL, &n), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(a->KernelInfoGetAttribute_tensor(info, "t", NULL, NULL), ORT_INVALID_ARGUMENT, "'allocator'");
  FAILS(a->CopyKernelInfo(info, NULL), ORT_INVALID_ARGUMENT, "'info_copy'");
}

/* ---- the operator ---- */

static void check_all(const OrtKernelInfo *info) {
  check_node(info);
  check_values(info);
  check_numbers(info);
  check_texts(info);
  check_session(info);
}

static OrtStatus *create(kernel *k, const OrtKernelInfo *info) {
  check_all(info);
  check_nulls(info);
  return k->api->CopyKernelInfo(info, &k->info);
}

static OrtStatus *compute(kernel *k, OrtKernelContext *c) {
  check_all(k->info);
  return compute_times(k, c);
}

static void destroy(kernel *k) {
  check_node(k->info);
  k->api->ReleaseKernelInfo(k->info);
}

static void test_a_kernel_knows_its_node(void **state) {
  op_row row = {.version = 18,
                .name = "Info",
                .n_in = 3,
                .n_out = 2,
                .in = {F32, F32, ANY},
                .out = {F32, F32},
                .in_is = {INPUT_OUTPUT_REQUIRED, INPUT_OUTPUT_OPTIONAL, INPUT_OUTPUT_OPTIONAL},
                .out_is = {INPUT_OUTPUT_REQUIRED, INPUT_OUTPUT_OPTIONAL},
                .create = create,
                .compute = compute,
                .destroy = destroy};
  float data[] = {1};
  OrtValue *x = tensor_over(F32, (const int64_t[]){1}, 1, data, sizeof data), *y;
  world w;
  (void)state;
  message m = model();
  OK(open_world(&w, &m, &row));
  OK(run_world(&w, x, NULL, &y));
  ort()->ReleaseValue(x);
  ort()->ReleaseValue(y);
  close_world(&w);
  assert_int_equal(row.creations, 1);
  assert_int_equal(row.destructions, 1);
  ort()->ReleaseKernelInfo(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_kernel_knows_its_node)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
