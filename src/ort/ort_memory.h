/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_memory.h - where memory lies, and allocators. */
#ifndef OX_ORT_MEMORY_H
#define OX_ORT_MEMORY_H

#include "onyx/ort_abi.h"

struct OrtMemoryInfo {
  char name[64];
  OrtAllocatorType allocator;
  OrtMemType mem;
  int id;
  OrtMemoryInfoDeviceType device; /* CPU, GPU, NPU, FPGA */
  OrtDeviceMemoryType device_mem;
  uint32_t vendor_id;
  size_t alignment;
};

/* What outputs and tensors of the library have: "Cpu", arena. Static. */
const OrtMemoryInfo *ort_cpu_memory(void);
/* The same place by comparing name, kind, id and memory; NULL is the CPU. */
bool ort_memory_is_cpu(const OrtMemoryInfo *info);
/* malloc and free under the ABI's table, aligned to 64. Static. */
OrtAllocator *ort_default_allocator(void);
/* A copy of |text| in memory of |allocator|. */
OrtStatus *ort_copy_text(OrtAllocator *allocator, const char *text, char **out);

#endif
