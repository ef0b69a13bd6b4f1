/* SPDX-License-Identifier: Apache-2.0
 * plan/plan_units.c - see plan_units.h. */
#include "plan/plan_units.h"

#include <string.h>

#include "plan/transfers.h"

ox_status *ox_unit_note(ox_status *st, const ox_plan *p, const ox_unit *u) {
  const ox_node *n = ox_graph_node(p->graph, u->node);
  if (!st) return NULL;
  if (u->owner && strcmp(u->owner->api.name, "cpu") != 0) st = ox_status_note(st, "provider '%s'", u->owner->api.name);
  if (n->name[0]) return ox_status_note(st, "node '%s' (%s)", n->name, n->op);
  const char *out = n->n_out && n->out[0] != OX_NONE ? ox_transfer_name(p->graph, n->out[0]) : "";
  return ox_status_note(st, "node (%s) computing '%s'", n->op, out);
}

const char *ox_unit_owner(const ox_unit *u) { return u->owner ? u->owner->api.name : "host"; }
