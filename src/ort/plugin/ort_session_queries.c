/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_session_queries.c - what clients ask a session about its providers, and tell them. */
#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session.h"
#include "ort/plugin/ort_ep_assignment.h"
#include "ort/plugin/ort_ep_library.h"
#include "ort/plugin/ort_session_eps.h"

OrtStatus *ort_Session_GetEpGraphAssignmentInfo(const OrtSession *session,
                                                const OrtEpAssignedSubgraph *const **ep_subgraphs,
                                                size_t *num_ep_subgraphs) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(ep_subgraphs);
  ORT_NEED(num_ep_subgraphs);
  *ep_subgraphs = NULL, *num_ep_subgraphs = 0;
  if (session->assignment == NULL)
    return ort_fail(ORT_FAIL,
                    "Session configuration entry 'session.record_ep_graph_assignment_info' must be set to "
                    "\"1\" to retrieve EP graph assignment information.");
  *ep_subgraphs = ort_ep_assignment_groups(session->assignment, num_ep_subgraphs);
  return NULL;
}

/* ---- inputs and outputs: all of them are in memory of the host ---- */

static OrtStatus *fill_devices(const OrtSession *s, const char *slot, size_t have, const OrtEpDevice **out, size_t n) {
  ort_ep_library *first;
  if (n < have) return ort_fail(ORT_INVALID_ARGUMENT, "%s: there are %zu, but room for %zu", slot, have, n);
  ORT_TRY(ort_ep_libraries(s->env, &first));
  for (size_t i = 0; i < have; i++) out[i] = first->cpu;
  return NULL;
}

OrtStatus *ort_SessionGetEpDeviceForInputs(const OrtSession *session, const OrtEpDevice **inputs_ep_devices,
                                           size_t num_inputs) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(inputs_ep_devices);
  return fill_devices(session, "SessionGetEpDeviceForInputs", ox_session_input_count(session->session),
                      inputs_ep_devices, num_inputs);
}

OrtStatus *ort_SessionGetEpDeviceForOutputs(const OrtSession *session, const OrtEpDevice **outputs_ep_devices,
                                            size_t num_outputs) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(outputs_ep_devices);
  return fill_devices(session, "SessionGetEpDeviceForOutputs", ox_session_output_count(session->session),
                      outputs_ep_devices, num_outputs);
}

/* ---- what clients tell providers later ---- */

OrtStatus *ort_SetEpDynamicOptions(OrtSession *sess, const char *const *keys, const char *const *values,
                                   size_t kv_len) {
  ORT_ALIVE(sess, ORT_ALIVE_SESSION);
  if (kv_len == 0) return ort_fail(ORT_INVALID_ARGUMENT, "SetEpDynamicOptions: 'kv_len' is 0");
  ORT_NEED(keys);
  ORT_NEED(values);
  for (size_t i = 0; i < kv_len; i++)
    if (keys[i] == NULL || *keys[i] == 0 || values[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT, "SetEpDynamicOptions: the key or value of option %zu is NULL or empty", i);
  return ort_session_eps_set(sess->eps, keys, values, kv_len);
}

OrtStatus *ort_SessionReleaseCapturedGraph(OrtSession *session, int graph_annotation_id) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  return ort_session_eps_drop_graph(session->eps, graph_annotation_id);
}

/* The engine's runs have streams of their own, and end when all is done; they wait for this one when they begin. */
void ort_RunOptionsSetSyncStream(OrtRunOptions *options, OrtSyncStream *sync_stream) {
  if (options != NULL && options->alive == ORT_ALIVE_RUN_OPTIONS) options->stream = sync_stream;
}
