/* SPDX-License-Identifier: Apache-2.0
 * What a kernel reaches while it runs: inputs, outputs of any shape, strings, memory, threads; and what it says of its
 * outputs' shapes before. */
#include "ort/op_world.h"

static float numbers[] = {1, 2, 3, 4};
static const int64_t four[] = {4};

static OrtValue *four_numbers(void) { return tensor_over(F32, four, 1, numbers, sizeof numbers); }

/* Runs y = op(x) once on numbers, for what the operator checks itself. */
static void run_once(op_row *row) {
  OrtValue *x = four_numbers(), *y;
  world w;
  message m = one_node("t:Op", F32, 1, "x", "y");
  row->version = 18, row->name = "Op", row->n_in = row->n_out = 1;
  if (row->in[0] == 0) row->in[0] = F32;
  row->out[0] = F32;
  OK(open_world(&w, &m, row));
  OK(run_world(&w, x, NULL, &y));
  assert_int_equal(row->computations, 1);
  ort()->ReleaseValue(x);
  ort()->ReleaseValue(y);
  close_world(&w);
}

/* ---- outputs ---- */

static OrtStatus *compute_outputs(kernel *k, OrtKernelContext *c) {
  const OrtApi *api = k->api;
  const int64_t negative[] = {-4}, five[] = {5};
  const OrtValue *in;
  OrtValue *out, *again;
  size_t bytes;
  OK(api->KernelContext_GetInput(c, 7, &in));
  assert_null(in);
  OK(api->KernelContext_GetPreallocatedOutput(c, 0, &out));
  assert_null(out);
  FAILS(api->KernelContext_GetPreallocatedOutput(c, 1, &out), ORT_INVALID_ARGUMENT, "1 of 1");
  FAILS(api->KernelContext_GetOutput(c, 0, negative, 1, &out), ORT_FAIL, "dimension 0 is -4");
  FAILS(api->KernelContext_GetOutput(c, SIZE_MAX, four, 1, &out), ORT_RUNTIME_EXCEPTION, "too large");
  OK(api->KernelContext_GetOutput(c, 1, four, 1, &out)); /* which the node does not have */
  assert_null(out);
  OK(api->KernelContext_GetOutput(c, 0, four, 1, &out));
  assert_non_null(out);
  OK(api->GetTensorSizeInBytes(out, &bytes));
  assert_int_equal(bytes, 16);
  OK(api->KernelContext_GetOutput(c, 0, four, 1, &again));
  assert_ptr_equal(out, again);
  FAILS(api->KernelContext_GetOutput(c, 0, five, 1, &again), ORT_INVALID_ARGUMENT, "output 0 ('y') of node 'n0' (Op)");
  OK(api->KernelContext_GetPreallocatedOutput(c, 0, &again));
  assert_ptr_equal(out, again);
  if (ort_is_onyx()) { /* Microsoft's library crashes */
    FAILS(api->KernelContext_GetInput(NULL, 0, &in), ORT_INVALID_ARGUMENT, "'context'");
    FAILS(api->KernelContext_GetInput(c, 0, NULL), ORT_INVALID_ARGUMENT, "'out'");
    FAILS(api->KernelContext_GetInputCount(c, NULL), ORT_INVALID_ARGUMENT, "'out'");
    FAILS(api->KernelContext_GetOutputCount(c, NULL), ORT_INVALID_ARGUMENT, "'out'");
    FAILS(api->KernelContext_GetOutput(c, 0, NULL, 1, &out), ORT_INVALID_ARGUMENT, "'dim_values'");
    FAILS(api->KernelContext_GetOutput(c, 0, four, 1, NULL), ORT_INVALID_ARGUMENT, "'out'");
    FAILS(api->KernelContext_GetOutput(c, 0, four, 99, &out), ORT_INVALID_ARGUMENT, "99 dimensions");
  }
  return compute_times(k, c);
}

static void test_outputs(void **state) {
  op_row row = {.compute = compute_outputs};
  (void)state;
  run_once(&row);
}

/* y = the first x[0] numbers of x, twice: a shape that only the run knows. */
static OrtStatus *compute_some(kernel *k, OrtKernelContext *c) {
  const OrtApi *api = k->api;
  const OrtValue *in;
  OrtValue *out;
  float *from, *to;
  PASS(api->KernelContext_GetInput(c, 0, &in));
  PASS(api->GetTensorMutableData((OrtValue *)(uintptr_t)in, (void **)(void *)&from));
  const int64_t dims[] = {2, (int64_t)from[0]};
  PASS(api->KernelContext_GetOutput(c, 0, dims, 2, &out));
  PASS(api->GetTensorMutableData(out, (void **)(void *)&to));
  for (int64_t i = 0; i < 2 * dims[1]; i++) to[i] = from[i % dims[1]];
  return NULL;
}

/* Behind the operator, others take what comes. */
static void test_shapes_that_only_the_run_knows(void **state) {
  op_row row = {
      .version = 18, .name = "Some", .n_in = 1, .n_out = 1, .in = {F32}, .out = {F32}, .compute = compute_some};
  world w;
  message g = {0};
  (void)state;
  graph_input(&g, "x", F32, "N");
  graph_node(&g, "", "t:Some", "x", "u");
  graph_node(&g, "", "Add", "u,u", "y");
  graph_output(&g, "y", F32, NULL);
  message m = model_of(&g, "t", 1);
  OK(open_world(&w, &m, &row));
  for (int n = 0; n <= 4; n++) {
    float data[] = {(float)n, 2, 3, 4};
    OrtValue *x = tensor_over(F32, four, 1, data, sizeof data), *y;
    shape_of s;
    OK(run_world(&w, x, NULL, &y));
    OK(read_shape(ort(), y, &s));
    assert_int_equal(s.rank, 2);
    assert_int_equal(s.dims[0], 2);
    assert_int_equal(s.dims[1], n);
    for (int i = 0; i < 2 * n; i++) assert_true(((float *)data_of(y))[i] == 2 * data[i % n]);
    ort()->ReleaseValue(x);
    ort()->ReleaseValue(y);
  }
  close_world(&w);
}

/* ---- strings ---- */

/* y = x in capital letters, by each of the calls that write strings; two empty ones first are left alone. */
static OrtStatus *compute_upper(kernel *k, OrtKernelContext *c) {
  const OrtApi *api = k->api;
  const OrtValue *in;
  OrtValue *out;
  shape_of s;
  char texts[8][64];
  const char *pointers[8];
  PASS(api->KernelContext_GetInput(c, 0, &in));
  PASS(read_shape(api, in, &s));
  PASS(api->KernelContext_GetOutput(c, 0, s.dims, s.rank, &out));
  for (size_t i = 0; i < s.count; i++) {
    size_t n;
    PASS(api->GetStringTensorElementLength(in, i, &n));
    PASS(api->GetStringTensorElement(in, n, i, texts[i]));
    texts[i][n] = 0;
    for (char *t = texts[i]; *t; t++) *t = (char)(*t >= 'a' && *t <= 'z' ? *t - 32 : *t);
    pointers[i] = texts[i];
    if (k->numbers[0] == 1) PASS(api->FillStringTensorElement(out, texts[i], i));
    if (k->numbers[0] == 2) {
      char *room;
      PASS(api->GetResizedStringTensorElementBuffer(out, i, n, &room));
      memcpy(room, texts[i], n);
    }
  }
  return k->numbers[0] == 0 ? api->FillStringTensor(out, pointers, s.count) : NULL;
}

static OrtStatus *create_upper(kernel *k, const OrtKernelInfo *info) {
  return k->api->KernelInfoGetAttribute_int64(info, "how", &k->numbers[0]);
}

static void test_strings(void **state) {
  static const char *const texts[] = {"", "a", "Hello, World: \xc3\xa9 and more than a few bytes", "b"};
  (void)state;
  for (int how = 0; how < 3; how++) {
    op_row row = {.version = 18,
                  .name = "Upper",
                  .n_in = 1,
                  .n_out = 1,
                  .in = {STR},
                  .out = {STR},
                  .create = create_upper,
                  .compute = compute_upper};
    world w;
    OrtValue *x = strings_of(texts, COUNT(texts)), *y;
    message g = {0};
    message n = node("n0", "t:Upper", "x", "u"), a = int_attribute("how", how);
    put_message(&n, 5, &a);
    graph_input(&g, "x", STR, "N");
    put_message(&g, 1, &n);
    graph_node(&g, "", "Identity", "u", "y");
    graph_output(&g, "y", STR, NULL);
    message m = model_of(&g, "t", 1);
    OK(open_world(&w, &m, &row));
    for (int run = 0; run < 3; run++) {
      OK(run_world(&w, x, NULL, &y));
      assert_string_equal(text_of(y), "[][A][HELLO, WORLD: \xc3\xa9 AND MORE THAN A FEW BYTES][B]");
      ort()->ReleaseValue(y);
    }
    ort()->ReleaseValue(x);
    close_world(&w);
  }
}

/* ---- services ---- */

static OrtMemoryInfo *memory(const char *name) {
  OrtMemoryInfo *info;
  OK(ort()->CreateMemoryInfo(name, OrtDeviceAllocator, 0, OrtMemTypeDefault, &info));
  return info;
}

static OrtStatus *compute_memory(kernel *k, OrtKernelContext *c) {
  const OrtApi *api = k->api;
  OrtMemoryInfo *cpu = memory("Cpu"), *cuda = memory("Cuda");
  OrtAllocator *allocator;
  void *p, *q;
  OK(api->KernelContext_GetAllocator(c, cpu, &allocator));
  p = allocator->Alloc(allocator, 1000);
  assert_non_null(p);
  allocator->Free(allocator, p);
  FAILS(api->KernelContext_GetAllocator(c, cuda, &allocator), ORT_INVALID_ARGUMENT, "'Cuda'");
  OK(api->KernelContext_GetScratchBuffer(c, cpu, 1000, &p));
  OK(api->KernelContext_GetScratchBuffer(c, cpu, 1000, &q));
  assert_true(p != NULL && q != NULL && p != q);
  memset(p, 1, 1000);
  memset(q, 2, 1000);
  assert_int_equal(((char *)p)[999], 1);
  OK(api->KernelContext_GetGPUComputeStream(c, &p));
  assert_null(p);
  OrtSyncStream *stream;
  OK(api->KernelContext_GetSyncStream(c, &stream));
  assert_null(stream);
  FAILS(api->KernelContext_GetResource(c, 1, 0, &p), ORT_INVALID_ARGUMENT, "resource 0");
  if (ort_is_onyx()) { /* Microsoft's library crashes */
    FAILS(api->KernelContext_GetAllocator(c, NULL, &allocator), ORT_INVALID_ARGUMENT, "'mem_info'");
    FAILS(api->KernelContext_GetScratchBuffer(c, cpu, 1, NULL), ORT_INVALID_ARGUMENT, "'out'");
    FAILS(api->KernelContext_GetScratchBuffer(c, cuda, 1, &p), ORT_INVALID_ARGUMENT, "'Cuda'");
    FAILS(api->KernelContext_GetGPUComputeStream(c, NULL), ORT_INVALID_ARGUMENT, "'out'");
    FAILS(api->KernelContext_GetSyncStream(c, NULL), ORT_INVALID_ARGUMENT, "'out'");
    FAILS(api->KernelContext_GetResource(c, 1, 0, NULL), ORT_INVALID_ARGUMENT, "'resource'");
    FAILS(api->KernelContext_GetLogger(c, NULL), ORT_INVALID_ARGUMENT, "'logger'");
    FAILS(api->KernelContext_ParallelFor(c, NULL, 1, 1, NULL), ORT_INVALID_ARGUMENT, "'fn'");
  }
  api->ReleaseMemoryInfo(cpu);
  api->ReleaseMemoryInfo(cuda);
  return compute_times(k, c);
}

static void test_memory(void **state) {
  op_row row = {.compute = compute_memory};
  (void)state;
  run_once(&row);
}

static void count(void *ctx, size_t i) { __atomic_fetch_add(&((int *)ctx)[i], 1, __ATOMIC_RELAXED); }

static OrtStatus *compute_in_parallel(kernel *k, OrtKernelContext *c) {
  static const size_t totals[] = {0, 1, 2, 7, 1000}, batches[] = {0, 1, 2, 3, 7, 999, 1000, 5000};
  for (size_t t = 0; t < COUNT(totals); t++)
    for (size_t b = 0; b < COUNT(batches); b++) {
      int times[1001] = {0};
      OK(k->api->KernelContext_ParallelFor(c, count, totals[t], batches[b], times));
      for (size_t i = 0; i < COUNT(times); i++)
        if (times[i] != (i < totals[t])) fail_msg("%zu in %zu: %zu, %d times", totals[t], batches[b], i, times[i]);
    }
  return compute_times(k, c);
}

static void test_loops(void **state) {
  op_row row = {.compute = compute_in_parallel};
  (void)state;
  run_once(&row);
}

static OrtStatus *compute_log(kernel *k, OrtKernelContext *c) {
  const OrtLogger *logger;
  OrtLoggingLevel level;
  OK(k->api->KernelContext_GetLogger(c, &logger));
  OK(k->api->Logger_GetLoggingSeverityLevel(logger, &level));
  assert_int_equal(level, ORT_LOGGING_LEVEL_FATAL);
  OK(k->api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_INFO, "nobody sees this", "file", 1, "function"));
  return compute_times(k, c);
}

static void test_log(void **state) {
  op_row row = {.compute = compute_log};
  (void)state;
  run_once(&row);
}

/* ---- shapes that are known before ---- */

/* y is [N, k] of x [N], k an attribute. */
static OrtStatus *infer(const op_row *row, OrtShapeInferContext *c) {
  const OrtApi *api = row->api;
  OrtTensorTypeAndShapeInfo *in, *out, *other;
  const OrtOpAttr *attr;
  const char *names[2] = {"", ""};
  size_t n, bytes;
  int64_t dims[2];
  ONNXTensorElementDataType type;
  OK(api->ShapeInferContext_GetInputCount(c, &n));
  assert_int_equal(n, 1);
  OK(api->ShapeInferContext_GetInputTypeShape(c, 0, &in));
  FAILS(api->ShapeInferContext_GetInputTypeShape(c, 1, &other), ORT_RUNTIME_EXCEPTION, "1 is out of range");
  OK(api->GetTensorElementType(in, &type));
  assert_int_equal(type, F32);
  OK(api->GetDimensionsCount(in, &n));
  assert_int_equal(n, 1);
  OK(api->GetDimensions(in, dims, 1));
  OK(api->GetSymbolicDimensions(in, names, 1));
  if (dims[0] < 0) assert_string_equal(names[0], "N");
  FAILS(api->ShapeInferContext_GetAttribute(c, "none", &attr), ORT_INVALID_ARGUMENT, "'none'");
  OK(api->ShapeInferContext_GetAttribute(c, "k", &attr));
  OK(api->ReadOpAttr(attr, ORT_OP_ATTR_INT, &dims[1], sizeof dims[1], &bytes));
  OK(api->CreateTensorTypeAndShapeInfo(&out));
  OK(api->SetTensorElementType(out, F32));
  OK(api->SetDimensions(out, dims, 2));
  OK(api->SetSymbolicDimensions(out, names, 2));
  OK(api->ShapeInferContext_SetOutputTypeShape(c, 0, out));
  FAILS(api->ShapeInferContext_SetOutputTypeShape(c, 1, out), ORT_RUNTIME_EXCEPTION, "1 is out of range");
  if (ort_is_onyx()) { /* Microsoft's library crashes */
    FAILS(api->ShapeInferContext_SetOutputTypeShape(c, 0, NULL), ORT_INVALID_ARGUMENT, "'info'");
    FAILS(api->ShapeInferContext_GetInputCount(c, NULL), ORT_INVALID_ARGUMENT, "'out'");
    FAILS(api->ShapeInferContext_GetInputTypeShape(c, 0, NULL), ORT_INVALID_ARGUMENT, "'info'");
    FAILS(api->ShapeInferContext_GetAttribute(c, NULL, &attr), ORT_INVALID_ARGUMENT, "'attr_name'");
  }
  api->ReleaseTensorTypeAndShapeInfo(out);
  return NULL;
}

static OrtStatus *compute_columns(kernel *k, OrtKernelContext *c) {
  const OrtApi *api = k->api;
  const OrtValue *in;
  OrtValue *out;
  float *from, *to;
  shape_of s;
  PASS(api->KernelContext_GetInput(c, 0, &in));
  PASS(read_shape(api, in, &s));
  const int64_t dims[] = {s.dims[0], k->numbers[0]};
  PASS(api->KernelContext_GetOutput(c, 0, dims, 2, &out));
  PASS(api->GetTensorMutableData((OrtValue *)(uintptr_t)in, (void **)(void *)&from));
  PASS(api->GetTensorMutableData(out, (void **)(void *)&to));
  for (int64_t i = 0; i < dims[0] * dims[1]; i++) to[i] = from[i / dims[1]];
  return NULL;
}

static OrtStatus *create_columns(kernel *k, const OrtKernelInfo *info) {
  return k->api->KernelInfoGetAttribute_int64(info, k->row->n_out == 1 ? "k" : "wrong", &k->numbers[0]);
}

static void test_shapes_that_are_known_before(void **state) {
  op_row row = {.version = 18,
                .name = "Columns",
                .n_in = 1,
                .n_out = 1,
                .in = {F32},
                .out = {F32},
                .infer = infer,
                .create = create_columns,
                .compute = compute_columns};
  world w;
  message g = {0};
  OrtTypeInfo *type;
  const OrtTensorTypeAndShapeInfo *info;
  const char *names[2];
  int64_t dims[2];
  size_t rank;
  (void)state;
  message n = node("n0", "t:Columns", "x", "y"), a = int_attribute("k", 3);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  graph_input(&g, "x", F32, "N");
  graph_output(&g, "y", F32, NULL);
  message m = model_of(&g, "t", 1);
  OK(open_world(&w, &m, &row));
  OK(ort()->SessionGetOutputTypeInfo(w.session, 0, &type));
  OK(ort()->CastTypeInfoToTensorInfo(type, &info));
  OK(ort()->GetDimensionsCount(info, &rank));
  assert_int_equal(rank, 2);
  OK(ort()->GetDimensions(info, dims, 2));
  OK(ort()->GetSymbolicDimensions(info, names, 2));
  assert_true(dims[0] == -1 && dims[1] == 3);
  assert_string_equal(names[0], "N");
  ort()->ReleaseTypeInfo(type);
  OrtValue *x = four_numbers(), *y;
  for (int i = 0; i < 3; i++) {
    OK(run_world(&w, x, NULL, &y));
    assert_int_equal(count_of(y), 12);
    assert_true(((float *)data_of(y))[11] == 4);
    ort()->ReleaseValue(y);
  }
  ort()->ReleaseValue(x);
  close_world(&w);
}

/* An output in another shape than was promised: Microsoft's library makes it, and warns; here memory is planned. */
static OrtStatus *infer_wrong(const op_row *row, OrtShapeInferContext *c) {
  static const int64_t nine[] = {9};
  const char *name = "";
  OrtTensorTypeAndShapeInfo *out;
  OK(row->api->CreateTensorTypeAndShapeInfo(&out));
  OK(row->api->SetDimensions(out, nine, 1));
  OK(row->api->SetSymbolicDimensions(out, &name, 1));
  OrtStatus *st = row->api->ShapeInferContext_SetOutputTypeShape(c, 0, out);
  row->api->ReleaseTensorTypeAndShapeInfo(out);
  return st;
}

static void test_a_promise_that_is_not_kept(void **state) {
  op_row row = {.version = 18,
                .name = "Op",
                .n_in = 1,
                .n_out = 1,
                .in = {F32},
                .out = {F32},
                .infer = infer_wrong,
                .compute = compute_times};
  OrtValue *x = four_numbers(), *y;
  world w;
  (void)state;
  message m = one_node("t:Op", F32, 1, "x", "y");
  OK(open_world(&w, &m, &row));
  if (ort_is_onyx()) FAILS(run_world(&w, x, NULL, &y), ORT_INVALID_ARGUMENT, "InferOutputShapeFn");
  ort()->ReleaseValue(x);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outputs),
      cmocka_unit_test(test_shapes_that_only_the_run_knows),
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_loops),
      cmocka_unit_test(test_log),
      cmocka_unit_test(test_shapes_that_are_known_before),
      cmocka_unit_test(test_a_promise_that_is_not_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
