/* SPDX-License-Identifier: Apache-2.0
 * ops/ml/ml_trees.h - what TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble share once they are loaded.
 */
#ifndef OX_OPS_ML_ML_TREES_H
#define OX_OPS_ML_ML_TREES_H

#include "graph/op_def.h"
#include "kern/ml/ml_scores.h"
#include "kern/ml/trees.h"
#include "kern/ml/trees_build.h"

typedef struct ml_trees {
  ox_arena arena;
  ox_trees t;
  ox_ml_transform transform;
  const double *base; /* base_values */
  size_t n_base;
  /* classifiers */
  bool classifier;
  bool binary;       /* two classes, weights for one */
  bool all_positive; /* weights */
  ox_ints int_labels;
  ox_strs str_labels; /* n > 0: labels are strings */
} ml_trees;

/* Makes the state; its own arena takes from |c->alloc|. unload is ox_unload_arena. Error: OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_ml_trees_create(ox_load_ctx *c, ml_trees **out);
OX_NODISCARD ox_status *ox_ml_trees_prepare(ox_kernel_ctx *c);
OX_NODISCARD ox_status *ox_ml_trees_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch);
/* Rows of X: its first dimension, or 1 if it has only one; -1 if not known. Error: SHAPE_MISMATCH. */
OX_NODISCARD ox_status *ox_ml_rows(const ox_shape *x, int64_t *rows, int64_t *features);

#endif
