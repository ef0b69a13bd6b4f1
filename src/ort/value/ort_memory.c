/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_memory.c - OrtMemoryInfo: a name, and the kind of memory on the kind of device that it stands for. */
#include "ort/value/ort_memory.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"

/* ---- those of the CPU: most there are, so that tensors point to them instead of having a copy ---- */

#define CPU(allocator_, mem_) \
  { .name = "Cpu", .allocator = allocator_, .mem = mem_ }
static const OrtMemoryInfo cpu[] = {
    CPU(OrtArenaAllocator, OrtMemTypeDefault),   CPU(OrtDeviceAllocator, OrtMemTypeDefault),
    CPU(OrtArenaAllocator, OrtMemTypeCPUInput),  CPU(OrtDeviceAllocator, OrtMemTypeCPUInput),
    CPU(OrtArenaAllocator, OrtMemTypeCPUOutput), CPU(OrtDeviceAllocator, OrtMemTypeCPUOutput),
};

const OrtMemoryInfo *ort_cpu_memory(void) { return &cpu[0]; }
const OrtMemoryInfo *ort_heap_memory(void) { return &cpu[1]; }

bool ort_memory_equal(const OrtMemoryInfo *a, const OrtMemoryInfo *b) {
  return a->allocator == b->allocator && a->mem == b->mem && a->id == b->id && a->device == b->device &&
         a->device_mem == b->device_mem && a->vendor_id == b->vendor_id && a->alignment == b->alignment &&
         strcmp(a->name, b->name) == 0;
}

const OrtMemoryInfo *ort_static_memory(const OrtMemoryInfo *info) {
  for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++)
    if (info == &cpu[i] || ort_memory_equal(info, &cpu[i])) return &cpu[i];
  return NULL;
}

bool ort_memory_is_cpu(const OrtMemoryInfo *info) {
  return info == NULL || info->device == OrtMemoryInfoDeviceType_CPU ||
         info->device_mem == OrtDeviceMemoryType_HOST_ACCESSIBLE;
}

OrtMemoryInfo *ort_memory_copy(const OrtMemoryInfo *info) {
  OrtMemoryInfo *copy = malloc(sizeof *copy);
  if (copy != NULL) *copy = *info;
  return copy;
}

/* ---- making them ---- */

/* The names that CreateMemoryInfo knows; those of buffers in WebGPU and WebNN have a shorter name, too. Vendors are
 * those of PCI. */
static const struct {
  const char *name;
  const char *long_name;
  OrtMemoryInfoDeviceType device;
  OrtDeviceMemoryType mem;
  uint32_t vendor;
} devices[] = {
    {"Cuda", NULL, OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0x10de},
    {"CudaPinned", NULL, OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_HOST_ACCESSIBLE, 0x10de},
    {"DML", NULL, OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0x1414},
    {"Hip", NULL, OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0x1002},
    {"HipPinned", NULL, OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_HOST_ACCESSIBLE, 0x1002},
    {"OpenVINO_GPU", NULL, OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0x8086},
    {"OpenVINO_RT_NPU", NULL, OrtMemoryInfoDeviceType_NPU, OrtDeviceMemoryType_DEFAULT, 0x8086},
    {"WebGPU_Buf", "WebGPU_Buffer", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0},
    {"WebNN_Ten", "WebNN_Tensor", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0},
    {"QnnHtpShared", NULL, OrtMemoryInfoDeviceType_CPU, OrtDeviceMemoryType_HOST_ACCESSIBLE, 0x5143},
};

static OrtStatus *give(const OrtMemoryInfo *info, OrtMemoryInfo **out) {
  *out = ort_memory_copy(info);
  return *out != NULL ? NULL : ort_out_of_memory();
}

OrtStatus *ort_CreateMemoryInfo(const char *name, OrtAllocatorType allocator, int id, OrtMemType mem,
                                OrtMemoryInfo **out) {
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(name);
  OrtMemoryInfo info = {.allocator = allocator, .mem = mem};
  if (strcmp(name, "Cpu") == 0) {
    info.name[0] = 'C', info.name[1] = 'p', info.name[2] = 'u';
    return give(&info, out);
  }
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    bool same = strcmp(name, devices[i].name) == 0;
    if (!same && (devices[i].long_name == NULL || strcmp(name, devices[i].long_name) != 0)) continue;
    memcpy(info.name, devices[i].name, strlen(devices[i].name) + 1);
    info.id = id, info.device = devices[i].device, info.device_mem = devices[i].mem;
    info.vendor_id = devices[i].vendor;
    return give(&info, out);
  }
  return ort_fail(ORT_INVALID_ARGUMENT,
                  "CreateMemoryInfo: 'name' is '%s': no such device; CreateMemoryInfo_V2 takes "
                  "any name",
                  name);
}

OrtStatus *ort_CreateMemoryInfo_V2(const char *name, OrtMemoryInfoDeviceType device, uint32_t vendor_id,
                                   int32_t device_id, OrtDeviceMemoryType mem, size_t alignment,
                                   OrtAllocatorType allocator, OrtMemoryInfo **out) {
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(name);
  OrtMemoryInfo info = {.allocator = allocator,
                        .id = device_id,
                        .device = device,
                        .device_mem = mem,
                        .vendor_id = vendor_id,
                        .alignment = alignment};
  size_t n = strlen(name);
  if (n >= sizeof info.name)
    return ort_fail(ORT_INVALID_ARGUMENT, "CreateMemoryInfo_V2: 'name' has %zu bytes, at most %zu are possible", n,
                    sizeof info.name - 1);
  if (device < OrtMemoryInfoDeviceType_CPU || device > OrtMemoryInfoDeviceType_NPU)
    return ort_fail(ORT_INVALID_ARGUMENT, "CreateMemoryInfo_V2: 'device_type' is %d: no such type", (int)device);
  memcpy(info.name, name, n + 1);
  info.mem = mem == OrtDeviceMemoryType_HOST_ACCESSIBLE ? OrtMemTypeCPU : OrtMemTypeDefault;
  return give(&info, out);
}

OrtStatus *ort_CreateCpuMemoryInfo(OrtAllocatorType allocator, OrtMemType mem, OrtMemoryInfo **out) {
  return ort_CreateMemoryInfo("Cpu", allocator, 0, mem, out);
}

void ort_ReleaseMemoryInfo(OrtMemoryInfo *info) { free(info); }

/* ---- looking at them ---- */

OrtStatus *ort_CompareMemoryInfo(const OrtMemoryInfo *info1, const OrtMemoryInfo *info2, int *out) {
  ORT_NEED(info1);
  ORT_NEED(info2);
  ORT_NEED(out);
  *out = ort_memory_equal(info1, info2) ? 0 : -1;
  return NULL;
}

OrtStatus *ort_MemoryInfoGetName(const OrtMemoryInfo *info, const char **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->name;
  return NULL;
}

OrtStatus *ort_MemoryInfoGetId(const OrtMemoryInfo *info, int *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->id;
  return NULL;
}

OrtStatus *ort_MemoryInfoGetMemType(const OrtMemoryInfo *info, OrtMemType *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->mem;
  return NULL;
}

OrtStatus *ort_MemoryInfoGetType(const OrtMemoryInfo *info, OrtAllocatorType *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->allocator;
  return NULL;
}

/* These three have no status to return: what there is not is on the CPU. */
void ort_MemoryInfoGetDeviceType(const OrtMemoryInfo *info, OrtMemoryInfoDeviceType *out) {
  if (out != NULL) *out = info != NULL ? info->device : OrtMemoryInfoDeviceType_CPU;
}

OrtDeviceMemoryType ort_MemoryInfoGetDeviceMemType(const OrtMemoryInfo *info) {
  return info != NULL ? info->device_mem : OrtDeviceMemoryType_DEFAULT;
}

uint32_t ort_MemoryInfoGetVendorId(const OrtMemoryInfo *info) { return info != NULL ? info->vendor_id : 0; }
