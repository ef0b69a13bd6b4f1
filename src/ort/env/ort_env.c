/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_env.c - the one environment of the process: made by the first CreateEnv, ended by the last ReleaseEnv.
 * Sessions hold it, too, so a client may release it before them. */
#include "ort/env/ort_env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ort/ort_alive.h"
#include "ort/value/ort_allocators.h"
#include "ort/ort_api.h"
#include "ort/env/ort_threading.h"

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static OrtEnv *the_env;

static void end(OrtEnv *env) {
  env->alive = 0;
  ort_shared_allocators_release(env);
  ort_ep_libraries_release(env);
  ort_own_memories_release(env);
  ox_env_release(env->env);
  ort_threads_destroy(env->threads);
  ort_pairs_deinit(&env->config);
  pthread_mutex_destroy(&env->lock);
  free(env->logger.id);
  free(env);
}

static bool is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Onyx's own plug-ins (onyx/plugin.h), for clients that cannot name them: the files among what ONYX_PLUGINS lists, with
 * ':' between. In its folders the engine looks for providers when they are asked for. */
static OrtStatus *load_plugins(ox_env *env) {
  const char *list = getenv("ONYX_PLUGINS");
  if (list == NULL || *list == '\0') return NULL;
  char *paths = strdup(list), *rest = NULL;
  if (paths == NULL) return ort_out_of_memory();
  OrtStatus *st = NULL;
  for (char *path = strtok_r(paths, ":", &rest); path != NULL && st == NULL; path = strtok_r(NULL, ":", &rest))
    if (!is_folder(path)) st = ort_status_from(ox_env_load_plugin(env, path));
  free(paths);
  return st;
}

static OrtStatus *fill(OrtEnv *env, const OrtEnvCreationOptions *o) {
  if ((uint32_t)o->logging_severity_level > ORT_LOGGING_LEVEL_FATAL)
    return ort_fail(ORT_INVALID_ARGUMENT, "CreateEnv: the log's level is %d, wanted 0 to 4",
                    (int)o->logging_severity_level);
  env->logger = (OrtLogger){o->custom_logging_function, o->custom_logging_param,
                            (OrtLoggingLevel)o->logging_severity_level, strdup(o->log_id)};
  if (env->logger.id == NULL) return ort_out_of_memory();
  if (o->config_entries != NULL) ORT_TRY(ort_pairs_copy(o->config_entries, &env->config));
  if (o->threading_options != NULL) ORT_TRY(ort_threads_create(o->threading_options, &env->threads));
  ox_env_opts opts = {.struct_size = sizeof opts, .log = ort_log_engine, .log_ctx = &env->logger};
  ORT_TRY(ort_status_from(ox_env_create(&opts, &env->env)));
  return load_plugins(env->env);
}

static OrtStatus *make(const OrtEnvCreationOptions *o, OrtEnv **out) {
  OrtEnv *env = calloc(1, sizeof *env);
  if (env == NULL) return ort_out_of_memory();
  env->alive = ORT_ALIVE_ENV, env->refs = 1;
  pthread_mutex_init(&env->lock, NULL);
  OrtStatus *st = fill(env, o);
  if (st == NULL)
    *out = env;
  else
    end(env);
  return st;
}

/* Whoever comes second gets what there is: the arguments are those of the first. */
static OrtStatus *get(const OrtEnvCreationOptions *o, OrtEnv **out) {
  OrtStatus *st = NULL;
  pthread_mutex_lock(&the_lock);
  if (the_env != NULL)
    the_env->refs++;
  else
    st = make(o, &the_env);
  *out = the_env;
  pthread_mutex_unlock(&the_lock);
  return st;
}

OrtEnv *ort_env_retain(const OrtEnv *env) {
  OrtEnv *e = (OrtEnv *)(uintptr_t)env;
  pthread_mutex_lock(&the_lock);
  e->refs++;
  pthread_mutex_unlock(&the_lock);
  return e;
}

void ort_ReleaseEnv(OrtEnv *env) {
  if (env == NULL || env->alive != ORT_ALIVE_ENV) return;
  pthread_mutex_lock(&the_lock);
  bool last = --env->refs == 0;
  if (last) the_env = NULL;
  pthread_mutex_unlock(&the_lock);
  if (last) end(env); /* without the lock: libraries end, too */
}

OrtStatus *ort_engine_open(ort_engine *out) {
  pthread_mutex_lock(&the_lock);
  OrtEnv *held = the_env;
  if (held != NULL) held->refs++;
  pthread_mutex_unlock(&the_lock);
  *out = (ort_engine){held, held != NULL ? held->env : NULL};
  return held != NULL ? NULL : ort_status_from(ox_env_create(NULL, &out->env));
}

void ort_engine_close(ort_engine *e) {
  if (e->held != NULL)
    ort_ReleaseEnv(e->held);
  else
    ox_env_release(e->env);
}

/* The copy is the caller's. */
OrtStatus *ort_ep_GetEnvConfigEntries(OrtKeyValuePairs **config_entries) {
  ORT_NEED(config_entries);
  ORT_TRY(ort_pairs_create(config_entries));
  pthread_mutex_lock(&the_lock);
  OrtStatus *st = the_env != NULL ? ort_pairs_copy(&the_env->config, *config_entries) : NULL;
  pthread_mutex_unlock(&the_lock);
  return st;
}

/* ---- the ways to make one ---- */

OrtStatus *ort_CreateEnv(OrtLoggingLevel level, const char *logid, OrtEnv **out) {
  ORT_NEED(logid);
  ORT_NEED(out);
  return get(&(OrtEnvCreationOptions){.logging_severity_level = (int32_t)level, .log_id = logid}, out);
}

OrtStatus *ort_CreateEnvWithCustomLogger(OrtLoggingFunction logging_function, void *param, OrtLoggingLevel level,
                                         const char *logid, OrtEnv **out) {
  ORT_NEED(logging_function);
  ORT_NEED(logid);
  ORT_NEED(out);
  return get(&(OrtEnvCreationOptions){.logging_severity_level = (int32_t)level,
                                      .log_id = logid,
                                      .custom_logging_function = logging_function,
                                      .custom_logging_param = param},
             out);
}

OrtStatus *ort_CreateEnvWithGlobalThreadPools(OrtLoggingLevel level, const char *logid,
                                              const OrtThreadingOptions *threading_options, OrtEnv **out) {
  ORT_NEED(logid);
  ORT_NEED(threading_options);
  ORT_NEED(out);
  return get(
      &(OrtEnvCreationOptions){
          .logging_severity_level = (int32_t)level, .log_id = logid, .threading_options = threading_options},
      out);
}

OrtStatus *ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(OrtLoggingFunction logging_function, void *param,
                                                             OrtLoggingLevel level, const char *logid,
                                                             const OrtThreadingOptions *threading_options,
                                                             OrtEnv **out) {
  ORT_NEED(logging_function);
  ORT_NEED(logid);
  ORT_NEED(threading_options);
  ORT_NEED(out);
  return get(&(OrtEnvCreationOptions){.logging_severity_level = (int32_t)level,
                                      .log_id = logid,
                                      .custom_logging_function = logging_function,
                                      .custom_logging_param = param,
                                      .threading_options = threading_options},
             out);
}

OrtStatus *ort_CreateEnvWithOptions(const OrtEnvCreationOptions *options, OrtEnv **out) {
  ORT_NEED(options);
  ORT_NEED(out);
  if (options->version == 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "CreateEnvWithOptions: 'options->version' is 0, wanted ORT_API_VERSION");
  ORT_NEED(options->log_id);
  return get(options, out);
}

/* ---- what can be changed later ---- */

OrtStatus *ort_UpdateEnvWithCustomLogLevel(OrtEnv *env, OrtLoggingLevel level) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  if ((unsigned)level > ORT_LOGGING_LEVEL_FATAL)
    return ort_fail(ORT_INVALID_ARGUMENT, "UpdateEnvWithCustomLogLevel: level %d, wanted 0 to 4", (int)level);
  env->logger.least = level;
  return NULL;
}

/* Nothing is sent to anybody, whatever a client says. */
OrtStatus *ort_EnableTelemetryEvents(const OrtEnv *env) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  return NULL;
}

OrtStatus *ort_DisableTelemetryEvents(const OrtEnv *env) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  return NULL;
}

OrtStatus *ort_SetLanguageProjection(const OrtEnv *env, OrtLanguageProjection projection) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  (void)projection;
  return NULL;
}

/* Loops are shared out without a queue of work items that could be reported; Microsoft's builds refuse, too. */
OrtStatus *ort_SetPerSessionThreadPoolCallbacks(OrtEnv *env, const OrtThreadPoolCallbacksConfig *config) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(config);
  if (config->version == 0 || config->version > ORT_API_VERSION)
    return ort_fail(ORT_INVALID_ARGUMENT, "SetPerSessionThreadPoolCallbacks: 'config->version' is %u, wanted 25 to %d",
                    config->version, ORT_API_VERSION);
  return ort_fail(ORT_NOT_IMPLEMENTED, "SetPerSessionThreadPoolCallbacks: this pool has no queue of work to report on");
}
