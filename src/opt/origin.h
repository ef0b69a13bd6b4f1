/* SPDX-License-Identifier: Apache-2.0
 * opt/origin.h - tracks which nodes an edit made of which: ox_node.from. */
#ifndef OX_OPT_ORIGIN_H
#define OX_OPT_ORIGIN_H

#include "graph/graph.h"

/* The most names that a node keeps; more are dropped, since chains of thousands of nodes can become one. */
enum { OX_ORIGIN_NAMES = 64, OX_ORIGIN_NODES = 64 };

typedef struct ox_origin {
  const char *names[OX_ORIGIN_NAMES]; /* of the model's nodes that were edited or removed */
  ox_id edited[OX_ORIGIN_NODES], added[OX_ORIGIN_NODES];
  uint32_t n_names, n_edited, n_added, n_removed;
} ox_origin;

/* Sets |from| of nodes without a name to their first output's, while that still has the model's name. */
OX_NODISCARD ox_status *ox_origin_name_all(ox_model *m);

void ox_origin_start(ox_origin *o);
void ox_origin_edited(ox_origin *o, const ox_graph *g, ox_id node);
void ox_origin_added(ox_origin *o, ox_id node);
void ox_origin_remove(ox_origin *o, const ox_graph *g, ox_id node); /* before it is removed; |o| NULL is fine */
/* Makes edited and added nodes stem from edited and removed ones. */
OX_NODISCARD ox_status *ox_origin_settle(ox_origin *o, ox_graph *g);

#endif
