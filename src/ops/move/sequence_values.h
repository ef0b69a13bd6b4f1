/* SPDX-License-Identifier: Apache-2.0
 * ops/move/sequence_values.h - types and values that sequence, optional and control-flow operators need. */
#ifndef OX_OPS_MOVE_SEQUENCE_VALUES_H
#define OX_OPS_MOVE_SEQUENCE_VALUES_H

#include "graph/op_def.h"

/* The most specific type or shape that |a| and |b| both have: equal dimensions stay, others become -1; if the ranks
 * differ, the rank is unknown. An element type on which they differ lives as long as |c|'s types. */
ox_shape ox_shape_common(const ox_shape *a, const ox_shape *b);
ox_type ox_type_common(const ox_infer_ctx *c, const ox_type *a, const ox_type *b);
/* A sequence of |elem|, which is copied. */
ox_type ox_type_sequence(const ox_infer_ctx *c, const ox_type *elem);

/* A copy of |t| that lives as long as the run, or NULL if out of memory. The copy of a sequence shares its items. */
ox_tensor *ox_value_copy(const ox_kernel_ctx *c, const ox_tensor *t);
/* Output |i| becomes a sequence of the |n| |items|. */
void ox_output_set_sequence(const ox_kernel_ctx *c, uint32_t i, uint32_t dtype, const ox_tensor **items, int64_t n);
/* Output |i| becomes |t|, of any kind. A tensor is copied into the output's memory. */
OX_NODISCARD ox_status *ox_output_set_value(const ox_kernel_ctx *c, uint32_t i, const ox_tensor *t);

#endif
