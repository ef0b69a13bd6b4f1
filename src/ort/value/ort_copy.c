/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_copy.c - CopyTensors: from host memory to host memory here, all else by a provider's data transfer. */
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/env/ort_env.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"
#include "ort/plugin/ort_ep_library.h"

static bool same_shape(const ox_tensor *a, const ox_tensor *b) {
  if (a->dtype != b->dtype || a->shape.rank != b->shape.rank) return false;
  for (int32_t i = 0; i < a->shape.rank; i++)
    if (a->shape.dim[i] != b->shape.dim[i]) return false;
  return true;
}

static OrtStatus *check_pair(const OrtValue *from, const OrtValue *to, size_t i) {
  if (from == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "CopyTensors: 'src_tensors' has NULL at %zu", i);
  if (to == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "CopyTensors: 'dst_tensors' has NULL at %zu", i);
  if (from->tensor->kind != OX_TENSOR || to->tensor->kind != OX_TENSOR)
    return ort_fail(ORT_INVALID_ARGUMENT, "CopyTensors: pair %zu: OrtValue must contain Tensor with data", i);
  if (!same_shape(from->tensor, to->tensor))
    return ort_fail(ORT_INVALID_ARGUMENT, "CopyTensors: pair %zu: element type or shape differ", i);
  return NULL;
}

static OrtStatus *copy_here(const ox_tensor *from, OrtValue *to) {
  if (from->dtype == OX_STRING) {
    ox_str *items;
    ORT_TRY(ort_strings_writable(to, &items));
    return ort_strings_copy(to, from->data, from->bytes / sizeof *items, items);
  }
  if (from->bytes > 0) memmove(to->tensor->data, from->data, from->bytes); /* they may overlap */
  return NULL;
}

OrtStatus *ort_CopyTensors(const OrtEnv *env, const OrtValue *const *src_tensors, OrtValue *const *dst_tensors,
                           OrtSyncStream *stream, size_t num_tensors) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(src_tensors);
  ORT_NEED(dst_tensors);
  if (num_tensors == 0) return ort_fail(ORT_INVALID_ARGUMENT, "CopyTensors: 'num_tensors' is 0");
  for (size_t i = 0; i < num_tensors; i++) ORT_TRY(check_pair(src_tensors[i], dst_tensors[i], i));
  for (size_t i = 0; i < num_tensors; i++) {
    if (ort_memory_is_cpu(src_tensors[i]->memory) && ort_memory_is_cpu(dst_tensors[i]->memory))
      ORT_TRY(copy_here(src_tensors[i]->tensor, dst_tensors[i]));
    else
      ORT_TRY(ort_ep_copy_tensors((OrtEnv *)(uintptr_t)env, &src_tensors[i], &dst_tensors[i], stream, 1));
  }
  return NULL;
}
