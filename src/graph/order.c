/* SPDX-License-Identifier: Apache-2.0
 * graph/order.c - topological order, and compaction: what is dead is dropped, ids become dense and sorted. */
#include <string.h>

#include "base/macros.h"
#include "graph/graph.h"

/* Where the walk stands in one node's dependencies: inputs first, then what its bodies read from this graph. */
typedef struct cursor {
  ox_id node;
  uint32_t in;
  uint32_t body;
  ox_id value;
} cursor;

/* The next value the node depends on, or OX_NONE. */
static ox_id next_read(const ox_graph *g, cursor *c) {
  const ox_node *n = &g->nodes[c->node];
  while (c->in < n->n_in)
    if (n->in[c->in++] != OX_NONE) return n->in[c->in - 1];
  for (ox_graph *b; (b = ox_node_body(n, c->body)); c->body++, c->value = 0)
    while (c->value < b->n_values) {
      const ox_graph_value *v = &b->values[c->value++];
      if (v->outer != OX_NONE && !v->dead) return v->outer;
    }
  return OX_NONE;
}

enum { UNSEEN = 0, OPEN = 1, DONE = 2 };

/* Emits everything |root| needs, then |root|. The stack holds each open node once: n_nodes entries suffice. */
static ox_status *visit(const ox_graph *g, ox_id root, uint8_t *state, cursor *stack, ox_id *order, uint32_t *n) {
  uint32_t depth = 0;
  stack[depth++] = (cursor){.node = root};
  state[root] = OPEN;
  while (depth) {
    cursor *top = &stack[depth - 1];
    ox_id v = next_read(g, top);
    if (v == OX_NONE) {
      state[top->node] = DONE;
      order[(*n)++] = top->node;
      depth--;
      continue;
    }
    ox_id p = g->values[v].producer;
    if (p == OX_NONE || state[p] == DONE) continue;
    if (state[p] == OPEN)
      return ox_fail(OX_INVALID_MODEL, "graph '%s' has a cycle through node '%s' (%s): it needs '%s', which needs it",
                     g->name, g->nodes[top->node].name, g->nodes[top->node].op, g->values[v].name);
    state[p] = OPEN;
    stack[depth++] = (cursor){.node = p};
  }
  return NULL;
}

ox_status *ox_graph_order(const ox_graph *g, ox_alloc alloc, ox_id **out_order, uint32_t *out_n) {
  *out_order = NULL, *out_n = 0;
  size_t n = g->n_nodes;
  if (!n) return NULL;
  uint8_t *state = ox_new_zeroed(alloc, n);
  cursor *stack = ox_new(alloc, n * sizeof *stack);
  ox_id *order = ox_new(alloc, n * sizeof *order);
  ox_status *st = state && stack && order ? NULL : ox_oom();
  for (ox_id i = 0; !st && i < n; i++)
    if (!g->nodes[i].dead && state[i] == UNSEEN) st = visit(g, i, state, stack, order, out_n);
  ox_delete(alloc, state, n);
  ox_delete(alloc, stack, n * sizeof *stack);
  if (st) {
    ox_delete(alloc, order, n * sizeof *order);
    *out_n = 0;
  } else {
    *out_order = order;
  }
  return st;
}

/* ---- compaction ---- */

/* Moves live nodes into |order| and renumbers their values by |value_id|. */
static void sort_nodes(ox_graph *g, ox_node *sorted, const ox_id *order, uint32_t n, const ox_id *value_id) {
  for (uint32_t i = 0; i < n; i++) {
    sorted[i] = g->nodes[order[i]];
    ox_node *node = &sorted[i];
    for (uint32_t k = 0; k < node->n_in; k++)
      if (node->in[k] != OX_NONE) node->in[k] = value_id[node->in[k]];
    for (uint32_t k = 0; k < node->n_out; k++)
      if (node->out[k] != OX_NONE) node->out[k] = value_id[node->out[k]];
    ox_graph *b;
    for (uint32_t k = 0; (b = ox_node_body(node, k)); k++)
      for (ox_id v = 0; v < b->n_values; v++)
        if (b->values[v].outer != OX_NONE) b->values[v].outer = value_id[b->values[v].outer];
  }
}

/* Slides live values down; |value_id| gets their new ids. |node_id|: new ids of nodes. */
static void slide_values(ox_graph *g, ox_id *value_id, const ox_id *node_id) {
  uint32_t n = 0;
  for (ox_id v = 0; v < g->n_values; v++) {
    ox_graph_value *value = &g->values[v];
    value_id[v] = OX_NONE;
    if (!value->dead && !value->is_input && value->producer == OX_NONE && !ox_graph_use_count(g, v))
      ox_graph_drop_value(g, v);
    if (value->dead) continue;
    if (value->producer != OX_NONE) value->producer = node_id[value->producer];
    for (uint32_t k = 0; k < value->n_uses; k++) value->uses[k].node = node_id[value->uses[k].node];
    value_id[v] = n;
    g->values[n++] = *value;
  }
  g->n_values = n;
  for (uint32_t i = 0; i < g->n_inputs; i++) g->inputs[i] = value_id[g->inputs[i]];
  for (uint32_t i = 0; i < g->n_outputs; i++) g->outputs[i] = value_id[g->outputs[i]];
}

static ox_status *renumber_names(ox_graph *g) {
  for (ox_id v = 0; v < g->n_values; v++)
    if (!ox_map_put(&g->by_name, g->values[v].name, v)) return ox_oom();
  return NULL;
}

ox_status *ox_graph_compact(ox_graph *g) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    ox_graph *b;
    for (uint32_t k = 0; !g->nodes[i].dead && (b = ox_node_body(&g->nodes[i], k)); k++) OX_TRY(ox_graph_compact(b));
  }
  ox_alloc a = g->model->alloc;
  ox_id *order = NULL;
  uint32_t n = 0, old_nodes = g->n_nodes, old_values = g->n_values;
  OX_TRY(ox_graph_order(g, a, &order, &n));
  ox_node *sorted = ox_new(a, g->cap_nodes * sizeof *sorted);
  ox_id *node_id = ox_new(a, old_nodes * sizeof *node_id);
  ox_id *value_id = ox_new(a, old_values * sizeof *value_id);
  ox_status *st = sorted && node_id && value_id ? NULL : ox_oom();
  if (!st) {
    memset(node_id, 0xff, old_nodes * sizeof *node_id);
    for (uint32_t i = 0; i < n; i++) node_id[order[i]] = i;
    slide_values(g, value_id, node_id);
    sort_nodes(g, sorted, order, n, value_id);
    ox_delete(a, g->nodes, g->cap_nodes * sizeof *g->nodes);
    g->nodes = sorted, g->n_nodes = n;
    st = renumber_names(g);
  } else {
    ox_delete(a, sorted, g->cap_nodes * sizeof *sorted);
  }
  ox_delete(a, order, old_nodes * sizeof *order);
  ox_delete(a, node_id, old_nodes * sizeof *node_id);
  ox_delete(a, value_id, old_values * sizeof *value_id);
  return st;
}
