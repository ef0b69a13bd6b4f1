/* SPDX-License-Identifier: Apache-2.0
 * onnx/inline_clone.c - copies nodes and bodies: makes names unique and fills in references to attributes. */
#include "onnx/inline_clone.h"

#include <stdio.h>
#include <string.h>

#include "graph/registry.h"

enum { MAX_DEPTH = 256, MAX_NAME = 200, VALUES_PER_GRAPH = 16 /* that a graph takes the memory of */ };

static ox_status *clone_graph(const ox_fn_call *call, const ox_graph *src, ox_graph *parent, const ox_id *parent_map,
                              ox_graph **out_graph);

static void add_size(const ox_graph *g, ox_inline_budget *sum) {
  const ox_graph *b;
  sum->nodes += g->n_nodes, sum->values += g->n_values;
  for (ox_id i = 0; i < g->n_nodes; i++)
    for (uint32_t k = 0; (b = ox_node_body(&g->nodes[i], k)); k++) {
      sum->values += VALUES_PER_GRAPH;
      add_size(b, sum);
    }
}

/* |values|: what it takes beside the content of |g|. */
static ox_status *charge(ox_inline_budget *b, const ox_graph *g, uint64_t values) {
  ox_inline_budget size = {0, values};
  add_size(g, &size);
  if (size.nodes > b->nodes || size.values > b->values)
    return ox_fail(OX_LIMIT,
                   "%llu nodes and %llu values more are too much: %llu and %llu are left of what functions may add",
                   (unsigned long long)size.nodes, (unsigned long long)size.values, (unsigned long long)b->nodes,
                   (unsigned long long)b->values);
  b->nodes -= size.nodes, b->values -= size.values;
  return NULL;
}

ox_status *ox_inline_charge(ox_inline_budget *b, const ox_graph *g) { return charge(b, g, 0); }

/* The graphs of an attribute that a node of the function takes over from the call. */
static ox_status *charge_attr(ox_inline_budget *b, const ox_attr *a) {
  if (a->v.kind == OX_ATTR_GRAPH_KIND) return charge(b, a->graph, VALUES_PER_GRAPH);
  for (size_t i = 0; a->v.kind == OX_ATTR_GRAPHS_KIND && i < a->v.n; i++)
    OX_TRY(charge(b, a->graphs[i], VALUES_PER_GRAPH));
  return NULL;
}

/* A symbolic dimension of a function may be another one in every call. */
static ox_type without_symbols(const ox_type *t) {
  ox_type r = *t;
  for (int i = 0; i < r.shape.rank; i++)
    if (r.shape.dim[i] < 0) r.shape.dim[i] = -1;
  return r;
}

static bool known_above(const ox_graph *g, const char *name) {
  for (; g; g = g->parent)
    if (ox_graph_find(g, name) != OX_NONE) return true;
  return false;
}

ox_status *ox_clone_value(const ox_graph *src, ox_id v, ox_graph *dst, ox_id *out_value) {
  const ox_graph_value *from = ox_graph_value_at(src, v);
  ox_type type = without_symbols(&from->type);
  char name[MAX_NAME + 16];
  snprintf(name, sizeof name, "%.*s", MAX_NAME, from->name);
  for (uint32_t k = dst->n_values; known_above(dst, name); k++)
    snprintf(name, sizeof name, "%.*s_%u", MAX_NAME, from->name, k);
  if (from->init) {
    OX_TRY(ox_graph_add_const(dst, name, from->init, out_value));
  } else {
    OX_TRY(ox_graph_add_value(dst, name, out_value));
  }
  ox_graph_value_at(dst, *out_value)->type = type;
  return NULL;
}

/* The value of |d|, which is |g| or nested in it, that stands for value |v| of |g|; adds stand-ins where needed. */
static ox_status *bring(ox_graph *d, const ox_graph *g, ox_id v, ox_id *out_value) {
  *out_value = v;
  if (d == g) return NULL;
  ox_id up;
  OX_TRY(bring(d->parent, g, v, &up));
  OX_TRY(ox_graph_resolve(d, ox_graph_value_at(d->parent, up)->name, false, out_value));
  if (ox_graph_value_at(d, *out_value)->outer == up) return NULL;
  return ox_fail(OX_NOT_IMPLEMENTED, "graph '%s' hides the outer value '%s', which an attribute reads", d->name,
                 ox_graph_value_at(g, v)->name);
}

static const ox_attr *find_attr(const ox_attr *attrs, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(attrs[i].name, name) == 0) return &attrs[i];
  return NULL;
}

/* Copies the graphs of an attribute; everything else is immutable and shared. */
static ox_status *clone_attr(const ox_fn_call *call, const ox_attr *from, ox_graph *dst, const ox_id *map,
                             ox_attr *out) {
  *out = *from;
  if (from->v.kind == OX_ATTR_GRAPH_KIND) return clone_graph(call, from->graph, dst, map, &out->graph);
  if (from->v.kind != OX_ATTR_GRAPHS_KIND) return NULL;
  out->graphs = OX_ARENA_ARRAY(&dst->model->arena, ox_graph *, from->v.n);
  if (!out->graphs) return ox_oom();
  for (size_t i = 0; i < from->v.n; i++) OX_TRY(clone_graph(call, from->graphs[i], dst, map, &out->graphs[i]));
  return NULL;
}

static ox_status *add_attr(const ox_fn_call *call, const ox_attr *a, ox_graph *dst, ox_id node, const ox_id *map) {
  ox_attr copy;
  if (!call || !a->ref) {
    OX_TRY(clone_attr(call, a, dst, map, &copy));
  } else {
    const ox_attr *given = find_attr(call->attrs, call->n_attrs, a->ref);
    if (!given) given = find_attr(call->fn->attr_defaults, call->fn->n_attr_defaults, a->ref);
    if (!given) return NULL; /* neither given nor with a default: the node does not get it */
    if (a->v.kind && given->v.kind != a->v.kind)
      return ox_fail(OX_INVALID_MODEL, "attribute '%s' refers to '%s', which is of kind %u, not %u", a->name, a->ref,
                     given->v.kind, a->v.kind);
    OX_TRY(charge_attr(call->budget, given));
    OX_TRY(clone_attr(NULL, given, dst, NULL, &copy)); /* reads from around the call, not from the body */
    copy.name = a->name;
  }
  return ox_node_set_attr(dst, node, &copy);
}

/* The version that |n|, of the function |fn|, must keep because the model's set has another meaning for it; else 0. */
static uint32_t version_of(const ox_model *m, const ox_function *fn, const ox_node *n) {
  if (n->version) return n->version;
  int64_t ours = ox_model_opset(m, n->domain);
  for (uint32_t i = 0; i < fn->n_opsets; i++) {
    int64_t theirs = fn->opsets[i].version;
    if (strcmp(fn->opsets[i].domain, n->domain) != 0 || theirs == ours || theirs > INT32_MAX) continue;
    const ox_op *meant = ox_registry_find(m->registry, n->domain, n->op, theirs);
    if (meant != ox_registry_find(m->registry, n->domain, n->op, ours)) return (uint32_t)theirs;
  }
  return 0;
}

static ox_status *map_ids(const ox_graph *src, const ox_id *ids, uint32_t n, ox_graph *dst, ox_id *map, ox_id *out) {
  for (uint32_t i = 0; i < n; i++) {
    out[i] = OX_NONE;
    if (ids[i] == OX_NONE) continue;
    ox_id *to = &map[ids[i]];
    bool is_known = *to != OX_NONE || ox_graph_value_at(src, ids[i])->is_input || /* an omitted input stays so */
                    ox_graph_value_at(src, ids[i])->outer != OX_NONE;
    if (!is_known) OX_TRY(ox_clone_value(src, ids[i], dst, to));
    out[i] = *to;
  }
  return NULL;
}

/* "call/node", or the only one of the two that has a name. */
static const char *clone_name(ox_graph *dst, const ox_fn_call *call, const ox_node *n) {
  if (!call || !*call->name || !*n->name) return call && *call->name ? call->name : n->name;
  char name[2 * MAX_NAME + 2];
  int len = snprintf(name, sizeof name, "%.*s/%.*s", MAX_NAME, call->name, MAX_NAME, n->name);
  return ox_arena_str(&dst->model->arena, name, (size_t)len);
}

ox_status *ox_clone_node(const ox_fn_call *call, const ox_graph *src, const ox_node *n, ox_graph *dst, ox_id *map) {
  ox_arena *arena = &dst->model->arena;
  ox_id *in = OX_ARENA_ARRAY(arena, ox_id, n->n_in), *out = OX_ARENA_ARRAY(arena, ox_id, n->n_out), node;
  const char *name = clone_name(dst, call, n);
  if (!in || !out || !name) return ox_oom();
  OX_TRY(map_ids(src, n->in, n->n_in, dst, map, in));
  OX_TRY(map_ids(src, n->out, n->n_out, dst, map, out));
  OX_TRY(ox_graph_add_node(dst, n->op, n->domain, name, in, n->n_in, out, n->n_out, &node));
  ox_graph_node(dst, node)->overload = n->overload;
  ox_graph_node(dst, node)->version = call ? version_of(dst->model, call->fn, n) : n->version;
  for (uint32_t i = 0; i < n->n_attrs; i++) OX_TRY(add_attr(call, &n->attrs[i], dst, node, map));
  return NULL;
}

/* Stand-ins come first: a value of the body may later take the name of an outer one. */
static ox_status *clone_stand_ins(const ox_graph *src, ox_graph *dst, const ox_id *parent_map, ox_id *map) {
  for (ox_id v = 0; v < src->n_values; v++) {
    ox_id outer = ox_graph_value_at(src, v)->outer, to;
    map[v] = OX_NONE;
    if (outer == OX_NONE || ox_graph_value_at(src, v)->dead) continue;
    if (parent_map) {
      to = parent_map[outer];
    } else {
      OX_TRY(bring(dst->parent, src->parent, outer, &to));
    }
    if (to != OX_NONE) OX_TRY(ox_graph_resolve(dst, ox_graph_value_at(dst->parent, to)->name, false, &map[v]));
  }
  return NULL;
}

static ox_status *clone_content(const ox_fn_call *call, const ox_graph *src, ox_graph *dst, ox_id *map) {
  for (uint32_t i = 0; i < src->n_inputs; i++) {
    ox_id v = src->inputs[i];
    OX_TRY(ox_clone_value(src, v, dst, &map[v]));
    OX_TRY(ox_graph_add_input(dst, map[v]));
  }
  for (ox_id v = 0; v < src->n_values; v++) { /* all values before all nodes: bodies inside may read any */
    const ox_graph_value *value = ox_graph_value_at(src, v);
    if (value->dead || value->is_input || value->outer != OX_NONE) continue;
    OX_TRY(ox_clone_value(src, v, dst, &map[v]));
  }
  for (ox_id n = 0; n < src->n_nodes; n++)
    if (!src->nodes[n].dead) OX_TRY(ox_clone_node(call, src, &src->nodes[n], dst, map));
  for (uint32_t i = 0; i < src->n_outputs; i++) {
    ox_id v = map[src->outputs[i]];
    if (v == OX_NONE) return ox_fail(OX_INVALID_MODEL, "output %u of graph '%s' is an omitted input", i, src->name);
    OX_TRY(ox_graph_add_output(dst, v));
  }
  return NULL;
}

static ox_status *clone_graph(const ox_fn_call *call, const ox_graph *src, ox_graph *parent, const ox_id *parent_map,
                              ox_graph **out_graph) {
  ox_alloc alloc = parent->model->alloc;
  uint32_t depth = 0;
  for (const ox_graph *g = parent; g; g = g->parent) depth++;
  if (depth > MAX_DEPTH) return ox_fail(OX_LIMIT, "expanding functions nests graphs deeper than %d levels", MAX_DEPTH);
  OX_TRY(ox_graph_create(parent->model, parent, src->name, out_graph));
  size_t bytes = (size_t)src->n_values * sizeof(ox_id);
  ox_id *map = ox_new(alloc, bytes);
  if (!map) return ox_oom();
  ox_status *st = clone_stand_ins(src, *out_graph, parent_map, map);
  if (!st) st = clone_content(call, src, *out_graph, map);
  ox_delete(alloc, map, bytes);
  return st;
}
