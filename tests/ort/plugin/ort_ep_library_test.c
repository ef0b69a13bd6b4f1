/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_library_test.c - the fake library (fake_ep.h) from its registration to its end: what its providers
 * are asked, what they compute, what happens when one of its calls fails. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <limits.h>
#include <math.h>
#include <pthread.h>

#include <unistd.h>

#include "fake_ep.h"
#include "ort/models.h"

/* Whole: a path without a folder, or a relative one, is looked for beside the library by some. */
static const char *fake_path(void) {
  static char whole[PATH_MAX];
  const char *path = getenv("ORT_FAKE_EP");
  return realpath(path != NULL ? path : "build/tests/libort_fake_ep.so", whole);
}

static fake_state *fake(void) {
  static fake_state *state;
  if (state != NULL) return state;
  void *lib = dlopen(fake_path(), RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) fail_msg("%s", dlerror());
  state = ((fake_state * (*)(void))(uintptr_t)dlsym(lib, "fake_ep_state"))();
  return state;
}

static void check_nothing_is_left(void) {
  const fake_state *f = fake();
  const int alive[] = {f->factories, f->eps,     f->kernels, f->programs, f->states,    f->allocators,
                       f->transfers, f->streams, f->events,  f->imported, f->profilers, f->allocations};
  for (size_t i = 0; i < sizeof alive / sizeof *alive; i++)
    if (alive[i] != 0) fail_msg("%d of kind %zu are left", alive[i], i);
}

static OrtEnv *begin(void) {
  *fake() = (fake_state){.fail = NULL};
  OrtEnv *env;
  OK(ort()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "library", &env));
  return env;
}

static void end(OrtEnv *env) {
  fake()->fail = NULL;
  OK(ort()->UnregisterExecutionProviderLibrary(env, "fake"));
  ort()->ReleaseEnv(env);
  check_nothing_is_left();
}

static const OrtEpDevice *device_of(OrtEnv *env, const char *name) {
  const OrtEpDevice *const *devices;
  size_t n;
  OK(ort()->GetEpDevices(env, &devices, &n));
  for (size_t i = 0; i < n; i++)
    if (strcmp(ort()->EpDevice_EpName(devices[i]), name) == 0) return devices[i];
  return NULL;
}

static OrtSessionOptions *options_with(OrtEnv *env, const char *name) {
  OrtSessionOptions *o;
  const OrtEpDevice *device = device_of(env, name);
  assert_non_null(device);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->AddSessionConfigEntry(o, "session.record_ep_graph_assignment_info", "1"));
  OK(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, &device, 1, NULL, NULL, 0));
  return o;
}

/* float[N,2] x, float[2] w = {2, -3} => float[N,2] y
 * { a = Mul(x, w), b = Relu(a), c = Tan(b), d = Add(c, x), y = Mul(d, w) }; Tan is the CPU's. */
static const float w[] = {2, -3};

static message the_model(void) {
  message g = {0}, t = tensor("w", FLOAT, (const int64_t[]){2}, 1, w, sizeof w);
  graph_node(&g, "n_a", "Mul", "x,w", "a");
  graph_node(&g, "n_b", "Relu", "a", "b");
  graph_node(&g, "n_c", "Tan", "b", "c");
  graph_node(&g, "n_d", "Add", "c,x", "d");
  graph_node(&g, "n_y", "Mul", "d,w", "y");
  put_message(&g, 5, &t);
  graph_input(&g, "x", FLOAT, "N,2");
  graph_output(&g, "y", FLOAT, "N,2");
  return model_of(&g, NULL, 0);
}

static OrtStatus *run(OrtSession *s, float *x, size_t rows, OrtValue **y) {
  OrtValue *in = FLOATS(x, (int64_t)rows, 2);
  *y = NULL;
  OrtStatus *st = ort()->Run(s, NULL, (const char *[]){"x"}, (const OrtValue *[]){in}, 1, (const char *[]){"y"}, 1, y);
  ort()->ReleaseValue(in);
  return st;
}

static void check_run(OrtSession *s, size_t rows) {
  float x[64];
  float *got;
  OrtValue *y;
  for (size_t i = 0; i < 2 * rows; i++) x[i] = (float)i * 0.25f - 1;
  OK(run(s, x, rows, &y));
  OK(ort()->GetTensorMutableData(y, (void **)&got));
  for (size_t i = 0; i < 2 * rows; i++) {
    float a = x[i] * w[i % 2], want = (tanf(a > 0 ? a : 0) + x[i]) * w[i % 2];
    if (fabsf(got[i] - want) > 1e-5f * (1 + fabsf(want)))
      fail_msg("element %zu is %g, wanted %g", i, (double)got[i], (double)want);
  }
  ort()->ReleaseValue(y);
}

/* ---- what is listed ---- */

static void test_devices_of_the_library(void **state) {
  (void)state;
  OrtEnv *env = begin();
  assert_null(device_of(env, "FakeCompile"));
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  FAILS(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()), ORT_FAIL, "already registered under fake");
  assert_int_equal(fake()->factories, 3);
  static const char *const names[] = {"FakeCompile", "FakeKernels", "FakeDevice"};
  for (size_t i = 0; i < 3; i++) {
    const OrtEpDevice *d = device_of(env, names[i]);
    assert_non_null(d);
    assert_string_equal(ort()->EpDevice_EpVendor(d), "Fake & Co.");
    assert_string_equal(ort()->GetKeyValue(ort()->EpDevice_EpMetadata(d), "colour"), "blue");
    assert_string_equal(ort()->GetKeyValue(ort()->EpDevice_EpMetadata(d), "version"), "1.2.3");
    assert_non_null(ort()->GetKeyValue(ort()->EpDevice_EpMetadata(d), "library_path"));
    assert_string_equal(ort()->GetKeyValue(ort()->EpDevice_EpOptions(d), "speed"), "low");
    assert_int_equal(ort()->HardwareDevice_Type(ort()->EpDevice_Device(d)), OrtHardwareDeviceType_CPU);
    const OrtMemoryInfo *memory = ort()->EpDevice_MemoryInfo(d, OrtDeviceMemoryType_DEFAULT);
    assert_int_equal(memory != NULL, i == 2);
  }
  end(env);
}

static void test_options_of_a_device_are_entries(void **state) {
  (void)state;
  OrtEnv *env = begin();
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  const OrtEpDevice *devices[] = {device_of(env, "FakeCompile"), device_of(env, "FakeKernels")};
  OrtSessionOptions *o;
  OrtKeyValuePairs *config;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, devices, 1, (const char *[]){"Size"},
                                                     (const char *[]){"9"}, 1));
  OK(ort()->GetSessionOptionsConfigEntries(o, &config));
  assert_string_equal(ort()->GetKeyValue(config, "ep.fakecompile.Size"), "9");
  assert_string_equal(ort()->GetKeyValue(config, "ep.fakecompile.speed"), "low");
  ort()->ReleaseKeyValuePairs(config);
  FAILS(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, devices, 2, NULL, NULL, 0), ORT_INVALID_ARGUMENT,
        "of provider FakeKernels, the first of FakeCompile");
  ort()->ReleaseSessionOptions(o);
  end(env);
}

/* ---- what is asked and computed ---- */

static void check_assignment(OrtSession *s, const char *name, size_t n_nodes, size_t n_groups) {
  const OrtEpAssignedSubgraph *const *groups;
  size_t n = 0, found = 0, found_groups = 0;
  OK(ort()->Session_GetEpGraphAssignmentInfo(s, &groups, &n));
  for (size_t i = 0; i < n; i++) {
    const OrtEpAssignedNode *const *nodes;
    const char *ep, *op;
    size_t n_in;
    OK(ort()->EpAssignedSubgraph_GetEpName(groups[i], &ep));
    OK(ort()->EpAssignedSubgraph_GetNodes(groups[i], &nodes, &n_in));
    OK(ort()->EpAssignedNode_GetOperatorType(nodes[0], &op));
    assert_int_equal(strcmp(op, "Tan") == 0, strcmp(ep, "CPUExecutionProvider") == 0);
    if (strcmp(ep, name) == 0) found += n_in, found_groups++;
  }
  assert_int_equal(found, n_nodes);
  assert_int_equal(found_groups, n_groups);
}

static void test_providers_compute(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool drop;
    size_t groups;
    int kernels, programs;
    const char *fused;
  } rows[] = {{"FakeCompile", false, 2, 0, 2, "FakeCompile 2 1 2 2;FakeCompile 3 1 3 2;"},
              {"FakeCompile", true, 2, 0, 2, "FakeCompile 1 1 1 2;FakeCompile 2 1 2 2;"},
              {"FakeKernels", false, 4, 4, 0, ""},
              {"FakeDevice", false, 4, 4, 0, ""}};
  message m = the_model();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bool device = strcmp(rows[i].name, "FakeDevice") == 0;
    if (device && !ort_is_onyx())
      continue; /* Microsoft's takes the copies from the library's kernels, which has none */
    OrtEnv *env = begin();
    OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
    OrtSessionOptions *o = options_with(env, rows[i].name);
    fake()->drop_constants = rows[i].drop;
    OrtSession *s = open_model(env, &m, o);
    assert_int_equal(fake()->eps, 1);
    assert_int_equal(fake()->ready, 1);
    assert_int_equal(fake()->kernels, rows[i].kernels);
    assert_int_equal(fake()->programs, rows[i].programs);
    assert_int_equal(fake()->states, rows[i].programs);
    assert_string_equal(fake()->fused, rows[i].fused);
    check_assignment(s, rows[i].name, 4, rows[i].groups);
    check_run(s, 3);
    check_run(s, 1);
    check_run(s, 32);
    check_run(s, 3);
    assert_int_equal(fake()->runs, 4 * (int)rows[i].groups);
    assert_int_equal(fake()->began, 4);
    assert_int_equal(fake()->ended, 4);
    assert_int_equal(fake()->copies > 0, device);
    OK(ort()->SetEpDynamicOptions(s, (const char *[]){"k"}, (const char *[]){"v"}, 1));
    assert_int_equal(fake()->options_set, 1);
    ort()->ReleaseSession(s);
    ort()->ReleaseSessionOptions(o);
    end(env);
  }
}

/* There are no other devices than the CPU, which the library serves, too. */
static void test_a_policy_chooses_a_librarys_device(void **state) {
  (void)state;
  message m = the_model();
  for (int policy = 0; policy <= OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER; policy++) {
    OrtEnv *env = begin();
    OrtSessionOptions *o;
    OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
    OK(ort()->CreateSessionOptions(&o));
    OK(ort()->SessionOptionsSetEpSelectionPolicy(o, (OrtExecutionProviderDevicePolicy)policy));
    OrtSession *s = open_model(env, &m, o);
    assert_int_equal(fake()->programs, 2); /* FakeCompile's device is the first */
    check_run(s, 2);
    ort()->ReleaseSession(s);
    ort()->ReleaseSessionOptions(o);
    end(env);
  }
}

static OrtStatus *choose(const OrtEpDevice **devices, size_t n, const OrtKeyValuePairs *model,
                         const OrtKeyValuePairs *runtime, const OrtEpDevice **out, size_t room, size_t *out_n,
                         void *param) {
  (void)model, (void)runtime, (void)room;
  const char *name = param;
  *out_n = 0;
  if (strcmp(name, "error") == 0) return ort()->CreateStatus(ORT_EP_FAIL, "the delegate does not want to");
  for (size_t i = 0; i < n; i++)
    if (strcmp(ort()->EpDevice_EpName(devices[i]), name) == 0) out[(*out_n)++] = devices[i];
  return NULL;
}

static void test_a_delegate_chooses(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin();
  OrtSessionOptions *o;
  OrtSession *s;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsSetEpSelectionPolicyDelegate(o, choose, (void *)(uintptr_t) "FakeKernels"));
  s = open_model(env, &m, o);
  assert_int_equal(fake()->kernels, 4);
  check_run(s, 2);
  ort()->ReleaseSession(s);
  OK(ort()->SessionOptionsSetEpSelectionPolicyDelegate(o, choose, (void *)(uintptr_t) "nobody"));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "No devices selected");
  OK(ort()->SessionOptionsSetEpSelectionPolicyDelegate(o, choose, (void *)(uintptr_t) "error"));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ort_is_onyx() ? ORT_EP_FAIL : ORT_FAIL,
        "does not want to");
  ort()->ReleaseSessionOptions(o);
  end(env);
}

static void test_a_library_stays_while_a_session_uses_it(void **state) {
  (void)state;
  if (!ort_is_onyx()) return; /* Microsoft's crashes when the session ends */
  message m = the_model();
  OrtEnv *env = begin();
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  OrtSession *s = open_model(env, &m, o), *none;
  OK(ort()->UnregisterExecutionProviderLibrary(env, "fake"));
  assert_null(device_of(env, "FakeCompile"));
  check_run(s, 3);
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &none), ORT_INVALID_ARGUMENT, "was unregistered");
  assert_int_equal(fake()->factories, 3);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
  check_nothing_is_left();
}

static void *run_often(void *session) {
  for (size_t i = 0; i < 100; i++) check_run(session, 1 + i % 32);
  return NULL;
}

static void test_many_threads(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool serial;
  } rows[] = {{"FakeCompile", false}, {"FakeCompile", true}, {"FakeKernels", false}, {"FakeDevice", false}};
  message m = the_model();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pthread_t threads[4];
    if (!ort_is_onyx() && strcmp(rows[i].name, "FakeDevice") == 0) continue; /* as above */
    OrtEnv *env = begin();
    fake()->serial = rows[i].serial;
    OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
    OrtSessionOptions *o = options_with(env, rows[i].name);
    OrtSession *s = open_model(env, &m, o);
    for (size_t k = 0; k < 4; k++) assert_int_equal(pthread_create(&threads[k], NULL, run_often, s), 0);
    for (size_t k = 0; k < 4; k++) pthread_join(threads[k], NULL);
    if (rows[i].serial) assert_int_equal(fake()->most_inside, 1);
    ort()->ReleaseSession(s);
    ort()->ReleaseSessionOptions(o);
    end(env);
  }
}

/* ---- models with compiled parts ---- */

static OrtSessionOptions *context_options(OrtEnv *env, const char *path) {
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  OK(ort()->AddSessionConfigEntry(o, "ep.context_enable", "1"));
  OK(ort()->AddSessionConfigEntry(o, "ep.context_embed_mode", "1"));
  if (path != NULL) OK(ort()->AddSessionConfigEntry(o, "ep.context_file_path", path));
  return o;
}

static void test_compiled_parts_are_written_and_read(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin();
  OrtSession *s;
  char folder[] = "/tmp/fake_ctx_XXXXXX", path[64], *info = NULL;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  fake()->context = true;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m_ctx.onnx", folder);
  fclose(fopen(path, "w"));
  OrtSessionOptions *o = context_options(env, path);
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "exist already");
  unlink(path);
  s = open_model(env, &m, o);
  check_run(s, 3);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  OK(ort()->GetCompatibilityInfoFromModel(path, "FakeCompile", default_allocator(), &info));
  check_text(info, "good");
  fake()->context = false;
  OK(ort()->CreateSessionOptions(&o));
  FAILS(ort()->CreateSession(env, path, o, &s), ort_is_onyx() ? ORT_INVALID_GRAPH : ORT_NOT_IMPLEMENTED, "EPContext");
  ort()->ReleaseSessionOptions(o);
  o = options_with(env, "FakeCompile");
  fake()->fused[0] = 0;
  OK(ort()->CreateSession(env, path, o, &s));
  assert_string_equal(fake()->fused, "FakeCompile 2 1 2 1;FakeCompile 3 1 3 1;");
  check_run(s, 3);
  check_run(s, 1);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  unlink(path), rmdir(folder);
  end(env);
}

static void test_compiled_parts_need_a_place(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin();
  OrtSession *s;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  fake()->context = true;
  OrtSessionOptions *o = context_options(env, NULL);
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ort_is_onyx() ? ORT_INVALID_ARGUMENT : ORT_FAIL,
        "ep.context_file_path");
  ort()->ReleaseSessionOptions(o);
  end(env);
}

/* The same through the compile API, into a buffer. */
static void test_compiling_makes_compiled_parts(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin();
  OrtSession *s;
  OrtModelCompilationOptions *c;
  const OrtCompileApi *compile = ort()->GetCompileApi();
  void *bytes = NULL;
  size_t n = 0;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  fake()->context = true;
  OK(compile->CreateModelCompilationOptionsFromSessionOptions(env, o, &c));
  OK(compile->ModelCompilationOptions_SetInputModelFromBuffer(c, m.bytes, m.n));
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(c, default_allocator(), &bytes, &n));
  OK(compile->ModelCompilationOptions_SetEpContextEmbedMode(c, true));
  OK(compile->CompileModel(env, c));
  compile->ReleaseModelCompilationOptions(c);
  fake()->context = false;
  OK(ort()->CreateSessionFromArray(env, bytes, n, o, &s));
  check_run(s, 4);
  ort()->ReleaseSession(s);
  OK(ort()->AddSessionConfigEntry(o, "session.disable_model_compile", "1"));
  OK(ort()->CreateSessionFromArray(env, bytes, n, o, &s));
  ort()->ReleaseSession(s);
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_MODEL_REQUIRES_COMPILATION,
        "session.disable_model_compile");
  OK(ort()->AllocatorFree(default_allocator(), bytes));
  ort()->ReleaseSessionOptions(o);
  end(env);
}

/* ---- what a device has ---- */

/* float[2,2] x, float[2] w = {2, -3} => float[2,2] y { a = Mul(x, w), y = Relu(a) }: all of it runs on the device. */
static message device_model(void) {
  message g = {0}, t = tensor("w", FLOAT, (const int64_t[]){2}, 1, w, sizeof w);
  graph_node(&g, "n_a", "Mul", "x,w", "a");
  graph_node(&g, "n_y", "Relu", "a", "y");
  put_message(&g, 5, &t);
  graph_input(&g, "x", FLOAT, "2,2");
  graph_output(&g, "y", FLOAT, "2,2");
  return model_of(&g, NULL, 0);
}

static void test_values_on_a_device(void **state) {
  (void)state;
  message m = device_model();
  OrtEnv *env = begin();
  OrtAllocator *a = NULL;
  OrtValue *x, *y;
  OrtSyncStream *stream;
  OrtRunOptions *options;
  float from[] = {1, 2, -3, -4}, to[4] = {0};
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  const OrtEpDevice *device = device_of(env, "FakeDevice");
  const OrtMemoryInfo *memory = ort()->EpDevice_MemoryInfo(device, OrtDeviceMemoryType_DEFAULT);
  OK(ort()->GetSharedAllocator(env, memory, &a)); /* there without being made */
  assert_non_null(a);
  OK(ort()->CreateSharedAllocator(env, device, OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, NULL, &a));
  assert_non_null(a);
  OK(ort()->CreateTensorAsOrtValue(a, (const int64_t[]){2, 2}, 2, FLOAT, &x));
  OK(ort()->CreateTensorAsOrtValue(a, (const int64_t[]){2, 2}, 2, FLOAT, &y));
  const OrtMemoryInfo *lies;
  int differ;
  OK(ort()->GetTensorMemoryInfo(x, &lies));
  OK(ort()->CompareMemoryInfo(lies, memory, &differ));
  assert_int_equal(differ, 0);
  OrtValue *host_x = FLOATS(from, 2, 2), *host_y = FLOATS(to, 2, 2);
  OK(ort()->CopyTensors(env, (const OrtValue *[]){host_x}, (OrtValue *[]){x}, NULL, 1));
  OrtSessionOptions *o = options_with(env, "FakeDevice");
  OrtSession *s = open_model(env, &m, o);
  OK(ort()->CreateSyncStreamForEpDevice(device, NULL, &stream));
  OK(ort()->CreateRunOptions(&options));
  ort()->RunOptionsSetSyncStream(options, stream);
  OK(ort()->Run(s, options, (const char *[]){"x"}, (const OrtValue *[]){x}, 1, (const char *[]){"y"}, 1, &y));
  OK(ort()->CopyTensors(env, (const OrtValue *[]){y}, (OrtValue *[]){host_y}, NULL, 1));
  check_floats(host_y, (const float[]){2, 0, 0, 12}, 4);
  OrtValue *mixed = NULL; /* an input on the device, an output that the run makes */
  OK(ort()->Run(s, NULL, (const char *[]){"x"}, (const OrtValue *[]){x}, 1, (const char *[]){"y"}, 1, &mixed));
  check_floats(mixed, (const float[]){2, 0, 0, 12}, 4);
  ort()->ReleaseValue(mixed);
  OrtIoBinding *binding; /* an output that the run makes on the device */
  OrtValue **bound;
  size_t n_bound;
  OK(ort()->CreateIoBinding(s, &binding));
  OK(ort()->BindInput(binding, "x", x));
  OK(ort()->BindOutputToDevice(binding, "y", memory));
  OK(ort()->RunWithBinding(s, NULL, binding));
  OK(ort()->SynchronizeBoundOutputs(binding));
  OK(ort()->GetBoundOutputValues(binding, default_allocator(), &bound, &n_bound));
  OK(ort()->GetTensorMemoryInfo(bound[0], &lies));
  OK(ort()->CompareMemoryInfo(lies, memory, &differ));
  assert_int_equal(differ, 0);
  memset(to, 0, sizeof to);
  OK(ort()->CopyTensors(env, (const OrtValue *[]){bound[0]}, (OrtValue *[]){host_y}, NULL, 1));
  check_floats(host_y, (const float[]){2, 0, 0, 12}, 4);
  ort()->ReleaseValue(bound[0]);
  OK(ort()->AllocatorFree(default_allocator(), bound));
  ort()->ReleaseIoBinding(binding);
  if (ort_is_onyx()) { /* Microsoft's does without its own allocator's or the library's calls here */
    fake()->fail = "CopyTensors";
    FAILS(ort()->Run(s, NULL, (const char *[]){"x"}, (const OrtValue *[]){x}, 1, (const char *[]){"y"}, 1, &y),
          ORT_EP_FAIL, "CopyTensors fails on purpose");
    fake()->fail = "Flush";
    FAILS(ort()->Run(s, options, (const char *[]){"x"}, (const OrtValue *[]){x}, 1, (const char *[]){"y"}, 1, &y),
          ORT_EP_FAIL, "Flush fails on purpose");
    fake()->fail = NULL;
  }
  ort()->ReleaseValue(x), ort()->ReleaseValue(y), ort()->ReleaseValue(host_x), ort()->ReleaseValue(host_y);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseRunOptions(options);
  ort()->ReleaseSyncStream(stream);
  OK(ort()->ReleaseSharedAllocator(env, device, OrtDeviceMemoryType_DEFAULT));
  end(env);
}

static void test_streams_of_a_device(void **state) {
  (void)state;
  OrtEnv *env = begin();
  OrtSyncStream *stream;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  FAILS(ort()->CreateSyncStreamForEpDevice(device_of(env, "FakeKernels"), NULL, &stream), ORT_INVALID_ARGUMENT,
        "FakeKernels");
  OK(ort()->CreateSyncStreamForEpDevice(device_of(env, "FakeDevice"), NULL, &stream));
  assert_int_equal(fake()->streams, 1);
  assert_non_null(ort()->SyncStream_GetHandle(stream));
  assert_ptr_equal(ort()->GetEpApi()->SyncStream_GetImpl(stream), ort()->SyncStream_GetHandle(stream));
  ort()->ReleaseSyncStream(stream);
  fake()->fail = "CreateSyncStreamForDevice";
  FAILS(ort()->CreateSyncStreamForEpDevice(device_of(env, "FakeDevice"), NULL, &stream), ORT_EP_FAIL,
        "CreateSyncStreamForDevice fails on purpose");
  end(env);
}

static void test_memory_of_other_apis(void **state) {
  (void)state;
  const OrtInteropApi *interop = ort()->GetInteropApi();
  OrtEnv *env = begin();
  OrtExternalResourceImporter *importer;
  OrtExternalMemoryHandle *handle;
  OrtValue *v;
  bool can = false;
  float data[] = {1, 2, 3};
  const int64_t dims[] = {3};
  const OrtExternalMemoryDescriptor memory = {ORT_API_VERSION, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_VK_MEMORY_OPAQUE_FD,
                                              data, sizeof data, 0};
  const OrtExternalTensorDescriptor tensor = {ORT_API_VERSION, FLOAT, dims, 1, 0};
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  OK(interop->CreateExternalResourceImporterForDevice(device_of(env, "FakeKernels"), &importer));
  assert_null(importer);
  OK(interop->CreateExternalResourceImporterForDevice(device_of(env, "FakeDevice"), &importer));
  assert_non_null(importer);
  OK(interop->CanImportMemory(importer, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_VK_MEMORY_OPAQUE_FD, &can));
  assert_true(can);
  OK(interop->CanImportMemory(importer, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP, &can));
  assert_false(can);
  OK(interop->CanImportSemaphore(importer, ORT_EXTERNAL_SEMAPHORE_D3D12_FENCE, &can));
  assert_false(can);
  OK(interop->ImportMemory(importer, &memory, &handle));
  OK(interop->CreateTensorFromMemory(importer, handle, &tensor, &v));
  check_floats(v, data, 3);
  ort()->ReleaseValue(v);
  interop->ReleaseExternalMemoryHandle(handle);
  fake()->fail = "ImportMemory";
  FAILS(interop->ImportMemory(importer, &memory, &handle), ORT_EP_FAIL, "ImportMemory fails on purpose");
  interop->ReleaseExternalResourceImporter(importer);
  end(env);
}

static void test_virtual_devices_are_allowed_by_name(void **state) {
  (void)state;
  OrtEnv *env = begin();
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  assert_false(fake()->virtual_allowed);
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake.virtual", fake_path()));
  assert_true(fake()->virtual_allowed);
  OK(ort()->UnregisterExecutionProviderLibrary(env, "fake.virtual"));
  end(env);
}

/* float[N,2] x => float[N,2] y { y = fake.ops.Twice(x) } */
static void test_operators_of_the_library(void **state) {
  (void)state;
  message g = {0};
  graph_node(&g, "n", "fake.ops:Twice", "x", "y");
  graph_input(&g, "x", FLOAT, "N,2");
  graph_output(&g, "y", FLOAT, "N,2");
  message m = model_of(&g, "fake.ops", 1);
  OrtEnv *env = begin();
  OrtSession *s;
  OrtValue *y;
  float x[] = {1, -2};
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  s = open_model(env, &m, o);
  OK(run(s, x, 1, &y));
  check_floats(y, (const float[]){2, -4}, 2);
  ort()->ReleaseValue(y);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  end(env);
}

static bool file_has(const char *path, const char *text) {
  static char all[1 << 16];
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  all[fread(all, 1, sizeof all - 1, f)] = 0;
  fclose(f);
  return strstr(all, text) != NULL;
}

static void test_events_of_profilers_are_in_the_profile(void **state) {
  (void)state;
  static const char *const fails[] = {NULL, "CreateProfiler", "StartProfiling", "EndProfiling"};
  message m = the_model();
  for (size_t i = 0; i < (ort_is_onyx() ? 4 : 1); i++) { /* a profiler that fails is no more than missing */
    OrtEnv *env = begin();
    char folder[] = "/tmp/fake_profile_XXXXXX", prefix[64], *path = NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(prefix, sizeof prefix, "%s/p", folder);
    OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
    OrtSessionOptions *o = options_with(env, "FakeCompile");
    OK(ort()->EnableProfiling(o, prefix));
    fake()->fail = fails[i];
    OrtSession *s = open_model(env, &m, o);
    check_run(s, 2);
    OK(ort()->SessionEndProfiling(s, default_allocator(), &path));
    assert_int_equal(file_has(path, "fake event"), fails[i] == NULL || i == 2);
    if (fails[i] == NULL) assert_true(file_has(path, "round"));
    unlink(path), rmdir(folder);
    OK(ort()->AllocatorFree(default_allocator(), path));
    ort()->ReleaseSession(s);
    ort()->ReleaseSessionOptions(o);
    end(env);
  }
}

static void test_compatibility(void **state) {
  (void)state;
  OrtEnv *env = begin();
  OrtCompiledModelCompatibility c;
  OrtDeviceEpIncompatibilityDetails *details;
  uint32_t reasons;
  int32_t error;
  const char *notes;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  const OrtEpDevice *d = device_of(env, "FakeCompile");
  OK(ort()->GetModelCompatibilityForEpDevices(&d, 1, "good", &c));
  assert_int_equal(c, OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL);
  OK(ort()->GetModelCompatibilityForEpDevices(&d, 1, "bad", &c));
  assert_int_equal(c, OrtCompiledModelCompatibility_EP_UNSUPPORTED);
  OK(ort()->GetHardwareDeviceEpIncompatibilityDetails(env, "FakeCompile", ort()->EpDevice_Device(d), &details));
  OK(ort()->DeviceEpIncompatibilityDetails_GetReasonsBitmask(details, &reasons));
  OK(ort()->DeviceEpIncompatibilityDetails_GetErrorCode(details, &error));
  OK(ort()->DeviceEpIncompatibilityDetails_GetNotes(details, &notes));
  assert_int_equal(reasons, OrtDeviceEpIncompatibility_DRIVER_INCOMPATIBLE);
  assert_int_equal(error, 7);
  assert_string_equal(notes, "too old");
  ort()->ReleaseDeviceEpIncompatibilityDetails(details);
  end(env);
}

/* ---- calls that fail ---- */

typedef enum outcome { REGISTER, SESSION, RUN, NOWHERE } outcome;

/* Where a failure shows, as a status with the library's text. */
static outcome try_all(OrtEnv *env, const message *m, const char *name) {
  OrtStatus *st = ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path());
  outcome where = REGISTER;
  if (st == NULL) {
    OrtSessionOptions *o = options_with(env, name);
    OrtSession *s = NULL;
    OrtValue *y = NULL;
    float x[] = {1, 2};
    st = ort()->CreateSessionFromArray(env, m->bytes, m->n, o, &s);
    where = SESSION;
    if (st == NULL) st = run(s, x, 1, &y), where = RUN;
    ort()->ReleaseValue(y);
    ort()->ReleaseSession(s);
    ort()->ReleaseSessionOptions(o);
    fake()->fail = NULL;
    OK(ort()->UnregisterExecutionProviderLibrary(env, "fake"));
  }
  if (st == NULL) return NOWHERE;
  bool told = strstr(ort()->GetErrorMessage(st), "on purpose") != NULL && ort()->GetErrorCode(st) == ORT_EP_FAIL;
  if (!told && ort_is_onyx()) fail_msg("code %d, %s", ort()->GetErrorCode(st), ort()->GetErrorMessage(st));
  ort()->ReleaseStatus(st);
  return where;
}

static void test_calls_that_fail(void **state) {
  (void)state;
  static const struct {
    const char *call, *provider;
    outcome where;
  } rows[] = {{"CreateEpFactories", "FakeCompile", REGISTER},
              {"GetSupportedDevices", "FakeCompile", REGISTER},
              {"CreateDataTransfer", "FakeDevice", REGISTER},
              {"CreateAllocator", "FakeDevice", REGISTER},
              {"CreateEp", "FakeCompile", SESSION},
              {"GetCapability", "FakeCompile", NOWHERE},
              {"Compile", "FakeCompile", SESSION},
              {"CreateState", "FakeCompile", SESSION},
              {"IsConcurrentRunSupported", "FakeCompile", SESSION},
              {"OnSessionInitializationEnd", "FakeCompile", SESSION},
              {"OnRunStart", "FakeCompile", RUN},
              {"Compute", "FakeCompile", RUN},
              {"OnRunEnd", "FakeCompile", RUN},
              {"GetKernelRegistry", "FakeKernels", SESSION},
              {"KernelCreate", "FakeKernels", SESSION},
              {"Compute", "FakeKernels", RUN},
              {"Compute", "FakeDevice", RUN},
              {"CreateSyncStreamForDevice", "FakeDevice", RUN},
              {"CreateNotification", "FakeDevice", RUN},
              {"Activate", "FakeDevice", RUN},
              {"WaitOnHost", "FakeDevice", RUN},
              {"Flush", "FakeDevice", RUN},
              {"OnSessionRunEnd", "FakeDevice", RUN}};
  message m = the_model();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!ort_is_onyx() && strcmp(rows[i].provider, "FakeDevice") == 0) continue; /* as above */
    OrtEnv *env = begin();
    fake()->fail = rows[i].call;
    outcome got = try_all(env, &m, rows[i].provider);
    if (got != rows[i].where)
      fail_msg("%s of %s: at %d, wanted %d", rows[i].call, rows[i].provider, (int)got, (int)rows[i].where);
    ort()->ReleaseEnv(env);
    if (ort_is_onyx()) check_nothing_is_left();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_devices_of_the_library),
      cmocka_unit_test(test_options_of_a_device_are_entries),
      cmocka_unit_test(test_providers_compute),
      cmocka_unit_test(test_many_threads),
      cmocka_unit_test(test_a_policy_chooses_a_librarys_device),
      cmocka_unit_test(test_a_delegate_chooses),
      cmocka_unit_test(test_a_library_stays_while_a_session_uses_it),
      cmocka_unit_test(test_compiled_parts_are_written_and_read),
      cmocka_unit_test(test_compiled_parts_need_a_place),
      cmocka_unit_test(test_compiling_makes_compiled_parts),
      cmocka_unit_test(test_values_on_a_device),
      cmocka_unit_test(test_streams_of_a_device),
      cmocka_unit_test(test_memory_of_other_apis),
      cmocka_unit_test(test_virtual_devices_are_allowed_by_name),
      cmocka_unit_test(test_operators_of_the_library),
      cmocka_unit_test(test_events_of_profilers_are_in_the_profile),
      cmocka_unit_test(test_compatibility),
      cmocka_unit_test(test_calls_that_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
