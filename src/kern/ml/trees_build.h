/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/trees_build.h - builds the table that kern/ml/trees.c walks from the nodes of a model file. */
#ifndef OX_KERN_ML_TREES_BUILD_H
#define OX_KERN_ML_TREES_BUILD_H

#include "base/arena.h"
#include "base/status.h"
#include "kern/ml/trees.h"

/* Nodes as the file gives them; every index is already checked against its count. */
typedef struct ox_trees_raw {
  bool f64;
  ox_tree_aggregate aggregate;
  uint32_t n_nodes, n_roots, n_weights;
  int64_t n_targets;
  uint8_t *mode; /* ox_tree_mode; bit 7: a NaN counts as true */
  uint32_t *feature;
  double *split;
  uint32_t *on_true, *on_false; /* of nodes that are not leaves */
  uint32_t *roots;
  uint32_t *weight_node, *weight_target;
  double *weight;
  ox_tree_leaf *set; /* per node: range of |members|; NULL if no node is a MEMBER */
  const double *members;
} ox_trees_raw;

/* Arrays for |raw|'s counts, zeroed. Error: OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_trees_raw_alloc(ox_trees_raw *raw, ox_arena *arena);
/* Builds |out| in |arena|; |temp| is for memory that is not needed afterwards. Errors: INVALID_MODEL (a tree has a
 * cycle). */
OX_NODISCARD ox_status *ox_trees_build(const ox_trees_raw *raw, ox_arena *arena, ox_arena *temp, ox_trees *out);

#endif
