/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_env.h - the environment: one per process, counted; a second CreateEnv gives the same. */
#ifndef OX_ORT_ENV_H
#define OX_ORT_ENV_H

#include <pthread.h>

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"
#include "ort/ort_pairs.h"

/* Who gets the log: the environment's, a session's or a run's. */
struct OrtLogger {
  OrtLoggingFunction function; /* NULL: standard error, as Microsoft's library does */
  void *param;
  OrtLoggingLevel least;
  char *id;
};

/* The level as the engine counts. */
int ort_log_level(OrtLoggingLevel level);
/* For ox_env_opts and ox_session_opts: |logger| is an OrtLogger. */
void ort_log_engine(void *logger, int level, const char *text);

void ort_log(const OrtLogger *logger, OrtLoggingLevel level, const char *category, const char *where, const char *fmt,
             ...) __attribute__((format(printf, 5, 6)));

/* A line on standard error: what happens to the log where there is no function. */
void ort_log_print(OrtLoggingLevel level, const char *category, const char *id, const char *where, const char *text);

struct OrtEnv {
  uint32_t alive; /* ORT_ALIVE_ENV */
  size_t refs;    /* under the lock of ort_env.c */
  ox_env *env;
  OrtLogger logger;
  struct ort_threads *threads; /* the global pool, if one was asked for; else NULL */
  OrtKeyValuePairs config;
  pthread_mutex_t lock;                    /* over what follows */
  struct ort_shared_allocator *allocators; /* registered and shared ones (value/ort_shared_allocators.c) */
  struct ort_ep_library *libraries;        /* of execution providers (ort/plugin/) */
};

/* One more count, and one less; the last one ends the environment. */
OrtEnv *ort_env_retain(const OrtEnv *env);

/* The engine's environment, for calls that have none among their arguments: that of the process, or one for the moment.
 */
typedef struct ort_engine {
  OrtEnv *held; /* NULL: |env| is for the moment */
  ox_env *env;
} ort_engine;
OrtStatus *ort_engine_open(ort_engine *out);
void ort_engine_close(ort_engine *e);

/* At the end of |env| (ort/plugin/ort_ep_library.c): releases its libraries. */
void ort_ep_libraries_release(OrtEnv *env);
/* The same of memories of the engine's providers (ort/value/ort_own_memory.c). */
void ort_own_memories_release(OrtEnv *env);

#endif
