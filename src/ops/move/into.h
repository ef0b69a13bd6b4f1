/* SPDX-License-Identifier: Apache-2.0
 * ops/move/into.h - the reductions of the Scatter family by element type. */
#ifndef OX_OPS_MOVE_INTO_H
#define OX_OPS_MOVE_INTO_H

#include "graph/op_def.h"
#include "kern/move/elements.h"

/* The reduction called |name| (NULL: none). *out_fn is NULL for "none". Error: an unknown name, or a type without it.
 */
OX_NODISCARD ox_status *ox_into_find(const char *op, const char *name, uint32_t dtype, ox_into_fn *out_fn);

#endif
