/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_kernel_info.c - what a client's kernel learns of its node when it is created, but for attributes. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/custom/ort_kernel.h"
#include "ort/ort_status.h"
#include "ort/value/ort_type_info.h"

/* A copy of |text| with its NUL for a client that says how much room it has; without |out|, only the bytes it needs. */
static OrtStatus *give_text(const char *function, const char *text, char *out, size_t *bytes) {
  size_t need = strlen(text) + 1, room = *bytes;
  *bytes = need;
  if (out == NULL) return NULL;
  if (room < need)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: the buffer is not large enough: %zu bytes, wanted %zu", function, room,
                    need);
  memcpy(out, text, need);
  return NULL;
}

#define GIVE_TEXT(text, out, bytes) give_text(__func__ + sizeof "ort", text, out, bytes)

/* ---- the node ---- */

OrtStatus *ort_KernelInfo_GetNodeName(const OrtKernelInfo *info, char *out, size_t *size) {
  ORT_NEED(info);
  ORT_NEED(size);
  return GIVE_TEXT(info->node, out, size);
}

OrtStatus *ort_KernelInfo_GetOperatorDomain(const OrtKernelInfo *info, char *out, size_t *size) {
  ORT_NEED(info);
  ORT_NEED(size);
  return GIVE_TEXT(info->domain, out, size);
}

OrtStatus *ort_KernelInfo_GetOperatorType(const OrtKernelInfo *info, char *out, size_t *size) {
  ORT_NEED(info);
  ORT_NEED(size);
  return GIVE_TEXT(info->op, out, size);
}

OrtStatus *ort_KernelInfo_GetOperatorSinceVersion(const OrtKernelInfo *info, int *since_version) {
  ORT_NEED(info);
  ORT_NEED(since_version);
  *since_version = info->since;
  return NULL;
}

/* ---- inputs and outputs ---- */

OrtStatus *ort_KernelInfo_GetInputCount(const OrtKernelInfo *info, size_t *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->n_in;
  return NULL;
}

OrtStatus *ort_KernelInfo_GetOutputCount(const OrtKernelInfo *info, size_t *out) {
  ORT_NEED(info);
  ORT_NEED(out);
  *out = info->n_out;
  return NULL;
}

static OrtStatus *check_index(const OrtKernelInfo *info, bool output, size_t index) {
  size_t n = output ? info->n_out : info->n_in;
  if (index < n) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "%s index is out of bounds: %zu of %zu of node '%s' (%s)",
                  output ? "output" : "input", index, n, info->node, info->op);
}

OrtStatus *ort_KernelInfo_GetInputName(const OrtKernelInfo *info, size_t index, char *out, size_t *size) {
  ORT_NEED(info);
  ORT_NEED(size);
  ORT_TRY(check_index(info, false, index));
  return GIVE_TEXT(info->in[index].name, out, size);
}

OrtStatus *ort_KernelInfo_GetOutputName(const OrtKernelInfo *info, size_t index, char *out, size_t *size) {
  ORT_NEED(info);
  ORT_NEED(size);
  ORT_TRY(check_index(info, true, index));
  return GIVE_TEXT(info->out[index].name, out, size);
}

static OrtStatus *give_type(const char *what, size_t index, const ort_kernel_value *v, OrtTypeInfo **out) {
  *out = NULL;
  if (v->type == NULL)
    return ort_fail(ORT_INVALID_GRAPH, "%s %zu does not have a type: the node omits it", what, index);
  return ort_type_info_of_type(v->type, v->dim_names, out);
}

OrtStatus *ort_KernelInfo_GetInputTypeInfo(const OrtKernelInfo *info, size_t index, OrtTypeInfo **type_info) {
  ORT_NEED(info);
  ORT_NEED(type_info);
  ORT_TRY(check_index(info, false, index));
  return give_type("input", index, &info->in[index], type_info);
}

OrtStatus *ort_KernelInfo_GetOutputTypeInfo(const OrtKernelInfo *info, size_t index, OrtTypeInfo **type_info) {
  ORT_NEED(info);
  ORT_NEED(type_info);
  ORT_TRY(check_index(info, true, index));
  return give_type("output", index, &info->out[index], type_info);
}

/* Beyond the end nothing is constant. */
OrtStatus *ort_KernelInfoGetConstantInput_tensor(const OrtKernelInfo *info, size_t index, int *is_constant,
                                                 const OrtValue **out) {
  ORT_NEED(info);
  ORT_NEED(is_constant);
  ORT_NEED(out);
  *is_constant = index < info->n_in && info->in[index].constant.tensor != NULL;
  *out = *is_constant ? &info->in[index].constant : NULL;
  return NULL;
}

/* ---- the session ---- */

OrtStatus *ort_KernelInfo_GetLogger(const OrtKernelInfo *info, const OrtLogger **logger) {
  ORT_NEED(info);
  ORT_NEED(logger);
  *logger = info->logger;
  return NULL;
}

OrtStatus *ort_KernelInfo_GetConfigEntries(const OrtKernelInfo *info, OrtKeyValuePairs **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  OrtKeyValuePairs *pairs = *out = NULL;
  ort_CreateKeyValuePairs(&pairs);
  if (pairs == NULL) return ort_out_of_memory();
  ort_pairs_deinit(pairs);
  OrtStatus *st = info->config != NULL ? ort_pairs_copy(info->config, pairs) : NULL;
  if (st != NULL)
    ort_ReleaseKeyValuePairs(pairs);
  else
    *out = pairs;
  return st;
}

/* All kinds of memory are the CPU's. */
OrtStatus *ort_KernelInfoGetAllocator(const OrtKernelInfo *info, OrtMemType mem_type, OrtAllocator **out) {
  ORT_NEED(info);
  ORT_NEED(out);
  (void)mem_type;
  *out = ort_default_allocator();
  return NULL;
}

OrtStatus *ort_CopyKernelInfo(const OrtKernelInfo *info, OrtKernelInfo **info_copy) {
  ORT_NEED(info);
  ORT_NEED(info_copy);
  *info_copy = malloc(sizeof **info_copy);
  if (*info_copy == NULL) return ort_out_of_memory();
  **info_copy = *info;
  return NULL;
}

void ort_ReleaseKernelInfo(OrtKernelInfo *info_copy) { free(info_copy); }
