/* SPDX-License-Identifier: Apache-2.0
 * opt/steady.h - which values of a loop's body depend on nothing but how many iterations there have been: the number of
 * the iteration, counters that the loop carries, comparisons of these with limits. */
#ifndef OX_OPT_STEADY_H
#define OX_OPT_STEADY_H

#include "graph/control.h"

typedef struct ox_steady {
  const ox_graph *b;
  ox_carried_values c;
  bool *counter; /* per carried value: it is one */
} ox_steady;

/* |counter| has room for |c->n|. */
void ox_steady_init(ox_steady *s, const ox_graph *b, const ox_carried_values *c, bool *counter);
bool ox_is_steady(const ox_steady *s, ox_id v);
/* Whether the loop goes on is steady, too. */
bool ox_steady_end(const ox_steady *s);

#endif
