/* SPDX-License-Identifier: Apache-2.0
 * session/load.h - makes a session that can run of a model that was read. */
#ifndef OX_SESSION_LOAD_H
#define OX_SESSION_LOAD_H

#include "session/session.h"

/* Collects the operators of |s|: the env's, those of |o| and of the providers that it names. Called before the model is
 * read. */
OX_NODISCARD ox_status *ox_session_add_ops(ox_session *s, const ox_session_opts *o);
/* Everything after reading, in this order: functions are expanded, rules that keep to the standard's operators run on the
 * whole graph, providers claim nodes, owners' rules run inside what they own, programs and kernels are made. */
OX_NODISCARD ox_status *ox_session_load(ox_session *s, const ox_session_opts *o);

#endif
