/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/topk_row.h - TopK of a row of any type. */
#ifndef OX_OPS_SHARED_TOPK_ROW_H
#define OX_OPS_SHARED_TOPK_ROW_H

#include "ops/shared/topk_heap.h"

/* |n| elements of input 0, |pitch| from one to the next, from element |base| on. */
typedef struct ox_topk_row {
  const ox_kernel_ctx *c;
  int64_t base, n, pitch;
  bool below; /* the smallest are the best */
} ox_topk_row;

/* Writes the k best to the outputs that are wanted, from element |out| on, |pitch| apart; nothing if the run was
 * stopped. |room|: for k entries, or, if the whole row is to be sorted, for 2 n. */
void ox_topk_row_best(const ox_topk_row *r, int64_t k, bool sort, int64_t out, entry *room);

#endif
