/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session_setters.c - the setters of session options. Some ask for what Onyx does anyway (arenas,
 * patterns of memory, deterministic results, one order of nodes): they are kept, told back, and change nothing. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session_options.h"
#include "ort/ort_list.h"

#define ALIVE(options) ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS)

/* ---- values ---- */

#define FLAG(slot, field, value)                      \
  OrtStatus *ort_##slot(OrtSessionOptions *options) { \
    ALIVE(options);                                   \
    options->field = value;                           \
    return NULL;                                      \
  }
FLAG(EnableMemPattern, mem_pattern, true)
FLAG(DisableMemPattern, mem_pattern, false)
FLAG(EnableCpuMemArena, cpu_arena, true)
FLAG(DisableCpuMemArena, cpu_arena, false)
FLAG(DisableProfiling, profiling, false)
FLAG(DisablePerSessionThreads, per_session_threads, false)

#define NUMBER(slot, type, field)                                 \
  OrtStatus *ort_##slot(OrtSessionOptions *options, type value) { \
    ALIVE(options);                                               \
    options->field = value;                                       \
    return NULL;                                                  \
  }
NUMBER(SetSessionLogVerbosityLevel, int, log_verbosity)
NUMBER(SetSessionLogSeverityLevel, int, log_severity)
NUMBER(SetIntraOpNumThreads, int, intra_threads)
NUMBER(SetInterOpNumThreads, int, inter_threads)
NUMBER(SetDeterministicCompute, bool, deterministic)
NUMBER(SessionOptionsSetLoadCancellationFlag, bool, cancel_load)

#define TEXT(slot, field)                                                \
  OrtStatus *ort_##slot(OrtSessionOptions *options, const char *value) { \
    ALIVE(options);                                                      \
    ORT_NEED(value);                                                     \
    return ort_text_set(&options->field, value);                         \
  }
TEXT(SetOptimizedModelFilePath, optimized_path)
TEXT(SetSessionLogId, log_id)

OrtStatus *ort_EnableProfiling(OrtSessionOptions *options, const ORTCHAR_T *profile_file_prefix) {
  ALIVE(options);
  ORT_NEED(profile_file_prefix);
  ORT_TRY(ort_text_set(&options->profile_prefix, profile_file_prefix));
  options->profiling = true;
  return NULL;
}

OrtStatus *ort_SetSessionExecutionMode(OrtSessionOptions *options, ExecutionMode mode) {
  ALIVE(options);
  if (mode != ORT_SEQUENTIAL && mode != ORT_PARALLEL)
    return ort_fail(ORT_INVALID_ARGUMENT, "SetSessionExecutionMode: 'execution_mode' is %d, wanted 0 or 1", (int)mode);
  options->execution_mode = mode;
  return NULL;
}

OrtStatus *ort_SetSessionGraphOptimizationLevel(OrtSessionOptions *options, GraphOptimizationLevel level) {
  ALIVE(options);
  if ((unsigned)level > ORT_ENABLE_LAYOUT && level != ORT_ENABLE_ALL)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "SetSessionGraphOptimizationLevel: 'graph_optimization_level' is %d, wanted 0, 1, 2, 3 or 99",
                    (int)level);
  options->level = level;
  return NULL;
}

OrtStatus *ort_GetMemPatternEnabled(const OrtSessionOptions *options, int *out) {
  ALIVE(options);
  ORT_NEED(out);
  *out = options->mem_pattern;
  return NULL;
}

OrtStatus *ort_GetSessionExecutionMode(const OrtSessionOptions *options, ExecutionMode *out) {
  ALIVE(options);
  ORT_NEED(out);
  *out = options->execution_mode;
  return NULL;
}

/* ---- the caller's functions ---- */

OrtStatus *ort_SetUserLoggingFunction(OrtSessionOptions *options, OrtLoggingFunction function, void *param) {
  ALIVE(options);
  ORT_NEED(function);
  options->log_function = function, options->log_param = param;
  return NULL;
}

OrtStatus *ort_SessionOptionsSetCustomCreateThreadFn(OrtSessionOptions *options, OrtCustomCreateThreadFn create) {
  ALIVE(options);
  ORT_NEED(create);
  options->create_thread = create;
  return NULL;
}

OrtStatus *ort_SessionOptionsSetCustomThreadCreationOptions(OrtSessionOptions *options, void *param) {
  ALIVE(options);
  ORT_NEED(param);
  options->create_thread_param = param;
  return NULL;
}

OrtStatus *ort_SessionOptionsSetCustomJoinThreadFn(OrtSessionOptions *options, OrtCustomJoinThreadFn join) {
  ALIVE(options);
  ORT_NEED(join);
  options->join_thread = join;
  return NULL;
}

/* ---- dimensions ---- */

static OrtStatus *add_dim(OrtSessionOptions *options, const char *name, bool by_denotation, int64_t value) {
  ORT_TRY(ort_list_grow(&options->dims, options->n_dims, sizeof *options->dims));
  ort_dim_override *d = &options->dims[options->n_dims];
  ORT_TRY(ort_text_set(&d->name, name));
  d->by_denotation = by_denotation, d->value = value;
  options->n_dims++;
  return NULL;
}

OrtStatus *ort_AddFreeDimensionOverride(OrtSessionOptions *options, const char *denotation, int64_t value) {
  ALIVE(options);
  ORT_NEED(denotation);
  return add_dim(options, denotation, true, value);
}

OrtStatus *ort_AddFreeDimensionOverrideByName(OrtSessionOptions *options, const char *name, int64_t value) {
  ALIVE(options);
  ORT_NEED(name);
  return add_dim(options, name, false, value);
}
