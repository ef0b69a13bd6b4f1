/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/trees.h - decision trees as one flat table of nodes, walked for eight rows (or eight trees) at a time.
 * A leaf's successors are the leaf itself, so that the only branch is the one that ends the walk. */
#ifndef OX_KERN_ML_TREES_H
#define OX_KERN_ML_TREES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OX_TREE_LANES = 8 };

/* Goes to next[x <= split]. In the table for missing values, bit 31 of |feature| says where a NaN goes. */
typedef struct ox_tree_node_f32 {
  float split; /* leaf: the weight if there is one target, else the bits of its index in |leaves| */
  uint32_t feature, next[2];
} ox_tree_node_f32;
typedef struct ox_tree_node_f64 {
  double split;
  uint32_t feature, next[2];
} ox_tree_node_f64;

typedef enum ox_tree_walk {
  OX_TREE_PLAIN,  /* every node compares <=, a NaN goes to next[0] */
  OX_TREE_NAN,    /* every node compares <=, a NaN goes where bit 31 says */
  OX_TREE_GENERAL /* |modes| says what each node compares */
} ox_tree_walk;

typedef enum ox_tree_mode {
  OX_TREE_LEQ,
  OX_TREE_LT,
  OX_TREE_GTE,
  OX_TREE_GT,
  OX_TREE_EQ,
  OX_TREE_NEQ,
  OX_TREE_MEMBER,
  OX_TREE_LEAF
} ox_tree_mode;

typedef enum ox_tree_aggregate { OX_TREE_AVERAGE, OX_TREE_SUM, OX_TREE_MIN, OX_TREE_MAX } ox_tree_aggregate;

typedef struct ox_tree_leaf {
  uint32_t first, n; /* range of |targets| and |weights| */
} ox_tree_leaf;

typedef struct ox_trees {
  bool f64;   /* type of splits, weights and scores */
  bool dense; /* every leaf has one weight for each target, in order */
  ox_tree_walk walk;
  ox_tree_aggregate aggregate;
  uint32_t n_nodes, n_trees, n_features;
  int64_t n_targets;
  void *nodes;              /* ox_tree_node_f32 or _f64 */
  const uint32_t *roots;    /* [n_trees] */
  const uint8_t *modes;     /* GENERAL: [n_nodes] ox_tree_mode, bit 7: a NaN counts as true */
  const ox_tree_leaf *sets; /* GENERAL: per MEMBER node (its split's bits) the range of |members| */
  const void *members;      /* sorted in each set */
  const ox_tree_leaf *leaves;
  const uint32_t *targets;
  const void *weights;
} ox_trees;

/* Runs |rows| rows of |stride| elements through all trees. |scores| [rows, n_targets] of the trees' type, |has|
 * likewise: 1 where some tree gave a score. */
void ox_trees_score_rows(const ox_trees *t, const void *x, int64_t stride, int64_t rows, void *scores, uint8_t *has);
/* One row through the trees [begin, end): the leaf reached in each. */
void ox_trees_find_leaves(const ox_trees *t, const void *x, int64_t begin, int64_t end, uint32_t *leaf);
/* Adds up the leaves of all trees for one row. */
void ox_trees_score_leaves(const ox_trees *t, const uint32_t *leaf, void *scores, uint8_t *has);

#endif
