/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_profile.c - profilers of libraries' providers: they collect while the session or a run is profiled,
 * and their events go into its file. They are not told of the engine's events. Profiling never fails what it looks at.
 */
#include "ort/plugin/ort_ep_profile.h"

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_instance.h"
#include "ort/plugin/ort_profiling_event.h"

static void complain(const ox_ep *e, OrtStatus *st) {
  if (st == NULL) return;
  ort_log(e->slot->eps->logger, ORT_LOGGING_LEVEL_WARNING, "onnxruntime", "ort_ep_profile.c", "%s: its profiler: %s",
          e->slot->request->name, ort_GetErrorMessage(st));
  ort_ReleaseStatus(st);
}

static void begin(ox_ep *e) {
  if (!ORT_HAS(e->ep, 25, CreateProfiler)) return;
  OrtStatus *st = e->ep->CreateProfiler(e->ep, &e->profiler);
  if (st == NULL && e->profiler != NULL && e->profiler->StartProfiling != NULL)
    st = e->profiler->StartProfiling(e->profiler, 0);
  complain(e, st);
}

void ort_eps_profile_begin(struct ort_session_eps *eps) {
  if (eps == NULL) return;
  pthread_mutex_lock(&eps->lock);
  for (ox_ep *e = eps->first; e != NULL; e = e->next)
    if (e->profiler == NULL) begin(e);
  pthread_mutex_unlock(&eps->lock);
}

static OrtStatus *add(void *ctx, const OrtProfilingEvent *event) {
  static const char *const categories[] = {"Session", "Node", "Kernel", "Api"};
  ort_profile_add_event(ctx, categories[event->category], event->name, event->begin_us, event->duration_us,
                        &event->args);
  return NULL;
}

void ort_eps_profile_end(struct ort_session_eps *eps, ort_profile *profile) {
  OrtProfilingEventsContainer events = {add, profile};
  if (eps == NULL) return;
  pthread_mutex_lock(&eps->lock);
  for (ox_ep *e = eps->first; e != NULL; e = e->next) {
    OrtEpProfilerImpl *p = e->profiler;
    if (p == NULL) continue;
    if (p->EndProfiling != NULL) complain(e, p->EndProfiling(p, &events));
    if (p->Release != NULL) p->Release(p);
    e->profiler = NULL;
  }
  pthread_mutex_unlock(&eps->lock);
}
