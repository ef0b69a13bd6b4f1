/* SPDX-License-Identifier: Apache-2.0
 * session/session_providers.h - the providers of one session. */
#ifndef OX_SESSION_SESSION_PROVIDERS_H
#define OX_SESSION_SESSION_PROVIDERS_H

#include "session/session.h"

/* The table of provider |name|, one of |o|'s own or of the env's, and what its create is to find as ox_ep_host.user.
 * INVALID_ARGUMENT, INCOMPATIBLE: there is none, or an own one that is broken. */
OX_NODISCARD ox_status *ox_session_provider_table(const ox_session *s, const ox_session_opts *o, const char *name,
                                                  ox_ep_api *out_api, void **out_user);
/* Puts the names that tables have in place of those by which |o| asks for them. */
OX_NODISCARD ox_status *ox_session_name_providers(ox_session *s, ox_session_opts *o);
/* Creates those of |o| in their order, and at the end, if they are not among them, "custom" (the operators of the env
 * and of the session that have kernels, where there are any) and "cpu" (where the env has it). */
OX_NODISCARD ox_status *ox_session_add_providers(ox_session *s, const ox_session_opts *o);
/* The one that computes what is constant at load: the CPU's; NULL: none. */
ox_provider *ox_session_evaluator(ox_session *s);

#endif
