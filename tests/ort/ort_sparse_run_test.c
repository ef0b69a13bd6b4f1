/* SPDX-License-Identifier: Apache-2.0
 * Sparse tensors of clients as inputs of runs, in the formats that Microsoft's library takes. */
#include "ort/models.h"
#include "ort/values.h"

/* sparse float[2,3] a, float[3,N] b => float[2,N] y { y = com.microsoft.SparseToDenseMatMul(a, b) } */
static message product_model(void) {
  message g = {0}, type = tensor_type(F32, "2,3");
  type.bytes[0] = 8 << 3 | 2; /* TypeProto.sparse_tensor_type has the fields of tensor_type */
  graph_node(&g, "product", "com.microsoft:SparseToDenseMatMul", "a,b", "y");
  put_value(&g, 11, "a", &type);
  graph_input(&g, "b", F32, "3,N");
  graph_output(&g, "y", F32, "2,N");
  return model_of(&g, "com.microsoft", 1);
}

/* 0 2 0
 * 3 0 4 */
static float values[] = {2, 3, 4};
static int64_t pairs[] = {0, 1, 1, 0, 1, 2}, inner[] = {1, 0, 2}, outer[] = {0, 1, 3};
static const int64_t dense[] = {2, 3}, three[] = {3};

typedef struct world {
  OrtEnv *env;
  OrtSession *session;
  OrtMemoryInfo *cpu;
} world;

static void open_world(world *w) {
  message m = product_model();
  w->env = test_env(), w->session = open_model(w->env, &m, NULL);
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &w->cpu));
}

static void close_world(world *w) {
  ort()->ReleaseSession(w->session), ort()->ReleaseMemoryInfo(w->cpu), ort()->ReleaseEnv(w->env);
}

static OrtStatus *run(const world *w, const OrtValue *a, const OrtValue *b, OrtValue **y) {
  const OrtValue *in[] = {a, b};
  *y = NULL;
  return ort()->Run(w->session, NULL, (const char *const[]){"a", "b"}, in, 2, (const char *const[]){"y"}, 1, y);
}

static void expect_product(const world *w, OrtValue *a) {
  float data[] = {1, 2, 3, 4, 5, 6};
  static const float want[] = {6, 8, 23, 30};
  OrtValue *b = FLOATS(data, 3, 2), *y;
  OK(run(w, a, b, &y));
  assert_int_equal(count_of(y), 4);
  check_floats(y, want, 4);
  ort()->ReleaseValue(a), ort()->ReleaseValue(b), ort()->ReleaseValue(y);
}

static void test_coordinates_and_rows(void **state) {
  (void)state;
  world w;
  OrtValue *a;
  open_world(&w);
  OK(ort()->CreateSparseTensorAsOrtValue(heap(), dense, 2, F32, &a));
  OK(ort()->FillSparseTensorCoo(a, w.cpu, three, 1, values, pairs, 6));
  expect_product(&w, a);
  OK(ort()->CreateSparseTensorAsOrtValue(heap(), dense, 2, F32, &a));
  OK(ort()->FillSparseTensorCsr(a, w.cpu, three, 1, values, inner, 3, outer, 3));
  expect_product(&w, a);
  OK(ort()->CreateSparseTensorWithValuesAsOrtValue(w.cpu, values, dense, 2, three, 1, F32, &a));
  OK(ort()->UseCooIndices(a, pairs, 6));
  expect_product(&w, a);
  OK(ort()->CreateSparseTensorWithValuesAsOrtValue(w.cpu, values, dense, 2, three, 1, F32, &a));
  OK(ort()->UseCsrIndices(a, inner, 3, outer, 3));
  expect_product(&w, a);
  close_world(&w);
}

/* Microsoft's library refuses these two at the operator. */
static void test_places_and_blocks(void **state) {
  (void)state;
  static int64_t places[] = {1, 3, 5};
  static float blocks[] = {0, 3, 2, 0, 0, 4};
  static const int64_t shape[] = {3, 2, 1}, at_shape[] = {2, 3};
  static int32_t at[] = {0, 0, 0, 0, 1, 2};
  if (!ort_is_onyx()) return;
  world w;
  OrtValue *a;
  open_world(&w);
  OK(ort()->CreateSparseTensorWithValuesAsOrtValue(w.cpu, values, dense, 2, three, 1, F32, &a));
  OK(ort()->UseCooIndices(a, places, 3));
  expect_product(&w, a);
  OK(ort()->CreateSparseTensorWithValuesAsOrtValue(w.cpu, blocks, dense, 2, shape, 3, F32, &a));
  OK(ort()->UseBlockSparseIndices(a, at_shape, 2, at));
  expect_product(&w, a);
  close_world(&w);
}

static void test_nothing_is_there(void **state) {
  (void)state;
  static const int64_t none[] = {0};
  static const float zeros[4] = {0};
  float data[] = {1, 2, 3, 4, 5, 6};
  world w;
  OrtValue *a, *b = FLOATS(data, 3, 2), *y;
  open_world(&w);
  OK(ort()->CreateSparseTensorAsOrtValue(heap(), dense, 2, F32, &a));
  OK(ort()->FillSparseTensorCoo(a, w.cpu, none, 1, values, pairs, 0));
  OK(run(&w, a, b, &y));
  check_floats(y, zeros, 4);
  ort()->ReleaseValue(a), ort()->ReleaseValue(b), ort()->ReleaseValue(y);
  close_world(&w);
}

static void test_what_does_not_fit(void **state) {
  (void)state;
  static const int64_t square[] = {3, 3};
  static double wide[] = {2, 3, 4};
  float data[] = {1, 2, 3, 4, 5, 6};
  world w;
  OrtValue *a, *b = FLOATS(data, 3, 2), *y;
  open_world(&w);
  OK(ort()->CreateSparseTensorWithValuesAsOrtValue(w.cpu, values, square, 2, three, 1, F32, &a));
  OK(ort()->UseCooIndices(a, pairs, 6));
  FAILS(run(&w, a, b, &y), ORT_INVALID_ARGUMENT, "index: 0 Got: 3 Expected: 2");
  ort()->ReleaseValue(a);
  OK(ort()->CreateSparseTensorWithValuesAsOrtValue(w.cpu, wide, dense, 2, three, 1, F64, &a));
  OK(ort()->UseCooIndices(a, pairs, 6));
  FAILS(run(&w, a, b, &y), ORT_INVALID_ARGUMENT, "Actual: (sparse_tensor(double)) , expected: (sparse_tensor(float))");
  ort()->ReleaseValue(a);
  FAILS(run(&w, b, b, &y), ORT_INVALID_ARGUMENT, "");
  ort()->ReleaseValue(b);
  close_world(&w);
}

/* The type of the input says what it is. */
static void test_its_type(void **state) {
  (void)state;
  world w;
  OrtTypeInfo *info;
  ONNXType type;
  const OrtTensorTypeAndShapeInfo *tensor;
  int64_t dims[2];
  open_world(&w);
  OK(ort()->SessionGetInputTypeInfo(w.session, 0, &info));
  OK(ort()->GetOnnxTypeFromTypeInfo(info, &type));
  assert_int_equal(type, ONNX_TYPE_SPARSETENSOR);
  OK(ort()->CastTypeInfoToTensorInfo(info, &tensor));
  OK(ort()->GetDimensions(tensor, dims, 2));
  assert_true(dims[0] == 2 && dims[1] == 3);
  ort()->ReleaseTypeInfo(info);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_coordinates_and_rows),
      cmocka_unit_test(test_places_and_blocks),
      cmocka_unit_test(test_nothing_is_there),
      cmocka_unit_test(test_what_does_not_fit),
      cmocka_unit_test(test_its_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
