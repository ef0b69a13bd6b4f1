/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_session.h - OrtSession: an ox_session and what clients ask about it. */
#ifndef OX_ORT_SESSION_H
#define OX_ORT_SESSION_H

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"
#include "ort/ort_custom_op.h"
#include "ort/ort_env.h"
#include "ort/ort_session_options.h"

struct OrtSession {
  OrtEnv *env; /* counted */
  ox_session *session;
  OrtSessionOptions *options; /* a clone of what the session was created with */
  OrtLogger logger;
  ort_custom_ops *custom_ops;
  struct ort_session_eps *eps; /* providers of libraries (ort/plugin/); NULL: none */
};

/* Of |path|, or of |bytes| if |path| is NULL. */
OX_NODISCARD OrtStatus *ort_session_create(const OrtEnv *env, const char *path, const void *bytes, size_t n,
                                           const OrtSessionOptions *options, OrtSession **out);

struct OrtRunOptions {
  char *tag;
  int log_severity, log_verbosity;
  volatile int terminate;
  OrtKeyValuePairs config;
  const OrtLoraAdapter **adapters; /* the caller's */
  size_t n_adapters;
  bool profiling;
  char *profile_prefix;
};

#endif
