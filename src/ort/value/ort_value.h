/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_value.h - OrtValue: a handle on an ox_value, or for the time of a call on a tensor that somebody else
 * has. Values made here are one block: the ox_value, its handle, and what is its own (ort_value_create). */
#ifndef OX_ORT_VALUE_H
#define OX_ORT_VALUE_H

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"
#include "ort/value/ort_memory.h"

/* The characters of a string tensor that may be written. */
typedef struct ort_strings {
  char *block; /* what was filled in at once; single strings that were set later have memory of their own */
  size_t block_bytes;
} ort_strings;

struct OrtValue {
  const ox_tensor *tensor;     /* the content; never NULL */
  ox_value *value;             /* what owns it, counted; NULL: borrowed (inputs and outputs of kernels) */
  const OrtMemoryInfo *memory; /* where a tensor's data lies; NULL: ort_cpu_memory() */
  OrtKernelContext *kernel;    /* a kernel's output: ort_kernel_text (ort_kernel.h) has the memory for its strings */
  ort_strings *strings;        /* of a string tensor; NULL: they are the engine's, writing makes a copy first */
  struct ort_sparse *sparse;   /* what a sparse tensor was filled with; NULL: the engine's */
  ox_value *home;              /* in whose room this handle lies; NULL: malloc's, or whoever lends it */
};

/* Whether the data lies where the CPU does not reach it. */
static inline bool ort_value_is_elsewhere(const OrtValue *v) {
  const OrtMemoryInfo *m = v->memory;
  return m != NULL && m->device != OrtMemoryInfoDeviceType_CPU && !ort_memory_is_cpu(m);
}

/* Whether the engine knows where |v| lies on a device, so that runs and copies can go there. */
static inline bool ort_value_is_placed(const OrtValue *v) {
  return v->value != NULL && ox_value_memory(v->value) != NULL;
}

/* A new handle that takes |value| over, also on failure. */
OX_NODISCARD OrtStatus *ort_value_adopt(ox_value *value, OrtValue **out);
/* A second handle on the same content. */
OX_NODISCARD OrtStatus *ort_value_share(const OrtValue *value, OrtValue **out);

/* |value| shows what |content|, a handle that this releases, shows. Other handles on what it was stay as they are. For
 * outputs of a run that cannot be written into a given value (strings, sequences, maps). */
void ort_value_assign(OrtValue *value, OrtValue *content);

/* A value that is what |t| says, with |extra| zeroed bytes of its own (ort_value_extra). |release| (may be NULL) gets
 * the handle when the last user of the content is done. */
OX_NODISCARD OrtStatus *ort_value_create(const ox_tensor *t, size_t extra, void (*release)(void *handle),
                                         OrtValue **out);
void *ort_value_extra(OrtValue *value);

/* A tensor in memory of |allocator|, whose data is not set; strings are empty. */
OX_NODISCARD OrtStatus *ort_tensor_create(OrtAllocator *allocator, uint32_t dtype, const int64_t *dims, size_t rank,
                                          OrtValue **out);
/* A copy of a tensor of any element type in memory of |allocator|. */
OX_NODISCARD OrtStatus *ort_tensor_copy(OrtAllocator *allocator, const ox_tensor *from, OrtValue **out);
/* |argument| is what the errors call these dimensions, |negative| the code for one below 0. */
OX_NODISCARD OrtStatus *ort_shape_describe(const char *function, OrtErrorCode negative, const char *argument,
                                           const int64_t *dims, size_t rank, ox_shape *out);
/* |t| for this element type and shape, without data. |function| is for the errors, |negative| the code for a dimension
 * below 0. */
OX_NODISCARD OrtStatus *ort_tensor_describe(const char *function, OrtErrorCode negative, ONNXTensorElementDataType type,
                                            const int64_t *dims, size_t rank, ox_tensor *t);
/* At the head of calls on tensors: |value| is one, else |code|. */
OX_NODISCARD OrtStatus *ort_need_tensor(const char *function, OrtErrorCode code, const OrtValue *value);

/* The strings of a tensor that is written; copies them first if they are the engine's. */
OX_NODISCARD OrtStatus *ort_strings_writable(OrtValue *value, ox_str **out);
/* |to|, the strings of |value|, become those at |from|. */
OX_NODISCARD OrtStatus *ort_strings_copy(OrtValue *value, const ox_str *from, size_t n, ox_str *to);
void ort_strings_release(ort_strings *strings, ox_str *items, size_t n);

/* Element types have other numbers here from 24 on. UNDEFINED for what the other side lacks. */
ONNXTensorElementDataType ort_type_from(uint32_t dtype);
uint32_t ort_type_to(ONNXTensorElementDataType type);
const char *ort_element_name(ONNXTensorElementDataType type); /* as in "tensor(float)"; "": it has none */
ONNXType ort_kind_from(uint32_t kind);

#endif
