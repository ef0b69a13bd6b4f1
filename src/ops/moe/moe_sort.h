/* SPDX-License-Identifier: Apache-2.0
 * ops/moe/moe_sort.h - rows of x in the order of their experts. */
#ifndef OX_OPS_MOE_SORT_H
#define OX_OPS_MOE_SORT_H

#include <stdint.h>

typedef struct ox_moe_order {
  int64_t *expert, *place; /* by row: its expert; its place in that order */
  int64_t *first, *busy;   /* by expert: the place of its first row, and one more; experts with rows, the rest -1 */
} ox_moe_order;

/* Sorts |rows| by o->expert; at most |most_busy| experts have any. */
void ox_moe_sort(const ox_moe_order *o, int64_t rows, int64_t experts, int64_t most_busy);

#endif
