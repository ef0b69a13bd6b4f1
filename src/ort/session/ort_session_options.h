/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session_options.h - what a session is to be like; cloned, then read once when a session is created.
 */
#ifndef OX_ORT_SESSION_OPTIONS_H
#define OX_ORT_SESSION_OPTIONS_H

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"
#include "ort/env/ort_env.h"
#include "ort/ort_pairs.h"

/* A provider that the caller asks for, by name or by devices of a library's. */
typedef struct ort_provider_request {
  char *name;
  OrtKeyValuePairs options;
  const OrtEpDevice **devices; /* NULL: by name */
  size_t n_devices;
} ort_provider_request;

/* A symbolic dimension that is fixed. */
typedef struct ort_dim_override {
  char *name; /* or denotation */
  bool by_denotation;
  int64_t value;
} ort_dim_override;

/* Contents for an initializer. */
typedef struct ort_given_initializer {
  char *name;
  ox_value *value; /* retained */
  bool external;   /* for external data (AddExternalInitializers) */
} ort_given_initializer;

/* A file of external data that the caller has in memory; the caller's until sessions are made. */
typedef struct ort_given_file {
  char *name;
  const void *bytes;
  size_t n;
} ort_given_file;

struct OrtSessionOptions {
  uint32_t alive; /* ORT_ALIVE_SESSION_OPTIONS */
  ExecutionMode execution_mode;
  GraphOptimizationLevel level;
  int intra_threads, inter_threads;
  bool cpu_arena, mem_pattern, per_session_threads, deterministic, profiling;
  char *profile_prefix, *optimized_path, *log_id;
  int log_severity, log_verbosity; /* -1: the environment's */
  OrtLoggingFunction log_function;
  void *log_param;
  OrtKeyValuePairs config;
  ort_provider_request *providers;
  size_t n_providers;
  ort_dim_override *dims;
  size_t n_dims;
  ort_given_initializer *initializers;
  size_t n_initializers;
  ort_given_file *files;
  size_t n_files;
  OrtCustomOpDomain **domains; /* the caller's; they outlive the session */
  size_t n_domains;
  struct ort_op_library
      *op_libraries; /* loaded by RegisterCustomOpsLibrary_V2; counted, shared by clones and sessions */
  volatile int cancel_load;
  OrtCustomCreateThreadFn create_thread;
  OrtCustomJoinThreadFn join_thread;
  void *create_thread_param;
  EpSelectionDelegate select;
  void *select_param;
  OrtExecutionProviderDevicePolicy policy;
  bool has_policy;
  const void *source_model; /* with the weights that a compiled model leaves out; the caller's. NULL: none */
  size_t source_model_bytes;
  OrtReadNamedBufferFunc read_context; /* of providers' data beside compiled models; NULL: they do it themselves */
  void *read_context_state;
  OrtWriteNamedBufferFunc write_context;
  void *write_context_state;
};

/* |*to| becomes a copy of |text|; what was there is freed. NULL stays NULL. */
OX_NODISCARD OrtStatus *ort_text_set(char **to, const char *text);

/* Sets an entry, within the limits of the ABI; |function| is named in errors. */
OX_NODISCARD OrtStatus *ort_config_add(OrtKeyValuePairs *config, const char *function, const char *key,
                                       const char *value);

#endif
