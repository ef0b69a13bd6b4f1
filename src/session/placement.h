/* SPDX-License-Identifier: Apache-2.0
 * session/placement.h - the list behind ox_session_placement. */
#ifndef OX_SESSION_PLACEMENT_H
#define OX_SESSION_PLACEMENT_H

#include "session/session.h"

/* Lists every node of the session's plan, in the model's arena. */
OX_NODISCARD ox_status *ox_placement_list(ox_session *s);

/* Checks ox_session_opts.require. Errors: FAIL naming the requirement, the first nodes that violate it, and who
 * declined them and why; INVALID_ARGUMENT for a requirement that does not parse. */
OX_NODISCARD ox_status *ox_placement_require(const ox_session *s, const char *const *require, size_t n);

#endif
