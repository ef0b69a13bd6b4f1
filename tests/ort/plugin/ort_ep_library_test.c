/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_library_test.c - the fake library (fake_ep.h) from its registration to its end: what its providers
 * are asked, what they compute, what happens when one of its calls fails. */
#define _XOPEN_SOURCE 700 /* for fake_client.h */
#include <pthread.h>

#include "fake_client.h"

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
      cmocka_unit_test(test_devices_of_the_library), cmocka_unit_test(test_options_of_a_device_are_entries),
      cmocka_unit_test(test_providers_compute),      cmocka_unit_test(test_a_policy_chooses_a_librarys_device),
      cmocka_unit_test(test_a_delegate_chooses),     cmocka_unit_test(test_a_library_stays_while_a_session_uses_it),
      cmocka_unit_test(test_many_threads),           cmocka_unit_test(test_calls_that_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
