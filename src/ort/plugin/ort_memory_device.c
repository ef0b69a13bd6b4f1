/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_memory_device.c - an OrtMemoryDevice is an OrtMemoryInfo of which only the place counts: kind of
 * device, kind of memory, vendor, number. */
#include "ort/ort_api.h"
#include "ort/value/ort_memory.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"
#include "ort/plugin/ort_memory_device.h"

const OrtMemoryDevice *ort_memory_device(const OrtMemoryInfo *info) { return (const OrtMemoryDevice *)info; }
const OrtMemoryInfo *ort_memory_of_device(const OrtMemoryDevice *device) { return (const OrtMemoryInfo *)device; }

const OrtMemoryDevice *ort_ep_MemoryInfo_GetMemoryDevice(const OrtMemoryInfo *memory_info) {
  return ort_memory_device(memory_info);
}

const OrtMemoryDevice *ort_ep_Value_GetMemoryDevice(const OrtValue *value) {
  if (value == NULL) return NULL;
  return ort_memory_device(value->memory != NULL ? value->memory : ort_cpu_memory());
}

OrtMemoryInfoDeviceType ort_ep_MemoryDevice_GetDeviceType(const OrtMemoryDevice *memory_device) {
  return memory_device != NULL ? ort_memory_of_device(memory_device)->device : OrtMemoryInfoDeviceType_CPU;
}

OrtDeviceMemoryType ort_ep_MemoryDevice_GetMemoryType(const OrtMemoryDevice *memory_device) {
  return memory_device != NULL ? ort_memory_of_device(memory_device)->device_mem : OrtDeviceMemoryType_DEFAULT;
}

uint32_t ort_ep_MemoryDevice_GetVendorId(const OrtMemoryDevice *memory_device) {
  return memory_device != NULL ? ort_memory_of_device(memory_device)->vendor_id : 0;
}

uint32_t ort_ep_MemoryDevice_GetDeviceId(const OrtMemoryDevice *memory_device) {
  return memory_device != NULL ? (uint32_t)ort_memory_of_device(memory_device)->id : 0;
}

bool ort_ep_MemoryDevice_AreEqual(const OrtMemoryDevice *a, const OrtMemoryDevice *b) {
  if (a == NULL || b == NULL) return a == b;
  const OrtMemoryInfo *x = ort_memory_of_device(a), *y = ort_memory_of_device(b);
  return x->device == y->device && x->device_mem == y->device_mem && x->vendor_id == y->vendor_id && x->id == y->id;
}
