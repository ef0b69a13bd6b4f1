/* SPDX-License-Identifier: Apache-2.0
 * plan/plan.h - makes plans: every node's owner provides what runs it. */
#ifndef OX_PLAN_PLAN_H
#define OX_PLAN_PLAN_H

#include "plan/plan_units.h"

typedef struct ox_plan_opts {
  ox_alloc alloc;
  const ox_log *log;
  ox_pool *pool; /* kernels load in parallel on it */
  uint32_t max_threads; /* for loading kernels; 0: all */
  const ox_provider *providers;
  size_t n_providers;
  const char *cache_dir; /* of compiled programs; NULL: none */
} ox_plan_opts;

/* Makes the kernels (which pack constant weights) and programs of |g|, whose nodes all have owners, and of its bodies,
 * and drops pages of the mapped model that nothing needs any more. Errors: those of the owners, with the node's name;
 * INVALID_MODEL for inputs that break an operator's contract. |g| must be compact. */
OX_NODISCARD ox_status *ox_plan_build(const ox_graph *g, const ox_plan_opts *opts, ox_plan **out_plan);
void ox_plan_destroy(ox_plan *p); /* NULL is fine */

#endif
