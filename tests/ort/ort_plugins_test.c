/* SPDX-License-Identifier: Apache-2.0
 * ONYX_PLUGINS: Onyx's own plug-ins for clients of the ABI, which have no call to load one. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "ort/models.h"

/* uint8[N] file => uint8[H,W,3] image, by an operator that only the image plug-in has. */
static message decoder_model(void) {
  message g = {0};
  graph_node(&g, "decode", "ImageDecoder", "file", "image");
  graph_input(&g, "file", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, "N");
  graph_output(&g, "image", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, "H,W,3");
  message m = {0};
  put_text(&g, 2, "g");
  put_int(&m, 1, 10);
  put_opset(&m, "", 20); /* the first that has it */
  put_message(&m, 7, &g);
  return m;
}

static void test_plugins_that_the_variable_names_are_loaded(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  message m = decoder_model();
  OrtEnv *env;
  OrtSessionOptions *options;
  OrtSession *s = NULL;
  OK(ort()->CreateSessionOptions(&options));
  unsetenv("ONYX_PLUGINS");
  env = test_env();
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &s), ORT_INVALID_GRAPH, "ImageDecoder");
  ort()->ReleaseEnv(env);
  setenv("ONYX_PLUGINS", "/no/such/plugin.so", 1);
  FAILS(ort()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &env), ORT_NO_SUCHFILE, "/no/such/plugin.so");
  setenv("ONYX_PLUGINS", "::" IMAGE_PLUGIN ":", 1);
  env = test_env();
  OK(ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &s));
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
  ort()->ReleaseSessionOptions(options);
}

/* ---- providers by name ---- */

/* float[2] x => float[2] y = Relu(x), which the provider "plain" takes and fills with its option "value". */
static message relu_model(void) {
  message g = {0};
  graph_node(&g, "r", "Relu", "x", "y");
  graph_input(&g, "x", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, "2");
  graph_output(&g, "y", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, "2");
  message m = {0};
  put_text(&g, 2, "g");
  put_int(&m, 1, 8);
  put_opset(&m, "", 17);
  put_message(&m, 7, &g);
  return m;
}

static void check_run(OrtSession *s, float a, float b) {
  float data[2] = {-1, 2};
  OrtValue *x = floats(data, (int64_t[]){2}, 1), *y = NULL;
  OK(ort()->Run(s, NULL, (const char *[]){"x"}, (const OrtValue *const *)&x, 1, (const char *[]){"y"}, 1, &y));
  check_floats(y, (float[]){a, b}, 2);
  ort()->ReleaseValue(x);
  ort()->ReleaseValue(y);
}

static void test_providers_are_found_by_name(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  setenv("ONYX_PLUGINS", PLUGIN_FOLDER, 1);
  message m = relu_model();
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "plain", (const char *[]){"value"}, (const char *[]){"5"}, 1));
  FAILS(ort()->SessionOptionsAppendExecutionProvider(o, "sick", NULL, NULL, 0), ORT_FAIL, "no such device");
  FAILS(ort()->SessionOptionsAppendExecutionProvider(o, "nobody", NULL, NULL, 0), ORT_INVALID_ARGUMENT,
        "libonyx-nobody.so");
  FAILS(ort()->SessionOptionsAppendExecutionProvider(o, "OpenVINO", NULL, NULL, 0), ORT_INVALID_ARGUMENT,
        "onnxruntime-ep-openvino");
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "CPU", (const char *[]){"arena_extend_strategy"},
                                                  (const char *[]){"kSameAsRequested"}, 1));
  OrtSession *s = open_model(env, &m, o);
  check_run(s, 5, 5);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);

  OK(ort()->CreateSessionOptions(&o)); /* the CPU first: it takes all */
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "CPUExecutionProvider", NULL, NULL, 0));
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "plain", NULL, NULL, 0));
  s = open_model(env, &m, o);
  check_run(s, 0, 2);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

/* The provider's options are checked when the session is made, as its table says. */
static void test_options_reach_the_provider(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  message m = relu_model();
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s = NULL;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "CPU", (const char *[]){"precision"}, (const char *[]){"f31"}, 1));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "'precision': wanted");
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

/* Options may be made before there is an environment. */
static void test_without_an_environment(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  OrtSessionOptions *o;
  char **names;
  int n;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "plain", NULL, NULL, 0));
  FAILS(ort()->SessionOptionsAppendExecutionProvider(o, "sick", NULL, NULL, 0), ORT_FAIL, "no such device");
  OK(ort()->GetAvailableProviders(&names, &n));
  assert_true(n >= 1);
  assert_string_equal(names[n - 1], "CPUExecutionProvider");
  OK(ort()->ReleaseAvailableProviders(names, n));
  ort()->ReleaseSessionOptions(o);
}

/* ---- values on devices ---- */

static long copies(int way) {
  static long (*count)(int);
  if (count == NULL) {
    void *lib = dlopen(PLUGIN_FOLDER "/libonyx-device.so", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(lib);
    count = (long (*)(int))(uintptr_t)dlsym(lib, "device_copies");
    assert_non_null(count);
  }
  return count(way);
}

static void check_copies(long to, long back, long within) {
  assert_int_equal(copies(0), to);
  assert_int_equal(copies(1), back);
  assert_int_equal(copies(2), within);
}

static OrtMemoryInfo *device_info(void) {
  OrtMemoryInfo *info;
  OK(ort()->CreateMemoryInfo_V2("device", OrtMemoryInfoDeviceType_GPU, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                OrtDeviceAllocator, &info));
  return info;
}

static void copy_one(OrtEnv *env, const OrtValue *from, OrtValue *to) {
  OK(ort()->CopyTensors(env, &from, &to, NULL, 1));
}

static void check_there(OrtEnv *env, OrtValue *v, const float *want) {
  float data[2] = {0};
  const OrtMemoryInfo *info;
  const char *name;
  OrtValue *here = floats(data, (int64_t[]){2}, 1);
  OK(ort()->GetTensorMemoryInfo(v, &info));
  OK(ort()->MemoryInfoGetName(info, &name));
  assert_string_equal(name, "device");
  copy_one(env, v, here);
  check_floats(here, want, 2);
  ort()->ReleaseValue(here);
}

static OrtValue *there(OrtEnv *env, const OrtMemoryInfo *info, float *data) {
  OrtAllocator *allocator;
  OrtValue *v, *here = floats(data, (int64_t[]){2}, 1);
  OK(ort()->GetSharedAllocator(env, info, &allocator));
  assert_non_null(allocator);
  OK(ort()->CreateTensorAsOrtValue(allocator, (int64_t[]){2}, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &v));
  copy_one(env, here, v);
  ort()->ReleaseValue(here);
  return v;
}

static void test_bindings_to_a_device(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  setenv("ONYX_PLUGINS", PLUGIN_FOLDER, 1);
  message m = relu_model();
  OrtEnv *env = test_env();
  OrtMemoryInfo *info = device_info();
  OrtSessionOptions *o;
  OrtIoBinding *b;
  OrtRunOptions *ro;
  OrtAllocator *heap = default_allocator();
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->CreateRunOptions(&ro));
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "device", NULL, NULL, 0));
  OrtSession *s = open_model(env, &m, o);
  float data[2] = {-1, 2}, other[2] = {3, -4};
  OrtValue *x = there(env, info, data), *y = there(env, info, other), **made;
  size_t n;
  OK(ort()->CreateIoBinding(s, &b));
  OK(ort()->BindInput(b, "x", x));
  OK(ort()->BindOutput(b, "y", y));
  (void)copies(0), (void)copies(1), (void)copies(2);
  for (int i = 0; i < 2; i++) OK(ort()->RunWithBinding(s, ro, b));
  OK(ort()->SynchronizeBoundOutputs(b));
  check_copies(0, 0, 0);
  check_there(env, y, (float[]){0, 2});
  check_copies(0, 1, 0);
  /* an output that the run makes there, from another input */
  OK(ort()->BindOutputToDevice(b, "y", info));
  copy_one(env, y, x);
  check_copies(0, 0, 1);
  for (int i = 0; i < 2; i++) OK(ort()->RunWithBinding(s, ro, b));
  check_copies(0, 0, 0);
  OK(ort()->GetBoundOutputValues(b, heap, &made, &n));
  assert_int_equal(n, 1);
  check_there(env, made[0], (float[]){0, 2});
  ort()->ReleaseValue(made[0]);
  heap->Free(heap, made);
  /* a plain run takes a value there, too, and gives one here */
  OrtValue *here = NULL;
  (void)copies(1);
  OK(ort()->Run(s, NULL, (const char *[]){"x"}, (const OrtValue *const *)&x, 1, (const char *[]){"y"}, 1, &here));
  check_copies(0, 1, 0);
  check_floats(here, (float[]){0, 2}, 2);
  ort()->ReleaseValue(here);
  ort()->ReleaseIoBinding(b);
  ort()->ReleaseValue(x);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseRunOptions(ro);
  ort()->ReleaseMemoryInfo(info);
  ort()->ReleaseEnv(env);
  ort()->ReleaseValue(y); /* after all others */
}

static long stat_of(OrtEnv *env, const OrtMemoryInfo *info, const char *key) {
  OrtAllocator *allocator;
  OrtKeyValuePairs *stats;
  OK(ort()->GetSharedAllocator(env, info, &allocator));
  OK(ort()->AllocatorGetStats(allocator, &stats));
  const char *value = ort()->GetKeyValue(stats, key);
  assert_non_null(value);
  long n = atol(value);
  ort()->ReleaseKeyValuePairs(stats);
  return n;
}

/* An arena of the environment that sessions use, and runs that shrink it. */
static void test_arenas_of_devices(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  setenv("ONYX_PLUGINS", PLUGIN_FOLDER, 1);
  message m = relu_model();
  OrtEnv *env = test_env();
  OrtMemoryInfo *info = device_info();
  OrtArenaCfg *cfg;
  OrtSessionOptions *o;
  OrtRunOptions *ro;
  OK(ort()->CreateArenaCfg(1 << 22, 0, -1, -1, &cfg));
  OK(ort()->CreateAndRegisterAllocatorV2(env, "device", info, cfg, NULL, NULL, 0));
  FAILS(ort()->CreateAndRegisterAllocatorV2(env, "device", info, cfg, NULL, NULL, 0), ORT_INVALID_ARGUMENT, "in use");
  FAILS(ort()->CreateAndRegisterAllocatorV2(env, "nobody", info, cfg, NULL, NULL, 0), ORT_INVALID_ARGUMENT, "nobody");
  ort()->ReleaseArenaCfg(cfg);
  assert_int_equal(stat_of(env, info, "Limit"), 1 << 22);
  assert_int_equal(stat_of(env, info, "NumAllocs"), 0);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "device", NULL, NULL, 0));
  OK(ort()->AddSessionConfigEntry(o, "session.use_env_allocators", "1"));
  OrtSession *s = open_model(env, &m, o);
  check_run(s, 0, 2);
  assert_true(stat_of(env, info, "NumAllocs") > 0);
  assert_true(stat_of(env, info, "InUse") > 0);
  assert_int_equal(stat_of(env, info, "NumArenaExtensions"), 1);
  float data[2] = {-1, 2};
  OrtValue *x = floats(data, (int64_t[]){2}, 1), *y = NULL;
  const OrtValue *in = x;
  OK(ort()->CreateRunOptions(&ro));
  OK(ort()->AddRunConfigEntry(ro, "memory.enable_memory_arena_shrinkage", "cpu:0;gpu:0"));
  OK(ort()->Run(s, ro, (const char *[]){"x"}, &in, 1, (const char *[]){"y"}, 1, &y));
  assert_int_equal(stat_of(env, info, "TotalAllocated"), 0);
  assert_int_equal(stat_of(env, info, "NumArenaShrinkages"), 1);
  ort()->ReleaseValue(y), y = NULL;
  OK(ort()->AddRunConfigEntry(ro, "memory.enable_memory_arena_shrinkage", "tpu:0"));
  FAILS(ort()->Run(s, ro, (const char *[]){"x"}, &in, 1, (const char *[]){"y"}, 1, &y), ORT_INVALID_ARGUMENT, "tpu:0");
  ort()->ReleaseValue(x);
  ort()->ReleaseRunOptions(ro);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseMemoryInfo(info);
  ort()->ReleaseEnv(env);
}

static void test_places_that_nobody_has(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  OrtEnv *env = test_env();
  OrtMemoryInfo *info;
  OrtAllocator *allocator;
  OK(ort()->CreateMemoryInfo_V2("nobody", OrtMemoryInfoDeviceType_GPU, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                OrtDeviceAllocator, &info));
  OK(ort()->GetSharedAllocator(env, info, &allocator));
  assert_null(allocator);
  ort()->ReleaseMemoryInfo(info);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plugins_that_the_variable_names_are_loaded),
      cmocka_unit_test(test_providers_are_found_by_name),
      cmocka_unit_test(test_options_reach_the_provider),
      cmocka_unit_test(test_without_an_environment),
      cmocka_unit_test(test_bindings_to_a_device),
      cmocka_unit_test(test_arenas_of_devices),
      cmocka_unit_test(test_places_that_nobody_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
