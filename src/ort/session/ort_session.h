/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session.h - OrtSession: an ox_session and what clients ask about it. */
#ifndef OX_ORT_SESSION_H
#define OX_ORT_SESSION_H

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"
#include "ort/model/ort_proto.h"
#include "ort/custom/ort_custom_op.h"
#include "ort/env/ort_env.h"
#include "ort/session/ort_profile.h"
#include "ort/session/ort_session_options.h"
#include "ort/env/ort_threading.h"

struct OrtSession {
  uint32_t alive; /* ORT_ALIVE_SESSION */
  OrtEnv *env;    /* counted */
  ox_session *session;
  OrtSessionOptions *options; /* a clone of what the session was created with */
  OrtLogger logger;
  ort_threads *threads; /* of its own; NULL: those of the environment or the process */
  ox_pool *pool;        /* that it runs on; NULL: the process's */
  ort_custom_ops *custom_ops;
  ox_memory_file *files; /* copies of those that the options have in memory; owned */
  size_t n_files;
  struct ort_arena *arena; /* of CreateAllocator; NULL: nobody asked */
  ort_profile *profile;    /* of the session, until it is ended; NULL: none */
  uint64_t profile_start_ns;
  pthread_mutex_t profiling;            /* single runs that are profiled take turns */
  struct ort_session_eps *eps;          /* providers of libraries (ort/plugin/); NULL: none */
  struct ort_ep_assignment *assignment; /* for Session_GetEpGraphAssignmentInfo; NULL: not recorded */
  struct ort_model_edit *edit; /* of a model that is being edited: it does not run yet; else NULL (ort/model/) */
};

/* Of |path|, or of |bytes| if |path| is NULL. */
OX_NODISCARD OrtStatus *ort_session_create(const OrtEnv *env, const char *path, const void *bytes, size_t n,
                                           const OrtSessionOptions *options, OrtSession **out);

/* The session becomes one of |bytes|; if that fails it stays what it was. Nobody else uses it meanwhile. */
OX_NODISCARD OrtStatus *ort_session_replace(OrtSession *s, const void *bytes, size_t n,
                                            const OrtSessionOptions *options);

/* The model with compiled parts (ep.context_enable), of the model that |s| was created from. |out| is left empty if no
 * library compiled one (ort/plugin/ort_session_context.c). */
OX_NODISCARD OrtStatus *ort_session_context_model(OrtSession *s, const char *path, const void *bytes, size_t n,
                                                  ort_bytes *out);
/* Writes it to the file that the options say, if they want it. */
OX_NODISCARD OrtStatus *ort_session_context_save(OrtSession *s, const char *path, const void *bytes, size_t n);
/* Run with values in memory of devices (ort/plugin/ort_run_devices.c). */
OX_NODISCARD OrtStatus *ort_run_on_devices(OrtSession *s, const OrtRunOptions *options, const char *const *input_names,
                                           const OrtValue *const *inputs, size_t n_in, const char *const *output_names,
                                           size_t n_out, OrtValue **outputs);
/* A tensor in memory of the host is replaced by one in |memory|, where the environment has an allocator for that. */
OX_NODISCARD OrtStatus *ort_value_to_device(OrtSession *s, const OrtMemoryInfo *memory, OrtValue **value);

struct OrtRunOptions {
  uint32_t alive; /* ORT_ALIVE_RUN_OPTIONS */
  char *tag;
  int log_severity, log_verbosity;
  volatile int terminate;
  OrtKeyValuePairs config;
  const OrtLoraAdapter **adapters; /* the caller's */
  size_t n_adapters;
  bool profiling;
  char *profile_prefix;
  ox_state *state;       /* the caller's (ort_experimental.c); NULL: none */
  OrtSyncStream *stream; /* of a device, the client's: what is on it is done before a run begins. NULL: none */
};

/* Reads the options of |s| into those of the engine. |lists|: memory to free when the session is created. */
OX_NODISCARD OrtStatus *ort_session_opts_fill(OrtSession *s, ox_session_opts *out, void **out_lists);
/* The ABI's code and text for |st|, with which a session was not created; consumes it. */
OX_NODISCARD OrtStatus *ort_load_explain(ox_status *st);

/* Nothing in them is for ort_run_around. */
static inline bool ort_run_options_are_plain(const OrtRunOptions *o) {
  return !o->profiling && o->n_adapters == 0 && o->config.n == 0 &&
         (unsigned)(o->log_severity + 1) <= ORT_LOGGING_LEVEL_FATAL + 1;
}

/* A run in values of the engine. outputs[i] NULL: made. */
typedef struct ort_run_call {
  const char *const *input_names;
  const ox_value *const *inputs;
  size_t n_inputs;
  const char *const *output_names;
  ox_value **outputs;
  size_t n_outputs;
  ox_memory *const *memories; /* as ox_run_opts.output_memories */
} ort_run_call;

/* Run, with outputs that it makes in memories of the engine's providers: ox_run_opts.output_memories. */
OX_NODISCARD OrtStatus *ort_run_in(OrtSession *session, const OrtRunOptions *run_options,
                                   const char *const *input_names, const OrtValue *const *inputs, size_t input_len,
                                   const char *const *output_names, size_t output_names_len, OrtValue **outputs,
                                   ox_memory *const *memories);

/* |options| may be NULL. */
OX_NODISCARD OrtStatus *ort_run_engine(OrtSession *s, const OrtRunOptions *options, const ort_run_call *call);
/* The same, with all that options and session want around it: adapters, a profile, providers that are told. */
OX_NODISCARD OrtStatus *ort_run_around(OrtSession *s, const OrtRunOptions *options, const ort_run_call *call);
/* The ABI's code and text for |st|, with which such a run failed; consumes it. */
OX_NODISCARD OrtStatus *ort_run_explain(ox_status *st, const OrtSession *s, const OrtRunOptions *options,
                                        const ort_run_call *call);

#endif
