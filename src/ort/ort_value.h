/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_value.h - OrtValue: a handle on an ox_value, or for the time of a call on a tensor that somebody else has. */
#ifndef OX_ORT_VALUE_H
#define OX_ORT_VALUE_H

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"
#include "ort/ort_memory.h"

struct OrtValue {
  const ox_tensor *tensor;     /* the content; never NULL */
  ox_value *value;             /* what owns it, counted; NULL: borrowed (inputs and outputs of kernels) */
  const OrtMemoryInfo *memory; /* where a tensor's data lies; NULL: ort_cpu_memory() */
  OrtKernelContext *kernel;    /* a kernel's output: ort_kernel_text (ort_kernel.h) has the memory for its strings */
};

/* A new handle that takes |value| over, also on failure. */
OX_NODISCARD OrtStatus *ort_value_adopt(ox_value *value, OrtValue **out);
/* A second handle on the same content. */
OX_NODISCARD OrtStatus *ort_value_share(const OrtValue *value, OrtValue **out);

/* Element types have other numbers here from 24 on. UNDEFINED for what the other side lacks. */
ONNXTensorElementDataType ort_type_from(uint32_t dtype);
uint32_t ort_type_to(ONNXTensorElementDataType type);
ONNXType ort_kind_from(uint32_t kind);

#endif
