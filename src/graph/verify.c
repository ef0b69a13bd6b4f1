/* SPDX-License-Identifier: Apache-2.0
 * graph/verify.c - checks that the graph is what graph.h says; for tests, debug builds and fuzzers. */
#include <string.h>

#include "base/macros.h"
#include "graph/graph.h"

#define BROKEN(g, ...) ox_status_note(ox_fail(OX_INVALID_MODEL, __VA_ARGS__), "graph '%s'", (g)->name)

static bool value_ok(const ox_graph *g, ox_id v) { return v < g->n_values && !g->values[v].dead; }

static bool in_list(const ox_id *list, uint32_t n, ox_id v) {
  for (uint32_t i = 0; i < n; i++)
    if (list[i] == v) return true;
  return false;
}

static ox_status *check_uses(const ox_graph *g, ox_id v) {
  const ox_graph_value *value = &g->values[v];
  for (uint32_t i = 0; i < value->n_uses; i++) {
    ox_use u = value->uses[i];
    if (u.node >= g->n_nodes || g->nodes[u.node].dead || u.slot >= g->nodes[u.node].n_in)
      return BROKEN(g, "value '%s' is used by a node that is not there", value->name);
    if (g->nodes[u.node].in[u.slot] != v || g->nodes[u.node].use_at[u.slot] != i)
      return BROKEN(g, "value '%s': use %u and its node '%s' disagree", value->name, i, g->nodes[u.node].name);
  }
  return NULL;
}

static ox_status *check_value(const ox_graph *g, ox_id v) {
  const ox_graph_value *value = &g->values[v];
  if (!value->name || !*value->name) return BROKEN(g, "value %u has no name", v);
  if (ox_graph_find(g, value->name) != v) return BROKEN(g, "two values have the name '%s'", value->name);
  if ((value->producer != OX_NONE) + (value->init || value->is_input) + (value->outer != OX_NONE) > 1)
    return BROKEN(g, "value '%s' has more than one origin", value->name);
  if (value->producer != OX_NONE) {
    if (value->producer >= g->n_nodes || g->nodes[value->producer].dead)
      return BROKEN(g, "value '%s' is produced by a node that is not there", value->name);
    const ox_node *n = &g->nodes[value->producer];
    if (value->producer_slot >= n->n_out || n->out[value->producer_slot] != v)
      return BROKEN(g, "value '%s' and its producer '%s' disagree", value->name, n->name);
  } else if (ox_graph_use_count(g, v) && !value->init && !value->is_input && value->outer == OX_NONE) {
    return BROKEN(g, "value '%s' is used but nothing defines it", value->name);
  }
  if (value->outer != OX_NONE && (!g->parent || !value_ok(g->parent, value->outer)))
    return BROKEN(g, "value '%s' stands for an outer value that is not there", value->name);
  return check_uses(g, v);
}

/* With check_uses, equal totals mean that every input slot is in exactly one use list. */
static ox_status *check_nodes(const ox_graph *g, uint64_t n_uses) {
  uint64_t n_slots = 0;
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++) {
      if (n->in[k] == OX_NONE) continue;
      n_slots++;
      if (!value_ok(g, n->in[k])) return BROKEN(g, "node '%s' (%s): input %u is not a value", n->name, n->op, k);
    }
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] != OX_NONE && (!value_ok(g, n->out[k]) || g->values[n->out[k]].producer != i))
        return BROKEN(g, "node '%s' (%s): output %u has another producer", n->name, n->op, k);
  }
  return n_slots == n_uses
             ? NULL
             : BROKEN(g, "%llu input slots but %llu uses", (unsigned long long)n_slots, (unsigned long long)n_uses);
}

static ox_status *check_lists(const ox_graph *g) {
  uint32_t n_in = 0, n_out_flags = 0;
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (!value_ok(g, g->inputs[i]) || !g->values[g->inputs[i]].is_input)
      return BROKEN(g, "listed input %u is not an input", i);
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (!value_ok(g, g->outputs[i]) || !g->values[g->outputs[i]].is_output)
      return BROKEN(g, "listed output %u is not an output", i);
  for (ox_id v = 0; v < g->n_values; v++) {
    n_in += g->values[v].is_input;
    n_out_flags += g->values[v].is_output && !in_list(g->outputs, g->n_outputs, v);
  }
  if (n_in != g->n_inputs) return BROKEN(g, "%u values are inputs but %u are listed", n_in, g->n_inputs);
  return n_out_flags ? BROKEN(g, "a value is marked as output but not listed") : NULL;
}

static ox_status *verify(const ox_graph *g, uint32_t *inner);

/* Bodies belong to this graph and are sound; |inner| counts what they read from it. */
static ox_status *check_bodies(const ox_graph *g, uint32_t *inner) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    ox_graph *b;
    for (uint32_t k = 0; !g->nodes[i].dead && (b = ox_node_body(&g->nodes[i], k)); k++) {
      if (b->parent != g || b->dead) return BROKEN(g, "node '%s' holds a body of another graph", g->nodes[i].name);
      OX_TRY(ox_status_note(verify(b, inner), "body %u of node '%s'", k, g->nodes[i].name));
    }
  }
  for (ox_id v = 0; v < g->n_values; v++)
    if (inner[v] != g->values[v].n_inner_uses)
      return BROKEN(g, "value '%s' is read by %u bodies but counts %u", g->values[v].name, inner[v],
                    g->values[v].n_inner_uses);
  return NULL;
}

/* |outer_inner|: counts the stand-ins for each of the parent's values; may be NULL. */
static ox_status *verify(const ox_graph *g, uint32_t *outer_inner) {
  uint64_t n_uses = 0;
  for (ox_id v = 0; v < g->n_values; v++) {
    if (g->values[v].dead) continue;
    OX_TRY(check_value(g, v));
    n_uses += g->values[v].n_uses;
    if (g->values[v].outer != OX_NONE && outer_inner) outer_inner[g->values[v].outer]++;
  }
  OX_TRY(check_nodes(g, n_uses));
  OX_TRY(check_lists(g));
  ox_alloc a = g->model->alloc;
  ox_id *order = NULL;
  uint32_t n;
  OX_TRY(ox_graph_order(g, a, &order, &n));
  ox_delete(a, order, g->n_nodes * sizeof *order);
  size_t bytes = ((size_t)g->n_values + 1) * sizeof(uint32_t);
  uint32_t *inner = ox_new_zeroed(a, bytes);
  ox_status *st = inner ? check_bodies(g, inner) : ox_oom();
  ox_delete(a, inner, bytes);
  return st;
}

/* All nodes have owners, or none has: *owned, -1 before the first node. Bodies too. */
static ox_status *check_owners(const ox_graph *g, int *owned) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    if (n->dead) continue;
    int has = n->assigned.owner != OX_NO_OWNER;
    if (*owned >= 0 && has != *owned)
      return BROKEN(g, "node '%s' (%s) %s", n->name, n->op, has ? "has an owner, others have none" : "has no owner");
    *owned = has;
    ox_graph *b;
    for (uint32_t k = 0; (b = ox_node_body(n, k)); k++) OX_TRY(check_owners(b, owned));
  }
  return NULL;
}

ox_status *ox_graph_verify(const ox_graph *g) {
  int owned = -1;
  OX_TRY(verify(g, NULL));
  return check_owners(g, &owned);
}
