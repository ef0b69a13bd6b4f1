/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_run_options.c - what one run is to be like. */
#include <stdlib.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session.h"
#include "ort/ort_list.h"

#define ALIVE(options) ORT_ALIVE(options, ORT_ALIVE_RUN_OPTIONS)

OrtStatus *ort_CreateRunOptions(OrtRunOptions **out) {
  ORT_NEED(out);
  OrtRunOptions *o = *out = calloc(1, sizeof *o);
  if (o == NULL) return ort_out_of_memory();
  o->alive = ORT_ALIVE_RUN_OPTIONS;
  o->log_severity = -1;
  return NULL;
}

void ort_ReleaseRunOptions(OrtRunOptions *o) {
  if (o == NULL || o->alive != ORT_ALIVE_RUN_OPTIONS) return;
  o->alive = 0;
  free(o->tag);
  free(o->profile_prefix);
  free(o->adapters);
  ort_pairs_deinit(&o->config);
  free(o);
}

OrtStatus *ort_RunOptionsSetRunLogVerbosityLevel(OrtRunOptions *options, int value) {
  ALIVE(options);
  options->log_verbosity = value;
  return NULL;
}

OrtStatus *ort_RunOptionsSetRunLogSeverityLevel(OrtRunOptions *options, int value) {
  ALIVE(options);
  options->log_severity = value;
  return NULL;
}

OrtStatus *ort_RunOptionsSetRunTag(OrtRunOptions *options, const char *tag) {
  ALIVE(options);
  ORT_NEED(tag);
  return ort_text_set(&options->tag, tag);
}

OrtStatus *ort_RunOptionsGetRunLogVerbosityLevel(const OrtRunOptions *options, int *out) {
  ALIVE(options);
  ORT_NEED(out);
  *out = options->log_verbosity;
  return NULL;
}

OrtStatus *ort_RunOptionsGetRunLogSeverityLevel(const OrtRunOptions *options, int *out) {
  ALIVE(options);
  ORT_NEED(out);
  *out = options->log_severity;
  return NULL;
}

OrtStatus *ort_RunOptionsGetRunTag(const OrtRunOptions *options, const char **out) {
  ALIVE(options);
  ORT_NEED(out);
  *out = options->tag != NULL ? options->tag : "";
  return NULL;
}

OrtStatus *ort_RunOptionsSetTerminate(OrtRunOptions *options) {
  ALIVE(options);
  options->terminate = 1;
  return NULL;
}

OrtStatus *ort_RunOptionsUnsetTerminate(OrtRunOptions *options) {
  ALIVE(options);
  options->terminate = 0;
  return NULL;
}

OrtStatus *ort_AddRunConfigEntry(OrtRunOptions *options, const char *key, const char *value) {
  ALIVE(options);
  ORT_NEED(key);
  ORT_NEED(value);
  return ort_config_add(&options->config, "AddRunConfigEntry", key, value);
}

const char *ort_GetRunConfigEntry(const OrtRunOptions *options, const char *key) {
  if (options == NULL || options->alive != ORT_ALIVE_RUN_OPTIONS || key == NULL) return NULL;
  return ort_pairs_get(&options->config, key);
}

OrtStatus *ort_RunOptionsAddActiveLoraAdapter(OrtRunOptions *options, const OrtLoraAdapter *adapter) {
  ALIVE(options);
  ORT_NEED(adapter);
  ORT_TRY(ort_list_grow(&options->adapters, options->n_adapters, sizeof *options->adapters));
  options->adapters[options->n_adapters++] = adapter;
  return NULL;
}

OrtStatus *ort_RunOptionsEnableProfiling(OrtRunOptions *options, const ORTCHAR_T *prefix) {
  ALIVE(options);
  ORT_NEED(prefix);
  ORT_TRY(ort_text_set(&options->profile_prefix, prefix));
  options->profiling = true;
  return NULL;
}

OrtStatus *ort_RunOptionsDisableProfiling(OrtRunOptions *options) {
  ALIVE(options);
  options->profiling = false;
  return NULL;
}
