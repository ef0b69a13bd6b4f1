/* SPDX-License-Identifier: Apache-2.0
 * session/overriding.h - runs that override defaults. An input that has an initializer is a constant of the session's
 * plan, which is all that most callers need. The first run that names one makes a sibling from the same model in which
 * they are inputs; such runs go there. */
#ifndef OX_SESSION_OVERRIDING_H
#define OX_SESSION_OVERRIDING_H

#include "session/session.h"

/* Where a model comes from. */
typedef struct ox_model_source {
  const char *path; /* NULL: from memory */
  const void *bytes;
  size_t n;
} ox_model_source;

/* session_create.c. |origin|: for a sibling: the session whose operators, providers, pool and profile it uses; else
 * NULL. */
OX_NODISCARD ox_status *ox_session_create_from(ox_env *env, const ox_model_source *from, const ox_session_opts *opts,
                                               ox_session *origin, ox_session **out_session);

/* Lists the inputs with a default; except in a sibling they become constants. */
OX_NODISCARD ox_status *ox_session_settle_defaults(ox_session *s);
/* Keeps what is needed to load |s| again, if it has inputs with a default or may fall back. */
OX_NODISCARD ox_status *ox_session_keep_source(ox_session *s, const ox_model_source *from, const ox_session_opts *o);
/* Whether a run with these inputs is for the sibling. */
bool ox_session_overrides(const ox_session *s, const char *const *names, const ox_value *const *values, size_t n);
/* The sibling, made by the first call. Any thread; other runs do not wait for it. Errors: those of creating it; FAIL if
 * the model's files have changed since |s| was made. */
OX_NODISCARD ox_status *ox_session_sibling(ox_session *s, ox_session **out_session);

/* Loads |s| again, without its providers and requirements on them. Errors as above. */
OX_NODISCARD ox_status *ox_session_load_on_cpu(ox_session *s, ox_session **out_session);

/* The default called |name|, or n_defaults. */
uint32_t ox_session_find_default(const ox_session *s, const char *name);

#endif
