/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/sum.h - one operand whose labels are put in order, or summed: a copy where a label comes twice (its
 * diagonal), a fold, a copy where the result is in another order. */
#ifndef OX_OPS_EINSUM_SUM_H
#define OX_OPS_EINSUM_SUM_H

#include "kern/reduce/fold.h"
#include "ops/einsum/contract.h"

typedef struct ein_sum {
  bool copies, sums, orders; /* what there is to do: a stage for each */
  ein_copy dense, ordered;
  ox_fold_plan fold;
  int64_t per_tile;
  size_t at_dense, at_sums; /* in the shared memory */
} ein_sum;

enum { EIN_SUM_STAGES = 3 };
/* Books stages, tiles and shared memory. |v|: the operand by labels, |in|: its term. */
OX_NODISCARD ox_status *ein_sum_plan(ox_kernel_ctx *c, ein_sum *s, const ein_view *v, const ein_term *in,
                                     const ein_term *out, const int64_t *size);
void ein_sum_run(const ox_kernel_ctx *c, const ein_sum *s, uint32_t stage, ox_range tiles);

#endif
