/* SPDX-License-Identifier: Apache-2.0
 * graph/extract.h - replaces several nodes by one that holds them as its body. */
#ifndef OX_GRAPH_EXTRACT_H
#define OX_GRAPH_EXTRACT_H

#include "graph/graph.h"

/* The operator of such nodes, in the domain "ai.onyx", with the body in the attribute "body". */
#define OX_PART_OP "Part"

/* Moves |nodes| (in topological order; no path between two of them may lead through another node) into the body of a
 * new node called |name|. The body's inputs are what they read from outside, its outputs what others read of them; in
 * both in the order of first mention. Constants are copied as structs and are no inputs. Bodies of the nodes move along;
 * what those read of |g| counts as read by the nodes. Ids of other nodes and of values stay. */
OX_NODISCARD ox_status *ox_graph_extract(ox_graph *g, const char *name, const ox_id *nodes, size_t n, ox_id *out_node);

/* The body of a node made by ox_graph_extract, or NULL. */
ox_graph *ox_node_part(const ox_node *n);

#endif
