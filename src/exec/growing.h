/* SPDX-License-Identifier: Apache-2.0
 * exec/growing.h - keys and values that grow where they lie: a step that has them as an input and, with rows behind
 * them, as an output (ox_kernel_traits.past_in) can be given one memory for both. */
#ifndef OX_EXEC_GROWING_H
#define OX_EXEC_GROWING_H

#include "exec/context_state.h"

enum { OX_CACHE_ROWS = 2 }; /* the axis of rows: keys and values are [batch, heads, rows, size] */

/* The unit that makes output |output| of the graph by adding rows to its input |past|, where nobody else reads either;
 * OX_NONE: there is none. *out_which: 0: they are keys, 1: values. */
uint32_t ox_growing_find(const ox_plan *p, ox_id past, uint32_t output, uint32_t *out_which);
/* The most rows that a run of |c| makes of |past| by |unit|; -1: it must not be given such memory. */
int64_t ox_growing_rows(const ox_context *c, uint32_t unit, int64_t past);
/* The next run of |c| finds such memory there, with |rows| rows for each head; 0: no more. */
void ox_growing_set(ox_context *c, uint32_t unit, int64_t rows);

#endif
