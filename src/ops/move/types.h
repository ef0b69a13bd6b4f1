/* SPDX-License-Identifier: Apache-2.0
 * ops/move/types.h - types and values of sequences and optionals. */
#ifndef OX_OPS_MOVE_TYPES_H
#define OX_OPS_MOVE_TYPES_H

#include "graph/op_def.h"

/* What holds for both: equal dimensions stay, others become -1; unlike ranks, an unknown rank. |arena| may be NULL:
 * element types that differ are dropped then. */
ox_shape ox_shape_meet(const ox_shape *a, const ox_shape *b);
ox_type ox_type_meet(const ox_type *a, const ox_type *b, ox_arena *arena);
/* A sequence of |elem|, which is copied into |arena| (NULL: not kept). */
ox_type ox_type_sequence(const ox_type *elem, ox_arena *arena);

/* A copy of |t| in memory of the run, or NULL: sequences hold their items by pointer. Items of a sequence are shared.
 */
ox_tensor *ox_value_copy(const ox_kernel_ctx *c, const ox_tensor *t);
/* Output |i| becomes a sequence of the |n| |items|. */
void ox_sequence_set(const ox_kernel_ctx *c, uint32_t i, uint32_t dtype, const ox_tensor **items, int64_t n);
/* Output |i| becomes |t|, whatever its kind: a tensor is copied into the output's memory. */
OX_NODISCARD ox_status *ox_value_give(const ox_kernel_ctx *c, uint32_t i, const ox_tensor *t);

#endif
