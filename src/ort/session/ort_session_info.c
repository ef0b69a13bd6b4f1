/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session_info.c - inputs, outputs and initializers that may be overridden: how many, names, types,
 * places. */
#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/value/ort_memory.h"
#include "ort/session/ort_metadata.h"
#include "ort/session/ort_session.h"
#include "ort/value/ort_type_info.h"

#define ALIVE(session) ORT_ALIVE(session, ORT_ALIVE_SESSION)

typedef ox_status *describe_fn(const ox_session *s, size_t i, ox_value_info *out);

static OrtStatus *describe_one(const OrtSession *s, describe_fn *describe, size_t i, ox_value_info *out) {
  ox_status *st = describe(s->session, i, out);
  if (st == NULL) return NULL;
  OrtStatus *failed = ort_fail(ORT_FAIL, "index out of range: %s", ox_status_message(st));
  ox_status_free(st);
  return failed;
}

static OrtStatus *get_type(const OrtSession *s, describe_fn *describe, size_t i, OrtTypeInfo **out) {
  ox_value_info info;
  *out = NULL;
  ORT_TRY(describe_one(s, describe, i, &info));
  return ort_type_info_of_info(&info, out);
}

static OrtStatus *get_name(const OrtSession *s, describe_fn *describe, size_t i, OrtAllocator *allocator, char **out) {
  ox_value_info info;
  *out = NULL;
  ORT_TRY(describe_one(s, describe, i, &info));
  return ort_copy_text(allocator, info.name, out);
}

#define LIST(count_slot, type_slot, name_slot, count, describe)                                                \
  OrtStatus *ort_##count_slot(const OrtSession *session, size_t *out) {                                        \
    ALIVE(session);                                                                                            \
    ORT_NEED(out);                                                                                             \
    *out = count(session->session);                                                                            \
    return NULL;                                                                                               \
  }                                                                                                            \
  OrtStatus *ort_##type_slot(const OrtSession *session, size_t index, OrtTypeInfo **type_info) {               \
    ALIVE(session);                                                                                            \
    ORT_NEED(type_info);                                                                                       \
    return get_type(session, describe, index, type_info);                                                      \
  }                                                                                                            \
  OrtStatus *ort_##name_slot(const OrtSession *session, size_t index, OrtAllocator *allocator, char **value) { \
    ALIVE(session);                                                                                            \
    ORT_NEED(allocator);                                                                                       \
    ORT_NEED(value);                                                                                           \
    return get_name(session, describe, index, allocator, value);                                               \
  }
LIST(SessionGetInputCount, SessionGetInputTypeInfo, SessionGetInputName, ox_session_input_count, ox_session_input)
LIST(SessionGetOutputCount, SessionGetOutputTypeInfo, SessionGetOutputName, ox_session_output_count, ox_session_output)
LIST(SessionGetOverridableInitializerCount, SessionGetOverridableInitializerTypeInfo,
     SessionGetOverridableInitializerName, ox_session_default_count, ox_session_default)

/* ---- where they lie ---- */

static OrtStatus *fill_memory(const char *function, size_t have, const OrtMemoryInfo **out, size_t n) {
  if (n < have) return ort_fail(ORT_INVALID_ARGUMENT, "%s: there are %zu, and room for %zu", function, have, n);
  for (size_t i = 0; i < have; i++) out[i] = ort_cpu_memory();
  return NULL;
}

OrtStatus *ort_SessionGetMemoryInfoForInputs(const OrtSession *session, const OrtMemoryInfo **out, size_t n) {
  ALIVE(session);
  ORT_NEED(out);
  return fill_memory("SessionGetMemoryInfoForInputs", ox_session_input_count(session->session), out, n);
}

OrtStatus *ort_SessionGetMemoryInfoForOutputs(const OrtSession *session, const OrtMemoryInfo **out, size_t n) {
  ALIVE(session);
  ORT_NEED(out);
  return fill_memory("SessionGetMemoryInfoForOutputs", ox_session_output_count(session->session), out, n);
}

/* ---- what the model says of itself ---- */

OrtStatus *ort_SessionGetModelMetadata(const OrtSession *session, OrtModelMetadata **out) {
  ALIVE(session);
  ORT_NEED(out);
  return ort_metadata_create(session->session, out);
}
