/* SPDX-License-Identifier: Apache-2.0
 * Custom operators: which of them serves a node, what a session refuses, where in a model they run. */
#include "ort/times.h"

/* ---- structures of every version ---- */

/* Members that a version lacks are garbage (op_init). */
static void test_structures_of_every_version(void **state) {
  static const uint32_t versions[] = {1, 7, 8, 12, 13, 14, 15, 16, 17, 18, ORT_API_VERSION, 999};
  (void)state;
  for (size_t i = 0; i < COUNT(versions); i++) {
    if (versions[i] < 8 && !ort_is_onyx()) continue; /* Microsoft's library calls the members that came with 8 */
    op_row row = {.version = versions[i],
                  .name = "Times",
                  .n_in = 1,
                  .n_out = 1,
                  .in = {F32},
                  .out = {F32},
                  .create = create_times_2,
                  .compute = compute_times};
    world w;
    message m = one_node("t:Times", F32, 1, "x", "y");
    OK(open_world(&w, &m, &row));
    assert_true(first(&w, F32) == 2);
    assert_int_equal(row.creations, 1);
    assert_int_equal(row.computations, 1);
    close_world(&w);
    assert_int_equal(row.destructions, 1);
  }
}

/* ---- which operator ---- */

static void test_types_choose_among_operators_of_a_name(void **state) {
  op_row a = times_row(create_times_2);
  op_row b = a;
  op_row *const rows[] = {&a, &b};
  world w;
  (void)state;
  b.in[0] = b.out[0] = I64, b.create = create_times_3;
  message m = one_node("t:Times", F32, 1, "x", "y");
  OK(open_in(&w, "t", &m, rows, 2));
  assert_true(first(&w, F32) == 2);
  close_world(&w);
  m = one_node("t:Times", I64, 1, "x", "y");
  OK(open_in(&w, "t", &m, rows, 2));
  assert_true(first(&w, I64) == 3);
  close_world(&w);
  m = one_node("t:Times", F64, 1, "x", "y");
  FAILS(open_in(&w, "t", &m, rows, 2), ORT_INVALID_GRAPH, "float64");
  close_world(&w);
}

static void test_any_type(void **state) {
  op_row row = {.version = 18,
                .name = "Times",
                .n_in = 1,
                .n_out = 1,
                .in = {ANY},
                .out = {ANY},
                .create = create_times_3,
                .compute = compute_times};
  world w;
  (void)state;
  message m = one_node("t:Times", F32, 1, "x", "y");
  OK(open_world(&w, &m, &row));
  assert_true(first(&w, F32) == 3);
  close_world(&w);
  m = one_node("t:Times", I64, 1, "x", "y");
  OK(open_world(&w, &m, &row));
  assert_true(first(&w, I64) == 3);
  close_world(&w);
  row.in[0] = F32;
  FAILS(open_world(&w, &m, &row), ORT_FAIL, "of any type");
  close_world(&w);
  row.in[0] = row.in[1] = ANY, row.n_in = 2;
  FAILS(open_world(&w, &m, &row), ORT_FAIL, "of any type");
  close_world(&w);
  /* a sequence is no tensor of any type */
  message g = {0};
  graph_input(&g, "x", F32, "N");
  graph_node(&g, "", "SequenceConstruct", "x", "s");
  graph_node(&g, "n0", "t:Times", "s", "y");
  graph_output(&g, "y", F32, NULL);
  m = model_of(&g, "t", 1);
  row.n_in = 1, row.out[0] = F32;
  FAILS(open_world(&w, &m, &row), ORT_INVALID_GRAPH, "sequence");
  close_world(&w);
}

static void test_versions(void **state) {
  op_row a = {.version = 18,
              .name = "Times",
              .n_in = 1,
              .n_out = 1,
              .in = {F32},
              .out = {F32},
              .create = create_times_2,
              .compute = compute_times,
              .start = 2,
              .end = 3};
  op_row b = a;
  op_row *const rows[] = {&a, &b};
  /* Microsoft's library takes the first that was added, whatever its range says. */
  static const struct {
    int version;
    double onyx, other;
  } cases[] = {{2, 2, 2}, {3, 2, 2}, {4, 2, 2}, {5, 3, 2}, {6, 3, 2}, {7, 2, 2}};
  world w;
  (void)state;
  b.start = 5, b.end = 6, b.create = create_times_3;
  for (size_t i = 0; i < COUNT(cases); i++) {
    message m = one_node("t:Times", F32, cases[i].version, "x", "y");
    OK(open_in(&w, "t", &m, rows, 2));
    assert_true(first(&w, F32) == (ort_is_onyx() ? cases[i].onyx : cases[i].other));
    close_world(&w);
  }
  message m = one_node("t:Times", F32, 1, "x", "y");
  OrtStatus *st = open_in(&w, "t", &m, rows, 2);
  assert_non_null(st);
  ort()->ReleaseStatus(st);
  close_world(&w);
}

static void test_providers(void **state) {
  static const struct {
    const char *ep;
    OrtErrorCode code;
  } cases[] = {{NULL, ORT_OK}, {"CPUExecutionProvider", ORT_OK}, {"CUDAExecutionProvider", ORT_NOT_IMPLEMENTED}};
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    op_row row = {.version = 18,
                  .name = "Times",
                  .ep = cases[i].ep,
                  .n_in = 1,
                  .n_out = 1,
                  .in = {F32},
                  .out = {F32},
                  .compute = compute_times};
    world w;
    message m = one_node("t:Times", F32, 1, "x", "y");
    OrtStatus *st = open_world(&w, &m, &row);
    assert_int_equal(st != NULL ? ort()->GetErrorCode(st) : ORT_OK, cases[i].code);
    ort()->ReleaseStatus(st);
    close_world(&w);
  }
}

/* ---- counts ---- */

/* y = [inputs, those that are there, outputs] */
static OrtStatus *compute_counts(kernel *k, OrtKernelContext *c) {
  const OrtApi *api = k->api;
  size_t n_in, n_out;
  float there = 0, *to;
  const int64_t dims[] = {3};
  OrtValue *out;
  PASS(api->KernelContext_GetInputCount(c, &n_in));
  PASS(api->KernelContext_GetOutputCount(c, &n_out));
  for (size_t i = 0; i < n_in; i++) {
    const OrtValue *in;
    PASS(api->KernelContext_GetInput(c, i, &in));
    there += in != NULL;
  }
  for (size_t i = 0; i < n_out; i++) {
    PASS(api->KernelContext_GetOutput(c, i, dims, 1, &out));
    if (out == NULL) continue;
    PASS(api->GetTensorMutableData(out, (void **)(void *)&to));
    to[0] = (float)n_in, to[1] = there, to[2] = (float)n_out;
  }
  return NULL;
}

#define REQ INPUT_OUTPUT_REQUIRED
#define OPT INPUT_OUTPUT_OPTIONAL
#define VAR INPUT_OUTPUT_VARIADIC

static void test_counts_of_inputs_and_outputs(void **state) {
  static const struct {
    size_t n_in, n_out;
    OrtCustomOpInputOutputCharacteristic in[3], out[3];
    int least_in, least_out;
    const char *inputs, *outputs;
    float want[3]; /* 0: the session is refused */
  } cases[] = {
      {1, 1, {REQ}, {REQ}, 0, 0, "x", "y", {1, 1, 1}},
      {1, 1, {REQ}, {REQ}, 0, 0, "x,x", "y", {0}},
      {1, 1, {REQ}, {REQ}, 0, 0, "", "y", {0}},
      {1, 1, {REQ}, {REQ}, 0, 0, "-", "y", {0}},
      {1, 1, {REQ}, {REQ}, 0, 0, "x", "y,u", {0}},
      {0, 1, {REQ}, {REQ}, 0, 0, "", "y", {0.5, 0, 1}}, /* no inputs: 0, told by 0.5 */
      {3, 1, {REQ, OPT, OPT}, {REQ}, 0, 0, "x", "y", {1, 1, 1}},
      {3, 1, {REQ, OPT, OPT}, {REQ}, 0, 0, "x,-,x", "y", {3, 2, 1}},
      {2, 1, {OPT, REQ}, {REQ}, 0, 0, "-,x", "y", {2, 1, 1}},
      {2, 1, {OPT, REQ}, {REQ}, 0, 0, "x", "y", {0}},
      {1, 3, {REQ}, {REQ, OPT, OPT}, 0, 0, "x", "y", {1, 1, 1}},
      {1, 3, {REQ}, {REQ, OPT, OPT}, 0, 0, "x", "y,-,u", {1, 1, 3}},
      {1, 1, {VAR}, {REQ}, 2, 0, "x,x,x", "y", {3, 3, 1}},
      {1, 1, {VAR}, {REQ}, 2, 0, "x", "y", {0}},
      {2, 1, {REQ, VAR}, {REQ}, 1, 0, "x,x,x,x", "y", {4, 4, 1}},
      {1, 1, {REQ}, {VAR}, 0, 2, "x", "y,u,v", {1, 1, 3}},
      {1, 1, {REQ}, {VAR}, 0, 2, "x", "y", {0}},
      {2, 1, {VAR, REQ}, {REQ}, 1, 0, "x,x", "y", {0}}, /* only the last may be variadic */
  };
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    op_row row = {.version = 18,
                  .name = "Counts",
                  .n_in = cases[i].n_in,
                  .n_out = cases[i].n_out,
                  .in = {F32, F32, F32},
                  .out = {F32, F32, F32},
                  .least_in = cases[i].least_in,
                  .same_in = 1,
                  .least_out = cases[i].least_out,
                  .same_out = 1,
                  .compute = compute_counts};
    memcpy(row.in_is, cases[i].in, sizeof cases[i].in);
    memcpy(row.out_is, cases[i].out, sizeof cases[i].out);
    world w;
    message m = one_node("t:Counts", F32, 1, cases[i].inputs, cases[i].outputs);
    OrtStatus *st = open_world(&w, &m, &row);
    bool refused = cases[i].want[0] == 0;
    if ((st != NULL) != refused)
      fail_msg("case %zu: %s", i, st != NULL ? ort()->GetErrorMessage(st) : "was not refused");
    ort()->ReleaseStatus(st);
    if (!refused) {
      OrtValue *x = tensor_over(F32, four, 1, numbers, sizeof numbers), *y;
      OK(run_world(&w, x, NULL, &y));
      const float *got = data_of(y);
      float n_in = cases[i].want[0] == 0.5f ? 0 : cases[i].want[0];
      if (got[0] != n_in || got[1] != cases[i].want[1] || got[2] != cases[i].want[2])
        fail_msg("case %zu: %g inputs, %g there, %g outputs", i, (double)got[0], (double)got[1], (double)got[2]);
      ort()->ReleaseValue(x);
      ort()->ReleaseValue(y);
    }
    close_world(&w);
  }
}

static void test_variadic_types(void **state) {
  static const struct {
    ONNXTensorElementDataType in;
    int same, mixed, refused;
  } cases[] = {{F32, 1, 0, 0}, {F32, 0, 1, 1}, {ANY, 1, 0, 0}, {ANY, 1, 1, 1}, {ANY, 0, 1, 0}};
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    op_row row = {.version = 18,
                  .name = "Counts",
                  .n_in = 1,
                  .n_out = 1,
                  .in = {cases[i].in},
                  .out = {F32},
                  .in_is = {VAR},
                  .least_in = 1,
                  .same_in = cases[i].same,
                  .compute = compute_counts};
    world w;
    message g = {0};
    graph_input(&g, "x", F32, "N");
    graph_node(&g, "", "Shape", "x", "s");
    graph_node(&g, "n0", "t:Counts", cases[i].mixed ? "x,s" : "x,x", "y");
    graph_output(&g, "y", F32, NULL);
    message m = model_of(&g, "t", 1);
    OrtStatus *st = open_world(&w, &m, &row);
    if ((st != NULL) != cases[i].refused) fail_msg("case %zu", i);
    ort()->ReleaseStatus(st);
    close_world(&w);
  }
}

static void test_operators_of_a_name_have_the_same_slots(void **state) {
  op_row a = {
      .version = 18, .name = "Times", .n_in = 1, .n_out = 1, .in = {F32}, .out = {F32}, .compute = compute_times};
  op_row b = a;
  op_row *const rows[] = {&a, &b};
  world w;
  (void)state;
  b.n_in = 2, b.in[0] = b.in[1] = I64;
  message m = one_node("t:Times", F32, 1, "x", "y");
  FAILS(open_in(&w, "t", &m, rows, 2), ORT_FAIL, "input count does not match: 1 and 2");
  close_world(&w);
}

/* ---- errors ---- */

static OrtStatus *fail_to_create(kernel *k, const OrtKernelInfo *info) {
  (void)info;
  return k->api->CreateStatus(ORT_INVALID_PROTOBUF, "no kernel today");
}

static OrtStatus *fail_to_compute(kernel *k, OrtKernelContext *c) {
  (void)c;
  return k->api->CreateStatus(ORT_NO_MODEL, "no result today");
}

static OrtStatus *compute_nothing(kernel *k, OrtKernelContext *c) {
  (void)k, (void)c;
  return NULL;
}

static void test_errors_of_kernels(void **state) {
  op_row row = {.version = 18,
                .name = "Bad",
                .n_in = 1,
                .n_out = 1,
                .in = {F32},
                .out = {F32},
                .create = fail_to_create,
                .compute = fail_to_compute};
  world w;
  OrtValue *y;
  (void)state;
  message m = one_node("t:Bad", F32, 1, "x", "y");
  FAILS(open_world(&w, &m, &row), ORT_RUNTIME_EXCEPTION, "node 'n0' (Bad): no kernel today");
  close_world(&w);
  assert_int_equal(row.destructions, 0);
  row.create = NULL;
  OK(open_world(&w, &m, &row));
  OrtValue *x = tensor_over(F32, four, 1, numbers, sizeof numbers);
  FAILS(run_world(&w, x, NULL, &y), ORT_NO_MODEL, "no result today");
  assert_null(y);
  FAILS(run_world(&w, x, NULL, &y), ORT_NO_MODEL, "n0");
  close_world(&w);
  /* An output that nobody made is no tensor. */
  enum ONNXType type;
  row.compute = compute_nothing;
  OK(open_world(&w, &m, &row));
  OK(run_world(&w, x, NULL, &y));
  OK(ort()->GetValueType(y, &type));
  assert_int_not_equal(type, ONNX_TYPE_TENSOR);
  ort()->ReleaseValue(y);
  ort()->ReleaseValue(x);
  close_world(&w);
}

static void test_structures_with_holes(void **state) {
  op_row row = {
      .version = 14, .name = "Times", .n_in = 1, .n_out = 1, .in = {F32}, .out = {F32}, .compute = compute_times};
  OrtSessionOptions *options;
  OrtCustomOpDomain *domain;
  OrtSession *session;
  (void)state;
  if (!ort_is_onyx()) return; /* Microsoft's library crashes */
  OrtEnv *env = quiet_env();
  OK(ort()->CreateSessionOptions(&options));
  OK(ort()->CreateCustomOpDomain("t", &domain));
  OK(ort()->CustomOpDomain_Add(domain, op_init(&row, ort())));
  OK(ort()->AddCustomOpDomain(options, domain));
  message m = one_node("t:Times", F32, 1, "x", "y");
  row.base.GetVariadicInputMinArity = NULL;
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &session), ORT_FAIL, "GetVariadicInputMinArity");
  row.base.KernelCompute = NULL;
  row.base.version = 13; /* which does not have the other */
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &session), ORT_FAIL, "KernelCompute");
  row.base.GetName = NULL;
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &session), ORT_FAIL, "GetName");
  ort()->ReleaseCustomOpDomain(domain);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

static void test_arguments(void **state) {
  OrtSessionOptions *options;
  OrtCustomOpDomain *domain;
  void *handle = NULL;
  (void)state;
  OK(ort()->CreateSessionOptions(&options));
  FAILS(ort()->EnableOrtCustomOps(options), ORT_FAIL, "EnableOrtCustomOps");
  FAILS(ort()->RegisterCustomOpsUsingFunction(options, "NoSuchFunction"), ORT_FAIL, "NoSuchFunction");
  FAILS(ort()->RegisterCustomOpsUsingFunction(options, NULL), ORT_INVALID_ARGUMENT, "registration_func_name");
  FAILS(ort()->RegisterCustomOpsLibrary_V2(options, "/none.so"), ORT_FAIL, "/none.so");
  FAILS(ort()->RegisterCustomOpsLibrary_V2(options, "libm.so.6"), ORT_FAIL, "RegisterCustomOps");
  FAILS(ort()->RegisterCustomOpsLibrary(options, "/none.so", &handle), ORT_FAIL, "/none.so");
  FAILS(ort()->RegisterCustomOpsLibrary(options, "libm.so.6", &handle), ORT_FAIL, "RegisterCustomOps");
  assert_non_null(handle);
  dlclose(handle);
  if (ort_is_onyx()) { /* Microsoft's library crashes */
    FAILS(ort()->CreateCustomOpDomain(NULL, &domain), ORT_INVALID_ARGUMENT, "'domain'");
    FAILS(ort()->CreateCustomOpDomain("t", NULL), ORT_INVALID_ARGUMENT, "'out'");
    OK(ort()->CreateCustomOpDomain("t", &domain));
    FAILS(ort()->CustomOpDomain_Add(domain, NULL), ORT_INVALID_ARGUMENT, "'op'");
    FAILS(ort()->CustomOpDomain_Add(NULL, NULL), ORT_INVALID_ARGUMENT, "'custom_op_domain'");
    FAILS(ort()->AddCustomOpDomain(options, NULL), ORT_INVALID_ARGUMENT, "'custom_op_domain'");
    FAILS(ort()->AddCustomOpDomain(NULL, domain), ORT_INVALID_ARGUMENT, "'options'");
    FAILS(ort()->EnableOrtCustomOps(NULL), ORT_INVALID_ARGUMENT, "'options'");
    FAILS(ort()->RegisterCustomOpsLibrary_V2(options, NULL), ORT_INVALID_ARGUMENT, "'library_name'");
    FAILS(ort()->RegisterCustomOpsLibrary(options, NULL, &handle), ORT_INVALID_ARGUMENT, "'library_path'");
    ort()->ReleaseCustomOpDomain(domain);
  }
  ort()->ReleaseCustomOpDomain(NULL);
  ort()->ReleaseSessionOptions(options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_structures_of_every_version),
      cmocka_unit_test(test_types_choose_among_operators_of_a_name),
      cmocka_unit_test(test_any_type),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_providers),
      cmocka_unit_test(test_counts_of_inputs_and_outputs),
      cmocka_unit_test(test_variadic_types),
      cmocka_unit_test(test_operators_of_a_name_have_the_same_slots),
      cmocka_unit_test(test_errors_of_kernels),
      cmocka_unit_test(test_structures_with_holes),
      cmocka_unit_test(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
