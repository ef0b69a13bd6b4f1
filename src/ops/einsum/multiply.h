/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/multiply.h - two operands without summed labels: an element-wise product with broadcasting. */
#ifndef OX_OPS_EINSUM_MULTIPLY_H
#define OX_OPS_EINSUM_MULTIPLY_H

#include "kern/binary/binary.h"
#include "ops/einsum/contract.h"

/* Dimensions of the result, innermost first, adjacent ones merged. */
typedef struct ein_multiply {
  int rank;
  int64_t dim[OX_MAX_RANK], a[OX_MAX_RANK], b[OX_MAX_RANK]; /* and strides of the operands */
  int64_t count, per_tile;
  unsigned scalar; /* operands that do not move along the innermost dimension */
  ox_binary_fn *mul;
} ein_multiply;

/* Books tiles; false: a product does it, since something is summed or runs are short or strided. */
bool ein_multiply_plan(ox_kernel_ctx *c, ein_multiply *m, const ein_view *a, const ein_view *b, const ein_term *out,
                       const int64_t *size);
void ein_multiply_run(const ox_kernel_ctx *c, const ein_multiply *m, ox_range tiles);

#endif
