/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_profiling_event.c - events of a provider's own profiler. */
#include "ort/plugin/ort_profiling_event.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"

static OrtStatus *fill(OrtProfilingEvent *e, const char *name, const char *const *keys, const char *const *values,
                       size_t n) {
  e->name = strdup(name);
  if (e->name == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < n; i++)
    if (keys[i] != NULL && values[i] != NULL) ORT_TRY(ort_pairs_set(&e->args, keys[i], values[i]));
  return NULL;
}

OrtStatus *ort_ep_CreateProfilingEvent(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id,
                                       const char *event_name, int64_t timestamp_us, int64_t duration_us,
                                       const char *const *arg_keys, const char *const *arg_values, size_t num_args,
                                       OrtProfilingEvent **out) {
  ORT_NEED(event_name);
  ORT_NEED(out);
  *out = NULL;
  if ((unsigned)category > OrtProfilingEventCategory_API)
    return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.CreateProfilingEvent: there is no category %d", (int)category);
  if (num_args > 0 && (arg_keys == NULL || arg_values == NULL))
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "OrtEpApi.CreateProfilingEvent: %zu arguments, but 'arg_keys' or 'arg_values' "
                    "is NULL",
                    num_args);
  OrtProfilingEvent *e = calloc(1, sizeof *e);
  if (e == NULL) return ort_out_of_memory();
  e->category = category, e->process = process_id, e->thread = thread_id;
  e->begin_us = timestamp_us, e->duration_us = duration_us;
  OrtStatus *st = fill(e, event_name, arg_keys, arg_values, num_args);
  if (st == NULL)
    *out = e;
  else
    ort_ep_ReleaseProfilingEvent(e);
  return st;
}

void ort_ep_ReleaseProfilingEvent(OrtProfilingEvent *event) {
  if (event == NULL) return;
  ort_pairs_deinit(&event->args);
  free(event->name);
  free(event);
}

#define MEMBER_OF(Slot, type, member)                                                  \
  OrtStatus *ort_ep_ProfilingEvent_##Slot(const OrtProfilingEvent *event, type *out) { \
    ORT_NEED(event);                                                                   \
    ORT_NEED(out);                                                                     \
    *out = event->member;                                                              \
    return NULL;                                                                       \
  }
MEMBER_OF(GetCategory, OrtProfilingEventCategory, category)
MEMBER_OF(GetName, const char *, name)
MEMBER_OF(GetTimestampUs, int64_t, begin_us)
MEMBER_OF(GetDurationUs, int64_t, duration_us)

OrtStatus *ort_ep_ProfilingEvent_GetArgValue(const OrtProfilingEvent *event, const char *key, const char **out) {
  ORT_NEED(event);
  ORT_NEED(key);
  ORT_NEED(out);
  *out = ort_pairs_get(&event->args, key);
  return NULL;
}

/* ---- what a profiler gives at its end ---- */

OrtStatus *ort_ep_ProfilingEventsContainer_AddEvents(OrtProfilingEventsContainer *events_container,
                                                     const OrtProfilingEvent *const *events, size_t num_events) {
  ORT_NEED(events_container);
  if (num_events == 0) return NULL;
  ORT_NEED(events);
  for (size_t i = 0; i < num_events; i++)
    if (events[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.ProfilingEventsContainer_AddEvents: 'events[%zu]' is NULL", i);
  for (size_t i = 0; i < num_events; i++) ORT_TRY(events_container->add(events_container->ctx, events[i]));
  return NULL;
}
