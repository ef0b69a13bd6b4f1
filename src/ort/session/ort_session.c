/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session.c - sessions: created from a file or from bytes, released. */
#include "ort/session/ort_session.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_config_keys.h"
#include "ort/model/ort_model_edit.h"
#include "ort/value/ort_arena.h"
#include "ort/session/ort_model_file.h"
#include "ort/plugin/ort_ep_assignment.h"
#include "ort/plugin/ort_ep_profile.h"
#include "ort/plugin/ort_ep_weightless.h"
#include "ort/plugin/ort_session_eps.h"

/* All that came with the model. */
static void drop_model(OrtSession *s) {
  ort_profile_destroy(s->profile);
  ort_ep_assignment_release(s->assignment);
  ox_session_release(s->session);
  ort_session_eps_release(s->eps);
  ort_custom_ops_release(s->custom_ops);
  ort_threads_destroy(s->threads);
  ort_ReleaseSessionOptions(s->options);
  for (size_t i = 0; i < s->n_files; i++) free((void *)(uintptr_t)s->files[i].bytes);
  free(s->files);
}

void ort_ReleaseSession(OrtSession *s) {
  if (s == NULL || s->alive != ORT_ALIVE_SESSION) return;
  s->alive = 0;
  if (s->profile != NULL && s->session != NULL) {
    ort_eps_profile_end(s->eps, s->profile);
    ort_ReleaseStatus(ort_profile_write(s->profile, s->session));
  }
  drop_model(s);
  pthread_mutex_destroy(&s->profiling);
  ort_arena_release(s->arena);
  ort_model_edit_release(s->edit);
  ort_ReleaseEnv(s->env);
  free(s);
}

/* The session's own log: its function or the environment's, its level or the environment's. */
static OrtStatus *set_logger(OrtSession *s) {
  const OrtSessionOptions *o = s->options;
  if (o->log_severity < -1 || o->log_severity > ORT_LOGGING_LEVEL_FATAL)
    return ort_fail(ORT_FAIL, "CreateSession: the log's level is %d, wanted -1 to 4", o->log_severity);
  s->logger = s->env->logger;
  if (o->log_function != NULL) s->logger.function = o->log_function, s->logger.param = o->log_param;
  if (o->log_severity >= 0) s->logger.least = (OrtLoggingLevel)o->log_severity;
  s->logger.id = o->log_id; /* the options' */
  return NULL;
}

static OrtStatus *load(OrtSession *s, const char *path, const void *bytes, size_t n, const OrtSessionOptions *callers) {
  ox_session_opts opts;
  void *lists = NULL;
  OrtStatus *st = ort_session_opts_fill(s, &opts, &lists);
  if (st == NULL) {
    if (path == NULL && opts.external_dir == NULL) opts.external_dir = "."; /* of bytes: the working directory */
    if (callers != NULL) opts.cancel = &callers->cancel_load; /* not that of the clone: it may be set meanwhile */
    ox_status *failed = path != NULL ? ox_session_create_file(s->env->env, path, &opts, &s->session)
                                     : ox_session_create(s->env->env, bytes, n, &opts, &s->session);
    st = ort_load_explain(failed);
  }
  free(lists);
  return st;
}

static OrtStatus *start_profile(OrtSession *s) {
  if (!s->options->profiling) return NULL;
  const char *prefix = s->options->profile_prefix;
  ORT_TRY(ort_profile_create(prefix != NULL ? prefix : "onnxruntime_profile_", &s->profile));
  s->profile_start_ns = s->profile->start_real_ns;
  return NULL;
}

static OrtStatus *write_optimized(const OrtSession *s) {
  const OrtSessionOptions *o = s->options;
  const char *external = ort_pairs_get(&o->config, "session.optimized_model_external_initializers_file_name");
  const char *bytes = ort_pairs_get(&o->config, "session.optimized_model_external_initializers_min_size_in_bytes");
  if (o->optimized_path == NULL) return NULL;
  return ort_model_write_file(s->session, o->optimized_path, external,
                              bytes != NULL ? strtoull(bytes, NULL, 10) : 1024);
}

static OrtStatus *record_assignment(OrtSession *s) {
  const char *record = ort_pairs_get(&s->options->config, "session.record_ep_graph_assignment_info");
  return record != NULL && strcmp(record, "1") == 0 ? ort_ep_assignment_create(s->session, &s->assignment) : NULL;
}

static OrtStatus *fill(OrtSession *s, const char *path, const void *bytes, size_t n, const OrtSessionOptions *options) {
  ORT_TRY(options != NULL ? ort_CloneSessionOptions(options, &s->options) : ort_CreateSessionOptions(&s->options));
  ORT_TRY(set_logger(s));
  ort_config_log_unknown(&s->options->config, &s->logger);
  ORT_TRY(ort_config_check(&s->options->config));
  ORT_TRY(ort_weightless_check(&s->options->config));
  ORT_TRY(start_profile(s));
  ORT_TRY(ort_session_eps_create(s->env, s->options, &s->logger, &s->eps)); /* they may bring operators */
  ORT_TRY(ort_custom_ops_create(s->env, s->options, &s->logger, &s->custom_ops));
  ORT_TRY(ort_session_eps_explain(s->eps, load(s, path, bytes, n, options)));
  if (s->profile != NULL)
    ort_profile_add(s->profile, path != NULL ? "model_loading_uri" : "model_loading_array", s->profile->start_ns);
  if (s->profile != NULL) ort_eps_profile_begin(s->eps);
  ORT_TRY(ort_session_eps_ready(s->eps));
  ORT_TRY(record_assignment(s));
  if (s->profile != NULL) ort_profile_add(s->profile, "session_initialization", s->profile->start_ns);
  return write_optimized(s);
}

OrtStatus *ort_session_create(const OrtEnv *env, const char *path, const void *bytes, size_t n,
                              const OrtSessionOptions *options, OrtSession **out) {
  *out = NULL;
  OrtSession *s = calloc(1, sizeof *s);
  if (s == NULL) return ort_out_of_memory();
  s->alive = ORT_ALIVE_SESSION;
  s->env = ort_env_retain(env);
  pthread_mutex_init(&s->profiling, NULL);
  OrtStatus *st = fill(s, path, bytes, n, options);
  if (st == NULL)
    *out = s;
  else
    ort_ReleaseSession(s);
  return st;
}

OrtStatus *ort_session_replace(OrtSession *s, const void *bytes, size_t n, const OrtSessionOptions *options) {
  OrtSession old = *s;
  s->profile = NULL, s->session = NULL, s->eps = NULL, s->assignment = NULL, s->custom_ops = NULL;
  s->threads = NULL, s->pool = NULL, s->options = NULL, s->files = NULL, s->n_files = 0;
  OrtStatus *st = fill(s, NULL, bytes, n, options);
  if (st == NULL) {
    drop_model(&old);
    return NULL;
  }
  drop_model(s);
  s->profile = old.profile, s->session = old.session, s->eps = old.eps, s->custom_ops = old.custom_ops;
  s->assignment = old.assignment;
  s->threads = old.threads, s->pool = old.pool, s->options = old.options;
  s->files = old.files, s->n_files = old.n_files, s->logger = old.logger;
  return st;
}

/* ---- the ways to make one ---- */

/* With the file of compiled parts that the options may want. */
static OrtStatus *create_and_save(const OrtEnv *env, const char *path, const void *bytes, size_t n,
                                  const OrtSessionOptions *options, OrtSession **out) {
  ORT_TRY(ort_session_create(env, path, bytes, n, options, out));
  OrtStatus *st = ort_session_context_save(*out, path, bytes, n);
  if (st == NULL) return NULL;
  ort_ReleaseSession(*out);
  *out = NULL;
  return st;
}

static OrtStatus *check_options(const OrtSessionOptions *options) {
  if (options != NULL && options->alive != ORT_ALIVE_SESSION_OPTIONS)
    return ort_bad_handle("CreateSession", "options", options);
  return NULL;
}

OrtStatus *ort_CreateSession(const OrtEnv *env, const ORTCHAR_T *model_path, const OrtSessionOptions *options,
                             OrtSession **out) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(model_path);
  ORT_TRY(check_options(options));
  ORT_NEED(out);
  return create_and_save(env, model_path, NULL, 0, options, out);
}

OrtStatus *ort_CreateSessionFromArray(const OrtEnv *env, const void *model_data, size_t model_data_length,
                                      const OrtSessionOptions *options, OrtSession **out) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(model_data);
  ORT_TRY(check_options(options));
  ORT_NEED(out);
  return create_and_save(env, NULL, model_data, model_data_length, options, out);
}

/* ---- prepacked weights ---- */

/* Sessions that get the same initializers share them, and kernels pack what they like for themselves: a container has
 * nothing to hold. */
struct OrtPrepackedWeightsContainer {
  char unused;
};

OrtStatus *ort_CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer **out) {
  ORT_NEED(out);
  *out = calloc(1, sizeof **out);
  return *out != NULL ? NULL : ort_out_of_memory();
}

void ort_ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer *container) { free(container); }

OrtStatus *ort_CreateSessionWithPrepackedWeightsContainer(const OrtEnv *env, const ORTCHAR_T *model_path,
                                                          const OrtSessionOptions *options,
                                                          OrtPrepackedWeightsContainer *container, OrtSession **out) {
  ORT_NEED(container);
  return ort_CreateSession(env, model_path, options, out);
}

OrtStatus *ort_CreateSessionFromArrayWithPrepackedWeightsContainer(const OrtEnv *env, const void *model_data,
                                                                   size_t model_data_length,
                                                                   const OrtSessionOptions *options,
                                                                   OrtPrepackedWeightsContainer *container,
                                                                   OrtSession **out) {
  ORT_NEED(container);
  return ort_CreateSessionFromArray(env, model_data, model_data_length, options, out);
}
