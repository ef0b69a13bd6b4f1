/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_table.c - the tables of the ABI and the symbols that the library exports. A slot holds the function of its
 * name where the library has one, else a stand-in that says so; none is NULL, as clients call without looking. */
#define ORT_TABLES
#include <pthread.h>
#include <stdio.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"

/* Of the table's version: clients parse it and ask for the API version in its middle. */
#define STRING_(x) #x
#define STRING(x) STRING_(x)
static const char version[] = "1." STRING(ORT_API_VERSION) ".0";

/* The answer of a slot that nothing serves. It ignores its parameters and returns a status, or NULL (0, nothing) where
 * the slot returns anything else; the calling convention lets a function of no parameters do so. */
#define MISSING(name, result)                                                       \
  (_Generic((result(*)(void))0, OrtStatus * (*)(void) : 1, default : 0)             \
       ? ort_fail(ORT_NOT_IMPLEMENTED, "%s is not implemented in this build", name) \
       : NULL)
#define ORT_SLOT(slot, name, since, result, params, directions) \
  static OrtStatus *missing_##name(void) { return MISSING(#name, result); }
#define ORT_EP_SLOT(slot, name, since, result, params, directions) \
  static OrtStatus *missing_ep_##name(void) { return MISSING("OrtEpApi." #name, result); }
#define ORT_EDITOR_SLOT(slot, name, since, result, params, directions) \
  static OrtStatus *missing_editor_##name(void) { return MISSING("OrtModelEditorApi." #name, result); }
#define ORT_COMPILE_SLOT(slot, name, since, result, params, directions) \
  static OrtStatus *missing_compile_##name(void) { return MISSING("OrtCompileApi." #name, result); }
#define ORT_INTEROP_SLOT(slot, name, since, result, params, directions) \
  static OrtStatus *missing_interop_##name(void) { return MISSING("OrtInteropApi." #name, result); }
#define ORT_PACKAGE_SLOT(slot, name, since, result, params, directions) \
  static OrtStatus *missing_package_##name(void) { return MISSING("OrtModelPackageApi." #name, result); }
#include "onyx/ort_slots.inc"

static OrtApi api;
static OrtEpApi ep_api;
static OrtModelEditorApi editor_api;
static OrtCompileApi compile_api;
static OrtInteropApi interop_api;
static OrtModelPackageApi package_api;

static void fill(void) {
#define FILL(table, name, function, missing, result, params) \
  table.name = function != NULL ? function : (result(*) params)(void (*)(void))missing;
#define ORT_SLOT(slot, name, since, result, params, directions) \
  FILL(api, name, ort_##name, missing_##name, result, params)
#define ORT_EP_SLOT(slot, name, since, result, params, directions) \
  FILL(ep_api, name, ort_ep_##name, missing_ep_##name, result, params)
#define ORT_EDITOR_SLOT(slot, name, since, result, params, directions) \
  FILL(editor_api, name, ort_editor_##name, missing_editor_##name, result, params)
#define ORT_COMPILE_SLOT(slot, name, since, result, params, directions) \
  FILL(compile_api, name, ort_compile_##name, missing_compile_##name, result, params)
#define ORT_INTEROP_SLOT(slot, name, since, result, params, directions) \
  FILL(interop_api, name, ort_interop_##name, missing_interop_##name, result, params)
#define ORT_PACKAGE_SLOT(slot, name, since, result, params, directions) \
  FILL(package_api, name, ort_package_##name, missing_package_##name, result, params)
#include "onyx/ort_slots.inc"
}

const OrtApi *ort_api(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill);
  return &api;
}

static const OrtApi *get_api(uint32_t v) { return v >= 1 && v <= ORT_API_VERSION ? ort_api() : NULL; }

static const char *get_version(void) { return version; }

static const OrtApiBase base = {.GetApi = get_api, .GetVersionString = get_version};

const OrtApiBase *ort_api_base(void) { return &base; }

const OrtEpApi *ort_GetEpApi(void) {
  ort_api();
  return &ep_api;
}

const OrtModelEditorApi *ort_GetModelEditorApi(void) {
  ort_api();
  return &editor_api;
}

const OrtCompileApi *ort_GetCompileApi(void) {
  ort_api();
  return &compile_api;
}

const OrtInteropApi *ort_GetInteropApi(void) {
  ort_api();
  return &interop_api;
}

const OrtModelPackageApi *ort_GetModelPackageApi(void) {
  ort_api();
  return &package_api;
}

/* Training is not what this library is for: as in Microsoft's builds without it. */
const OrtTrainingApi *ort_GetTrainingApi(uint32_t v) {
  (void)v;
  return NULL;
}

__attribute__((visibility("default"))) const OrtApiBase *OrtGetApiBase(void) { return &base; }

__attribute__((visibility("default"))) OrtStatus *OrtSessionOptionsAppendExecutionProvider_CPU(
    OrtSessionOptions *options, int use_arena) {
  ORT_NEED(options);
  return use_arena ? ort_api()->EnableCpuMemArena(options) : ort_api()->DisableCpuMemArena(options);
}

__attribute__((visibility("default"))) OrtStatus *OrtSessionOptionsAppendExecutionProvider_CUDA(
    OrtSessionOptions *options, int device_id) {
  char device[16];
  const char *key = "device_id", *value = device;
  snprintf(device, sizeof device, "%d", device_id);
  return ort_api()->SessionOptionsAppendExecutionProvider(options, "CUDA", &key, &value, 1);
}
