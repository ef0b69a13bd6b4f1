/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_split.h - a few rows of floats by weights of few bits, each as a sum of rows of bytes
 * (ox_nbits_parts): integers need fewer instructions for a product than floats that are made of the weights first. */
#ifndef OX_OPS_MATMUL_NBITS_SPLIT_H
#define OX_OPS_MATMUL_NBITS_SPLIT_H

#include "ops/matmul/nbits_floats.h"

enum { OX_NBITS_SPLIT_ROWS = 4 /* more are faster as floats */ };

/* Memory of a row in parts, which the tiles share. */
size_t ox_nbits_split_bytes(const ox_nbits_format *f);
/* Splits row |row| of |a|, each of block * blocks floats, to its place in |shared|. */
void ox_nbits_split_begin(const ox_nbits_weights *w, const float *a, size_t row, void *shared);
/* Columns of the panels [begin, end) of output 0, of |m| rows, plus |bias| (any float type, or NULL), from what is in
 * c->shared. False, with nothing done, if a row could not be split: it has infinities, say. */
bool ox_nbits_split_run(const ox_kernel_ctx *c, const ox_nbits_weights *w, const ox_tensor *bias, size_t m,
                        size_t begin, size_t end);

#endif
