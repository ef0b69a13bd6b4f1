/* SPDX-License-Identifier: Apache-2.0
 * opt/naming.h - names of values stay true: a value that is called as the model calls one holds what the model says,
 * whichever node makes it now. Who compares graphs or asks for a value by name relies on it. */
#ifndef OX_OPT_NAMING_H
#define OX_OPT_NAMING_H

#include "graph/graph.h"

/* Everybody who read |from| reads |to| now. */
typedef struct ox_handover {
  ox_id from, to;
} ox_handover;

/* What one application of a rule, or one run of a pass, did to a graph. */
typedef struct ox_naming {
  ox_alloc alloc;
  ox_id *touched; /* nodes that were edited or added; some may be there twice */
  uint32_t n_touched, cap_touched;
  ox_handover *handed; /* in the order in which it happened */
  uint32_t n_handed, cap_handed;
  ox_id first_new; /* values from here on did not exist before */
} ox_naming;

void ox_naming_init(ox_naming *n, ox_alloc alloc);
void ox_naming_deinit(ox_naming *n);
/* Before edits of |g|. */
void ox_naming_start(ox_naming *n, const ox_graph *g);
OX_NODISCARD ox_status *ox_naming_touched(ox_naming *n, ox_id node);
OX_NODISCARD ox_status *ox_naming_handed(ox_naming *n, ox_id from, ox_id to);
/* After them. A value that took another's place takes over its name. One that only nodes read that were edited, too,
 * may mean anything now: it gets a new name. Error: OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_naming_settle(ox_naming *n, ox_graph *g);

#endif
