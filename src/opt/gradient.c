/* SPDX-License-Identifier: Apache-2.0
 * opt/gradient.c - clones the graph between xs and y with the node's inputs in place of xs and zs, then walks the clone
 * backwards. What one operator adds is in its row (ox_schema.gradient). */
#include "opt/gradient.h"

#include <string.h>

#include "base/macros.h"
#include "graph/tape.h"
#include "opt/opt.h"

typedef struct {
  ox_tape tape;
  ox_graph *g;
  ox_arena *arena;
  ox_id *image; /* per value of the original graph: its stand-in in the clone, or OX_NONE */
  ox_id *order; /* cloned nodes, in the order of computation */
  uint32_t n_order;
} walk;

/* The clone of |v|; what does not lead to y is not touched. Depth is bounded by the graph's order: see clone_all. */
static ox_status *clone_node(walk *t, ox_id id) {
  const ox_node n = *ox_graph_node(t->g, id);
  ox_id *in = OX_ARENA_ARRAY(t->arena, ox_id, n.n_in), *out = OX_ARENA_ARRAY(t->arena, ox_id, n.n_out), made;
  if (!in || !out) return ox_oom();
  for (uint32_t i = 0; i < n.n_in; i++)
    in[i] = n.in[i] == OX_NONE || t->image[n.in[i]] == OX_NONE ? n.in[i] : t->image[n.in[i]];
  for (uint32_t i = 0; i < n.n_out; i++) {
    out[i] = OX_NONE;
    if (n.out[i] == OX_NONE) continue;
    OX_TRY(ox_graph_add_value(t->g, t->g->values[n.out[i]].name, &out[i]));
    t->image[n.out[i]] = out[i];
  }
  OX_TRY(ox_graph_add_node(t->g, n.op, n.domain, NULL, in, n.n_in, out, n.n_out, &made));
  for (uint32_t i = 0; i < n.n_attrs; i++) OX_TRY(ox_node_set_attr(t->g, made, &n.attrs[i]));
  t->order[t->n_order++] = made;
  return ox_infer_node(t->g, made);
}

/* Marks the nodes that |y| needs, stopping at values that have a stand-in, then clones them in order. */
static ox_status *clone_all(walk *t, const ox_id *order, uint32_t n, ox_id y) {
  bool *needed = OX_ARENA_ARRAY(t->arena, bool, t->g->n_values);
  if (!needed) return ox_oom();
  needed[y] = true;
  for (uint32_t k = n; k-- > 0;) {
    const ox_node *node = ox_graph_node(t->g, order[k]);
    bool used = false;
    for (uint32_t i = 0; i < node->n_out; i++)
      used |= node->out[i] != OX_NONE && needed[node->out[i]] && t->image[node->out[i]] == OX_NONE;
    for (uint32_t i = 0; used && i < node->n_in; i++)
      if (node->in[i] != OX_NONE) needed[node->in[i]] = true;
  }
  for (uint32_t k = 0; k < n; k++) {
    const ox_node *node = ox_graph_node(t->g, order[k]);
    bool used = false;
    for (uint32_t i = 0; i < node->n_out; i++)
      used |= node->out[i] != OX_NONE && needed[node->out[i]] && t->image[node->out[i]] == OX_NONE;
    if (used) OX_TRY(clone_node(t, order[k]));
  }
  return NULL;
}

static ox_status *backward(walk *t) {
  for (uint32_t k = t->n_order; k-- > 0;) {
    const ox_node n = *ox_graph_node(t->g, t->order[k]); /* a copy: nodes move while some are added */
    ox_id adjoint = n.out[0] == OX_NONE ? OX_NONE : t->tape.adjoint[n.out[0]];
    if (adjoint == OX_NONE) continue;
    const ox_schema *s = ox_node_schema(t->g->model, &n, NULL);
    if (!s || !s->gradient) return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: Gradient through %s", n.op);
    OX_TRY(s->gradient(&t->tape, &n, adjoint));
  }
  return NULL;
}

/* The stand-ins: input i of the Gradient node for xs[i], then zs. */
static ox_status *bind(walk *t, const ox_node *n, const ox_attr *names, uint32_t first) {
  for (size_t i = 0; names && i < names->v.n; i++) {
    char *name = ox_arena_str(t->arena, names->v.strings[i].p, names->v.strings[i].n);
    ox_id v = name ? ox_graph_find(t->g, name) : OX_NONE;
    if (v == OX_NONE || first + i >= n->n_in || n->in[first + i] == OX_NONE)
      return ox_fail(OX_INVALID_MODEL, "Gradient: no value or no input for '%s'", name ? name : "");
    t->image[v] = n->in[first + i];
  }
  return NULL;
}

static const ox_attr *find(const ox_node *n, const char *name, uint32_t kind) {
  const ox_attr *a = ox_node_attr(n, name);
  return a && a->v.kind == kind ? a : NULL;
}

static ox_status *differentiate(ox_graph *g, ox_id id, ox_arena *arena) {
  const ox_node n = *ox_graph_node(g, id);
  const ox_attr *xs = find(&n, "xs", OX_ATTR_STRINGS_KIND), *zs = find(&n, "zs", OX_ATTR_STRINGS_KIND);
  const ox_attr *y = find(&n, "y", OX_ATTR_STRING_KIND);
  char *y_name = y ? ox_arena_str(arena, y->v.s.p, y->v.s.n) : NULL;
  ox_id target = y_name ? ox_graph_find(g, y_name) : OX_NONE;
  if (!xs || target == OX_NONE) return ox_fail(OX_INVALID_MODEL, "Gradient: 'xs' or 'y' is missing or names no value");
  if (n.n_out > xs->v.n) return ox_fail(OX_INVALID_MODEL, "Gradient: %u outputs for %zu names in xs", n.n_out, xs->v.n);
  ox_id *order = NULL;
  uint32_t n_nodes, seeds = g->n_values;
  OX_TRY(ox_graph_order(g, g->model->alloc, &order, &n_nodes));
  uint32_t allocated = g->n_nodes;
  walk t = {.tape = {.g = g, .infer = ox_infer_node, .room = 2 * seeds + 16}, .g = g, .arena = arena};
  ox_id *adjoint = t.tape.adjoint = OX_ARENA_ARRAY(arena, ox_id, t.tape.room);
  t.image = OX_ARENA_ARRAY(arena, ox_id, seeds);
  t.order = OX_ARENA_ARRAY(arena, ox_id, n_nodes);
  ox_status *st = t.image && adjoint && t.order ? NULL : ox_oom();
  for (uint32_t i = 0; !st && i < t.tape.room; i++) adjoint[i] = OX_NONE;
  for (uint32_t i = 0; !st && i < seeds; i++) t.image[i] = OX_NONE;
  if (!st) st = bind(&t, &n, xs, 0);
  if (!st) st = bind(&t, &n, zs, (uint32_t)xs->v.n);
  if (!st) st = clone_all(&t, order, n_nodes, target);
  ox_delete(g->model->alloc, order, allocated * sizeof *order);
  OX_TRY(st);
  ox_id top = t.image[target];
  if (top == OX_NONE) return ox_fail(OX_INVALID_MODEL, "Gradient: '%s' does not depend on xs", y_name);
  OX_TRY(ox_tape_fill(&t.tape, top, 1, &adjoint[top]));
  OX_TRY(backward(&t));
  for (uint32_t i = 0; i < n.n_out; i++) {
    const ox_id out = n.out[i];
    if (out == OX_NONE) continue;
    ox_id d = adjoint[n.in[i]], node;
    if (d == OX_NONE) OX_TRY(ox_tape_fill(&t.tape, n.in[i], 0, &d)); /* no path */
    OX_TRY(ox_node_set_output(g, id, i, OX_NONE));
    OX_TRY(ox_graph_add_node(g, "Identity", "", NULL, &d, 1, &out, 1, &node));
  }
  ox_graph_remove_node(g, id);
  return NULL;
}

ox_status *ox_gradient_expand(ox_graph *g) {
  ox_arena arena;
  ox_status *st = NULL;
  ox_arena_init(&arena, g->model->alloc);
  for (ox_id i = 0; !st && i < g->n_nodes; i++)
    if (!g->nodes[i].dead && strcmp(g->nodes[i].op, "Gradient") == 0 &&
        strcmp(g->nodes[i].domain, "ai.onnx.preview.training") == 0) {
      st = ox_status_note(differentiate(g, i, &arena), "node '%s' (Gradient)", g->nodes[i].name);
      ox_arena_reset(&arena);
    }
  ox_arena_deinit(&arena);
  return st;
}
