/* SPDX-License-Identifier: Apache-2.0
 * opt/opt.h - what the optimizer offers: inference of types and shapes, and improvement of whole models by rules and
 * passes (onyx/rule.h) that are handed in. */
#ifndef OX_OPT_OPT_H
#define OX_OPT_OPT_H

#include "base/log.h"
#include "graph/registry.h"
#include "onyx/rule.h"

/* Computes a node whose inputs are all constant. |outs| has n_out entries, zeroed, or |bytes| at |data| that may be used
 * for the only one; their data must live as long as the model (its arena). A failure leaves the node as it is. */
typedef ox_status *(*ox_eval_fn)(void *ctx, ox_graph *g, ox_id node, ox_tensor *outs);

typedef struct ox_opt_count {
  const char *rule;
  uint32_t n;
} ox_opt_count;

/* Sets of rules, borrowed. */
typedef struct ox_rule_list {
  const ox_rule_set *const *sets;
  size_t n;
} ox_rule_list;

/* An owner of nodes: entry i is owner 1 + i of ox_node.assigned. */
typedef struct ox_opt_owner {
  const char *name;
  /* Whether the provider has |op| for |dtype|; NULL: every operator with a schema. */
  bool (*serves)(void *ctx, const char *domain, const char *op, uint32_t dtype);
  void *ctx;
} ox_opt_owner;

typedef struct ox_opt_options {
  uint32_t level;            /* OX_OPTIMIZE_* */
  const ox_rule_list *rules; /* all sets of every place; no name may stand in two of them */
  uint32_t n_rules;
  const ox_opt_owner *owners;
  uint32_t n_owners;
  ox_eval_fn eval; /* NULL: nothing is folded but shapes */
  void *eval_ctx;
  const ox_log *log;           /* NULL: silence */
  const char *const *disabled; /* names of rules and passes, built-in ones (ox_builtin_passes) too */
  uint32_t n_disabled;
  /* Names of a rule or pass: |dump| gets the model before, or after, each application. */
  const char *dump_before, *dump_after;
  ox_status *(*dump)(void *ctx, const ox_model *m, const char *title); /* NULL: a short form to |log| at level info */
  void *dump_ctx;
  bool lenient_shapes;  /* a declared shape that contradicts inference is dropped with a warning */
  bool verify;          /* check the graph after each application; tests and debug builds */
  size_t fold_bytes;    /* most bytes that folding may add to the model; 0: 1 GiB */
  size_t folded_bytes;  /* answer: bytes added so far; carried from call to call */
  ox_opt_count *counts; /* answer: applications by name, in the model's arena; carried from call to call */
  uint32_t max_counts, n_counts;
} ox_opt_options;

/* Names of the passes that are not data: "infer-const" (what inference can compute becomes constant), "invariant"
 * (what loops carry unchanged), "hoist" (products of rows that loops take one by one), "fold", "cse", "dce".
 * NULL-terminated. */
extern const char *const ox_builtin_passes[];
/* The rules that keep to the standard's operators: those in opt/rules. */
extern const ox_rule_list ox_standard_rules;

/* Infers, folds, eliminates and rewrites the whole model by |o->level| with all sets but those of OX_RULES_OWNED; it
 * stays valid at every step. What fusion may still want (DequantizeLinear and large Transposes of constants) is not
 * folded from level EXTENDED on: that is left to ox_optimize_owned. Ids change. Errors: INVALID_ARGUMENT for a rule or
 * pass that is not well-formed, naming it; what rules report, noted with their names. A name in |disabled| that nobody
 * has is a warning in the log. */
OX_NODISCARD ox_status *ox_optimize(ox_model *m, ox_opt_options *o);
/* The same for the nodes that |owner| (not OX_NO_OWNER) owns, once all nodes have owners, with its own sets and those
 * of OX_RULES_WITH. Only nodes of one assignment are rewritten, merged and folded together; new nodes get that
 * assignment. Does nothing for an owner without a set of its own. */
OX_NODISCARD ox_status *ox_optimize_owned(ox_model *m, ox_opt_options *o, uint16_t owner);
/* Whether |set| is well-formed; INVALID_ARGUMENT, naming the rule or pass, if not. */
OX_NODISCARD ox_status *ox_rule_set_check(const ox_rule_set *set);

/* Makes Loops and Scans of |g| read values that they carry unchanged from outside. Adds their number to |*n_done|. */
OX_NODISCARD ox_status *ox_invariant_graph(ox_graph *g, uint32_t *n_done);
/* Moves products that Loops and Scans of |g| compute row by row to in front of them. Adds the number of nodes moved to
 * |*n_done|. */
OX_NODISCARD ox_status *ox_hoist_graph(ox_graph *g, uint32_t *n_done);
/* Folds every node of |g| (of |owner|, if it is not OX_NO_OWNER) whose inputs are constant. |early|: nodes that fusion
 * may still look for stay, and are counted in |*n_held|. |*budget|: bytes that folding may still add. Adds to
 * |*n_folded|. */
OX_NODISCARD ox_status *ox_fold_graph(ox_graph *g, const ox_opt_options *o, uint16_t owner, bool early, size_t *budget,
                                      uint32_t *n_folded, uint32_t *n_held);
/* Merges equal nodes of one assignment, and equal small constants, of |g|; of |owner|, if it is not OX_NO_OWNER. */
OX_NODISCARD ox_status *ox_cse_graph(ox_graph *g, uint16_t owner, uint32_t *n_merged);
/* Removes unused nodes (of |owner|, if it is not OX_NO_OWNER) and unused values, also in bodies. */
OX_NODISCARD ox_status *ox_dce_graph(ox_graph *g, uint16_t owner, uint32_t *n_removed);
/* Removes |node| if it is unused, then likewise its producers of the same assignment; |origin| (may be NULL) records
 * it. */
struct ox_origin;
OX_NODISCARD ox_status *ox_dce_from(ox_graph *g, ox_id node, struct ox_origin *origin);

/* Types and shapes of every value of |g| and its bodies. Errors: INVALID_MODEL or SHAPE_MISMATCH, naming node, operator
 * and tensor. |make_consts|: values that inference can compute (shapes) become constants. */
OX_NODISCARD ox_status *ox_infer_graph(ox_graph *g, const ox_opt_options *o, bool make_consts);
/* The same with constants, of |owner|'s nodes if it is not OX_NO_OWNER. Adds their number to |*n_made|. */
OX_NODISCARD ox_status *ox_infer_consts(ox_graph *g, const ox_opt_options *o, uint16_t owner, uint32_t *n_made);
/* Types of one node's outputs from those of its inputs; for rules that add nodes. Unknown operators are no error. */
OX_NODISCARD ox_status *ox_infer_node(ox_graph *g, ox_id node);

#endif
