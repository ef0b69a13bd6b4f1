/* SPDX-License-Identifier: Apache-2.0
 * plan/part_key.h - a name for a part of a model, from all that its program may depend on. */
#ifndef OX_PLAN_PART_KEY_H
#define OX_PLAN_PART_KEY_H

#include "base/digest.h"
#include "graph/graph.h"

/* Adds operators with their versions, attributes, bodies, edges, types and constants to |h|. Names of nodes and values
 * do not count, nor those of symbols, only which symbols are equal. */
void ox_part_digest(ox_digest *h, const ox_graph *part);

#endif
