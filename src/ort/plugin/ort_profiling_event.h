/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_profiling_event.h - events of a provider's own profiler. */
#ifndef OX_ORT_PROFILING_EVENT_H
#define OX_ORT_PROFILING_EVENT_H

#include "onyx/ort_ep.h"
#include "ort/ort_pairs.h"

struct OrtProfilingEvent {
  OrtProfilingEventCategory category;
  int32_t process, thread; /* -1: the host's own */
  char *name;
  int64_t begin_us, duration_us; /* since the profile began */
  OrtKeyValuePairs args;
};

/* Where the events of EndProfiling go: each lives as long as the call. */
struct OrtProfilingEventsContainer {
  OrtStatus *(*add)(void *ctx, const OrtProfilingEvent *event);
  void *ctx;
};

#endif
