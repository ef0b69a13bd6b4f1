/* SPDX-License-Identifier: Apache-2.0
 * opt/origin.c - see origin.h. Lists are short and names are arena strings, so that linear search and shared pointers
 * will do: all nodes that one edit made share one list. */
#include "opt/origin.h"

#include <string.h>

void ox_origin_start(ox_origin *o) { o->n_names = o->n_edited = o->n_added = o->n_removed = 0; }

static bool listed(const ox_id *ids, uint32_t n, ox_id node) {
  while (n && ids[n - 1] != node) n--;
  return n != 0;
}

static void add_name(ox_origin *o, const char *name) {
  for (uint32_t i = 0; i < o->n_names; i++)
    if (o->names[i] == name || strcmp(o->names[i], name) == 0) return;
  if (o->n_names < OX_ORIGIN_NAMES) o->names[o->n_names++] = name;
}

/* The names of the nodes whose work |node| does. */
static void add_names(ox_origin *o, const ox_graph *g, ox_id node) {
  const ox_node *n = &g->nodes[node];
  for (uint32_t i = 0; i < n->n_from; i++) add_name(o, n->from[i]);
  if (!n->n_from && *n->name) add_name(o, n->name);
}

void ox_origin_edited(ox_origin *o, const ox_graph *g, ox_id node) {
  if (o->n_edited == OX_ORIGIN_NODES || listed(o->edited, o->n_edited, node) || listed(o->added, o->n_added, node))
    return;
  o->edited[o->n_edited++] = node;
  add_names(o, g, node);
}

void ox_origin_added(ox_origin *o, ox_id node) {
  if (o->n_added < OX_ORIGIN_NODES) o->added[o->n_added++] = node;
}

void ox_origin_remove(ox_origin *o, const ox_graph *g, ox_id node) {
  if (!o || listed(o->added, o->n_added, node)) return;
  add_names(o, g, node);
  o->n_removed++;
}

ox_status *ox_origin_settle(ox_origin *o, ox_graph *g) {
  uint32_t n_edited = o->n_removed ? o->n_edited : 0; /* else they do what they did */
  if (!o->n_names || n_edited + o->n_added == 0) return NULL;
  const char **list = ox_arena_copy(&g->model->arena, o->names, o->n_names * sizeof *list);
  if (!list) return ox_oom();
  for (uint32_t i = 0; i < n_edited + o->n_added; i++) {
    ox_node *n = &g->nodes[i < n_edited ? o->edited[i] : o->added[i - n_edited]];
    if (!n->dead) n->from = list, n->n_from = o->n_names;
  }
  return NULL;
}

static ox_status *name_node(ox_graph *g, ox_node *n) {
  uint32_t out = 0;
  if (n->dead || *n->name || n->n_from) return NULL;
  while (out < n->n_out && n->out[out] == OX_NONE) out++;
  if (out == n->n_out) return NULL;
  const char **list = OX_ARENA_NEW(&g->model->arena, const char *);
  if (!list) return ox_oom();
  *list = g->values[n->out[out]].name;
  n->from = list, n->n_from = 1;
  return NULL;
}

ox_status *ox_origin_name_all(ox_model *m) {
  for (ox_graph *g = m->graphs; g; g = g->next)
    for (ox_id i = 0; !g->dead && i < g->n_nodes; i++) OX_TRY(name_node(g, &g->nodes[i]));
  return NULL;
}
