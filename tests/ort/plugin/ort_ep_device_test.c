/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_device_test.c - what the fake library has beside providers: a device with memory and streams,
 * memory of other APIs, operators of its own, profilers, judgements. */
#define _XOPEN_SOURCE 700 /* for fake_client.h */
#include "fake_client.h"

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

static void test_how_much_memory_a_device_has(void **state) {
  (void)state;
  OrtEnv *env = begin();
  size_t a = 7, b = 8;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  const OrtEpDevice *device = device_of(env, "FakeDevice");
  OK(ort()->EpDevice_GetMemoryCapacity(device, OrtDeviceMemoryType_DEFAULT, &a, &b));
  assert_int_equal(a, 1 << 26);
  assert_int_equal(b, strlen("FakeDevice"));
  OK(ort()->EpDevice_GetMemoryCapacity(device, OrtDeviceMemoryType_HOST_ACCESSIBLE, NULL, &b));
  assert_int_equal(b, strlen("FakeDevice") + 5);
  OK(ort()->EpDevice_GetMemoryCapacity(device, 999, &a, NULL)); /* passed on as it is */
  assert_int_equal(a, (1 << 26) + 999);
  fake()->fail = "GetDeviceMemoryCapacity";
  FAILS(ort()->EpDevice_GetMemoryCapacity(device, 0, &a, &b), ORT_EP_FAIL, "GetDeviceMemoryCapacity fails on purpose");
  assert_int_equal(a, (1 << 26) + 999); /* as they were */
  assert_int_equal(b, strlen("FakeDevice") + 5);
  FAILS(ort()->EpDevice_GetMemoryCapacity(device, 0, NULL, NULL), ORT_INVALID_ARGUMENT, "");
  FAILS(ort()->EpDevice_GetMemoryCapacity(NULL, 0, &a, &b), ORT_INVALID_ARGUMENT, "ep_device");
  FAILS(ort()->EpDevice_GetMemoryCapacity(device_of(env, "FakeKernels"), 0, &a, &b), ORT_NOT_IMPLEMENTED, "");
  FAILS(ort()->EpDevice_GetMemoryCapacity(device_of(env, "CPUExecutionProvider"), 0, &a, &b), ORT_NOT_IMPLEMENTED, "");
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_on_a_device),
      cmocka_unit_test(test_how_much_memory_a_device_has),
      cmocka_unit_test(test_streams_of_a_device),
      cmocka_unit_test(test_memory_of_other_apis),
      cmocka_unit_test(test_virtual_devices_are_allowed_by_name),
      cmocka_unit_test(test_operators_of_the_library),
      cmocka_unit_test(test_events_of_profilers_are_in_the_profile),
      cmocka_unit_test(test_compatibility),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
