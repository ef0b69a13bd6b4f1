/* SPDX-License-Identifier: Apache-2.0
 * plan/parts.h - which nodes can become one node without a cycle, and the largest such groups. */
#ifndef OX_PLAN_PARTS_H
#define OX_PLAN_PARTS_H

#include "graph/graph.h"

/* A graph's nodes in groups, at first one node each. ox_parts_join makes sure that contracting every group to a node
 * makes no cycle. */
typedef struct ox_parts ox_parts;

OX_NODISCARD ox_status *ox_parts_create(const ox_graph *g, ox_alloc alloc, ox_parts **out_parts);
void ox_parts_destroy(ox_parts *p); /* NULL is fine */

/* The group of |node|: the id of one of its members. */
ox_id ox_parts_group(ox_parts *p, ox_id node);

/* Joins the groups of |nodes| into one. Error: INVALID_ARGUMENT, naming a node between them, if that would make a
 * cycle; nothing has changed then. */
OX_NODISCARD ox_status *ox_parts_join(ox_parts *p, const ox_id *nodes, size_t n);

/* Joins groups along edges between nodes of one kind (the same answer of |kind_of|, not 0), until no two neighbours of a
 * kind can be joined any more. */
void ox_parts_grow(ox_parts *p, uint64_t (*kind_of)(const ox_node *n));

#endif
