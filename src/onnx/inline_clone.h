/* SPDX-License-Identifier: Apache-2.0
 * onnx/inline_clone.h - copies nodes and graphs of a function's body into the calling graph (private to onnx/). */
#ifndef OX_ONNX_INLINE_CLONE_H
#define OX_ONNX_INLINE_CLONE_H

#include "graph/graph.h"

/* What a call's node held before it was taken apart. */
typedef struct ox_fn_call {
  const ox_function *fn;
  ox_graph *graph; /* that holds the call */
  const char *name;
  const ox_attr *attrs;
  uint32_t n_attrs;
} ox_fn_call;

/* Copies node |n| of |src| to |dst|; |map|: from values of |src| to those of |dst|, where missing ones are added. */
OX_NODISCARD ox_status *ox_clone_node(const ox_fn_call *call, const ox_graph *src, const ox_node *n, ox_graph *dst,
                                      ox_id *map);
/* A value of |dst| like |v| of |src|, under a name that neither |dst| nor an enclosing graph has. */
OX_NODISCARD ox_status *ox_clone_value(const ox_graph *src, ox_id v, ox_graph *dst, ox_id *out_value);

#endif
