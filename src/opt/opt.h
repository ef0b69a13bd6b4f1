/* SPDX-License-Identifier: Apache-2.0
 * opt/opt.h - what the optimizer offers: inference of types and shapes, and improvement of whole models. */
#ifndef OX_OPT_OPT_H
#define OX_OPT_OPT_H

#include "base/log.h"
#include "graph/registry.h"

typedef enum ox_opt_level {
  OX_LEVEL_NONE = 0,     /* inference only */
  OX_LEVEL_BASIC = 1,    /* folding, elimination: the same operators */
  OX_LEVEL_EXTENDED = 2, /* fusion into operators of our own and of com.microsoft */
  OX_LEVEL_ALL = 3       /* also what only pays inside one session */
} ox_opt_level;

/* Computes a node whose inputs are all constant. |outs| has n_out entries, zeroed; their data must live as long as the
 * model (its arena). A failure leaves the node as it is. */
typedef ox_status *(*ox_eval_fn)(void *ctx, ox_graph *g, ox_id node, ox_tensor *outs);

typedef struct ox_opt_count {
  const char *rule;
  uint32_t n;
} ox_opt_count;

typedef struct ox_opt_options {
  ox_opt_level level;
  ox_eval_fn eval; /* NULL: nothing is folded but shapes */
  void *eval_ctx;
  const ox_log *log;           /* NULL: silence */
  const char *const *disabled; /* names of rules; also "fold", "cse", "dce" */
  uint32_t n_disabled;
  const char *dump_after; /* name of a rule: the graph goes to |log| after each application */
  bool lenient_shapes;    /* a declared shape that contradicts inference is dropped with a warning */
  bool verify;            /* check the graph after each application; tests and debug builds */
  size_t fold_bytes;      /* the most bytes folding may add to the model; 0: 1 GiB */
  ox_opt_count *counts;   /* answer: applications by rule, most of |max_counts|; NULL: not wanted */
  uint32_t max_counts, n_counts;
} ox_opt_options;

/* Infers, folds, eliminates and fuses by |o->level|; the model stays valid at every step. Ids change. */
OX_NODISCARD ox_status *ox_optimize(ox_model *m, ox_opt_options *o);

/* Folds every node of |g| whose inputs are constant. |early|: what fusion may still want (DequantizeLinear, large
 * Transposes) stays. |*budget|: bytes that folding may still add. Adds to |*n_folded|. */
OX_NODISCARD ox_status *ox_fold_graph(ox_graph *g, const ox_opt_options *o, bool early, size_t *budget,
                                      uint32_t *n_folded);
/* Merges equal nodes and equal small constants of |g|. */
OX_NODISCARD ox_status *ox_cse_graph(ox_graph *g, uint32_t *n_merged);
/* Removes nodes nobody reads, and forgets values nobody needs; bodies too. */
OX_NODISCARD ox_status *ox_dce_graph(ox_graph *g, uint32_t *n_removed);
/* Removes |node| if nobody reads it, then its producers in turn. */
OX_NODISCARD ox_status *ox_dce_from(ox_graph *g, ox_id node);

/* Types and shapes of every value of |g| and its bodies. Errors: INVALID_MODEL or SHAPE_MISMATCH, naming node, operator
 * and tensor. |make_consts|: values that inference can compute (shapes) become constants. */
OX_NODISCARD ox_status *ox_infer_graph(ox_graph *g, const ox_opt_options *o, bool make_consts);
/* Types of one node's outputs from those of its inputs; for rules that add nodes. Unknown operators are no error. */
OX_NODISCARD ox_status *ox_infer_node(ox_graph *g, ox_id node);

#endif
