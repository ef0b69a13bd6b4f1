/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_memory.h - where memory lies, and allocators. */
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
/* What the default allocator gives: "Cpu", device. Static. */
const OrtMemoryInfo *ort_heap_memory(void);
/* A static info that equals |info|, or NULL. */
const OrtMemoryInfo *ort_static_memory(const OrtMemoryInfo *info);
bool ort_memory_equal(const OrtMemoryInfo *a, const OrtMemoryInfo *b);
/* Memory that the CPU reads and writes; NULL is, too. */
bool ort_memory_is_cpu(const OrtMemoryInfo *info);
/* A copy that ReleaseMemoryInfo frees; NULL: out of memory. */
OrtMemoryInfo *ort_memory_copy(const OrtMemoryInfo *info);

/* malloc and free under the ABI's table, aligned to 64; no bytes are NULL. Static. */
OrtAllocator *ort_default_allocator(void);
/* |bytes| of |allocator|; none are NULL, too. */
OrtStatus *ort_allocate(OrtAllocator *allocator, size_t bytes, void **out);
/* A copy of |text| in memory of |allocator|. */
OrtStatus *ort_copy_text(OrtAllocator *allocator, const char *text, char **out);

#endif
