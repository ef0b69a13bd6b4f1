/* SPDX-License-Identifier: Apache-2.0
 * plan/missing.h - the error that lists every operator without an owner. */
#ifndef OX_PLAN_MISSING_H
#define OX_PLAN_MISSING_H

#include "graph/graph.h"

/* NOT_IMPLEMENTED with operators, versions and counts if a node of |g| or of a body in it has no owner. */
OX_NODISCARD ox_status *ox_missing_check(const ox_graph *g);

#endif
