/* SPDX-License-Identifier: Apache-2.0
 * graph/graph.c - values, nodes and attributes of one graph, and the use lists that connect them. */
#include "graph/graph.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "graph/grow32.h"

/* ---- values ---- */

ox_id ox_graph_find(const ox_graph *g, const char *name) { return ox_map_find(&g->by_name, name); }

/* A name that |g| does not know yet: |name| itself, or with a number behind it. NULL on out of memory. */
static const char *free_name(ox_graph *g, const char *name) {
  if (name && *name && ox_map_find(&g->by_name, name) == OX_NONE)
    return ox_arena_str(&g->model->arena, name, strlen(name));
  if (!name || !*name) name = "v";
  size_t len = strlen(name), room = len + 16;
  char *s = ox_arena_alloc(&g->model->arena, room);
  if (!s) return NULL;
  memcpy(s, name, len);
  for (uint32_t k = g->n_values;; k++) {
    snprintf(s + len, room - len, "_%u", k);
    if (ox_map_find(&g->by_name, s) == OX_NONE) return s;
  }
}

ox_status *ox_graph_add_value(ox_graph *g, const char *name, ox_id *out_value) {
  *out_value = OX_NONE;
  const char *unique = free_name(g, name);
  if (!unique || !ox_grow32(g->model->alloc, (void **)&g->values, &g->cap_values, g->n_values, sizeof *g->values) ||
      !ox_map_put(&g->by_name, unique, g->n_values))
    return ox_oom();
  g->values[g->n_values] =
      (ox_graph_value){.name = unique, .type = ox_type_unknown(), .producer = OX_NONE, .outer = OX_NONE};
  *out_value = g->n_values++;
  return NULL;
}

/* The value called |name| in |g| or an enclosing graph; *out_depth graphs up. */
static ox_id find_up(const ox_graph *g, const char *name, uint32_t *out_depth) {
  *out_depth = 0;
  for (; g; g = g->parent, ++*out_depth) {
    ox_id v = ox_graph_find(g, name);
    if (v != OX_NONE) return v;
  }
  return OX_NONE;
}

/* A stand-in in |g| for the value |v| of its parent. */
static ox_status *add_stand_in(ox_graph *g, ox_id v, const char *name, ox_id *out_value) {
  OX_TRY(ox_graph_add_value(g, name, out_value));
  ox_graph_value *outer = &g->parent->values[v];
  g->values[*out_value].outer = v, g->values[*out_value].type = outer->type;
  outer->n_inner_uses++;
  return NULL;
}

ox_id ox_graph_find_stand_in(const ox_graph *b, ox_id outer) {
  for (ox_id v = 0; v < b->n_values; v++)
    if (b->values[v].outer == outer && !b->values[v].dead) return v;
  return OX_NONE;
}

ox_status *ox_graph_stand_in(ox_graph *b, ox_id outer, ox_id *out_value) {
  *out_value = ox_graph_find_stand_in(b, outer);
  return *out_value == OX_NONE ? add_stand_in(b, outer, b->parent->values[outer].name, out_value) : NULL;
}

ox_status *ox_graph_resolve(ox_graph *g, const char *name, bool create, ox_id *out_value) {
  uint32_t depth;
  ox_id v = find_up(g, name, &depth);
  *out_value = v;
  if (v == OX_NONE) return create ? ox_graph_add_value(g, name, out_value) : NULL;
  for (; depth; depth--) { /* one stand-in per level, outermost first */
    ox_graph *at = g;
    for (uint32_t k = 1; k < depth; k++) at = at->parent;
    OX_TRY(add_stand_in(at, v, name, &v));
  }
  *out_value = v;
  return NULL;
}

static ox_status *append_id(ox_graph *g, ox_id **list, uint32_t *n, uint32_t *cap, ox_id v) {
  if (!ox_grow32(g->model->alloc, (void **)list, cap, *n, sizeof **list)) return ox_oom();
  (*list)[(*n)++] = v;
  return NULL;
}

ox_status *ox_graph_add_input(ox_graph *g, ox_id v) {
  ox_graph_value *value = &g->values[v];
  if (value->is_input || value->producer != OX_NONE || value->outer != OX_NONE)
    return ox_fail(OX_INVALID_MODEL, "input '%s' of graph '%s' is defined twice", value->name, g->name);
  OX_TRY(append_id(g, &g->inputs, &g->n_inputs, &g->cap_inputs, v));
  value->is_input = true;
  return NULL;
}

ox_status *ox_graph_add_output(ox_graph *g, ox_id v) {
  OX_TRY(append_id(g, &g->outputs, &g->n_outputs, &g->cap_outputs, v));
  ox_graph_value *value = &g->values[v];
  if (!value->is_output) value->is_output = true, value->output_at = g->n_outputs - 1, value->n_output = 0;
  value->n_output++;
  return NULL;
}

ox_status *ox_graph_make_const(ox_graph *g, ox_id v, const ox_tensor *t) {
  ox_tensor *copy = ox_arena_copy(&g->model->arena, t, sizeof *t);
  if (!copy) return ox_oom();
  ox_graph_value *value = &g->values[v];
  if (value->producer != OX_NONE) {
    g->nodes[value->producer].out[value->producer_slot] = OX_NONE;
    value->producer = OX_NONE;
  }
  value->init = copy;
  value->type = (ox_type){.kind = t->kind, .dtype = t->dtype, .shape = t->shape};
  return NULL;
}

ox_status *ox_graph_add_const(ox_graph *g, const char *name, const ox_tensor *t, ox_id *out_value) {
  OX_TRY(ox_graph_add_value(g, name, out_value));
  return ox_graph_make_const(g, *out_value, t);
}

ox_status *ox_graph_add_const_copy(ox_graph *g, const char *name, uint32_t dtype, int rank, const int64_t *dims,
                                   const void *data, ox_id *out_value) {
  *out_value = OX_NONE;
  ox_shape s = ox_shape_of(rank, dims);
  size_t bytes;
  if (!ox_dtype_bytes(dtype, ox_shape_count(&s), &bytes))
    return ox_fail(OX_LIMIT, "constant '%s' is too large", name ? name : "");
  void *copy = ox_arena_copy(&g->model->arena, data, bytes);
  if (!copy) return ox_oom();
  ox_tensor t = ox_tensor_view(dtype, &s, copy);
  return ox_graph_add_const(g, name, &t, out_value);
}

const ox_tensor *ox_graph_const_type(const ox_graph *g, ox_id v) {
  while (v != OX_NONE) {
    const ox_graph_value *value = &g->values[v];
    if (value->outer == OX_NONE) return value->is_input ? NULL : value->init;
    v = value->outer, g = g->parent;
  }
  return NULL;
}

ox_id ox_graph_source(const ox_graph *g, ox_id v) {
  while (v != OX_NONE && g->values[v].producer != OX_NONE) {
    const ox_node *n = &g->nodes[g->values[v].producer];
    if (strcmp(n->op, "Identity") || *n->domain || n->n_in != 1) break;
    v = n->in[0];
  }
  return v;
}

const char *ox_graph_value_name(const ox_graph *g, ox_id v) {
  for (; g->values[v].outer != OX_NONE; g = g->parent) v = g->values[v].outer;
  return g->values[v].name;
}

/* ---- use lists: each use knows its place in the list, so adding and removing are O(1) ---- */

static ox_status *add_use(ox_graph *g, ox_id v, ox_id node, uint32_t slot) {
  ox_graph_value *value = &g->values[v];
  if (value->n_uses == value->cap_uses) {
    uint32_t cap = value->cap_uses ? value->cap_uses * 2 : 2;
    ox_use *uses = OX_ARENA_ARRAY(&g->model->arena, ox_use, cap);
    if (!uses) return ox_oom();
    if (value->n_uses) memcpy(uses, value->uses, value->n_uses * sizeof *uses);
    value->uses = uses, value->cap_uses = cap;
  }
  g->nodes[node].in[slot] = v, g->nodes[node].use_at[slot] = value->n_uses;
  value->uses[value->n_uses++] = (ox_use){node, slot};
  return NULL;
}

static void remove_use(ox_graph *g, ox_id node, uint32_t slot) {
  ox_node *n = &g->nodes[node];
  if (n->in[slot] == OX_NONE) return;
  ox_graph_value *value = &g->values[n->in[slot]];
  ox_use last = value->uses[--value->n_uses];
  value->uses[n->use_at[slot]] = last;
  g->nodes[last.node].use_at[last.slot] = n->use_at[slot];
  n->in[slot] = OX_NONE;
}

/* ---- nodes ---- */

static ox_status *claim_output(ox_graph *g, ox_id node, uint32_t slot, ox_id v) {
  ox_graph_value *value = &g->values[v];
  if (value->producer != OX_NONE || value->is_input || value->init || value->outer != OX_NONE)
    return ox_fail(OX_INVALID_MODEL, "node '%s' (%s): output %u, '%s', is already defined by %s", g->nodes[node].name,
                   g->nodes[node].op, slot, value->name,
                   value->producer != OX_NONE ? "another node"
                   : value->is_input          ? "a graph input"
                   : value->init              ? "an initializer"
                                              : "an enclosing graph");
  value->producer = node, value->producer_slot = slot;
  g->nodes[node].out[slot] = v;
  return NULL;
}

static ox_id *none_ids(ox_graph *g, uint32_t n) {
  ox_id *ids = OX_ARENA_ARRAY(&g->model->arena, ox_id, n);
  for (uint32_t i = 0; ids && i < n; i++) ids[i] = OX_NONE;
  return ids;
}

ox_status *ox_graph_add_node(ox_graph *g, const char *op, const char *domain, const char *name, const ox_id *in,
                             uint32_t n_in, const ox_id *out, uint32_t n_out, ox_id *out_node) {
  ox_id id = g->n_nodes;
  *out_node = OX_NONE;
  if (!ox_grow32(g->model->alloc, (void **)&g->nodes, &g->cap_nodes, id, sizeof *g->nodes)) return ox_oom();
  name = name ? name : "";
  ox_node n = {.n_in = n_in, .n_out = n_out};
  n.op = ox_model_intern(g->model, op);
  n.domain = ox_model_intern(g->model, !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain);
  n.name = *name ? ox_arena_str(&g->model->arena, name, strlen(name)) : "";
  n.in = none_ids(g, n_in), n.use_at = none_ids(g, n_in), n.out = none_ids(g, n_out);
  if (!n.op || !n.domain || !n.name || !n.in || !n.use_at || !n.out) return ox_oom();
  g->nodes[g->n_nodes++] = n;
  ox_status *st = NULL;
  for (uint32_t i = 0; !st && i < n_in; i++)
    if (in[i] != OX_NONE) st = add_use(g, in[i], id, i);
  for (uint32_t i = 0; !st && i < n_out; i++)
    if (out[i] != OX_NONE) st = claim_output(g, id, i, out[i]);
  if (st) {
    ox_graph_remove_node(g, id);
    return st;
  }
  *out_node = id;
  return NULL;
}

/* A longer copy of |ids|, filled up with OX_NONE. */
static ox_id *longer(ox_graph *g, const ox_id *ids, uint32_t n, uint32_t want) {
  ox_id *more = none_ids(g, want);
  if (more && n) memcpy(more, ids, n * sizeof *ids);
  return more;
}

ox_status *ox_node_set_input(ox_graph *g, ox_id node, uint32_t slot, ox_id value) {
  ox_node *n = &g->nodes[node];
  if (slot >= n->n_in) {
    if (value == OX_NONE) return NULL;
    ox_id *in = longer(g, n->in, n->n_in, slot + 1), *use_at = longer(g, n->use_at, n->n_in, slot + 1);
    if (!in || !use_at) return ox_oom();
    n->in = in, n->use_at = use_at, n->n_in = slot + 1;
  }
  remove_use(g, node, slot);
  return value == OX_NONE ? NULL : add_use(g, value, node, slot);
}

ox_status *ox_node_set_output(ox_graph *g, ox_id node, uint32_t slot, ox_id value) {
  ox_node *n = &g->nodes[node];
  if (slot >= n->n_out) {
    if (value == OX_NONE) return NULL;
    ox_id *out = longer(g, n->out, n->n_out, slot + 1);
    if (!out) return ox_oom();
    n->out = out, n->n_out = slot + 1;
  }
  if (n->out[slot] != OX_NONE) g->values[n->out[slot]].producer = OX_NONE;
  n->out[slot] = OX_NONE;
  return value == OX_NONE ? NULL : claim_output(g, node, slot, value);
}

ox_status *ox_node_become(ox_graph *g, ox_id node, const char *domain, const char *op) {
  const char *o = ox_model_intern(g->model, op), *d = ox_model_intern(g->model, domain ? domain : "");
  if (!o || !d) return ox_oom();
  g->nodes[node].op = o, g->nodes[node].domain = d, g->nodes[node].version = 0;
  return NULL;
}

const char *ox_node_label(const ox_graph *g, const ox_node *n) {
  if (n->name[0]) return n->name;
  return n->n_out && n->out[0] != OX_NONE ? g->values[n->out[0]].name : "";
}

ox_graph *ox_node_body(const ox_node *n, uint32_t i) {
  for (uint32_t k = 0; k < n->n_attrs; k++) {
    const ox_attr *a = &n->attrs[k];
    if (a->v.kind == OX_ATTR_GRAPH_KIND && a->graph && i-- == 0) return a->graph;
    if (a->v.kind != OX_ATTR_GRAPHS_KIND || !a->graphs) continue;
    if (i < a->v.n) return a->graphs[i];
    i -= (uint32_t)a->v.n;
  }
  return NULL;
}

/* A body dies with its node, and so do its stand-ins for values of |parent| and its own bodies. */
static void kill_body(ox_graph *parent, ox_graph *b) {
  if (b->dead) return;
  b->dead = true;
  for (ox_id v = 0; v < b->n_values; v++)
    if (!b->values[v].dead && b->values[v].outer != OX_NONE) parent->values[b->values[v].outer].n_inner_uses--;
  for (ox_id n = 0; n < b->n_nodes; n++) {
    ox_graph *sub;
    for (uint32_t i = 0; !b->nodes[n].dead && (sub = ox_node_body(&b->nodes[n], i)); i++) kill_body(b, sub);
  }
}

void ox_graph_remove_node(ox_graph *g, ox_id node) {
  ox_node *n = &g->nodes[node];
  if (n->dead) return;
  ox_graph *b;
  for (uint32_t i = 0; i < n->n_in; i++) remove_use(g, node, i);
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) g->values[n->out[i]].producer = OX_NONE;
  for (uint32_t i = 0; (b = ox_node_body(n, i)); i++) kill_body(g, b);
  n->n_out = n->n_in = n->n_attrs = 0;
  n->dead = true;
}

uint32_t ox_graph_use_count(const ox_graph *g, ox_id v) {
  const ox_graph_value *value = &g->values[v];
  return value->n_uses + value->n_inner_uses + value->is_output;
}
