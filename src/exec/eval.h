/* SPDX-License-Identifier: Apache-2.0
 * exec/eval.h - runs one node on constants: constant folding. */
#ifndef OX_EXEC_EVAL_H
#define OX_EXEC_EVAL_H

#include "base/arena.h"
#include "plan/provider.h"

typedef struct ox_evaluator {
  const ox_provider *provider;
  ox_arena scratch; /* what a node needs while it runs; kept, so that the next node finds its pages mapped */
} ox_evaluator;

/* Runs |node| of |g|, all of whose inputs are constant; outs[i] gets output i, its data in the model's
 * arena. Errors as at run time; NOT_IMPLEMENTED if the provider has no such kernel. */
OX_NODISCARD ox_status *ox_eval_node(ox_evaluator *e, ox_graph *g, ox_id node, ox_tensor *outs);

#endif
