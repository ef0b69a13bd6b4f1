/* SPDX-License-Identifier: Apache-2.0
 * plan/plan.h - a graph made ready to run, once per session: who runs which node, with what. Immutable afterwards. */
#ifndef OX_PLAN_PLAN_H
#define OX_PLAN_PLAN_H

#include "ep/host.h"
#include "graph/registry.h"
#include "onyx/task.h"

typedef struct ox_plan ox_plan;

/* One step of a run: a node with a kernel, a view (no kernel, nothing to do), or a node with bodies. */
typedef struct ox_unit {
  ox_id node;
  const ox_schema *def;       /* inference and traits; NULL: the registry does not know the operator */
  const ox_kernel_def *cpu;   /* what kernels of the operator may do with their operands; NULL: nothing known */
  void *attrs;                /* decoded for inference and for control flow */
  uint32_t op_version;
  ox_kernel *kernel;          /* NULL: view or control */
  const char *provider;
  const ox_tensor **consumed; /* per input: stands for a packed constant (shape only), else NULL */
  ox_plan **bodies;           /* of graph attributes, in attribute order */
  uint32_t n_bodies;
  ox_id *captured;            /* values of this graph that the bodies read */
  uint32_t n_captured;
} ox_unit;

struct ox_plan {
  const ox_graph *graph;
  ox_alloc alloc;
  ox_arena arena;
  ox_unit *units; /* in topological order */
  uint32_t n_units;
  const ox_tensor **consts; /* per value: aligned constant content, or NULL */
  bool has_random;
};

/* A provider in the caller's order. */
typedef struct ox_provider {
  ox_ep_api api;
  ox_ep *ep;
} ox_provider;

typedef struct ox_plan_opts {
  ox_alloc alloc;
  const ox_log *log;
  ox_pool *pool; /* kernels load in parallel on it */
  uint32_t max_threads; /* for that; 0: all */
  ox_provider *providers;
  size_t n_providers;
} ox_plan_opts;

/* Asks the providers in order for every node of |g| and its bodies, creates the kernels (which pack constant weights)
 * and drops pages of the mapped model that nothing needs any more. Errors: NOT_IMPLEMENTED listing every operator that
 * nobody takes, with counts; INVALID_MODEL for inputs that break an operator's contract. |g| must be compact. */
OX_NODISCARD ox_status *ox_plan_build(const ox_graph *g, const ox_plan_opts *opts, ox_plan **out_plan);
void ox_plan_destroy(ox_plan *p); /* NULL is fine */

/* "node 'x' (Conv)": for messages. */
OX_NODISCARD ox_status *ox_unit_note(ox_status *st, const ox_plan *p, const ox_unit *u);

/* The data lies on a multiple of its element's size, as kernels need it. */
bool ox_tensor_aligned(const ox_tensor *t);

/* partition.c: kind of claim and provider index per node (OX_NONE: nobody). Arrays have n_nodes entries. */
OX_NODISCARD ox_status *ox_partition(const ox_graph *g, const ox_plan_opts *opts, uint32_t *provider_of, uint8_t *kind);

#endif
