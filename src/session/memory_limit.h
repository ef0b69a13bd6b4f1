/* SPDX-License-Identifier: Apache-2.0
 * session/memory_limit.h - what a session may allocate: ox_session_opts.max_memory. */
#ifndef OX_SESSION_MEMORY_LIMIT_H
#define OX_SESSION_MEMORY_LIMIT_H

#include "session/session.h"

/* The limit without one of the caller's, for a machine with |usable| bytes (0: unknown) and a model that brings
 * |given|, inputs included. */
size_t ox_default_memory_limit(uint64_t usable, uint64_t given);

/* Sets |s->alloc|, under the limit that |o| asks for; a sibling shares its origin's. |bytes|: of the model, or of its
 * file. */
OX_NODISCARD ox_status *ox_session_limit_memory(ox_session *s, const ox_session_opts *o, size_t bytes);
/* Once the model is read: its external files count like the model itself. */
void ox_session_count_files(ox_session *s);
/* A run brings |bytes| of inputs. */
void ox_session_count_inputs(ox_session *s, size_t bytes);
/* |st|, or the LIMIT behind it; |before|: ox_quota_refusals when what failed began. Consumes |st|. */
OX_NODISCARD ox_status *ox_session_explain(ox_session *s, size_t before, ox_status *st);

#endif
