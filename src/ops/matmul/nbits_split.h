/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_split.h - one row of floats by weights of few bits, as a sum of rows of bytes (ox_nbits_parts):
 * integers need fewer instructions for a product than floats that are made of the weights first. */
#ifndef OX_OPS_MATMUL_NBITS_SPLIT_H
#define OX_OPS_MATMUL_NBITS_SPLIT_H

#include "ops/matmul/nbits_floats.h"

/* Memory of the row in parts, which the tiles share. */
size_t ox_nbits_split_bytes(const ox_nbits_format *f);
/* Splits the row |a| of block * blocks floats. */
void ox_nbits_split_begin(const ox_nbits_weights *w, const float *a, void *shared);
/* Columns of the panels [begin, end) of output 0, plus |bias| (any float type, or NULL), from what is in c->shared.
 * False, with nothing done, if the row could not be split: it has infinities, say. */
bool ox_nbits_split_run(const ox_kernel_ctx *c, const ox_nbits_weights *w, const ox_tensor *bias, size_t begin,
                        size_t end);

#endif
