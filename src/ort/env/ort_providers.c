/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_providers.c - providers by name: which there are, which a session is to ask. Accelerators come as
 * libraries of their makers (RegisterExecutionProviderLibrary); those that Microsoft builds into its own library are
 * known here, so that a program learns in the usual way that it has to do without. */
#include "ort/env/ort_providers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/ort_list.h"

#define ALIVE(options) ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS)

/* ---- which there are ---- */

static const char cpu[] = "CPUExecutionProvider";

OrtStatus *ort_GetAvailableProviders(char ***out, int *n) {
  ORT_NEED(out);
  ORT_NEED(n);
  char **names = malloc(sizeof *names);
  char *name = strdup(cpu);
  *out = NULL, *n = 0;
  if (names == NULL || name == NULL) {
    free(names), free(name);
    return ort_out_of_memory();
  }
  names[0] = name;
  *out = names, *n = 1;
  return NULL;
}

OrtStatus *ort_ReleaseAvailableProviders(char **names, int n) {
  for (int i = 0; names != NULL && i < n; i++) free(names[i]);
  free(names);
  return NULL;
}

/* ---- which a session is to ask ---- */

/* Short names and long ones, as programs give them. */
static const struct {
  const char *name, *whole;
} known[] = {{"DML", "DmlExecutionProvider"},
             {"QNN", "QNNExecutionProvider"},
             {"OpenVINO", "OpenVINOExecutionProvider"},
             {"SNPE", "SNPEExecutionProvider"},
             {"XNNPACK", "XnnpackExecutionProvider"},
             {"WEBNN", "WebNNExecutionProvider"},
             {"WebGPU", "WebGpuExecutionProvider"},
             {"AZURE", "AzureExecutionProvider"},
             {"JS", "JsExecutionProvider"},
             {"VitisAI", "VitisAIExecutionProvider"},
             {"CoreML", "CoreMLExecutionProvider"},
             {"NvTensorRtRtx", "NvTensorRtRtxExecutionProvider"},
             {"MIGraphX", "MIGraphXExecutionProvider"}};

OrtStatus *ort_provider_append(OrtSessionOptions *options, const char *name, const char *const *keys,
                               const char *const *values, size_t n) {
  ORT_TRY(ort_list_grow(&options->providers, options->n_providers, sizeof *options->providers));
  ort_provider_request *p = &options->providers[options->n_providers];
  OrtStatus *st = ort_text_set(&p->name, name);
  for (size_t i = 0; st == NULL && i < n; i++) st = ort_pairs_set(&p->options, keys[i], values[i]);
  if (st == NULL) {
    options->n_providers++;
    return NULL;
  }
  free(p->name);
  ort_pairs_deinit(&p->options);
  return st;
}

OrtStatus *ort_SessionOptionsAppendExecutionProvider(OrtSessionOptions *options, const char *provider_name,
                                                     const char *const *provider_options_keys,
                                                     const char *const *provider_options_values, size_t num_keys) {
  ALIVE(options);
  ORT_NEED(provider_name);
  if (num_keys > 0) ORT_NEED(provider_options_keys);
  if (num_keys > 0) ORT_NEED(provider_options_values);
  for (size_t i = 0; i < num_keys; i++) {
    if (provider_options_keys[i] == NULL || *provider_options_keys[i] == '\0' || provider_options_values[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "SessionOptionsAppendExecutionProvider: the key or value of option %zu is "
                      "NULL or empty",
                      i);
  }
  if (strcmp(provider_name, "CPU") == 0 || strcmp(provider_name, cpu) == 0)
    return ort_provider_append(options, cpu, provider_options_keys, provider_options_values, num_keys);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(provider_name, known[i].name) == 0 || strcmp(provider_name, known[i].whole) == 0)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "%s execution provider is not supported in this build. Its maker's library "
                      "may be loaded with RegisterExecutionProviderLibrary.",
                      provider_name);
  return ort_fail(ORT_INVALID_ARGUMENT,
                  "Unknown provider name '%s'. Built in is 'CPU'/'CPUExecutionProvider'; others "
                  "come as libraries (RegisterExecutionProviderLibrary).",
                  provider_name);
}

/* ---- those with options of their own: none is built in ---- */

#define ABSENT(name) ort_fail(ORT_FAIL, "%s execution provider is not enabled in this build.", name)

#define APPEND(slot, type, name)                                                              \
  OrtStatus *ort_SessionOptionsAppendExecutionProvider_##slot(OrtSessionOptions *options,     \
                                                              const type *provider_options) { \
    ALIVE(options);                                                                           \
    (void)provider_options;                                                                   \
    return ABSENT(name);                                                                      \
  }
APPEND(CUDA, OrtCUDAProviderOptions, "CUDA")
APPEND(CUDA_V2, OrtCUDAProviderOptionsV2, "CUDA")
APPEND(ROCM, OrtROCMProviderOptions, "ROCM")
APPEND(OpenVINO, OrtOpenVINOProviderOptions, "OpenVINO")
APPEND(TensorRT, OrtTensorRTProviderOptions, "TensorRT")
APPEND(TensorRT_V2, OrtTensorRTProviderOptionsV2, "TensorRT")
APPEND(MIGraphX, OrtMIGraphXProviderOptions, "MIGraphX")
APPEND(CANN, OrtCANNProviderOptions, "CANN")
APPEND(Dnnl, OrtDnnlProviderOptions, "oneDNN")

#define APPEND_PAIRS(slot, name)                                                                                   \
  OrtStatus *ort_SessionOptionsAppendExecutionProvider_##slot(OrtSessionOptions *options, const char *const *keys, \
                                                              const char *const *values, size_t n) {               \
    ALIVE(options);                                                                                                \
    (void)keys, (void)values, (void)n;                                                                             \
    return ABSENT(name);                                                                                           \
  }
APPEND_PAIRS(OpenVINO_V2, "OpenVINO")
APPEND_PAIRS(VitisAI, "VitisAI")

/* Without the provider there are no options of it: as in Microsoft's builds for the CPU. */
#define OPTIONS(slot, type, name)                                                                                 \
  OrtStatus *ort_Create##slot##ProviderOptions(type **out) {                                                      \
    ORT_NEED(out);                                                                                                \
    *out = NULL;                                                                                                  \
    return ABSENT(name);                                                                                          \
  }                                                                                                               \
  OrtStatus *ort_Update##slot##ProviderOptions(type *options, const char *const *keys, const char *const *values, \
                                               size_t n) {                                                        \
    (void)options, (void)keys, (void)values, (void)n;                                                             \
    return ABSENT(name);                                                                                          \
  }                                                                                                               \
  OrtStatus *ort_Get##slot##ProviderOptionsAsString(const type *options, OrtAllocator *allocator, char **out) {   \
    (void)options, (void)allocator, (void)out;                                                                    \
    return ABSENT(name);                                                                                          \
  }                                                                                                               \
  void ort_Release##slot##ProviderOptions(type *options) { (void)options; }
OPTIONS(CUDA, OrtCUDAProviderOptionsV2, "CUDA")
OPTIONS(TensorRT, OrtTensorRTProviderOptionsV2, "TensorRT")
OPTIONS(CANN, OrtCANNProviderOptions, "CANN")
OPTIONS(Dnnl, OrtDnnlProviderOptions, "oneDNN")
OPTIONS(ROCM, OrtROCMProviderOptions, "ROCM")

#define OPTIONS_WITH_VALUES(slot, type, name)                                                          \
  OrtStatus *ort_Update##slot##ProviderOptionsWithValue(type *options, const char *key, void *value) { \
    (void)options, (void)key, (void)value;                                                             \
    return ABSENT(name);                                                                               \
  }                                                                                                    \
  OrtStatus *ort_Get##slot##ProviderOptionsByName(const type *options, const char *key, void **out) {  \
    (void)options, (void)key, (void)out;                                                               \
    return ABSENT(name);                                                                               \
  }
OPTIONS_WITH_VALUES(CUDA, OrtCUDAProviderOptionsV2, "CUDA")
OPTIONS_WITH_VALUES(TensorRT, OrtTensorRTProviderOptionsV2, "TensorRT")

OrtStatus *ort_GetExecutionProviderApi(const char *provider_name, uint32_t version, const void **out) {
  (void)version;
  ORT_NEED(provider_name);
  ORT_NEED(out);
  *out = NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "GetExecutionProviderApi: provider '%s' has no API of its own", provider_name);
}

OrtStatus *ort_SetCurrentGpuDeviceId(int id) {
  (void)id;
  return ABSENT("CUDA");
}

OrtStatus *ort_GetCurrentGpuDeviceId(int *out) {
  (void)out;
  return ABSENT("CUDA");
}
