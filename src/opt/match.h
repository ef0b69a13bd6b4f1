/* SPDX-License-Identifier: Apache-2.0
 * opt/match.h - whether a pattern matches at a node. */
#ifndef OX_OPT_MATCH_H
#define OX_OPT_MATCH_H

#include "graph/graph.h"
#include "onyx/rule.h"

/* Whether the node is |ops| (alternatives by '|') of ai.onnx (|domain| NULL) or of |domain|. */
bool ox_node_is(const ox_node *n, const char *ops, const char *domain);
/* Whether two nodes may be rewritten together. */
static inline bool ox_assigned_same(const ox_assignment *a, const ox_assignment *b) {
  return a->owner == b->owner && a->claim == b->claim && a->part == b->part;
}
/* Whether |rule|'s pattern matches with |root|, whose schema is |root_schema| (NULL: none), as its last node; all nodes
 * must have the root's assignment. */
bool ox_rule_match(const ox_graph *g, const ox_rule *rule, ox_id root, const ox_schema *root_schema, ox_match *m);

#endif
