/* SPDX-License-Identifier: Apache-2.0
 * session/env_providers_test.c - providers by name: the list of names, and plug-ins that are found when asked for. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "onyx/onyx.h"
#include "support/check.h"
#include "support/echo_ep.h"
#include "support/set_variable.h"
#include "support/text_session.h"

static const char model[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }";

static ox_status *open_with(ox_env *env, const char *name, ox_session **out) {
  ox_provider_spec spec = {name, {0, NULL, NULL}};
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.providers = &spec, o.n_providers = 1;
  return text_session(env, model, &o, out);
}

static ox_env *new_env(const char *plugins) {
  ox_env *env;
  set_variable("ONYX_PLUGINS", plugins);
  CHECK_OK(ox_env_create(NULL, &env));
  return env;
}

/* ---- names ---- */

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *given, *name, *ort_name;
    int foreign;
  } table[] = {
      {"cuda", "cuda", "CUDAExecutionProvider", 0},
      {"CUDA", "cuda", "CUDAExecutionProvider", 0},
      {"CUDAExecutionProvider", "cuda", "CUDAExecutionProvider", 0},
      {"XnnpackExecutionProvider", "xnnpack", "XnnpackExecutionProvider", 0},
      {"XNNPACK", "xnnpack", "XnnpackExecutionProvider", 0},
      {"Dnnl", "onednn", "DnnlExecutionProvider", 0},
      {"oneDNN", "onednn", "DnnlExecutionProvider", 0},
      {"opencl", "opencl", "OpenCLExecutionProvider", 0},
      {"CPU", "cpu", "CPUExecutionProvider", 0},
      {"NvTensorRtRtx", "tensorrt-rtx", "NvTensorRTRTXExecutionProvider", 1},
      {"oneDNNExecutionProvider", "onednn", "DnnlExecutionProvider", 0},
      {"MKLDNNExecutionProvider", "onednn", "DnnlExecutionProvider", 0},
      {"NvTensorRtRtxExecutionProvider", "tensorrt-rtx", "NvTensorRTRTXExecutionProvider", 1},
      {"GGMLExecutionProvider", "ggml", "ggml", 1},
      {"TensorrtExecutionProvider", "tensorrt", "TensorrtExecutionProvider", 2},
      {"WebGPUExecutionProvider", "webgpu", "WebGpuExecutionProvider", 1},
      {"OpenVINO", "openvino", "OpenVINOExecutionProvider", 1},
      {"DML", "dml", "DmlExecutionProvider", 2},
  };
  static const char *const unknown[] = {
      "",  "CUD",  "CUDAExecutionProvider2", "XNNPACK|",
      "|", "null", "ExecutionProvider",      "CUDAExecutionProviderExecutionProvider2"};
  ox_provider_info info;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    assert_int_equal(ox_provider_find(table[i].given, &info), 1);
    assert_string_equal(info.name, table[i].name);
    assert_string_equal(info.ort_name, table[i].ort_name);
    assert_int_equal(info.foreign, table[i].foreign);
  }
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    assert_int_equal(ox_provider_find(unknown[i], &info), 0);
  assert_int_equal(ox_provider_find(NULL, &info), 0);
}

static void test_every_name_is_of_one_row(void **state) {
  (void)state;
  ox_provider_info row, found;
  size_t n = 0;
  for (; ox_provider_known(n, &row); n++) {
    const char *names[] = {row.name, row.ort_name};
    for (size_t k = 0; k < 2; k++) {
      assert_int_equal(ox_provider_find(names[k], &found), 1);
      assert_string_equal(found.name, row.name);
    }
    assert_true((*row.get == 0) == (strcmp(row.name, "cpu") == 0));
  }
  assert_true(n > 10);
  assert_int_equal(ox_provider_known(n - 1, &row), 1);
  assert_string_equal(row.name, "cpu");
}

static void test_a_session_takes_any_name(void **state) {
  (void)state;
  static const char *const names[] = {"cpu", "CPU", "CPUExecutionProvider", "cpuexecutionprovider"};
  ox_env *env = new_env(NULL);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ox_session *s;
    CHECK_OK(ox_env_check_provider(env, names[i]));
    CHECK_OK(open_with(env, names[i], &s));
    ox_session_release(s);
  }
  ox_env_release(env);
}

/* ---- those that are not here ---- */

static void test_one_that_is_not_here(void **state) {
  (void)state;
  ox_env *env = new_env("/no/such/folder:/another");
  ox_session *s;
  static const struct {
    const char *name, *part;
  } table[] = {
      {"nobody", "no libonyx-nobody.so in ONYX_PLUGINS, "}, {"", "there is no provider ''"},
      {"../nobody", "there is no provider '../nobody'"},    {"a b", "there is no provider 'a b'"},
      {"OpenVINO", "pip install onnxruntime-ep-openvino"},  {"CoreML", "'CoreML': its maker has no library for Linux"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    CHECK_FAILS(open_with(env, table[i].name, &s), OX_INVALID_ARGUMENT, table[i].part);
    CHECK_FAILS(ox_env_check_provider(env, table[i].name), OX_INVALID_ARGUMENT, table[i].part);
  }
  CHECK_FAILS(ox_env_check_provider(env, NULL), OX_INVALID_ARGUMENT, "no provider");
  CHECK_FAILS(open_with(env, NULL, &s), OX_INVALID_ARGUMENT, "provider 0 has no name");
  ox_env_release(env);
}

/* ---- those that are found ---- */

static void test_a_folder_of_the_variable_is_searched(void **state) {
  (void)state;
  static const char *const lists[] = {PLUGIN_FOLDER, "/no/such:" PLUGIN_FOLDER ":", PLUGIN_FOLDER "/libonyx-plain.so"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    ox_env *env = new_env(lists[i]);
    ox_session *s;
    ox_placement p;
    const char *name;
    for (size_t k = 0; (name = ox_env_provider_name(env, k)); k++) assert_string_not_equal(name, "plain");
    CHECK_OK(open_with(env, "plain", &s));
    assert_int_equal(ox_session_placement(s, 0, &p), 1);
    assert_string_equal(p.owner, "plain");
    ox_session_release(s);
    CHECK_OK(ox_env_check_provider(env, "plain"));
    ox_env_release(env);
  }
}

static void test_one_that_the_env_has_is_not_looked_for(void **state) {
  (void)state;
  ox_env *env = new_env(PLUGIN_FOLDER);
  ox_session *s;
  ox_placement p;
  ox_ep_api mine = *echo_ep();
  mine.name = "plain";
  CHECK_OK(ox_env_add_provider(env, &mine));
  CHECK_OK(open_with(env, "plain", &s)); /* the library's would claim Relu as a kernel, this one as a program */
  assert_int_equal(ox_session_placement(s, 0, &p), 1);
  assert_string_equal(p.owner, "plain");
  ox_session_release(s);
  ox_env_release(env);
}

static void test_libraries_that_are_not_what_they_are_called(void **state) {
  (void)state;
  ox_env *env = new_env(PLUGIN_FOLDER);
  ox_session *s;
  CHECK_FAILS(open_with(env, "sick", &s), OX_FAIL, "no such device in this machine");
  for (int i = 0; i < 2; i++)
    CHECK_FAILS(ox_env_check_provider(env, "sick"), OX_FAIL, "no such device in this machine");
  CHECK_FAILS(open_with(env, "broken", &s), OX_NO_SUCH_FILE, "libonyx-broken.so");
  CHECK_FAILS(open_with(env, "other", &s), OX_INCOMPATIBLE, "libonyx-other.so brings no provider 'other'");
  CHECK_FAILS(open_with(env, "operators", &s), OX_INCOMPATIBLE, "operators or rules");
  ox_env_release(env);
}

static void test_options_are_told(void **state) {
  (void)state;
  ox_env *env = new_env(PLUGIN_FOLDER);
  ox_option_def def;
  assert_int_equal(ox_env_provider_option(env, "sick", 0, &def), 1);
  assert_string_equal(def.key, "device_id");
  assert_int_equal(ox_env_provider_option(env, "sick", 1, &def), 0);
  assert_int_equal(ox_env_provider_option(env, "nobody", 0, &def), 0);
  ox_env_release(env);
}

static void *open_one(void *env) {
  ox_session *s = NULL;
  ox_status *st = open_with(env, "plain", &s);
  ox_session_release(s);
  return st;
}

static void test_many_ask_at_once(void **state) {
  (void)state;
  enum { N = 8 };
  pthread_t threads[N];
  ox_env *env = new_env(PLUGIN_FOLDER);
  for (size_t i = 0; i < N; i++) assert_int_equal(pthread_create(&threads[i], NULL, open_one, env), 0);
  for (size_t i = 0; i < N; i++) {
    void *st;
    assert_int_equal(pthread_join(threads[i], &st), 0);
    CHECK_OK((ox_status *)st);
  }
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_every_name_is_of_one_row),
      cmocka_unit_test(test_a_session_takes_any_name),
      cmocka_unit_test(test_one_that_is_not_here),
      cmocka_unit_test(test_a_folder_of_the_variable_is_searched),
      cmocka_unit_test(test_one_that_the_env_has_is_not_looked_for),
      cmocka_unit_test(test_libraries_that_are_not_what_they_are_called),
      cmocka_unit_test(test_options_are_told),
      cmocka_unit_test(test_many_ask_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
