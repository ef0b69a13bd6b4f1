/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_objects_test.c - what needs no library: devices of the machine, definitions of kernels, schemas of
 * operators, events of profilers, policies. */
#include <limits.h>

#include "ort/client.h"

static const OrtEpApi *ep_api(void) { return ort()->GetEpApi(); }

static OrtEnv *make_env(void) {
  OrtEnv *env;
  OK(ort()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "objects", &env));
  return env;
}

/* ---- devices ---- */

static void test_the_cpu_is_the_first_device(void **state) {
  (void)state;
  OrtEnv *env = make_env();
  const OrtHardwareDevice *devices[64];
  size_t n = 0;
  OK(ort()->GetNumHardwareDevices(env, &n));
  assert_true(n >= 1 && n <= 64);
  OK(ort()->GetHardwareDevices(env, devices, n));
  OK(ort()->GetHardwareDevices(env, devices, 64));
  FAILS(ort()->GetHardwareDevices(env, devices, n - 1), ORT_INVALID_ARGUMENT, "'num_devices' is");
  assert_int_equal(ort()->HardwareDevice_Type(devices[0]), OrtHardwareDeviceType_CPU);
  assert_non_null(ort()->HardwareDevice_Vendor(devices[0]));
  assert_non_null(ort()->HardwareDevice_Metadata(devices[0]));
  if (ort_is_onyx()) { /* Microsoft's crashes */
    FAILS(ort()->GetNumHardwareDevices(NULL, &n), ORT_INVALID_ARGUMENT, "'env'");
    FAILS(ort()->GetNumHardwareDevices(env, NULL), ORT_INVALID_ARGUMENT, "'num_devices'");
    FAILS(ort()->GetHardwareDevices(env, NULL, 1), ORT_INVALID_ARGUMENT, "'devices'");
  }
  ort()->ReleaseEnv(env);
}

static void test_the_cpu_provider_is_listed(void **state) {
  (void)state;
  OrtEnv *env = make_env();
  const OrtEpDevice *const *devices;
  size_t n = 0;
  OK(ort()->GetEpDevices(env, &devices, &n));
  assert_true(n >= 1);
  assert_string_equal(ort()->EpDevice_EpName(devices[0]), "CPUExecutionProvider");
  assert_non_null(ort()->EpDevice_EpVendor(devices[0]));
  assert_string_equal(ort()->GetKeyValue(ort()->EpDevice_EpMetadata(devices[0]), "version"),
                      ort_base()->GetVersionString());
  assert_non_null(ort()->EpDevice_EpOptions(devices[0]));
  assert_int_equal(ort()->HardwareDevice_Type(ort()->EpDevice_Device(devices[0])), OrtHardwareDeviceType_CPU);
  assert_null(ort()->EpDevice_MemoryInfo(devices[0], OrtDeviceMemoryType_DEFAULT));
  assert_null(ort()->EpDevice_MemoryInfo(devices[0], OrtDeviceMemoryType_HOST_ACCESSIBLE));
  OrtSyncStream *stream;
  FAILS(ort()->CreateSyncStreamForEpDevice(devices[0], NULL, &stream), ORT_INVALID_ARGUMENT, "CPUExecutionProvider");
  ort()->ReleaseEnv(env);
}

static void test_why_a_device_does_not_fit(void **state) {
  (void)state;
  OrtEnv *env = make_env();
  OrtDeviceEpIncompatibilityDetails *details = NULL;
  const OrtHardwareDevice *devices[64];
  uint32_t reasons = 9;
  int32_t error = 9;
  const char *notes = "";
  OK(ort()->GetHardwareDevices(env, devices, 64));
  FAILS(ort()->GetHardwareDeviceEpIncompatibilityDetails(env, "nobody", devices[0], &details), ORT_INVALID_ARGUMENT,
        "'nobody'");
  OK(ort()->GetHardwareDeviceEpIncompatibilityDetails(env, "CPUExecutionProvider", devices[0], &details));
  OK(ort()->DeviceEpIncompatibilityDetails_GetReasonsBitmask(details, &reasons));
  OK(ort()->DeviceEpIncompatibilityDetails_GetErrorCode(details, &error));
  OK(ort()->DeviceEpIncompatibilityDetails_GetNotes(details, &notes));
  assert_int_equal(reasons, 0);
  assert_int_equal(error, 0);
  assert_null(notes);
  ort()->ReleaseDeviceEpIncompatibilityDetails(details);
  ort()->ReleaseEnv(env);
}

static void test_virtual_devices(void **state) {
  (void)state;
  OrtKeyValuePairs *pairs;
  OrtHardwareDevice *device;
  ort()->CreateKeyValuePairs(&pairs);
  ort()->AddKeyValuePair(pairs, "k", "v");
  OK(ep_api()->CreateHardwareDevice(OrtHardwareDeviceType_NPU, 1, 2, "maker", pairs, &device));
  ort()->ReleaseKeyValuePairs(pairs);
  assert_int_equal(ort()->HardwareDevice_Type(device), OrtHardwareDeviceType_NPU);
  assert_int_equal(ort()->HardwareDevice_VendorId(device), 1);
  assert_int_equal(ort()->HardwareDevice_DeviceId(device), 2);
  assert_string_equal(ort()->HardwareDevice_Vendor(device), "maker");
  assert_string_equal(ort()->GetKeyValue(ort()->HardwareDevice_Metadata(device), "k"), "v");
  ep_api()->ReleaseHardwareDevice(device);
  OK(ep_api()->CreateHardwareDevice(OrtHardwareDeviceType_GPU, 1, 2, "maker", NULL, &device));
  ep_api()->ReleaseHardwareDevice(device);
}

/* ---- kernels ---- */

static void test_a_definition_begins_empty(void **state) {
  (void)state;
  OrtKernelDefBuilder *b;
  OrtKernelDef *d;
  int since = 0, until = 0;
  OrtMemType type = OrtMemTypeCPUInput;
  OK(ep_api()->CreateKernelDefBuilder(&b));
  OK(ep_api()->KernelDefBuilder_Build(b, &d));
  assert_string_equal(ep_api()->KernelDef_GetOperatorType(d), "");
  assert_string_equal(ep_api()->KernelDef_GetDomain(d), "");
  assert_string_equal(ep_api()->KernelDef_GetExecutionProvider(d), "");
  OK(ep_api()->KernelDef_GetSinceVersion(d, &since, &until));
  assert_int_equal(since, 1);
  assert_int_equal(until, INT_MAX);
  OK(ep_api()->KernelDef_GetInputMemType(d, 0, &type));
  assert_int_equal(type, OrtMemTypeDefault);
  ep_api()->ReleaseKernelDef(d);
  ep_api()->ReleaseKernelDefBuilder(b);
}

static void test_a_definition_is_built(void **state) {
  (void)state;
  OrtKernelDefBuilder *b;
  OrtKernelDef *d;
  const OrtDataType *type, *other;
  int since, until, from[] = {0}, to[] = {0};
  OrtMemType memory;
  OK(ep_api()->CreateKernelDefBuilder(&b));
  OK(ep_api()->KernelDefBuilder_SetOperatorType(b, "Mul"));
  OK(ep_api()->KernelDefBuilder_SetDomain(b, "here"));
  OK(ep_api()->KernelDefBuilder_SetSinceVersion(b, 7, 12));
  FAILS(ep_api()->KernelDefBuilder_SetSinceVersion(b, 0, 7), ORT_INVALID_ARGUMENT, "at least 1");
  FAILS(ep_api()->KernelDefBuilder_SetSinceVersion(b, 14, 7), ORT_INVALID_ARGUMENT, "before the start, 14");
  OK(ep_api()->KernelDefBuilder_SetExecutionProvider(b, "provider"));
  OK(ep_api()->KernelDefBuilder_SetInputMemType(b, 1, OrtMemTypeCPUInput));
  OK(ep_api()->KernelDefBuilder_SetOutputMemType(b, 2, OrtMemTypeCPUOutput));
  OK(ep_api()->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &type));
  OK(ep_api()->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &other));
  assert_ptr_equal(type, other);
  FAILS(ep_api()->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, &other), ORT_NOT_IMPLEMENTED, "type 0");
  FAILS(ep_api()->GetTensorDataType((ONNXTensorElementDataType)99, &other), ORT_NOT_IMPLEMENTED, "type 99");
  OK(ep_api()->KernelDefBuilder_AddTypeConstraint(b, "T", &type, 1));
  OK(ep_api()->KernelDefBuilder_AddTypeConstraint(b, "T", &type, 1));
  FAILS(ep_api()->KernelDefBuilder_AddTypeConstraint(b, "T", &type, 0), ORT_INVALID_ARGUMENT, "'num_types' is 0");
  OK(ep_api()->KernelDefBuilder_AddInputOutputAliases(b, from, to, 1));
  OK(ep_api()->KernelDefBuilder_AddInputOutputMutableAliases(b, from, to, 1));
  OK(ep_api()->KernelDefBuilder_Build(b, &d));
  ep_api()->ReleaseKernelDefBuilder(b);
  assert_string_equal(ep_api()->KernelDef_GetOperatorType(d), "Mul");
  assert_string_equal(ep_api()->KernelDef_GetDomain(d), "here");
  assert_string_equal(ep_api()->KernelDef_GetExecutionProvider(d), "provider");
  OK(ep_api()->KernelDef_GetSinceVersion(d, &since, &until));
  assert_int_equal(since, 7);
  assert_int_equal(until, 12);
  const struct {
    size_t i;
    OrtMemType in, out;
  } rows[] = {{0, OrtMemTypeDefault, OrtMemTypeDefault},
              {1, OrtMemTypeCPUInput, OrtMemTypeDefault},
              {2, OrtMemTypeDefault, OrtMemTypeCPUOutput},
              {1000, OrtMemTypeDefault, OrtMemTypeDefault}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OK(ep_api()->KernelDef_GetInputMemType(d, rows[i].i, &memory));
    assert_int_equal(memory, rows[i].in);
    OK(ep_api()->KernelDef_GetOutputMemType(d, rows[i].i, &memory));
    assert_int_equal(memory, rows[i].out);
  }
  OrtKernelRegistry *registry;
  OK(ep_api()->CreateKernelRegistry(&registry));
  FAILS(ep_api()->KernelRegistry_AddKernel(registry, d, NULL, NULL), ORT_INVALID_ARGUMENT, "kernel_create_func");
  ep_api()->ReleaseKernelRegistry(registry);
  ep_api()->ReleaseKernelDef(d);
}

/* ---- schemas ---- */

static size_t find(const char *const *names, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return i;
  return SIZE_MAX;
}

/* An operator as text: "since|in:T in:T|out:T|T=number of types". */
static void describe(const char *op, int version, const char *domain, char *out, size_t room) {
  OrtOpSchema *s = NULL;
  size_t n, used = 0;
  int since;
  OK(ep_api()->GetOpSchema(op, version, domain, &s));
  if (s == NULL) {
    snprintf(out, room, "none");
    return;
  }
  OK(ep_api()->OpSchema_GetSinceVersion(s, &since));
  used += (size_t)snprintf(out + used, room - used, "%d", since);
  for (int outputs = 0; outputs < 2; outputs++) {
    OK(outputs ? ep_api()->OpSchema_GetNumOutputs(s, &n) : ep_api()->OpSchema_GetNumInputs(s, &n));
    used += (size_t)snprintf(out + used, room - used, "|");
    for (size_t i = 0; i < n; i++) {
      const char *name, *variable = "-";
      const OrtOpSchemaTypeConstraint *c;
      OK(outputs ? ep_api()->OpSchema_GetOutputName(s, i, &name) : ep_api()->OpSchema_GetInputName(s, i, &name));
      OK(outputs ? ep_api()->OpSchema_GetOutputTypeConstraint(s, i, &c)
                 : ep_api()->OpSchema_GetInputTypeConstraint(s, i, &c));
      if (c != NULL) OK(ep_api()->OpSchemaTypeConstraint_GetTypeParamName(c, &variable));
      used += (size_t)snprintf(out + used, room - used, "%s%s:%s", i > 0 ? " " : "", name, variable);
    }
  }
  OK(ep_api()->OpSchema_GetTypeConstraintCount(s, &n));
  for (size_t i = 0; i < n; i++) {
    const OrtOpSchemaTypeConstraint *c;
    const char *name;
    const char *const *types;
    size_t n_types;
    OK(ep_api()->OpSchema_GetTypeConstraint(s, i, &c));
    OK(ep_api()->OpSchemaTypeConstraint_GetTypeParamName(c, &name));
    OK(ep_api()->OpSchemaTypeConstraint_GetAllowedTypes(c, &types, &n_types));
    used += (size_t)snprintf(out + used, room - used, "|%s=%zu", name, n_types);
  }
  ep_api()->ReleaseOpSchema(s);
}

static void test_schemas(void **state) {
  (void)state;
  static const struct {
    const char *op;
    int version;
    const char *domain, *want;
  } rows[] = {{"Nothing", 13, "", "none"},
              {"Add", 0, "", "none"},
              {"Add", 13, "nowhere", "none"},
              {"Add", 13, "", "13|A:T B:T|C:T|T=8"},
              {"Add", 17, "", "14|A:T B:T|C:T|T=12"},
              {"Conv", 13, "", "11|X:T W:T B:T|Y:T|T=3"},
              {"Resize", 13, "", "13|X:T1 roi:T2 scales:- sizes:-|Y:T1|T1=16|T2=3"},
              {"Concat", 13, "", "13|inputs:T|concat_result:T|T=16"},
              {"Loop", 13, "", "13|M:I cond:B v_initial:V|v_final_and_scan_outputs:V|V=30|I=1|B=1"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[1024];
    describe(rows[i].op, rows[i].version, rows[i].domain, text, sizeof text);
    assert_string_equal(text, rows[i].want);
  }
}

static void test_what_a_type_variable_is_about(void **state) {
  (void)state;
  OrtOpSchema *s;
  const OrtOpSchemaTypeConstraint *c;
  const size_t *in, *out;
  size_t n_in, n_out, n_types;
  const char *const *types, *name;
  OK(ep_api()->GetOpSchema("Add", 14, "", &s));
  OK(ep_api()->OpSchema_GetTypeConstraint(s, 0, &c));
  OK(ep_api()->OpSchemaTypeConstraint_GetInputIndices(c, &in, &n_in));
  OK(ep_api()->OpSchemaTypeConstraint_GetOutputIndices(c, &out, &n_out));
  assert_int_equal(n_in, 2);
  assert_int_equal(in[0], 0);
  assert_int_equal(in[1], 1);
  assert_int_equal(n_out, 1);
  assert_int_equal(out[0], 0);
  OK(ep_api()->OpSchemaTypeConstraint_GetAllowedTypes(c, &types, &n_types));
  assert_true(find(types, n_types, "tensor(float)") < n_types);
  assert_true(find(types, n_types, "tensor(bfloat16)") < n_types);
  assert_true(find(types, n_types, "tensor(string)") == SIZE_MAX);
  FAILS(ep_api()->OpSchema_GetTypeConstraint(s, 1, &c), ORT_INVALID_ARGUMENT, "index 1 out of range. Schema has 1");
  FAILS(ep_api()->OpSchema_GetInputName(s, 2, &name), ORT_INVALID_ARGUMENT, "index 2 out of range. Schema has 2");
  FAILS(ep_api()->OpSchema_GetOutputName(s, 1, &name), ORT_INVALID_ARGUMENT, "index 1 out of range. Schema has 1");
  ep_api()->ReleaseOpSchema(s);
}

/* ---- events of profilers ---- */

static void test_profiling_events(void **state) {
  (void)state;
  const char *const keys[] = {"k"}, *const values[] = {"v"};
  OrtProfilingEvent *e;
  OrtProfilingEventCategory category;
  const char *text;
  int64_t us;
  OK(ep_api()->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, 1, 2, "name", 3, 4, keys, values, 1, &e));
  OK(ep_api()->ProfilingEvent_GetCategory(e, &category));
  assert_int_equal(category, OrtProfilingEventCategory_KERNEL);
  OK(ep_api()->ProfilingEvent_GetName(e, &text));
  assert_string_equal(text, "name");
  OK(ep_api()->ProfilingEvent_GetTimestampUs(e, &us));
  assert_int_equal(us, 3);
  OK(ep_api()->ProfilingEvent_GetDurationUs(e, &us));
  assert_int_equal(us, 4);
  OK(ep_api()->ProfilingEvent_GetArgValue(e, "k", &text));
  assert_string_equal(text, "v");
  OK(ep_api()->ProfilingEvent_GetArgValue(e, "z", &text));
  assert_null(text);
  ep_api()->ReleaseProfilingEvent(e);
  FAILS(ep_api()->CreateProfilingEvent((OrtProfilingEventCategory)9, 1, 2, "n", 3, 4, NULL, NULL, 0, &e),
        ORT_INVALID_ARGUMENT, "category 9");
  FAILS(ep_api()->CreateProfilingEvent(OrtProfilingEventCategory_API, 1, 2, NULL, 3, 4, NULL, NULL, 0, &e),
        ORT_INVALID_ARGUMENT, "'event_name'");
  FAILS(ep_api()->CreateProfilingEvent(OrtProfilingEventCategory_API, 1, 2, "n", 3, 4, NULL, values, 1, &e),
        ORT_INVALID_ARGUMENT, "'arg_keys'");
}

/* ---- libraries that are none ---- */

static void test_libraries_that_do_not_load(void **state) {
  (void)state;
  OrtEnv *env = make_env();
  const OrtEpDevice *const *devices;
  size_t before, after;
  OK(ort()->GetEpDevices(env, &devices, &before));
  FAILS(ort()->RegisterExecutionProviderLibrary(env, "a", "/nowhere/lib.so"), ORT_FAIL,
        "Failed to load library /nowhere/lib.so with error: /nowhere/lib.so: cannot open");
  FAILS(ort()->RegisterExecutionProviderLibrary(env, "a", "nowhere.so"), ORT_FAIL, "nowhere.so: cannot open");
  FAILS(ort()->RegisterExecutionProviderLibrary(env, "a", "libm.so.6"), ORT_FAIL, "");
  FAILS(ort()->UnregisterExecutionProviderLibrary(env, "a"), ORT_FAIL,
        "Execution provider library: a was not registered.");
  OK(ort()->GetEpDevices(env, &devices, &after));
  assert_int_equal(before, after);
  if (ort_is_onyx()) { /* Microsoft's throws, or crashes */
    FAILS(ort()->RegisterExecutionProviderLibrary(NULL, "a", "b"), ORT_INVALID_ARGUMENT, "'env'");
    FAILS(ort()->RegisterExecutionProviderLibrary(env, NULL, "b"), ORT_INVALID_ARGUMENT, "'registration_name'");
    FAILS(ort()->RegisterExecutionProviderLibrary(env, "a", NULL), ORT_INVALID_ARGUMENT, "'path'");
    FAILS(ort()->UnregisterExecutionProviderLibrary(env, NULL), ORT_INVALID_ARGUMENT, "'registration_name'");
  }
  ort()->ReleaseEnv(env);
}

static void test_devices_of_options_are_checked(void **state) {
  (void)state;
  OrtEnv *env = make_env();
  OrtSessionOptions *o;
  OrtKeyValuePairs *config;
  const OrtEpDevice *const *devices;
  const char *const keys[] = {"Option"}, *const values[] = {"v"};
  size_t n;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->GetEpDevices(env, &devices, &n));
  FAILS(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, devices, 0, NULL, NULL, 0), ORT_INVALID_ARGUMENT,
        "one or more");
  OK(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, devices, 1, keys, values, 1));
  OK(ort()->GetSessionOptionsConfigEntries(o, &config));
  assert_string_equal(ort()->GetKeyValue(config, "ep.cpuexecutionprovider.Option"), "v");
  ort()->ReleaseKeyValuePairs(config);
  OK(ort()->SessionOptionsSetEpSelectionPolicy(o, OrtExecutionProviderDevicePolicy_PREFER_NPU));
  if (ort_is_onyx()) { /* Microsoft's crashes */
    const OrtEpDevice *const none[] = {NULL};
    FAILS(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, NULL, 1, NULL, NULL, 0), ORT_INVALID_ARGUMENT,
          "'ep_devices'");
    FAILS(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, none, 1, NULL, NULL, 0), ORT_INVALID_ARGUMENT,
          "'ep_devices[0]'");
    FAILS(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, devices, 1, NULL, values, 1), ORT_INVALID_ARGUMENT,
          "'ep_option_keys'");
    FAILS(ort()->SessionOptionsSetEpSelectionPolicy(NULL, OrtExecutionProviderDevicePolicy_DEFAULT),
          ORT_INVALID_ARGUMENT, "session_options");
  }
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_cpu_is_the_first_device),
      cmocka_unit_test(test_the_cpu_provider_is_listed),
      cmocka_unit_test(test_why_a_device_does_not_fit),
      cmocka_unit_test(test_virtual_devices),
      cmocka_unit_test(test_a_definition_begins_empty),
      cmocka_unit_test(test_a_definition_is_built),
      cmocka_unit_test(test_schemas),
      cmocka_unit_test(test_what_a_type_variable_is_about),
      cmocka_unit_test(test_profiling_events),
      cmocka_unit_test(test_libraries_that_do_not_load),
      cmocka_unit_test(test_devices_of_options_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
