/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_details.c - why a provider cannot use a device, in its own words. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_library.h"

struct OrtDeviceEpIncompatibilityDetails {
  uint32_t reasons; /* OrtDeviceEpIncompatibilityReason */
  int32_t error;
  char *notes; /* NULL: none */
};

OrtStatus *ort_ep_DeviceEpIncompatibilityDetails_SetDetails(OrtDeviceEpIncompatibilityDetails *details,
                                                            uint32_t reasons_bitmask, int32_t error_code,
                                                            const char *notes) {
  ORT_NEED(details);
  char *copy = notes != NULL ? strdup(notes) : NULL;
  if (notes != NULL && copy == NULL) return ort_out_of_memory();
  free(details->notes);
  *details = (OrtDeviceEpIncompatibilityDetails){reasons_bitmask, error_code, copy};
  return NULL;
}

/* The factory of provider |name| that |env| has first; *out NULL and |*out_cpu|: it is the CPU's. */
static OrtStatus *find_factory(OrtEnv *env, const char *name, OrtEpFactory **out, bool *out_cpu) {
  ort_ep_library *first;
  *out = NULL, *out_cpu = strcmp(name, "CPUExecutionProvider") == 0;
  ORT_TRY(ort_ep_libraries(env, &first));
  pthread_mutex_lock(&env->lock);
  for (const ort_ep_library *l = first->next; l != NULL && *out == NULL; l = l->next)
    for (size_t i = 0; i < l->n_factories && *out == NULL; i++)
      if (strcmp(l->factories[i].factory->GetName(l->factories[i].factory), name) == 0) *out = l->factories[i].factory;
  pthread_mutex_unlock(&env->lock);
  if (*out != NULL || *out_cpu) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "No valid factory found for execution provider '%s'.", name);
}

OrtStatus *ort_GetHardwareDeviceEpIncompatibilityDetails(const OrtEnv *env, const char *ep_name,
                                                         const OrtHardwareDevice *hw,
                                                         OrtDeviceEpIncompatibilityDetails **details) {
  OrtEpFactory *f;
  bool cpu;
  ORT_NEED(env);
  ORT_NEED(ep_name);
  ORT_NEED(hw);
  ORT_NEED(details);
  *details = NULL;
  ORT_TRY(find_factory((OrtEnv *)(uintptr_t)env, ep_name, &f, &cpu));
  OrtDeviceEpIncompatibilityDetails *d = calloc(1, sizeof *d);
  if (d == NULL) return ort_out_of_memory();
  OrtStatus *st = NULL;
  if (f != NULL && ORT_HAS(f, 24, GetHardwareDeviceIncompatibilityDetails))
    st = f->GetHardwareDeviceIncompatibilityDetails(f, hw, d);
  if (st == NULL)
    *details = d;
  else
    ort_ReleaseDeviceEpIncompatibilityDetails(d);
  return st;
}

#define MEMBER_OF(Slot, type, member)                                                                                 \
  OrtStatus *ort_DeviceEpIncompatibilityDetails_##Slot(const OrtDeviceEpIncompatibilityDetails *details, type *out) { \
    ORT_NEED(details);                                                                                                \
    ORT_NEED(out);                                                                                                    \
    *out = details->member;                                                                                           \
    return NULL;                                                                                                      \
  }
MEMBER_OF(GetReasonsBitmask, uint32_t, reasons)
MEMBER_OF(GetNotes, const char *, notes)
MEMBER_OF(GetErrorCode, int32_t, error)

void ort_ReleaseDeviceEpIncompatibilityDetails(OrtDeviceEpIncompatibilityDetails *details) {
  if (details == NULL) return;
  free(details->notes);
  free(details);
}
