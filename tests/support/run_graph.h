/* SPDX-License-Identifier: Apache-2.0
 * support/run_graph.h - runs a graph node by node, so that a test can compare what the optimizer changed. */
#ifndef OX_TESTS_RUN_GRAPH_H
#define OX_TESTS_RUN_GRAPH_H

#include "opt/opt.h"

/* A model from ONNX's textual syntax; ends the test on an error. */
ox_model *rg_read(const char *text);
/* Runs |m| on made-up inputs: unknown dimensions and symbols count as 2, numbers are small and seeded. Outputs in |a|.
 */
OX_NODISCARD ox_status *rg_run(ox_model *m, ox_arena *a, ox_tensor *outs);
/* An evaluator for ox_opt_options. */
ox_status *rg_eval(void *ctx, ox_graph *g, ox_id node, ox_tensor *outs);

/* The standard's and the CPU provider's rules, which is owner 1; graphs are checked after each application. */
ox_opt_options rg_options(uint32_t level);
void rg_own_all(ox_model *m, uint16_t owner);
/* Both phases: standard rules, then, everything being the CPU's, its own. */
OX_NODISCARD ox_status *rg_optimize(ox_model *m, ox_opt_options *o);

/* Ends the test unless type and shape are the same and elements differ by at most |tolerance| times the largest. */
void rg_compare(const ox_tensor *before, const ox_tensor *after, const char *name, double tolerance);

/* Optimizes |text| at |level| with only what it takes, and checks: the live operators afterwards in order (e.g.
 * "Linear Softmax"), and that the outputs, and every other value that has kept its name, differ by at most |tolerance|
 * relative to their largest. |after| NULL: nothing but these is checked. |rule|: must have been applied; NULL: not checked. "!name": must not have been.
 */
void rg_check(const char *text, uint32_t level, const char *rule, const char *after, double tolerance);

/* Rows of a table of that; rules are looked up there by name (tests/opt/every_rule_test.c). */
typedef struct rg_row {
  const char *text, *rule, *after;
  double tolerance;
} rg_row;
void rg_check_rows(const rg_row *rows, size_t n, uint32_t level);

#endif
