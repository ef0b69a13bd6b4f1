/* SPDX-License-Identifier: Apache-2.0
 * Session and run options: what is set is told back, what is none is refused; providers by name; metadata. */
#include "ort/models.h"

static OrtSessionOptions *new_options(void) {
  OrtSessionOptions *o;
  OK(ort()->CreateSessionOptions(&o));
  return o;
}

/* ---- setters ---- */

static void test_setters_take_what_there_is(void **state) {
  (void)state;
  OrtSessionOptions *o = new_options(), *copy;
  int pattern;
  ExecutionMode mode;
  OK(ort()->GetMemPatternEnabled(o, &pattern));
  OK(ort()->GetSessionExecutionMode(o, &mode));
  assert_int_equal(pattern, 1);
  assert_int_equal(mode, ORT_SEQUENTIAL);
  OK(ort()->DisableMemPattern(o));
  OK(ort()->SetSessionExecutionMode(o, ORT_PARALLEL));
  OK(ort()->DisableCpuMemArena(o));
  OK(ort()->EnableCpuMemArena(o));
  OK(ort()->SetSessionLogVerbosityLevel(o, 1));
  OK(ort()->SetIntraOpNumThreads(o, -1));
  OK(ort()->SetInterOpNumThreads(o, 2));
  OK(ort()->SetDeterministicCompute(o, true));
  OK(ort()->CloneSessionOptions(o, &copy));
  ort()->ReleaseSessionOptions(o);
  OK(ort()->GetMemPatternEnabled(copy, &pattern));
  OK(ort()->GetSessionExecutionMode(copy, &mode));
  assert_int_equal(pattern, 0);
  assert_int_equal(mode, ORT_PARALLEL);
  OK(ort()->EnableMemPattern(copy));
  OK(ort()->GetMemPatternEnabled(copy, &pattern));
  assert_int_equal(pattern, 1);
  FAILS(ort()->SetSessionExecutionMode(copy, (ExecutionMode)7), ORT_INVALID_ARGUMENT, "is 7");
  static const int levels[] = {0, 1, 2, 3, 99}, none[] = {-1, 4, 5, 98, 100};
  OrtEnv *env = test_env();
  message m = scale_model();
  for (size_t i = 0; i < 5; i++) {
    OK(ort()->SetSessionGraphOptimizationLevel(copy, (GraphOptimizationLevel)levels[i]));
    ort()->ReleaseSession(open_model(env, &m, copy));
    FAILS(ort()->SetSessionGraphOptimizationLevel(copy, (GraphOptimizationLevel)none[i]), ORT_INVALID_ARGUMENT,
          "wanted 0, 1, 2, 3 or 99");
  }
  ort()->ReleaseSessionOptions(copy);
  ort()->ReleaseEnv(env);
}

/* ---- entries ---- */

static void test_entries_are_kept(void **state) {
  (void)state;
  OrtSessionOptions *o = new_options();
  char text[16];
  size_t n = sizeof text;
  int has;
  OK(ort()->HasSessionConfigEntry(o, "some.key", &has));
  assert_int_equal(has, 0);
  FAILS(ort()->GetSessionConfigEntry(o, "some.key", text, &n), ORT_INVALID_ARGUMENT, "'some.key'");
  OK(ort()->AddSessionConfigEntry(o, "some.key", "first"));
  OK(ort()->AddSessionConfigEntry(o, "some.key", "second"));
  OK(ort()->HasSessionConfigEntry(o, "some.key", &has));
  assert_int_equal(has, 1);
  n = 0;
  OK(ort()->GetSessionConfigEntry(o, "some.key", NULL, &n));
  assert_int_equal(n, 7);
  n = 6;
  FAILS(ort()->GetSessionConfigEntry(o, "some.key", text, &n), ORT_INVALID_ARGUMENT, "needs 7 bytes, got 6");
  OK(ort()->GetSessionConfigEntry(o, "some.key", text, &n));
  assert_string_equal(text, "second");
  OrtKeyValuePairs *pairs;
  const char *const *keys, *const *values;
  OK(ort()->GetSessionOptionsConfigEntries(o, &pairs));
  ort()->GetKeyValuePairs(pairs, &keys, &values, &n);
  assert_int_equal(n, 1);
  assert_string_equal(values[0], "second");
  ort()->ReleaseKeyValuePairs(pairs);
  ort()->ReleaseSessionOptions(o);
}

static void test_long_entries_are_refused(void **state) {
  (void)state;
  OrtSessionOptions *o = new_options();
  OrtRunOptions *r;
  static char key[1026], value[8194];
  OK(ort()->CreateRunOptions(&r));
  memset(key, 'k', sizeof key - 1);
  memset(value, 'v', sizeof value - 1);
  FAILS(ort()->AddSessionConfigEntry(o, "", "1"), ORT_INVALID_ARGUMENT, "empty");
  FAILS(ort()->AddSessionConfigEntry(o, key, "1"), ORT_INVALID_ARGUMENT, "1025 bytes");
  FAILS(ort()->AddSessionConfigEntry(o, "k", value), ORT_INVALID_ARGUMENT, "8193 bytes");
  FAILS(ort()->AddRunConfigEntry(r, "", "1"), ORT_INVALID_ARGUMENT, "empty");
  FAILS(ort()->AddRunConfigEntry(r, key, "1"), ORT_INVALID_ARGUMENT, "1025 bytes");
  key[1024] = value[8192] = '\0';
  OK(ort()->AddSessionConfigEntry(o, key, value));
  OK(ort()->AddRunConfigEntry(r, key, value));
  assert_string_equal(ort()->GetRunConfigEntry(r, key), value);
  assert_null(ort()->GetRunConfigEntry(r, "nothing"));
  ort()->ReleaseRunOptions(r);
  ort()->ReleaseSessionOptions(o);
}

static void test_entries_that_are_setters_are_read(void **state) {
  (void)state;
  static const struct {
    const char *key, *value;
    bool good;
  } rows[] = {{"session.intra_op_num_threads", "2", true},
              {"session.intra_op_num_threads", "x", false},
              {"session.intra_op_num_threads", "", false},
              {"session.inter_op_num_threads", "99999999999", false},
              {"session.enable_cpu_mem_arena", "TRUE", true},
              {"session.enable_cpu_mem_arena", "yes", false},
              {"session.enable_mem_pattern", "0", true},
              {"session.use_per_session_threads", "1", true},
              {"session.use_deterministic_compute", "False", true},
              {"session.log_id", "", true},
              {"session.log_severity_level", "2", true},
              {"session.log_verbosity_level", "q", false},
              {"session.graph_optimization_level", "ENABLE_ALL", true},
              {"session.graph_optimization_level", "99", false},
              {"session.execution_mode", "parallel", true},
              {"session.execution_mode", "ORT_SEQUENTIAL", true},
              {"session.execution_mode", "both", false},
              {"session.enable_profiling", "", true},
              {"no.such.key", "anything", true}};
  OrtEnv *env = test_env();
  message m = scale_model();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OrtSessionOptions *o = new_options();
    OrtStatus *st = ort()->AddSessionConfigEntry(o, rows[i].key, rows[i].value);
    if (rows[i].good) {
      OK(st);
      ort()->ReleaseSession(open_model(env, &m, o));
    } else {
      FAILS(st, ORT_INVALID_ARGUMENT, rows[i].key);
    }
    ort()->ReleaseSessionOptions(o);
  }
  ort()->ReleaseEnv(env);
}

/* ---- run options ---- */

static void test_values_that_a_key_cannot_have(void **state) {
  (void)state;
  static const struct {
    const char *key, *good[3], *bad[4];
  } rows[] = {
      {"session.kernel_dispatch_policy", {"", "auto", "safe"}, {"Auto", "auto|", "|", "fast"}},
      {"session.external_data_loader.threads", {"0", "1", "64"}, {"", "-1", "65", "x"}},
      {"session.external_data_loader.chunk_bytes", {"4096", "8192", "67108864"}, {"0", "4097", "67112960", "1e4"}},
      {"session.external_data_loader.min_size_bytes", {"0", "1", "4294967296"}, {"-1", "4294967297", "1x", ""}},
      {"session.external_data_loader.pinned_memory_bytes",
       {"1048576", "1056768", "1073741824"},
       {"0", "1052672", "4294967296", "many"}},
  };
  OrtEnv *env = test_env();
  message m = add_model();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OrtSessionOptions *o;
    OrtSession *s;
    OK(ort()->CreateSessionOptions(&o));
    for (size_t k = 0; k < 4; k++) {
      OK(ort()->AddSessionConfigEntry(o, rows[i].key, rows[i].bad[k]));
      FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_INVALID_ARGUMENT, rows[i].key);
    }
    for (size_t k = 0; k < 3; k++) {
      OK(ort()->AddSessionConfigEntry(o, rows[i].key, rows[i].good[k]));
      ort()->ReleaseSession(open_model(env, &m, o));
    }
    ort()->ReleaseSessionOptions(o);
  }
  ort()->ReleaseEnv(env);
}

static void test_run_options_are_told_back(void **state) {
  (void)state;
  OrtRunOptions *r;
  const char *tag;
  int n;
  OK(ort()->CreateRunOptions(&r));
  OK(ort()->RunOptionsGetRunTag(r, &tag));
  assert_string_equal(tag, "");
  OK(ort()->RunOptionsSetRunTag(r, "mine"));
  OK(ort()->RunOptionsGetRunTag(r, &tag));
  assert_string_equal(tag, "mine");
  OK(ort()->RunOptionsGetRunLogSeverityLevel(r, &n));
  assert_int_equal(n, -1);
  OK(ort()->RunOptionsSetRunLogSeverityLevel(r, 3));
  OK(ort()->RunOptionsGetRunLogSeverityLevel(r, &n));
  assert_int_equal(n, 3);
  OK(ort()->RunOptionsSetRunLogVerbosityLevel(r, 2));
  OK(ort()->RunOptionsGetRunLogVerbosityLevel(r, &n));
  assert_int_equal(n, 2);
  ort()->ReleaseRunOptions(r);
}

static OrtStatus *run_scale(OrtSession *s, const OrtRunOptions *r) {
  float x[] = {1, 1};
  OrtValue *in = FLOATS(x, 1, 2), *out = NULL;
  OrtStatus *st = ort()->Run(s, r, (const char *const[]){"x"}, (const OrtValue *const *)&in, 1,
                             (const char *const[]){"y"}, 1, &out);
  ort()->ReleaseValue(in);
  ort()->ReleaseValue(out);
  return st;
}

static void test_a_run_can_be_terminated(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtRunOptions *r;
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  OK(ort()->CreateRunOptions(&r));
  OK(run_scale(s, r));
  OK(ort()->RunOptionsSetTerminate(r));
  FAILS(run_scale(s, r), ORT_FAIL, "Exiting due to terminate flag");
  FAILS(run_scale(s, r), ORT_FAIL, "Exiting due to terminate flag"); /* it stays */
  OK(ort()->RunOptionsUnsetTerminate(r));
  OK(run_scale(s, r));
  OK(ort()->RunOptionsSetRunLogSeverityLevel(r, 9));
  FAILS(run_scale(s, r), ORT_FAIL, "level is 9");
  ort()->ReleaseRunOptions(r);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

/* ---- providers ---- */

static void test_providers_by_name(void **state) {
  (void)state;
  static const char *const absent[] = {"DML", "QNN", "OpenVINO", "WebGPU", "CoreML", "JS", "SNPE", "Bogus", ""};
  OrtEnv *env = test_env();
  OrtSessionOptions *o = new_options();
  char **names;
  int n;
  OK(ort()->GetAvailableProviders(&names, &n));
  assert_true(n >= 1);
  assert_string_equal(names[n - 1], "CPUExecutionProvider");
  bool has_dnnl = false, has_cuda = false; /* plug-ins that this machine may have */
  for (int i = 0; i < n; i++) {
    has_dnnl |= strcmp(names[i], "DnnlExecutionProvider") == 0;
    has_cuda |= strcmp(names[i], "CUDAExecutionProvider") == 0;
  }
  OK(ort()->ReleaseAvailableProviders(names, n));
  OK(ort()->SessionOptionsAppendExecutionProvider(o, "CPU", NULL, NULL, 0));
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    FAILS(ort()->SessionOptionsAppendExecutionProvider(o, absent[i], NULL, NULL, 0), ORT_INVALID_ARGUMENT, absent[i]);
  OrtCUDAProviderOptions cuda = {0};
  OrtCUDAProviderOptionsV2 *v2;
  OrtTensorRTProviderOptionsV2 *trt;
  OrtDnnlProviderOptions *dnnl;
  if (!has_cuda) {
    FAILS(ort()->SessionOptionsAppendExecutionProvider_CUDA(o, &cuda), ORT_FAIL, "CUDA");
    FAILS(ort()->CreateCUDAProviderOptions(&v2), ORT_FAIL, "CUDA execution provider is not enabled");
  }
  FAILS(ort()->CreateTensorRTProviderOptions(&trt), ORT_FAIL, "TensorRT execution provider is not enabled");
  if (!has_dnnl) {
    FAILS(ort()->CreateDnnlProviderOptions(&dnnl), ORT_FAIL, "oneDNN execution provider is not enabled");
  } else {
    char *text;
    OK(ort()->CreateDnnlProviderOptions(&dnnl));
    OK(ort()->UpdateDnnlProviderOptions(dnnl, (const char *[]){"use_arena"}, (const char *[]){"1"}, 1));
    OK(ort()->GetDnnlProviderOptionsAsString(dnnl, default_allocator(), &text));
    check_text(text, "use_arena=1");
    OK(ort()->SessionOptionsAppendExecutionProvider_Dnnl(o, dnnl));
    ort()->ReleaseDnnlProviderOptions(dnnl);
  }
  ort()->ReleaseCUDAProviderOptions(NULL);
  const void *api;
  FAILS(ort()->GetExecutionProviderApi("CUDA", 1, &api), ORT_INVALID_ARGUMENT, "'CUDA'");
  message m = add_model();
  ort()->ReleaseSession(open_model(env, &m, o));
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

/* ---- metadata, names, places ---- */

static void test_a_model_without_a_version(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtModelMetadata *md;
  int64_t version = 0;
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  OK(ort()->SessionGetModelMetadata(s, &md));
  OK(ort()->ModelMetadataGetVersion(md, &version));
  assert_true(version == INT64_MAX);
  ort()->ReleaseModelMetadata(md);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

static void test_what_a_model_says_of_itself(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtModelMetadata *md;
  OrtAllocator *a = default_allocator();
  message m = scale_model(), prop = {0};
  char *text, **keys;
  int64_t n, version;
  put_text(&m, 2, "the mill");
  put_text(&m, 4, "org.example");
  put_int(&m, 5, 77);
  put_text(&m, 6, "what it does");
  put_text(&prop, 1, "author");
  put_text(&prop, 2, "someone");
  put_message(&m, 14, &prop);
  OrtSession *s = open_model(env, &m, NULL);
  OK(ort()->SessionGetModelMetadata(s, &md));
  ort()->ReleaseSession(s); /* the metadata stays */
  OK(ort()->ModelMetadataGetProducerName(md, a, &text));
  check_text(text, "the mill");
  OK(ort()->ModelMetadataGetDomain(md, a, &text));
  check_text(text, "org.example");
  OK(ort()->ModelMetadataGetDescription(md, a, &text));
  check_text(text, "what it does");
  OK(ort()->ModelMetadataGetGraphName(md, a, &text));
  check_text(text, "g");
  OK(ort()->ModelMetadataGetGraphDescription(md, a, &text));
  check_text(text, "");
  OK(ort()->ModelMetadataGetVersion(md, &version));
  assert_int_equal(version, 77);
  OK(ort()->ModelMetadataLookupCustomMetadataMap(md, a, "author", &text));
  check_text(text, "someone");
  OK(ort()->ModelMetadataLookupCustomMetadataMap(md, a, "domain", &text));
  assert_null(text);
  OK(ort()->ModelMetadataGetCustomMetadataMapKeys(md, a, &keys, &n));
  assert_int_equal(n, 1);
  check_text(keys[0], "author");
  OK(ort()->AllocatorFree(a, keys));
  ort()->ReleaseModelMetadata(md);
  ort()->ReleaseModelMetadata(NULL);
  ort()->ReleaseEnv(env);
}

static void test_names_and_places_of_inputs_and_outputs(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtAllocator *a = default_allocator();
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  const OrtMemoryInfo *places[3] = {NULL};
  char *name;
  size_t n;
  OK(ort()->SessionGetInputCount(s, &n));
  assert_int_equal(n, 1);
  OK(ort()->SessionGetOverridableInitializerCount(s, &n));
  assert_int_equal(n, 1);
  OK(ort()->SessionGetOverridableInitializerName(s, 0, a, &name));
  check_text(name, "w");
  OK(ort()->SessionGetOutputName(s, 1, a, &name));
  check_text(name, "z");
  FAILS(ort()->SessionGetInputName(s, 1, a, &name), ORT_FAIL, "index out of range");
  FAILS(ort()->SessionGetOutputName(s, 2, a, &name), ORT_FAIL, "index out of range");
  FAILS(ort()->SessionGetOverridableInitializerName(s, 1, a, &name), ORT_FAIL, "index out of range");
  OK(ort()->SessionGetMemoryInfoForOutputs(s, places, 3));
  assert_true(places[0] != NULL && places[1] != NULL && places[2] == NULL);
  FAILS(ort()->SessionGetMemoryInfoForOutputs(s, places, 1), ORT_INVALID_ARGUMENT, "there are 2");
  OK(ort()->SessionGetMemoryInfoForInputs(s, places, 1));
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

static void test_sessions_with_a_container_of_prepacked_weights(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o = new_options();
  OrtPrepackedWeightsContainer *c;
  OrtSession *s[2];
  message m = scale_model();
  OK(ort()->CreatePrepackedWeightsContainer(&c));
  for (int i = 0; i < 2; i++)
    OK(ort()->CreateSessionFromArrayWithPrepackedWeightsContainer(env, m.bytes, m.n, o, c, &s[i]));
  for (int i = 0; i < 2; i++) {
    OK(run_scale(s[i], NULL));
    ort()->ReleaseSession(s[i]);
  }
  ort()->ReleasePrepackedWeightsContainer(c);
  ort()->ReleasePrepackedWeightsContainer(NULL);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_setters_take_what_there_is),
      cmocka_unit_test(test_entries_are_kept),
      cmocka_unit_test(test_long_entries_are_refused),
      cmocka_unit_test(test_entries_that_are_setters_are_read),
      cmocka_unit_test(test_values_that_a_key_cannot_have),
      cmocka_unit_test(test_run_options_are_told_back),
      cmocka_unit_test(test_a_run_can_be_terminated),
      cmocka_unit_test(test_providers_by_name),
      cmocka_unit_test(test_a_model_without_a_version),
      cmocka_unit_test(test_what_a_model_says_of_itself),
      cmocka_unit_test(test_names_and_places_of_inputs_and_outputs),
      cmocka_unit_test(test_sessions_with_a_container_of_prepacked_weights),
  };
  OrtEnv *env = test_env(); /* Microsoft's library logs what it is told, which takes one */
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  ort()->ReleaseEnv(env);
  return failed;
}
