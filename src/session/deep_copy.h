/* SPDX-License-Identifier: Apache-2.0
 * session/deep_copy.h - copies of values with all that they refer to: strings, items of sequences, keys of maps. */
#ifndef OX_SESSION_DEEP_COPY_H
#define OX_SESSION_DEEP_COPY_H

#include "base/arena.h"
#include "base/status.h"
#include "onyx/onyx.h"

/* Copies |from| to |*to|, whose data lies in |a|. */
OX_NODISCARD ox_status *ox_copy_deep(ox_arena *a, const ox_tensor *from, ox_tensor *to);
/* About what a copy of |t| takes of an arena. */
size_t ox_deep_bytes(const ox_tensor *t);

#endif
