/* SPDX-License-Identifier: Apache-2.0
 * ops/moe/moe_sort.h - rows of x in the order of their experts, in memory that the stages of a run share. */
#ifndef OX_OPS_MOE_SORT_H
#define OX_OPS_MOE_SORT_H

#include "ops/matmul/dense.h"

typedef struct ox_moe_order {
  int64_t *expert, *place; /* by row: its expert; its place in that order */
  int64_t *first, *busy;   /* by expert: the place of its first row, and one more; experts with rows, the rest -1 */
} ox_moe_order;

/* Where these begin in shared memory. */
typedef struct ox_moe_places {
  size_t expert, place, first, busy;
} ox_moe_places;

/* Takes room for |count| items from |*at| on; returns where it begins. */
static inline size_t ox_moe_take(size_t *at, int64_t count, size_t item) {
  size_t here = *at;
  *at += OX_ROUND_UP((size_t)count * item, OX_ALIGN_BYTES);
  return here;
}
/* The same for an order of |rows|; at most |most_busy| experts have any. */
ox_moe_places ox_moe_take_order(size_t *at, int64_t rows, int64_t experts, int64_t most_busy);
static inline void *ox_moe_shared(const ox_kernel_ctx *c, size_t at) { return (char *)c->shared + at; }
ox_moe_order ox_moe_order_at(const ox_kernel_ctx *c, const ox_moe_places *p);

/* Sorts |rows| by o->expert. */
void ox_moe_sort(const ox_moe_order *o, int64_t rows, int64_t experts, int64_t most_busy);

/* What group |group| of layer |l| does for the expert that comes at |busy|, if there is one; |x|, |y|: offsets of rows
 * in that order. */
void ox_moe_run_group(const ox_kernel_ctx *c, const ox_moe_places *p, const ox_dense *l, int64_t busy, int64_t group,
                      size_t x, size_t y, void *scratch);

#endif
