/* SPDX-License-Identifier: Apache-2.0
 * graph/node_same.h - whether two nodes have the same attributes. */
#ifndef OX_GRAPH_NODE_SAME_H
#define OX_GRAPH_NODE_SAME_H

#include "graph/graph.h"

/* Tensors, graphs and types are not compared, but count as different. */
bool ox_node_attrs_same(const ox_node *a, const ox_node *b);

#endif
