/* SPDX-License-Identifier: Apache-2.0
 * session/session_providers.h - the providers of one session. */
#ifndef OX_SESSION_SESSION_PROVIDERS_H
#define OX_SESSION_SESSION_PROVIDERS_H

#include "session/session.h"

/* Finds the table of provider |name|, one of |o|'s own or of the env's, and the |user| for its ox_ep_host. Errors:
 * INVALID_ARGUMENT if there is none; INCOMPATIBLE if an own one is malformed. */
OX_NODISCARD ox_status *ox_session_provider_table(const ox_session *s, const ox_session_opts *o, const char *name,
                                                  ox_ep_api *out_api, void **out_user);
/* Replaces the provider names in |o| by those in their tables. */
OX_NODISCARD ox_status *ox_session_name_providers(ox_session *s, ox_session_opts *o);
/* Creates the providers of |o| in their order and, unless they are among these, at the end "custom" (the operators of
 * the env and of the session that have kernels, where there are any) and "cpu" (where the env has it). */
OX_NODISCARD ox_status *ox_session_add_providers(ox_session *s, const ox_session_opts *o);
/* The provider that computes constants at load: the CPU's; NULL: none. */
ox_provider *ox_session_evaluator(ox_session *s);

#endif
