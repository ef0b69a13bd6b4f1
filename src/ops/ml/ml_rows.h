/* SPDX-License-Identifier: Apache-2.0
 * ops/ml/ml_rows.h - models that map rows of features to rows of scores, in float32: tiles and the conversion of X. */
#ifndef OX_OPS_ML_ML_ROWS_H
#define OX_OPS_ML_ML_ROWS_H

#include "graph/op_def.h"
#include "kern/ml/ml_scores.h"

typedef struct ml_rows {
  int64_t rows, features, tile_rows;
  size_t x_bytes; /* of the converted rows, at the start of the scratch; 0: X is float32 */
} ml_rows;

/* Plans tiles of rows with |per_row| bytes of scratch for each, besides |once|. Stores an ml_rows as c->prep. */
OX_NODISCARD ox_status *ox_ml_rows_plan(ox_kernel_ctx *c, int64_t features, size_t per_row, size_t once);
/* Rows of tile |tile| as float32; *out_first, *out_n say which. */
const float *ox_ml_rows_at(const ox_kernel_ctx *c, int64_t tile, void *scratch, int64_t *out_first, int64_t *out_n);
/* The scratch behind the converted rows. */
static inline void *ox_ml_rows_scratch(const ox_kernel_ctx *c, void *scratch) {
  return (char *)scratch + ((const ml_rows *)c->prep)->x_bytes;
}

#endif
