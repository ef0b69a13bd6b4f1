/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/sum.h - one operand, whose labels are reordered or summed, in up to three steps: a copy of the diagonal
 * if a label occurs twice, a reduction, a copy if the result has another order. */
#ifndef OX_OPS_EINSUM_SUM_H
#define OX_OPS_EINSUM_SUM_H

#include "kern/reduce/fold.h"
#include "ops/einsum/contract.h"

typedef struct ein_sum {
  bool copies, sums, orders; /* the steps that are needed: a stage for each */
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
