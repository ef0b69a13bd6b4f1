/* SPDX-License-Identifier: Apache-2.0
 * graph/part_infer.h - types of a part's outputs from those of its inputs, without touching the graph. */
#ifndef OX_GRAPH_PART_INFER_H
#define OX_GRAPH_PART_INFER_H

#include "graph/registry.h"

/* |in|: per input of |part|, |in_data|: its content where that is known (NULL entry: not). |out|: per output; unknown
 * where operators do not say, or are unknown. |out_data|: the contents of outputs that follow (NULL entry: it
 * does not), or NULL. |part|'s nodes are in topological order. Everything lives in |arena|. Errors: those of the
 * operators, naming the node. */
OX_NODISCARD ox_status *ox_part_infer(const ox_graph *part, const ox_type *const *in, const ox_tensor *const *in_data,
                                      ox_type *out, const ox_tensor **out_data, ox_arena *arena);

/* As ox_part_infer, of every value of |part|, by id. */
typedef struct ox_part_values {
  ox_type *types;
  const ox_tensor **data;
} ox_part_values;
OX_NODISCARD ox_status *ox_part_infer_values(const ox_graph *part, const ox_type *const *in,
                                             const ox_tensor *const *in_data, ox_arena *arena, ox_part_values *out);

#endif
