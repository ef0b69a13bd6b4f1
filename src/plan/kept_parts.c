/* SPDX-License-Identifier: Apache-2.0
 * plan/kept_parts.c - see kept_parts.h. */
#include "plan/kept_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

uint32_t ox_part_hash(const char *name) { return (uint32_t)ox_hash(name, strlen(name), 0); }

static bool has(const char *list, const char *name) {
  uint32_t wanted = ox_part_hash(name);
  for (const char *p = list + 1; *p;) {
    char *end;
    if ((uint32_t)strtoul(p, &end, 16) == wanted && end != p) return true;
    p = end + strcspn(end, ",");
    p += *p == ',';
  }
  return false;
}

bool ox_part_lists(const char *list, const ox_graph *g, const ox_node *n) {
  if (has(list, ox_node_label(g, n))) return true;
  for (uint32_t i = 0; i < n->n_from; i++)
    if (has(list, n->from[i])) return true;
  return false;
}

static ox_status *free_node(ox_graph *g, ox_node *n, uint16_t owner) {
  static const char why[] = "the CPU was faster when it was measured";
  ox_refusal *r = OX_ARENA_NEW(&g->model->arena, ox_refusal);
  if (!r) return ox_oom();
  *r = (ox_refusal){owner, why, n->refusals};
  n->refusals = r;
  n->assigned = (ox_assignment){.owner = OX_NO_OWNER};
  return NULL;
}

ox_status *ox_parts_keep(ox_graph *g, ox_parts *parts, uint16_t owner, const char *list) {
  bool keeps_listed = *list == '+';
  bool *listed = ox_new_zeroed(g->model->alloc, g->n_nodes + 1);
  ox_status *st = NULL;
  if (!listed) return ox_oom();
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    if (!n->dead && n->assigned.owner == owner && n->assigned.claim == OX_CLAIM_FUSED && ox_part_lists(list, g, n))
      listed[ox_parts_group(parts, i)] = true;
  }
  for (ox_id i = 0; i < g->n_nodes && !st; i++) {
    ox_node *n = &g->nodes[i];
    if (n->dead || n->assigned.owner != owner || n->assigned.claim != OX_CLAIM_FUSED) continue;
    if (listed[ox_parts_group(parts, i)] != keeps_listed) st = free_node(g, n, owner);
  }
  ox_delete(g->model->alloc, listed, g->n_nodes + 1);
  return st;
}
