/* SPDX-License-Identifier: Apache-2.0
 * session/load.h - from a model that was read to a session that runs. */
#ifndef OX_SESSION_LOAD_H
#define OX_SESSION_LOAD_H

#include "session/session.h"

/* The operators that |s| knows: the env's, those of |o| and of the providers it names. Before the model is read. */
OX_NODISCARD ox_status *ox_session_add_ops(ox_session *s, const ox_session_opts *o);
/* Everything after reading, in this order: functions are expanded, rules that keep to the standard's operators run on the
 * whole graph, providers claim nodes, owners' rules run inside what they own, programs and kernels are made. */
OX_NODISCARD ox_status *ox_session_load(ox_session *s, const ox_session_opts *o);

#endif
