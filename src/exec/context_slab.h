/* SPDX-License-Identifier: Apache-2.0
 * exec/context_slab.h - the slab of a context: values, memory that the tiles of a step share, scratch of every worker. */
#ifndef OX_EXEC_CONTEXT_SLAB_H
#define OX_EXEC_CONTEXT_SLAB_H

#include "exec/context_state.h"

/* Once the offsets of values are planned and the steps prepared: takes a slab and places everything in it. LIMIT and
 * OUT_OF_MEMORY name the largest value. */
OX_NODISCARD ox_status *ox_context_reserve(ox_context *c);
/* For good: the slab, and what it counts for. */
void ox_context_give_slab(ox_context *c);

/* Between runs: lets other contexts have the slab, if it shares slabs with them. A context that rests is woken before
 * it runs again, for |env|; after an error it still rests. */
void ox_context_rest(ox_context *c);
OX_NODISCARD ox_status *ox_context_wake(ox_context *c, ox_run_env *env);

#endif
