/* SPDX-License-Identifier: Apache-2.0
 * opt/row_source.h - where a row that the body of a loop works on comes from: rows that are all there before the loop
 * begins. */
#ifndef OX_OPT_ROW_SOURCE_H
#define OX_OPT_ROW_SOURCE_H

#include <string.h>

#include "opt/steady.h"

enum { OX_MOST_VIEWS = 3 }; /* between the row and the node that works on it */

/* A node with a body that iterates. */
typedef struct ox_loop_site {
  ox_graph *g, *b;
  ox_id node;
  const ox_control_def *def;
  ox_steady steady;
} ox_loop_site;

typedef struct ox_row_source {
  ox_id all;                  /* of the enclosing graph: all rows */
  int axis;                   /* that they are taken along, which is not the last */
  ox_id take;                 /* the Gather or Slice; OX_NONE: the operator hands it in .. */
  uint32_t arg;               /* .. as this input of the body */
  ox_id views[OX_MOST_VIEWS]; /* Squeeze and Unsqueeze, the last one first; they leave the row's axis alone, too */
  uint32_t n_views;
} ox_row_source;

static inline bool ox_node_is(const ox_node *n, const char *op) { return !*n->domain && strcmp(n->op, op) == 0; }
/* The shape of a value, constant or not. */
const ox_shape *ox_shape_of_value(const ox_graph *g, ox_id v);

/* Where |v| of the body comes from, if that depends on the number of the iteration alone. */
bool ox_row_source_find(const ox_loop_site *s, ox_id v, ox_row_source *r);
/* SequenceAt |node| of the body, of what SplitToSequence made in front of the loop, becomes a Gather. */
OX_NODISCARD ox_status *ox_row_of_list(const ox_loop_site *s, ox_id node, bool *out_done);

#endif
