/* SPDX-License-Identifier: Apache-2.0
 * graph/trail.h - where a node's inputs come from, in words: the chain of nodes back to an input of the graph. */
#ifndef OX_GRAPH_TRAIL_H
#define OX_GRAPH_TRAIL_H

#include "graph/graph.h"

/* The shape of value |v| as far as it is known to the caller. */
typedef const ox_shape *ox_trail_shape(const void *ctx, ox_id v);

/* A shape that does not fit was often made far from the node that notices. Adds to a SHAPE_MISMATCH, for each input of
 * |node| that is no constant: its name and shape, the nodes that it comes from, and the graph's input at the beginning
 * with its shape. Other statuses pass through. Consumes |st|. */
OX_NODISCARD ox_status *ox_trail_add(ox_status *st, const ox_graph *g, ox_id node, ox_trail_shape *shape_of,
                                     const void *ctx);

#endif
