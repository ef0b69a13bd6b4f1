/* SPDX-License-Identifier: Apache-2.0
 * plan/plan_units.h - a plan and its units: a graph made ready to run, once per session. Immutable once it is made, but
 * for what kernels pack as runs want it (plan/packs.h). */
#ifndef OX_PLAN_PLAN_UNITS_H
#define OX_PLAN_PLAN_UNITS_H

#include "graph/registry.h"
#include "plan/pack_room.h"
#include "plan/packs.h"
#include "plan/provider.h"

typedef struct ox_plan ox_plan;

/* How a node runs. */
typedef enum ox_unit_kind {
  OX_UNIT_KERNEL,  /* by its owner's kernel */
  OX_UNIT_PROGRAM, /* a part of the graph, by its owner's program */
  OX_UNIT_VIEW,    /* not at all: its output is the bytes of input 0 */
  OX_UNIT_CONTROL, /* by the host, through its bodies */
  OX_UNIT_COPY,    /* by its owner: to or from one of its memories */
  OX_UNIT_REFUSED  /* not at all: its operator rejects it, and a run that reaches it fails */
} ox_unit_kind;

typedef struct ox_unit {
  ox_id node;
  ox_unit_kind kind;
  const ox_plan *plan;        /* that it is part of; NULL: of none */
  const ox_provider *owner;   /* NULL: the host */
  const ox_schema *def;       /* inference and traits; NULL: the operator is not in the registry */
  void *attrs;                /* decoded for inference and for control flow */
  uint32_t op_version;
  ox_kernel *kernel;          /* KERNEL */
  ox_kernel_traits traits;
  ox_packs *packs;            /* KERNEL */
  bool is_twin;               /* |packs| are an earlier unit's (plan/twins.h) */
  ox_program *program;        /* PROGRAM */
  const ox_graph_view *part;  /* what it was compiled from */
  const ox_tensor **fixed;    /* per input: stands for a constant: packed (shape only), or copied to a device; else NULL */
  ox_plan **bodies;           /* CONTROL: of graph attributes, in attribute order */
  uint32_t n_bodies;
  ox_id *captured;            /* values of this graph that the bodies read */
  uint32_t n_captured;
} ox_unit;

struct ox_plan {
  const ox_graph *graph;
  ox_alloc alloc;
  ox_arena arena;
  ox_pack_room room;
  const ox_provider *providers; /* by owner - 1 */
  size_t n_providers;
  ox_unit *units; /* in topological order */
  uint32_t n_units;
  const ox_tensor *
      *consts; /* per value: aligned constant content, without data if all pack it as they compute it; or NULL */
  size_t constant_bytes;        /* of |consts| */
  struct ox_const_copy *copies; /* of constants, on devices: plan/constants.c */
  bool has_random;
};

/* Adds "node 'x' (Conv)", and its provider unless that is the CPU's. */
OX_NODISCARD ox_status *ox_unit_note(ox_status *st, const ox_plan *p, const ox_unit *u);
/* The name of its owner: a provider, or "host". */
const char *ox_unit_owner(const ox_unit *u);

#endif
