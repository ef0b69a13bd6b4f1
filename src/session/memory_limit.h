/* SPDX-License-Identifier: Apache-2.0
 * session/memory_limit.h - what a session may allocate: ox_session_opts.max_memory. */
#ifndef OX_SESSION_MEMORY_LIMIT_H
#define OX_SESSION_MEMORY_LIMIT_H

#include "session/session.h"

/* The default limit, for a machine with |usable| bytes (0: unknown) and |given| bytes of model and inputs. */
size_t ox_default_memory_limit(uint64_t usable, uint64_t given);

/* Sets |s->alloc| with the limit of |o|; a sibling shares its origin's. |bytes|: the model's, or its file's, size. */
OX_NODISCARD ox_status *ox_session_limit_memory(ox_session *s, const ox_session_opts *o, size_t bytes);
/* Once the model is read: counts its external files like the model itself. */
void ox_session_count_files(ox_session *s);
/* Notes that a run has |bytes| of inputs. */
void ox_session_count_inputs(ox_session *s, size_t bytes);
/* Returns |st|, or the LIMIT that caused it; |before|: ox_quota_refusals when the failed call began. Consumes |st|. */
OX_NODISCARD ox_status *ox_session_explain(ox_session *s, size_t before, ox_status *st);

#endif
