/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_provider_options.c - providers that have entry points of their own: what their options say goes the way
 * of all others, as keys with values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/env/ort_provider_named.h"
#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/value/ort_memory.h"

#define ALIVE(options) ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS)

/* |st| in the words of builds without the provider, in which programs may look for them. */
static OrtStatus *absent(const char *what, OrtStatus *st) {
  if (st == NULL) return NULL;
  OrtStatus *out =
      ort_fail(ORT_FAIL, "%s execution provider is not enabled in this build. %s", what, ort_GetErrorMessage(st));
  ort_ReleaseStatus(st);
  return out;
}

/* ---- structs of the first kind ---- */

enum { MOST_FIELDS = 16 };

/* Fields as texts. */
typedef struct fields {
  const char *keys[MOST_FIELDS], *values[MOST_FIELDS];
  char texts[MOST_FIELDS][24];
  size_t n;
} fields;

static void put_text(fields *f, const char *key, const char *value) {
  if (value != NULL && *value != '\0') f->keys[f->n] = key, f->values[f->n++] = value;
}

static void put_int(fields *f, const char *key, unsigned long long value) {
  snprintf(f->texts[f->n], sizeof f->texts[f->n], "%llu", value);
  put_text(f, key, f->texts[f->n]);
}

static OrtStatus *append(OrtSessionOptions *options, const char *what, const char *name, const fields *f) {
  return absent(what, ort_provider_append_named(options, name, f->keys, f->values, f->n));
}

static void put_arena(fields *f, size_t limit, int strategy) {
  if (limit != 0 && limit != SIZE_MAX) put_int(f, "gpu_mem_limit", limit);
  put_text(f, "arena_extend_strategy", strategy == 1 ? "kSameAsRequested" : NULL);
}

OrtStatus *ort_SessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions *options,
                                                          const OrtCUDAProviderOptions *provider_options) {
  fields f = {.n = 0};
  ALIVE(options);
  ORT_NEED(provider_options);
  put_int(&f, "device_id", (unsigned)provider_options->device_id);
  put_arena(&f, provider_options->gpu_mem_limit, provider_options->arena_extend_strategy);
  return append(options, "CUDA", "CUDAExecutionProvider", &f);
}

OrtStatus *ort_SessionOptionsAppendExecutionProvider_ROCM(OrtSessionOptions *options,
                                                          const OrtROCMProviderOptions *provider_options) {
  fields f = {.n = 0};
  ALIVE(options);
  ORT_NEED(provider_options);
  put_int(&f, "device_id", (unsigned)provider_options->device_id);
  return append(options, "ROCM", "ROCMExecutionProvider", &f);
}

OrtStatus *ort_SessionOptionsAppendExecutionProvider_OpenVINO(OrtSessionOptions *options,
                                                              const OrtOpenVINOProviderOptions *provider_options) {
  fields f = {.n = 0};
  ALIVE(options);
  ORT_NEED(provider_options);
  put_text(&f, "device_type", provider_options->device_type);
  put_text(&f, "cache_dir", provider_options->cache_dir);
  if (provider_options->num_of_threads > 0) put_int(&f, "num_of_threads", provider_options->num_of_threads);
  return append(options, "OpenVINO", "OpenVINOExecutionProvider", &f);
}

OrtStatus *ort_SessionOptionsAppendExecutionProvider_TensorRT(OrtSessionOptions *options,
                                                              const OrtTensorRTProviderOptions *provider_options) {
  fields f = {.n = 0};
  ALIVE(options);
  ORT_NEED(provider_options);
  put_int(&f, "device_id", (unsigned)provider_options->device_id);
  return append(options, "TensorRT", "TensorrtExecutionProvider", &f);
}

OrtStatus *ort_SessionOptionsAppendExecutionProvider_MIGraphX(OrtSessionOptions *options,
                                                              const OrtMIGraphXProviderOptions *provider_options) {
  fields f = {.n = 0};
  ALIVE(options);
  ORT_NEED(provider_options);
  put_int(&f, "device_id", (unsigned)provider_options->device_id);
  if (provider_options->migraphx_fp16_enable) put_text(&f, "migraphx_fp16_enable", "1");
  if (provider_options->migraphx_int8_enable) put_text(&f, "migraphx_int8_enable", "1");
  return append(options, "MIGraphX", "MIGraphXExecutionProvider", &f);
}

/* ---- keys with values ---- */

#define APPEND_PAIRS(slot, name)                                                                                   \
  OrtStatus *ort_SessionOptionsAppendExecutionProvider_##slot(OrtSessionOptions *options, const char *const *keys, \
                                                              const char *const *values, size_t n) {               \
    ALIVE(options);                                                                                                \
    if (n > 0) ORT_NEED(keys);                                                                                     \
    if (n > 0) ORT_NEED(values);                                                                                   \
    return absent(#name, ort_provider_append_named(options, #name "ExecutionProvider", keys, values, n));          \
  }
APPEND_PAIRS(OpenVINO_V2, OpenVINO)
APPEND_PAIRS(VitisAI, VitisAI)

/* ---- objects with keys and values ---- */

static OrtStatus *update(OrtKeyValuePairs *pairs, const char *const *keys, const char *const *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (keys == NULL || values == NULL || keys[i] == NULL || values[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT, "provider option %zu: its key or its value is NULL", i);
    ORT_TRY(ort_pairs_set(pairs, keys[i], values[i]));
  }
  return NULL;
}

/* "key=value;key=value", in memory of |allocator|. */
static OrtStatus *as_text(const OrtKeyValuePairs *pairs, OrtAllocator *allocator, char **out) {
  size_t room = 1, at = 0;
  for (size_t i = 0; i < pairs->n; i++) room += strlen(pairs->keys[i]) + strlen(pairs->values[i]) + 2;
  char *text = calloc(1, room);
  if (text == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < pairs->n; i++)
    at += (size_t)snprintf(text + at, room - at, "%s%s=%s", i > 0 ? ";" : "", pairs->keys[i], pairs->values[i]);
  OrtStatus *st = ort_copy_text(allocator, text, out);
  free(text);
  return st;
}

#define OPTIONS(slot, type, name, provider)                                                                       \
  struct type {                                                                                                   \
    OrtKeyValuePairs pairs;                                                                                       \
  };                                                                                                              \
  OrtStatus *ort_Create##slot##ProviderOptions(type **out) {                                                      \
    ORT_NEED(out);                                                                                                \
    *out = NULL;                                                                                                  \
    ORT_TRY(absent(name, ort_provider_check(provider)));                                                          \
    *out = calloc(1, sizeof **out);                                                                               \
    return *out != NULL ? NULL : ort_out_of_memory();                                                             \
  }                                                                                                               \
  OrtStatus *ort_Update##slot##ProviderOptions(type *options, const char *const *keys, const char *const *values, \
                                               size_t n) {                                                        \
    ORT_NEED(options);                                                                                            \
    return update(&options->pairs, keys, values, n);                                                              \
  }                                                                                                               \
  OrtStatus *ort_Get##slot##ProviderOptionsAsString(const type *options, OrtAllocator *allocator, char **out) {   \
    ORT_NEED(options);                                                                                            \
    ORT_NEED(allocator);                                                                                          \
    ORT_NEED(out);                                                                                                \
    return as_text(&options->pairs, allocator, out);                                                              \
  }                                                                                                               \
  void ort_Release##slot##ProviderOptions(type *options) {                                                        \
    if (options == NULL) return;                                                                                  \
    ort_pairs_deinit(&options->pairs);                                                                            \
    free(options);                                                                                                \
  }
OPTIONS(CUDA, OrtCUDAProviderOptionsV2, "CUDA", "CUDAExecutionProvider")
OPTIONS(TensorRT, OrtTensorRTProviderOptionsV2, "TensorRT", "TensorrtExecutionProvider")
OPTIONS(CANN, OrtCANNProviderOptions, "CANN", "CANNExecutionProvider")
OPTIONS(Dnnl, OrtDnnlProviderOptions, "oneDNN", "DnnlExecutionProvider")

#define APPEND_OBJECT(slot, type, name, provider)                                                              \
  OrtStatus *ort_SessionOptionsAppendExecutionProvider_##slot(OrtSessionOptions *options, const type *given) { \
    ALIVE(options);                                                                                            \
    ORT_NEED(given);                                                                                           \
    const OrtKeyValuePairs *p = &given->pairs;                                                                 \
    return absent(name, ort_provider_append_named(options, provider, (const char *const *)p->keys,             \
                                                  (const char *const *)p->values, p->n));                      \
  }
APPEND_OBJECT(CUDA_V2, OrtCUDAProviderOptionsV2, "CUDA", "CUDAExecutionProvider")
APPEND_OBJECT(TensorRT_V2, OrtTensorRTProviderOptionsV2, "TensorRT", "TensorrtExecutionProvider")
APPEND_OBJECT(CANN, OrtCANNProviderOptions, "CANN", "CANNExecutionProvider")
APPEND_OBJECT(Dnnl, OrtDnnlProviderOptions, "oneDNN", "DnnlExecutionProvider")

/* Values that are addresses (a stream of the caller's) are kept as numbers. */
#define OPTIONS_WITH_VALUES(slot, type)                                                                \
  OrtStatus *ort_Update##slot##ProviderOptionsWithValue(type *options, const char *key, void *value) { \
    char text[24];                                                                                     \
    ORT_NEED(options);                                                                                 \
    ORT_NEED(key);                                                                                     \
    snprintf(text, sizeof text, "%llu", (unsigned long long)(uintptr_t)value);                         \
    return ort_pairs_set(&options->pairs, key, text);                                                  \
  }                                                                                                    \
  OrtStatus *ort_Get##slot##ProviderOptionsByName(const type *options, const char *key, void **out) {  \
    ORT_NEED(options);                                                                                 \
    ORT_NEED(key);                                                                                     \
    ORT_NEED(out);                                                                                     \
    const char *text = ort_pairs_get(&options->pairs, key);                                            \
    *out = text != NULL ? (void *)(uintptr_t)strtoull(text, NULL, 10) : NULL;                          \
    return NULL;                                                                                       \
  }
OPTIONS_WITH_VALUES(CUDA, OrtCUDAProviderOptionsV2)
OPTIONS_WITH_VALUES(TensorRT, OrtTensorRTProviderOptionsV2)

/* ROCm's provider has no object of pairs: its struct is the caller's. */
OrtStatus *ort_CreateROCMProviderOptions(OrtROCMProviderOptions **out) {
  ORT_NEED(out);
  *out = NULL;
  ORT_TRY(absent("ROCM", ort_provider_check("ROCMExecutionProvider")));
  *out = calloc(1, sizeof **out);
  return *out != NULL ? NULL : ort_out_of_memory();
}

OrtStatus *ort_UpdateROCMProviderOptions(OrtROCMProviderOptions *options, const char *const *keys,
                                         const char *const *values, size_t n) {
  ORT_NEED(options);
  for (size_t i = 0; i < n; i++)
    if (keys[i] != NULL && values[i] != NULL && strcmp(keys[i], "device_id") == 0) options->device_id = atoi(values[i]);
  return NULL;
}

OrtStatus *ort_GetROCMProviderOptionsAsString(const OrtROCMProviderOptions *options, OrtAllocator *allocator,
                                              char **out) {
  char text[32];
  ORT_NEED(options);
  ORT_NEED(allocator);
  ORT_NEED(out);
  snprintf(text, sizeof text, "device_id=%d", options->device_id);
  return ort_copy_text(allocator, text, out);
}

void ort_ReleaseROCMProviderOptions(OrtROCMProviderOptions *options) { free(options); }

/* ---- the rest ---- */

OrtStatus *ort_GetExecutionProviderApi(const char *provider_name, uint32_t version, const void **out) {
  (void)version;
  ORT_NEED(provider_name);
  ORT_NEED(out);
  *out = NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "GetExecutionProviderApi: provider '%s' has no API of its own", provider_name);
}

/* The device is an option of the provider. */
OrtStatus *ort_SetCurrentGpuDeviceId(int id) {
  ORT_TRY(absent("CUDA", ort_provider_check("CUDAExecutionProvider")));
  return id == 0 ? NULL : ort_fail(ORT_FAIL, "SetCurrentGpuDeviceId: which device is used, the option device_id says");
}

OrtStatus *ort_GetCurrentGpuDeviceId(int *out) {
  ORT_NEED(out);
  *out = 0;
  return absent("CUDA", ort_provider_check("CUDAExecutionProvider"));
}
