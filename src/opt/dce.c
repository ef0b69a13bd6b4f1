/* SPDX-License-Identifier: Apache-2.0
 * opt/dce.c - removes what nobody reads: nodes, and outputs that may be omitted, which kernels then do not compute. No
 * ONNX operator has side effects, so unread means removable. */
#include "base/macros.h"
#include "graph/grow32.h"
#include "opt/match.h"
#include "opt/opt.h"
#include "opt/origin.h"

static bool unread(const ox_graph *g, const ox_node *n) {
  if (n->dead) return false;
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE && ox_graph_use_count(g, n->out[i])) return false;
  return true;
}

typedef struct todo {
  ox_id *ids;
  uint32_t n, cap;
  const ox_assignment *only; /* NULL: all nodes */
  uint16_t owner;            /* OX_NO_OWNER: all nodes */
  ox_origin *origin;         /* NULL: not tracked */
} todo;

static bool removable(const todo *t, const ox_graph *g, const ox_node *n) {
  return unread(g, n) && (!t->only || ox_assigned_same(t->only, &n->assigned)) &&
         (!t->owner || t->owner == n->assigned.owner);
}

static bool push(ox_graph *g, todo *t, ox_id node) {
  if (!ox_grow32(g->model->alloc, (void **)&t->ids, &t->cap, t->n, sizeof *t->ids)) return false;
  t->ids[t->n++] = node;
  return true;
}

/* Removes unread nodes of |t|, then nodes that only they read from; what bodies read counts as read. */
static ox_status *drain(ox_graph *g, todo *t, uint32_t *n_removed) {
  while (t->n) {
    ox_id id = t->ids[--t->n];
    ox_node *n = &g->nodes[id];
    if (!removable(t, g, n)) continue;
    for (uint32_t i = 0; i < n->n_in; i++)
      if (n->in[i] != OX_NONE && g->values[n->in[i]].producer != OX_NONE && !push(g, t, g->values[n->in[i]].producer))
        return ox_oom();
    ox_graph *b;
    for (uint32_t k = 0; (b = ox_node_body(n, k)); k++)
      for (ox_id v = 0; v < b->n_values; v++) {
        ox_id outer = b->values[v].dead ? OX_NONE : b->values[v].outer;
        if (outer != OX_NONE && g->values[outer].producer != OX_NONE && !push(g, t, g->values[outer].producer))
          return ox_oom();
      }
    ox_origin_remove(t->origin, g, id);
    ox_graph_remove_node(g, id);
    if (n_removed) ++*n_removed;
  }
  return NULL;
}

/* Omits the outputs of |n| that nobody reads and that its operator may leave out; those that stay keep their places, as
 * operators count them. */
static ox_status *omit_unread(ox_graph *g, ox_id id, uint32_t *n_removed) {
  const ox_node *n = &g->nodes[id];
  uint32_t last = n->n_out;
  while (last && (n->out[last - 1] == OX_NONE || ox_graph_use_count(g, n->out[last - 1]))) last--;
  const ox_schema *s = last > 1 ? ox_node_schema(g->model, n, NULL) : NULL;
  if (!s || s->max_out == OX_VARIADIC) return NULL; /* of any number, none is optional */
  for (uint32_t i = ox_schema_min_out(s); i < last; i++) {
    ox_id v = n->out[i];
    if (v == OX_NONE || ox_graph_use_count(g, v)) continue;
    OX_TRY(ox_node_set_output(g, id, i, OX_NONE));
    if (n_removed) ++*n_removed;
  }
  return NULL;
}

ox_status *ox_dce_from(ox_graph *g, ox_id node, ox_origin *origin) {
  if (!unread(g, &g->nodes[node])) return NULL;
  ox_assignment only = g->nodes[node].assigned;
  todo t = {.only = &only, .origin = origin};
  ox_status *st = push(g, &t, node) ? drain(g, &t, NULL) : ox_oom();
  ox_delete(g->model->alloc, t.ids, t.cap * sizeof *t.ids);
  return st;
}

ox_status *ox_dce_graph(ox_graph *g, uint16_t owner, uint32_t *n_removed) {
  todo t = {.owner = owner};
  ox_status *st = NULL;
  for (ox_id i = 0; !st && i < g->n_nodes; i++) { /* bodies first: what they no longer read may die here */
    ox_graph *b;
    for (uint32_t k = 0; !st && !g->nodes[i].dead && (b = ox_node_body(&g->nodes[i], k)); k++)
      st = ox_dce_graph(b, owner, n_removed);
    if (!st && removable(&t, g, &g->nodes[i]) && !push(g, &t, i)) st = ox_oom();
  }
  if (!st) st = drain(g, &t, n_removed);
  ox_delete(g->model->alloc, t.ids, t.cap * sizeof *t.ids);
  for (ox_id i = 0; !st && i < g->n_nodes; i++)
    if (!g->nodes[i].dead && (!owner || owner == g->nodes[i].assigned.owner)) st = omit_unread(g, i, n_removed);
  for (ox_id v = 0; !st && v < g->n_values; v++) {
    const ox_graph_value *value = &g->values[v];
    if (!value->dead && value->producer == OX_NONE && !value->is_input && !ox_graph_use_count(g, v))
      ox_graph_drop_value(g, v);
  }
  return st;
}
