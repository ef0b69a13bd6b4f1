/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_context_data_test.c - functions that read and write what providers keep beside compiled models: as
 * the client sets them, and as a provider gets them. */
#include "ort/models.h"

static OrtStatus *read_data(void *state, const char *name, OrtAllocator *allocator, void **out, size_t *out_n) {
  (void)name;
  *out_n = strlen(state);
  *out = allocator->Alloc(allocator, *out_n);
  memcpy(*out, state, *out_n);
  return NULL;
}

static OrtStatus *write_data(void *state, const char *name, const void *bytes, size_t n) {
  (void)state, (void)name, (void)bytes, (void)n;
  return NULL;
}

static void check_read(const OrtSessionOptions *o, OrtReadNamedBufferFunc want, const void *want_state) {
  OrtEpContextConfig *config;
  OrtReadNamedBufferFunc read = read_data;
  OrtWriteNamedBufferFunc write = write_data;
  void *state = &state, *write_state = &state;
  OK(ort()->GetEpApi()->SessionOptionsGetEpContextConfig(o, &config));
  OK(ort()->GetEpApi()->EpContextConfigGetEpContextDataReadFunc(config, &read, &state));
  OK(ort()->GetEpApi()->EpContextConfigGetEpContextDataWriteFunc(config, &write, &write_state));
  assert_true(read == want && state == want_state);
  assert_true(write == NULL && write_state == NULL); /* that is for compiling */
  ort()->GetEpApi()->ReleaseEpContextConfig(config);
}

static void test_a_provider_gets_what_the_client_set(void **state) {
  (void)state;
  OrtSessionOptions *o, *clone;
  OK(ort()->CreateSessionOptions(&o));
  check_read(o, NULL, NULL);
  OK(ort()->SessionOptionsSetEpContextDataReadFunc(o, read_data, o));
  check_read(o, read_data, o);
  OK(ort()->CloneSessionOptions(o, &clone));
  OK(ort()->SessionOptionsSetEpContextDataReadFunc(o, NULL, o));
  check_read(o, NULL, NULL);
  check_read(clone, read_data, o);
  ort()->ReleaseSessionOptions(clone);
  ort()->ReleaseSessionOptions(o);
}

/* A configuration is a copy: the options may go. */
static void test_a_configuration_outlives_its_options(void **state) {
  (void)state;
  OrtSessionOptions *o;
  OrtEpContextConfig *config;
  OrtReadNamedBufferFunc read;
  void *text = NULL, *data = NULL;
  size_t n = 0;
  char encrypted[] = "secret";
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsSetEpContextDataReadFunc(o, read_data, encrypted));
  OK(ort()->GetEpApi()->SessionOptionsGetEpContextConfig(o, &config));
  ort()->ReleaseSessionOptions(o);
  OK(ort()->GetEpApi()->EpContextConfigGetEpContextDataReadFunc(config, &read, &text));
  OK(read(text, "model_1.bin", default_allocator(), &data, &n));
  assert_int_equal(n, 6);
  assert_memory_equal(data, "secret", n);
  OK(ort()->AllocatorFree(default_allocator(), data));
  ort()->GetEpApi()->ReleaseEpContextConfig(config);
  ort()->GetEpApi()->ReleaseEpContextConfig(NULL);
}

static void test_compiling_takes_a_function_that_writes(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtModelCompilationOptions *c;
  const OrtCompileApi *compile = ort()->GetCompileApi();
  OK(ort()->CreateSessionOptions(&o));
  OK(compile->CreateModelCompilationOptionsFromSessionOptions(env, o, &c));
  OK(compile->ModelCompilationOptions_SetEpContextDataWriteFunc(c, write_data, o));
  OK(compile->ModelCompilationOptions_SetEpContextDataWriteFunc(c, NULL, NULL));
  check_read(o, NULL, NULL); /* the client's own options stay as they are */
  compile->ReleaseModelCompilationOptions(c);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_errors(void **state) {
  (void)state;
  const OrtEpApi *ep = ort()->GetEpApi();
  OrtSessionOptions *o;
  OrtEpContextConfig *config;
  OrtReadNamedBufferFunc read;
  void *data;
  OK(ort()->CreateSessionOptions(&o));
  FAILS(ort()->SessionOptionsSetEpContextDataReadFunc(NULL, read_data, NULL), ORT_INVALID_ARGUMENT, "'options'");
  FAILS(ep->SessionOptionsGetEpContextConfig(NULL, &config), ORT_INVALID_ARGUMENT, "'session_options'");
  FAILS(ep->SessionOptionsGetEpContextConfig(o, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ep->EpContextConfigGetEpContextDataReadFunc(NULL, &read, &data), ORT_INVALID_ARGUMENT, "'config'");
  FAILS(ort()->GetCompileApi()->ModelCompilationOptions_SetEpContextDataWriteFunc(NULL, write_data, NULL),
        ORT_INVALID_ARGUMENT, "'options'");
  ort()->ReleaseSessionOptions(o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_provider_gets_what_the_client_set),
      cmocka_unit_test(test_a_configuration_outlives_its_options),
      cmocka_unit_test(test_compiling_takes_a_function_that_writes),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
