/* SPDX-License-Identifier: Apache-2.0
 * CopyTensors in host memory, which Microsoft's CPU library cannot do; and OrtInteropApi where nothing is imported. */
#include "ort/models.h"
#include "ort/values.h"

static void test_tensors_are_copied(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  OrtEnv *env = test_env();
  float a[4] = {1, 2, 3, 4}, b[4] = {0};
  static const char *const words[] = {"x", "", "three"}, *const none[] = {"", "", ""};
  const int64_t dims[] = {2, 2};
  OrtValue *from[] = {tensor_over(F32, dims, 2, a, sizeof a), strings_of(words, 3)};
  OrtValue *to[] = {tensor_over(F32, dims, 2, b, sizeof b), strings_of(none, 3)};
  const OrtValue *const sources[] = {from[0], from[1]};
  OK(ort()->CopyTensors(env, sources, to, NULL, 2));
  assert_memory_equal(b, a, sizeof a);
  assert_string_equal(text_of(to[1]), "[x][][three]");
  OK(ort()->CopyTensors(env, sources, from, NULL, 2)); /* onto themselves */
  assert_string_equal(text_of(from[1]), "[x][][three]");
  for (int i = 0; i < 2; i++) ort()->ReleaseValue(from[i]), ort()->ReleaseValue(to[i]);
  ort()->ReleaseEnv(env);
}

static void test_what_is_not_copied(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  float a[4] = {0};
  OrtValue *f = tensor_over(F32, (const int64_t[]){2, 2}, 2, a, sizeof a), *list;
  OrtValue *flat = tensor_over(F32, (const int64_t[]){4}, 1, a, sizeof a);
  OrtValue *i = tensor_over(I32, (const int64_t[]){2, 2}, 2, a, sizeof a);
  const OrtValue *const one = f;
  OK(ort()->CreateValue(&one, 1, ONNX_TYPE_SEQUENCE, &list));
  const OrtValue *const sequence = list;
  FAILS(ort()->CopyTensors(env, &sequence, &f, NULL, 1), ORT_INVALID_ARGUMENT, "Tensor");
  FAILS(ort()->CopyTensors(env, &one, &f, NULL, 0), ORT_INVALID_ARGUMENT, "'num_tensors'");
  FAILS(ort()->CopyTensors(env, NULL, &f, NULL, 1), ORT_INVALID_ARGUMENT, "'src_tensors'");
  FAILS(ort()->CopyTensors(env, &one, NULL, NULL, 1), ORT_INVALID_ARGUMENT, "'dst_tensors'");
  if (ort_is_onyx()) {
    OrtValue *nobody = NULL;
    FAILS(ort()->CopyTensors(env, &one, &flat, NULL, 1), ORT_INVALID_ARGUMENT, "element type or shape differ");
    FAILS(ort()->CopyTensors(env, &one, &i, NULL, 1), ORT_INVALID_ARGUMENT, "element type or shape differ");
    FAILS(ort()->CopyTensors(env, &one, &nobody, NULL, 1), ORT_INVALID_ARGUMENT, "'dst_tensors' has NULL at 0");
    FAILS(ort()->CopyTensors(NULL, &one, &f, NULL, 1), ORT_INVALID_ARGUMENT, "'env'");
  }
  ort()->ReleaseValue(f), ort()->ReleaseValue(flat), ort()->ReleaseValue(i), ort()->ReleaseValue(list);
  ort()->ReleaseEnv(env);
}

static void test_the_memory_of_a_device_that_nobody_has(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  float a[1] = {0};
  OrtMemoryInfo *cuda;
  OrtValue *there, *here = tensor_over(F32, NULL, 0, a, sizeof a);
  OK(ort()->CreateMemoryInfo("Cuda", OrtDeviceAllocator, 0, OrtMemTypeDefault, &cuda));
  OK(ort()->CreateTensorWithDataAsOrtValue(cuda, a, sizeof a, NULL, 0, F32, &there));
  const OrtValue *const from = there;
  FAILS(ort()->CopyTensors(env, &from, &here, NULL, 1), ORT_NOT_IMPLEMENTED, "memory 'Cuda'");
  ort()->ReleaseValue(there), ort()->ReleaseValue(here);
  ort()->ReleaseMemoryInfo(cuda);
  ort()->ReleaseEnv(env);
}

static void test_nothing_is_imported(void **state) {
  (void)state;
  const OrtInteropApi *interop = ort()->GetInteropApi();
  OrtEnv *env = test_env();
  const OrtEpDevice *const *devices;
  size_t n;
  bool can = true;
  OK(ort()->GetEpDevices(env, &devices, &n));
  OrtExternalResourceImporter *importer = (OrtExternalResourceImporter *)&n;
  OK(interop->CreateExternalResourceImporterForDevice(devices[0], &importer));
  assert_null(importer);
  FAILS(interop->CreateExternalResourceImporterForDevice(NULL, &importer), ORT_INVALID_ARGUMENT, "'ep_device'");
  FAILS(interop->CanImportMemory(NULL, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP, &can), ORT_INVALID_ARGUMENT,
        "'importer'");
  FAILS(interop->ImportMemory(NULL, NULL, NULL), ORT_INVALID_ARGUMENT, "'importer'");
  FAILS(interop->CreateTensorFromMemory(NULL, NULL, NULL, NULL), ORT_INVALID_ARGUMENT, "'importer'");
  FAILS(interop->CanImportSemaphore(NULL, ORT_EXTERNAL_SEMAPHORE_D3D12_FENCE, &can), ORT_INVALID_ARGUMENT,
        "'importer'");
  FAILS(interop->ImportSemaphore(NULL, NULL, NULL), ORT_INVALID_ARGUMENT, "'importer'");
  FAILS(interop->WaitSemaphore(NULL, NULL, NULL, 0), ORT_INVALID_ARGUMENT, "'importer'");
  FAILS(interop->SignalSemaphore(NULL, NULL, NULL, 0), ORT_INVALID_ARGUMENT, "'importer'");
  const OrtGraphicsInteropConfig config = {.version = ORT_API_VERSION};
  FAILS(interop->InitGraphicsInteropForEpDevice(NULL, &config), ORT_INVALID_ARGUMENT, "'ep_device'");
  FAILS(interop->InitGraphicsInteropForEpDevice(devices[0], NULL), ORT_INVALID_ARGUMENT, "'config'");
  FAILS(interop->InitGraphicsInteropForEpDevice(devices[0], &config), ORT_NOT_IMPLEMENTED, "graphics");
  FAILS(interop->DeinitGraphicsInteropForEpDevice(NULL), ORT_INVALID_ARGUMENT, "'ep_device'");
  FAILS(interop->DeinitGraphicsInteropForEpDevice(devices[0]), ORT_NOT_IMPLEMENTED, "graphics");
  interop->ReleaseExternalResourceImporter(NULL);
  interop->ReleaseExternalMemoryHandle(NULL);
  interop->ReleaseExternalSemaphoreHandle(NULL);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tensors_are_copied),
      cmocka_unit_test(test_what_is_not_copied),
      cmocka_unit_test(test_the_memory_of_a_device_that_nobody_has),
      cmocka_unit_test(test_nothing_is_imported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
