/* SPDX-License-Identifier: Apache-2.0
 * exec/lifetimes.h - which values live when, which share bytes, and where each lies in the slab. */
#ifndef OX_EXEC_LIFETIMES_H
#define OX_EXEC_LIFETIMES_H

#include "exec/context_state.h"

/* Sets slot->last, merges in-place outputs into their inputs' storage, marks direct outputs, plans the slab offsets and
 * each step's list of dynamic buffers to free. Needs the modes and homes of all steps. */
OX_NODISCARD ox_status *ox_lifetimes_plan(ox_context *c, bool direct);
/* Plans the slab a second time, so that the steps of stretches may run in any order (exec/stretch.h). Sets
 * *out_bytes. */
OX_NODISCARD ox_status *ox_lifetimes_plan_apart(ox_context *c, size_t *out_bytes);

/* Adds the name of the largest value to |st|, the error of allocating the slab of |memory|: no single step is to blame,
 * but it may tell where to look. NULL stays NULL; consumes |st|. */
OX_NODISCARD ox_status *ox_lifetimes_name_largest(const ox_context *c, uint32_t memory, ox_status *st);

#endif
