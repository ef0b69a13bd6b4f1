/* SPDX-License-Identifier: Apache-2.0
 * Shared libraries of custom operators: registering them in each way, how long they stay, what they throw. */
#include "ort/client.h"
#include "ort/model_writer.h"
#include "ort/values.h"

static float numbers[] = {1, 2};
static const int64_t two[] = {2};

static OrtSessionOptions *new_options(void) {
  OrtSessionOptions *options;
  OK(ort()->CreateSessionOptions(&options));
  OK(ort()->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_FATAL));
  return options;
}

static OrtEnv *new_env(void) {
  OrtEnv *env;
  OK(ort()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env));
  return env;
}

static message model(const char *op, int where, int what) {
  message g = {0}, n = node("n0", op, "x", "y"), a = int_attribute("where", where);
  put_message(&n, 5, &a);
  a = int_attribute("what", what);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  graph_input(&g, "x", F32, "N");
  graph_output(&g, "y", F32, NULL);
  return model_of(&g, "lib", 1);
}

static OrtStatus *run(OrtSession *session, OrtValue **y) {
  const char *in = "x", *out = "y";
  OrtValue *x = tensor_over(F32, two, 1, numbers, sizeof numbers);
  *y = NULL;
  OrtStatus *st = ort()->Run(session, NULL, &in, (const OrtValue *const *)&x, 1, &out, 1, y);
  ort()->ReleaseValue(x);
  return st;
}

/* A session of |options|, which go before it runs. */
static void check_doubles(OrtEnv *env, OrtSessionOptions *options) {
  message m = model("lib:Times", 0, 0);
  OrtSession *session;
  OrtValue *y;
  OK(ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &session));
  ort()->ReleaseSessionOptions(options);
  for (int i = 0; i < 2; i++) {
    OK(run(session, &y));
    assert_true(((float *)data_of(y))[1] == 4);
    ort()->ReleaseValue(y);
  }
  ort()->ReleaseSession(session);
}

static bool is_loaded(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (handle != NULL) dlclose(handle);
  return handle != NULL;
}

static void test_a_library_that_the_session_keeps(void **state) {
  OrtEnv *env = new_env();
  OrtSessionOptions *options = new_options(), *clone;
  (void)state;
  OK(ort()->RegisterCustomOpsLibrary_V2(options, OP_LIBRARY));
  OK(ort()->CloneSessionOptions(options, &clone));
  check_doubles(env, options);
  assert_true(is_loaded(OP_LIBRARY));
  check_doubles(env, clone);
  assert_false(is_loaded(OP_LIBRARY));
  ort()->ReleaseEnv(env);
}

static void test_a_library_that_the_client_keeps(void **state) {
  OrtEnv *env = new_env();
  OrtSessionOptions *options = new_options();
  void *handle;
  (void)state;
  OK(ort()->RegisterCustomOpsLibrary(options, OP_LIBRARY, &handle));
  check_doubles(env, options);
  assert_true(is_loaded(OP_LIBRARY));
  dlclose(handle);
  assert_false(is_loaded(OP_LIBRARY));
  ort()->ReleaseEnv(env);
}

static void *library;

/* Found by its name in the program. */
__attribute__((visibility("default"))) OrtStatus *RegisterTheTestsOps(OrtSessionOptions *options,
                                                                      const OrtApiBase *base) {
  assert_ptr_equal(base, ort_base());
  return ort()->RegisterCustomOpsLibrary(options, OP_LIBRARY, &library);
}

static void test_a_function_of_the_program(void **state) {
  OrtEnv *env = new_env();
  OrtSessionOptions *options = new_options();
  (void)state;
  OK(ort()->RegisterCustomOpsUsingFunction(options, "RegisterTheTestsOps"));
  check_doubles(env, options);
  dlclose(library);
  ort()->ReleaseEnv(env);
}

static void test_a_library_that_refuses(void **state) {
  OrtSessionOptions *options = new_options();
  void *handle;
  (void)state;
  setenv("ORT_TEST_REFUSE", "1", 1);
  FAILS(ort()->RegisterCustomOpsLibrary_V2(options, OP_LIBRARY), ORT_EP_FAIL, "not today");
  FAILS(ort()->RegisterCustomOpsLibrary(options, OP_LIBRARY, &handle), ORT_EP_FAIL, "not today");
  dlclose(handle);
#ifdef THROWING_LIBRARY
  if (ort_is_onyx()) /* Microsoft's library does not catch it */
    FAILS(ort()->RegisterCustomOpsLibrary_V2(options, THROWING_LIBRARY), ORT_RUNTIME_EXCEPTION, "invalid");
#endif
  unsetenv("ORT_TEST_REFUSE");
  ort()->ReleaseSessionOptions(options);
}

#ifdef THROWING_LIBRARY
enum { NOWHERE, IN_CREATE, IN_COMPUTE, IN_INFER };

static void test_exceptions(void **state) {
  static const struct {
    int where, what;
    const char *text;
  } cases[] = {
      {IN_CREATE, 0, "node 'n0' (Throw): invalid"},
      {IN_CREATE, 1, "derived"},
      {IN_CREATE, 2, "C++ type 'i'"},
      {IN_CREATE, 3, "basic_string"},
      {IN_COMPUTE, 0, "invalid"},
      {IN_COMPUTE, 1, "derived"},
      {IN_COMPUTE, 2, "C++ type 'i'"},
      {IN_INFER, 0, "invalid"},
      {IN_INFER, 2, "C++ type 'i'"},
  };
  OrtEnv *env = new_env();
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    OrtSessionOptions *options = new_options();
    message m = model("lib:Throw", cases[i].where, cases[i].what);
    OrtSession *session = NULL;
    OrtValue *y;
    bool standard = cases[i].what < 2;
    if (!ort_is_onyx() && (!standard || cases[i].where == IN_INFER)) { /* which Microsoft's library does not catch */
      ort()->ReleaseSessionOptions(options);
      continue;
    }
    OK(ort()->RegisterCustomOpsLibrary_V2(options, THROWING_LIBRARY));
    OrtStatus *st = ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &session);
    if (cases[i].where != IN_COMPUTE) {
      FAILS(st, ORT_RUNTIME_EXCEPTION, cases[i].text);
    } else {
      OK(st);
      for (int k = 0; k < 3; k++) FAILS(run(session, &y), ORT_RUNTIME_EXCEPTION, cases[i].text);
      ort()->ReleaseSession(session);
    }
    ort()->ReleaseSessionOptions(options);
  }
  ort()->ReleaseEnv(env);
}

/* What lay between the throw and us was destroyed. */
static void test_exceptions_leave_nothing(void **state) {
  OrtEnv *env = new_env();
  OrtSessionOptions *options = new_options();
  message bad = model("lib:Throw", IN_COMPUTE, 0), good = model("lib:Throw", NOWHERE, 0);
  OrtSession *a, *b;
  OrtValue *y;
  (void)state;
  OK(ort()->RegisterCustomOpsLibrary_V2(options, THROWING_LIBRARY));
  OK(ort()->CreateSessionFromArray(env, bad.bytes, bad.n, options, &a));
  OK(ort()->CreateSessionFromArray(env, good.bytes, good.n, options, &b));
  for (int i = 0; i < 3; i++) {
    FAILS(run(a, &y), ORT_RUNTIME_EXCEPTION, "invalid");
    OK(run(b, &y));
    assert_true(((float *)data_of(y))[0] == 0);
    ort()->ReleaseValue(y);
  }
  ort()->ReleaseSession(a);
  ort()->ReleaseSession(b);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_library_that_the_session_keeps),
      cmocka_unit_test(test_a_library_that_the_client_keeps),
      cmocka_unit_test(test_a_function_of_the_program),
      cmocka_unit_test(test_a_library_that_refuses),
#ifdef THROWING_LIBRARY
      cmocka_unit_test(test_exceptions),
      cmocka_unit_test(test_exceptions_leave_nothing),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
