/* SPDX-License-Identifier: Apache-2.0
 * opt/naming.h - keeps names of values true: a value with a name of the model's holds what the model says, whichever
 * node computes it now. Comparing graphs and looking up values by name rely on that. */
#ifndef OX_OPT_NAMING_H
#define OX_OPT_NAMING_H

#include "graph/graph.h"

/* All uses of |from| became uses of |to|. */
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
  ox_id first_new; /* values from this id on did not exist before */
} ox_naming;

void ox_naming_init(ox_naming *n, ox_alloc alloc);
void ox_naming_deinit(ox_naming *n);
/* Before edits of |g|. */
void ox_naming_start(ox_naming *n, const ox_graph *g);
OX_NODISCARD ox_status *ox_naming_touched(ox_naming *n, ox_id node);
OX_NODISCARD ox_status *ox_naming_handed(ox_naming *n, ox_id from, ox_id to);
/* After the edits. A value that replaced another takes over its name. One that only edited nodes read may mean anything
 * now, so it gets a new name. Error: OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_naming_settle(ox_naming *n, ox_graph *g);

#endif
