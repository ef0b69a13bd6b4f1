/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_session_eps.h - the providers of libraries that one session has. */
#ifndef OX_ORT_SESSION_EPS_H
#define OX_ORT_SESSION_EPS_H

#include "onyx/onyx.h"
#include "ort/model/ort_proto.h"
#include "ort/session/ort_session_options.h"

typedef struct ort_session_eps ort_session_eps;

/* For those requests of |options| that name devices, and those that its policy chooses, which it gets then. |options|,
 * the session's own clone, and |logger| outlive what is made. *out NULL: there are none. */
OX_NODISCARD OrtStatus *ort_session_eps_create(OrtEnv *env, OrtSessionOptions *options, const OrtLogger *logger,
                                               ort_session_eps **out);
/* After the session of the engine. NULL is nothing. */
void ort_session_eps_release(ort_session_eps *eps);

/* Gives |opts| the tables of the providers; its list of names is the session options'. */
void ort_session_eps_fill(const ort_session_eps *eps, ox_session_opts *opts);
/* |st|, with which the session could not be made: with the code that a library gave, if it comes from one. */
OX_NODISCARD OrtStatus *ort_session_eps_explain(ort_session_eps *eps, OrtStatus *st);
/* The session is made. */
OX_NODISCARD OrtStatus *ort_session_eps_ready(ort_session_eps *eps);

/* Whether a library made a node EPContext. */
bool ort_session_eps_compiled(const ort_session_eps *eps);
/* The serialized |model|, which the session was made of, with compiled parts in place of what they were made of. */
OX_NODISCARD OrtStatus *ort_session_eps_context_model(ort_session_eps *eps, const void *model, size_t n,
                                                      ort_bytes *out);

/* Around each run; |end| also if the run failed. A provider that takes one run at a time gets one at a time. */
OX_NODISCARD OrtStatus *ort_session_eps_begin(ort_session_eps *eps, const OrtRunOptions *options);
OX_NODISCARD OrtStatus *ort_session_eps_end(ort_session_eps *eps, const OrtRunOptions *options, bool ran);
/* Waits for the devices of all providers (SynchronizeBoundInputs and Outputs). */
OX_NODISCARD OrtStatus *ort_session_eps_sync(ort_session_eps *eps);
/* What clients tell later: options, and that a graph that a provider captured is not needed any more. */
OX_NODISCARD OrtStatus *ort_session_eps_set(ort_session_eps *eps, const char *const *keys, const char *const *values,
                                            size_t n);
OX_NODISCARD OrtStatus *ort_session_eps_drop_graph(ort_session_eps *eps, int id);

#endif
