/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/trees.c - evaluation of tree ensembles. Eight independent walks from root to leaf are interleaved: each step
 * of a walk is two dependent loads, whose latency the other walks hide. Sums are taken in the order of the trees. */
#include "kern/ml/trees.h"

#include <string.h>

#include "base/macros.h"

#define TREE_T float
#define TREE_NODE ox_tree_node_f32
#define TREE_BITS uint32_t
#define TREE_NAME(x) x##_f32
#include "kern/ml/trees_body.h"
#undef TREE_T
#undef TREE_NODE
#undef TREE_BITS
#undef TREE_NAME

#define TREE_T double
#define TREE_NODE ox_tree_node_f64
#define TREE_BITS uint64_t
#define TREE_NAME(x) x##_f64
#include "kern/ml/trees_body.h"

static void start(const ox_trees *t, int64_t rows, void *scores, uint8_t *has) {
  size_t n = (size_t)(rows * t->n_targets);
  memset(scores, 0, n * (t->f64 ? sizeof(double) : sizeof(float)));
  memset(has, t->dense && t->aggregate <= OX_TREE_SUM && t->n_trees, n);
}

void ox_trees_score_rows(const ox_trees *t, const void *x, int64_t stride, int64_t rows, void *scores, uint8_t *has) {
  start(t, rows, scores, has);
  if (t->f64)
    score_rows_f64(t, x, stride, rows, scores, has);
  else
    score_rows_f32(t, x, stride, rows, scores, has);
}

void ox_trees_find_leaves(const ox_trees *t, const void *x, int64_t begin, int64_t end, uint32_t *leaf) {
  if (t->f64)
    find_leaves_f64(t, x, begin, end, leaf);
  else
    find_leaves_f32(t, x, begin, end, leaf);
}

void ox_trees_score_leaves(const ox_trees *t, const uint32_t *leaf, void *scores, uint8_t *has) {
  start(t, 1, scores, has);
  if (t->f64)
    score_leaves_f64(t, leaf, scores, has);
  else
    score_leaves_f32(t, leaf, scores, has);
}
