/* SPDX-License-Identifier: Apache-2.0
 * session/random_outputs.h - which outputs depend on random numbers. */
#ifndef OX_SESSION_RANDOM_OUTPUTS_H
#define OX_SESSION_RANDOM_OUTPUTS_H

#include "graph/graph.h"

/* Makes an array in |a|: for each output of |g|, whose nodes are in topological order, whether it does. */
OX_NODISCARD ox_status *ox_random_outputs(ox_arena *a, const ox_graph *g, bool **out_random);

#endif
