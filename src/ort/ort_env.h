/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_env.h - the environment: one per process, counted; a second CreateEnv gives the same. */
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

void ort_log(const OrtLogger *logger, OrtLoggingLevel level, const char *category, const char *where, const char *fmt,
             ...) __attribute__((format(printf, 5, 6)));

struct OrtEnv {
  size_t refs; /* under the lock of ort_env.c */
  ox_env *env;
  OrtLogger logger;
  ox_pool *pool; /* global pools were asked for; else NULL */
  OrtKeyValuePairs config;
  pthread_mutex_t lock;                    /* over what follows */
  struct ort_shared_allocator *allocators; /* registered and shared ones (ort_allocators.c) */
  struct ort_ep_library *libraries;        /* of execution providers (ort/plugin/) */
};

#endif
