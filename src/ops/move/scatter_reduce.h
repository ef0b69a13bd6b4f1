/* SPDX-License-Identifier: Apache-2.0
 * ops/move/scatter_reduce.h - the reductions of ScatterElements and ScatterND. */
#ifndef OX_OPS_MOVE_SCATTER_REDUCE_H
#define OX_OPS_MOVE_SCATTER_REDUCE_H

#include "graph/op_def.h"
#include "kern/move/gather_scatter.h"

/* The ctx of functions for strings, which make new ones: in a stage of one tile. */
typedef struct ox_scatter_strings {
  const ox_kernel_ctx *c;
  bool failed; /* result: out of memory */
} ox_scatter_strings;

/* How the attribute reduction = |name| combines elements of input 0's type; nothing is set, for overwriting, if |name|
 * is "none" or NULL. Errors: INVALID_MODEL (unknown name), NOT_IMPLEMENTED (not for this type); both name the operator,
 * |op|. */
OX_NODISCARD ox_status *ox_scatter_reduce_find(const ox_kernel_ctx *c, const char *op, const char *name,
                                               ox_combine *out);

#endif
