/* SPDX-License-Identifier: Apache-2.0
 * OrtMemoryInfo: what each name stands for, what makes two equal, what is refused. */
#include "ort/client.h"

typedef struct place {
  const char *name;
  int id, mem, allocator, device, device_mem;
  uint32_t vendor;
} place;

static void expect(const OrtMemoryInfo *info, const place *want) {
  const char *name;
  int id;
  OrtMemType mem;
  OrtAllocatorType allocator;
  OrtMemoryInfoDeviceType device;
  OK(ort()->MemoryInfoGetName(info, &name));
  OK(ort()->MemoryInfoGetId(info, &id));
  OK(ort()->MemoryInfoGetMemType(info, &mem));
  OK(ort()->MemoryInfoGetType(info, &allocator));
  ort()->MemoryInfoGetDeviceType(info, &device);
  assert_string_equal(name, want->name);
  assert_int_equal(id, want->id);
  assert_int_equal(mem, want->mem);
  assert_int_equal(allocator, want->allocator);
  assert_int_equal(device, want->device);
  assert_int_equal(ort()->MemoryInfoGetDeviceMemType(info), want->device_mem);
  assert_int_equal(ort()->MemoryInfoGetVendorId(info), want->vendor);
}

static void test_names_stand_for_devices(void **state) {
  (void)state;
  enum { CPU = OrtMemoryInfoDeviceType_CPU, GPU = OrtMemoryInfoDeviceType_GPU, NPU = OrtMemoryInfoDeviceType_NPU };
  enum { HOST = OrtDeviceMemoryType_HOST_ACCESSIBLE };
  static const struct {
    const char *name;
    place want;
  } rows[] = {
      {"Cpu", {"Cpu", 0, 0, 0, CPU, 0, 0}}, /* there is one CPU, whatever the number */
      {"Cuda", {"Cuda", 3, 0, 0, GPU, 0, 0x10de}},
      {"CudaPinned", {"CudaPinned", 3, 0, 0, GPU, HOST, 0x10de}},
      {"DML", {"DML", 3, 0, 0, GPU, 0, 0x1414}},
      {"Hip", {"Hip", 3, 0, 0, GPU, 0, 0x1002}},
      {"HipPinned", {"HipPinned", 3, 0, 0, GPU, HOST, 0x1002}},
      {"OpenVINO_GPU", {"OpenVINO_GPU", 3, 0, 0, GPU, 0, 0x8086}},
      {"OpenVINO_RT_NPU", {"OpenVINO_RT_NPU", 3, 0, 0, NPU, 0, 0x8086}},
      {"WebGPU_Buffer", {"WebGPU_Buf", 3, 0, 0, GPU, 0, 0}},
      {"WebGPU_Buf", {"WebGPU_Buf", 3, 0, 0, GPU, 0, 0}},
      {"WebNN_Tensor", {"WebNN_Ten", 3, 0, 0, GPU, 0, 0}},
      {"QnnHtpShared", {"QnnHtpShared", 3, 0, 0, CPU, HOST, 0x5143}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OrtMemoryInfo *info;
    OK(ort()->CreateMemoryInfo(rows[i].name, OrtDeviceAllocator, 3, OrtMemTypeDefault, &info));
    expect(info, &rows[i].want);
    ort()->ReleaseMemoryInfo(info);
  }
  static const char *const unknown[] = {"", "cpu", "CPU", "cuda", "HIP", "Cann", "Npu", "WebNN_Buf"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    OrtMemoryInfo *info;
    FAILS(ort()->CreateMemoryInfo(unknown[i], OrtDeviceAllocator, 0, OrtMemTypeDefault, &info), ORT_INVALID_ARGUMENT,
          "CreateMemoryInfo_V2");
  }
}

static void test_version_2_takes_any_name(void **state) {
  (void)state;
  OrtMemoryInfo *info;
  OK(ort()->CreateMemoryInfo_V2("My", OrtMemoryInfoDeviceType_NPU, 0xabcd, 2, OrtDeviceMemoryType_HOST_ACCESSIBLE, 256,
                                OrtArenaAllocator, &info));
  expect(info, &(place){"My", 2, OrtMemTypeCPU, OrtArenaAllocator, OrtMemoryInfoDeviceType_NPU,
                        OrtDeviceMemoryType_HOST_ACCESSIBLE, 0xabcd});
  ort()->ReleaseMemoryInfo(info);
  OK(ort()->CreateMemoryInfo_V2("", OrtMemoryInfoDeviceType_CPU, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                OrtReadOnlyAllocator, &info));
  expect(info, &(place){"", 0, 0, OrtReadOnlyAllocator, 0, 0, 0});
  ort()->ReleaseMemoryInfo(info);
  FAILS(ort()->CreateMemoryInfo_V2("My", (OrtMemoryInfoDeviceType)9, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                   OrtDeviceAllocator, &info),
        ORT_INVALID_ARGUMENT, "'device_type' is 9");
  if (!ort_is_onyx()) return; /* Microsoft's has no limit */
  char longest[65];
  memset(longest, 'x', 64), longest[64] = 0;
  FAILS(ort()->CreateMemoryInfo_V2(longest, OrtMemoryInfoDeviceType_CPU, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                   OrtDeviceAllocator, &info),
        ORT_INVALID_ARGUMENT, "'name' has 64 bytes");
  OK(ort()->CreateMemoryInfo_V2(longest + 1, OrtMemoryInfoDeviceType_CPU, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                OrtDeviceAllocator, &info));
  ort()->ReleaseMemoryInfo(info);
}

static void test_all_members_count_when_two_are_compared(void **state) {
  (void)state;
  OrtMemoryInfo *base, *other;
  int result = 7;
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &base));
  OK(ort()->CreateMemoryInfo("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault, &other));
  OK(ort()->CompareMemoryInfo(base, other, &result));
  assert_int_equal(result, 0);
  ort()->ReleaseMemoryInfo(other);
  static const struct {
    const char *name;
    OrtAllocatorType allocator;
    OrtMemType mem;
  } rows[] = {{"Cpu", OrtArenaAllocator, OrtMemTypeDefault},
              {"Cpu", OrtDeviceAllocator, OrtMemTypeCPUInput},
              {"Cpu", OrtDeviceAllocator, OrtMemTypeCPUOutput},
              {"Cuda", OrtDeviceAllocator, OrtMemTypeDefault}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OK(ort()->CreateMemoryInfo(rows[i].name, rows[i].allocator, 0, rows[i].mem, &other));
    OK(ort()->CompareMemoryInfo(base, other, &result));
    assert_int_equal(result, -1);
    ort()->ReleaseMemoryInfo(other);
  }
  ort()->ReleaseMemoryInfo(base);
  ort()->ReleaseMemoryInfo(NULL);
}

static void test_null_is_an_error_that_names_the_argument(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's crashes */
  OrtMemoryInfo *info;
  const char *name;
  int i;
  FAILS(ort()->CreateMemoryInfo(NULL, 0, 0, 0, &info), ORT_INVALID_ARGUMENT, "CreateMemoryInfo: 'name'");
  FAILS(ort()->CreateMemoryInfo("Cpu", 0, 0, 0, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->CreateMemoryInfo_V2(NULL, 0, 0, 0, 0, 0, 0, &info), ORT_INVALID_ARGUMENT, "'name'");
  FAILS(ort()->CreateMemoryInfo_V2("x", 0, 0, 0, 0, 0, 0, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->CreateCpuMemoryInfo(0, 0, NULL), ORT_INVALID_ARGUMENT, "'out'");
  OK(ort()->CreateCpuMemoryInfo(0, 0, &info));
  FAILS(ort()->CompareMemoryInfo(NULL, info, &i), ORT_INVALID_ARGUMENT, "'info1'");
  FAILS(ort()->CompareMemoryInfo(info, NULL, &i), ORT_INVALID_ARGUMENT, "'info2'");
  FAILS(ort()->CompareMemoryInfo(info, info, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->MemoryInfoGetName(NULL, &name), ORT_INVALID_ARGUMENT, "'info'");
  FAILS(ort()->MemoryInfoGetName(info, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->MemoryInfoGetId(NULL, &i), ORT_INVALID_ARGUMENT, "'info'");
  FAILS(ort()->MemoryInfoGetId(info, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->MemoryInfoGetMemType(NULL, (OrtMemType *)&i), ORT_INVALID_ARGUMENT, "'info'");
  FAILS(ort()->MemoryInfoGetMemType(info, NULL), ORT_INVALID_ARGUMENT, "'out'");
  FAILS(ort()->MemoryInfoGetType(NULL, (OrtAllocatorType *)&i), ORT_INVALID_ARGUMENT, "'info'");
  FAILS(ort()->MemoryInfoGetType(info, NULL), ORT_INVALID_ARGUMENT, "'out'");
  ort()->MemoryInfoGetDeviceType(NULL, NULL);
  assert_int_equal(ort()->MemoryInfoGetDeviceMemType(NULL), OrtDeviceMemoryType_DEFAULT);
  assert_int_equal(ort()->MemoryInfoGetVendorId(NULL), 0);
  ort()->ReleaseMemoryInfo(info);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_stand_for_devices),
      cmocka_unit_test(test_version_2_takes_any_name),
      cmocka_unit_test(test_all_members_count_when_two_are_compared),
      cmocka_unit_test(test_null_is_an_error_that_names_the_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
