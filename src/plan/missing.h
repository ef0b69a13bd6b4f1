/* SPDX-License-Identifier: Apache-2.0
 * plan/missing.h - tells all operators that nobody implements, at once. */
#ifndef OX_PLAN_MISSING_H
#define OX_PLAN_MISSING_H

#include "plan/plan.h"

/* NOT_IMPLEMENTED with the list if a node of |g| or of a body nested in it has no taker. |provider_of| speaks of |g|;
 * bodies are looked up in the registry. */
OX_NODISCARD ox_status *ox_missing_check(const ox_graph *g, const ox_plan_opts *opts, const uint32_t *provider_of);

#endif
