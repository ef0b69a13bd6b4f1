/* SPDX-License-Identifier: Apache-2.0
 * graph/registry.h - the table of operators: sorted rows over an optional base table, and what is looked up in a node's
 * row. graph/ links no operator: tables are filled elsewhere (ops/builtin.h, plug-ins) and handed in. */
#ifndef OX_GRAPH_REGISTRY_H
#define OX_GRAPH_REGISTRY_H

#include "graph/graph.h"

/* ---- tables ---- */
/* Makes an empty table on top of |base| (borrowed, may be NULL), where look-ups continue that find nothing here. Where
 * both have an operator, this table's rows serve from their lowest version on, |base|'s below it. */
OX_NODISCARD ox_status *ox_registry_create(ox_alloc alloc, const ox_registry *base, ox_registry **out_registry);
void ox_registry_destroy(ox_registry *r); /* NULL is fine */
/* Adds |n| rows (borrowed) or, on error, none. Not while others look up. Error: INVALID_ARGUMENT naming a row that
 * breaks the rules of onyx/op.h, or that the table already has in that version. */
OX_NODISCARD ox_status *ox_registry_add(ox_registry *r, const ox_op *rows, size_t n);
/* The row that serves |op| of |domain| at |version|, or NULL. Domain NULL, "" and "ai.onnx" are one. Any thread; |r|
 * NULL: nothing is known. */
const ox_op *ox_registry_find(const ox_registry *r, const char *domain, const char *op, int64_t version);
/* Its own rows, without the base's, sorted by domain, name, since; *out_n of them. */
const ox_op *const *ox_registry_all(const ox_registry *r, size_t *out_n);
/* The table below it, or NULL. */
const ox_registry *ox_registry_base(const ox_registry *r);

/* ---- one node ---- */
enum { OX_TYPE_VARS = 26 }; /* ox_schema.vars: A to Z */
/* The domain of the standard's operators on tensors with channels last: the first input and the first output have their
 * channels behind the spatial dimensions. Made for providers that prefer it (plan/layout.h). */
#define OX_NHWC_DOMAIN "ai.onyx.nhwc"
/* The row that serves |n|, or NULL if the operator is unknown. *out_version (may be NULL) is at least 1. */
const ox_op *ox_node_op(const ox_model *m, const ox_node *n, uint32_t *out_version);
/* Its schema, or NULL. */
const ox_schema *ox_node_schema(const ox_model *m, const ox_node *n, uint32_t *out_version);

/* Decodes |n|'s attributes by |schema| into a fresh struct in |arena| (NULL if the schema has none). Errors name the
 * attribute: missing, of another kind, or out of its range. Unknown attributes are ignored. */
OX_NODISCARD ox_status *ox_attrs_decode(const ox_schema *schema, const ox_node *n, ox_arena *arena, void **out_attrs);
/* Checks counts, kinds and element types of the inputs by |schema|, and that inputs of one type variable agree; the
 * error names operator, input, wanted, got. */
OX_NODISCARD ox_status *ox_op_check(const ox_schema *schema, const ox_node *n, const ox_type *const *in);

/* How many outputs a node must have; the next ones up to max_out may be left out. */
static inline uint32_t ox_schema_min_out(const ox_schema *s) { return s->max_out ? s->min_out : 1; }

/* In all graphs of |m|, gives a value to every required output that a node leaves out, so that kernels may write it,
 * and removes nodes without any output. */
OX_NODISCARD ox_status *ox_graph_name_outputs(ox_model *m);

/* A schema's inference on a node. */
typedef struct ox_node_call {
  const ox_model *model;
  const ox_schema *schema;
  const ox_node *node;
  uint32_t version;
  const void *attrs;               /* as ox_attrs_decode gave them */
  const ox_type *const *in;        /* per input; NULL entry: omitted */
  const ox_tensor *const *in_data; /* per input; NULL entry: content not known */
  ox_type *out;                    /* per output; the answer, unknown where the operator does not say */
  ox_arena *arena;                 /* element types of sequences; lives as long as the types */
} ox_node_call;
OX_NODISCARD ox_status *ox_node_infer(const ox_node_call *call);

#endif
