/* SPDX-License-Identifier: Apache-2.0
 * onnx/inline_clone.h - copies nodes and graphs of a function's body into the calling graph (private to onnx/). */
#ifndef OX_ONNX_INLINE_CLONE_H
#define OX_ONNX_INLINE_CLONE_H

#include "graph/graph.h"

/* Nodes and values that expansions may still add to the model, nested graphs included. */
typedef struct ox_inline_budget {
  uint64_t nodes, values;
} ox_inline_budget;

/* What a call's node held before it was taken apart. */
typedef struct ox_fn_call {
  ox_inline_budget *budget;
  const ox_function *fn;
  ox_graph *graph; /* that holds the call */
  const char *name;
  const ox_attr *attrs;
  uint32_t n_attrs;
} ox_fn_call;

/* Subtracts what a copy of |g| needs; LIMIT if that exceeds the budget. */
OX_NODISCARD ox_status *ox_inline_charge(ox_inline_budget *b, const ox_graph *g);
/* Copies node |n| of |src| to |dst|; |map|: from values of |src| to those of |dst|, where missing ones are added. */
OX_NODISCARD ox_status *ox_clone_node(const ox_fn_call *call, const ox_graph *src, const ox_node *n, ox_graph *dst,
                                      ox_id *map);
/* Adds to |dst| a value like |v| of |src|, under a name that neither |dst| nor an enclosing graph has. */
OX_NODISCARD ox_status *ox_clone_value(const ox_graph *src, ox_id v, ox_graph *dst, ox_id *out_value);

#endif
