/* SPDX-License-Identifier: Apache-2.0
 * opt/rewriter_edit.c - the table of onyx/rule.h: edits. What graph/graph.h takes for granted is checked here, nodes of
 * another assignment are refused, new ones get that of the rule's root; origins and names are kept. */
#include <string.h>

#include "opt/rewriter.h"

/* ---- what may be edited ---- */

static ox_status *own(const ox_rewrite *rw, ox_id node) {
  const ox_graph *g = rw->graph;
  if (ox_rewriter_node(rw, node)) return NULL;
  if (node >= g->n_nodes) return ox_fail(OX_INVALID_ARGUMENT, "there is no node %u to edit", node);
  return ox_fail(OX_INVALID_ARGUMENT, "node %u ('%s', %s) %s", node, g->nodes[node].name, g->nodes[node].op,
                 g->nodes[node].dead ? "was removed" : "is not this owner's to edit");
}

static ox_status *value_ok(const ox_rewrite *rw, ox_id v, bool or_none) {
  if (ox_rewriter_value(rw, v) || (or_none && v == OX_NONE)) return NULL;
  return ox_fail(OX_INVALID_ARGUMENT, "there is no value %u", v);
}

static ox_status *values_ok(const ox_rewrite *rw, const ox_id *ids, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) OX_TRY(value_ok(rw, ids[i], true));
  return NULL;
}

static ox_status *edited(const ox_rewrite *rw, ox_id node) {
  ox_rewriter *h = ox_rewriter_of(rw);
  OX_TRY(own(rw, node));
  if (h->tracks) ox_origin_edited(&h->origin, rw->graph, node);
  return ox_naming_touched(&h->naming, node);
}

static ox_origin *origin_of(const ox_rewrite *rw) {
  return ox_rewriter_of(rw)->tracks ? &ox_rewriter_of(rw)->origin : NULL;
}

/* Nodes from |first| on are new. */
static ox_status *adopt(const ox_rewrite *rw, ox_id first) {
  ox_rewriter *h = ox_rewriter_of(rw);
  for (ox_id i = first; i < rw->graph->n_nodes; i++) {
    rw->graph->nodes[i].assigned = h->assigned;
    if (h->tracks) ox_origin_added(&h->origin, i);
    OX_TRY(ox_naming_touched(&h->naming, i));
  }
  return NULL;
}

/* ---- values ---- */

ox_status *ox_rewriter_add_value(const ox_rewrite *rw, const char *hint, const ox_type *type, ox_id *out_value) {
  ox_type t = type ? *type : ox_type_unknown(); /* |type| may lie in the array that grows */
  OX_TRY(ox_graph_add_value(rw->graph, hint, out_value));
  rw->graph->values[*out_value].type = t;
  return NULL;
}

ox_status *ox_rewriter_add_tensor(const ox_rewrite *rw, const char *hint, uint32_t dtype, const ox_shape *shape,
                                  ox_id *out_value) {
  ox_type t = ox_type_tensor(dtype, shape);
  return ox_rewriter_add_value(rw, hint, &t, out_value);
}

/* The bytes that type and shape need; the shape must be known. */
static ox_status *tensor_bytes(const char *hint, uint32_t dtype, const ox_shape *s, size_t *out_bytes) {
  bool known = s->rank <= OX_MAX_RANK && ox_shape_known(s) && ox_dtype_bits(dtype);
  if (known && ox_dtype_bytes(dtype, ox_shape_count(s), out_bytes)) return NULL;
  return ox_fail(known ? OX_LIMIT : OX_INVALID_ARGUMENT, "constant '%s' of %s: %s", hint ? hint : "",
                 ox_dtype_name(dtype), known ? "too large" : "type or shape is not known");
}

static ox_status *tensor_ok(const char *hint, const ox_tensor *t) {
  size_t bytes;
  if (t->kind != OX_TENSOR) return ox_fail(OX_INVALID_ARGUMENT, "constant '%s' is no tensor", hint ? hint : "");
  OX_TRY(tensor_bytes(hint, t->dtype, &t->shape, &bytes));
  if (t->bytes == bytes && (t->data || !bytes)) return NULL;
  return ox_fail(OX_INVALID_ARGUMENT, "constant '%s' has %zu bytes, its shape needs %zu", hint ? hint : "",
                 t->data ? t->bytes : 0, bytes);
}

ox_status *ox_rewriter_add_const(const ox_rewrite *rw, const char *hint, const ox_tensor *t, ox_id *out_value) {
  *out_value = OX_NONE;
  OX_TRY(tensor_ok(hint, t));
  if (t->dtype == OX_STRING)
    return ox_fail(OX_INVALID_ARGUMENT, "constant '%s': strings can only be borrowed", hint ? hint : "");
  return ox_graph_add_const_copy(rw->graph, hint, t->dtype, t->shape.rank, t->shape.dim, t->data, out_value);
}

ox_status *ox_rewriter_const_room(const ox_rewrite *rw, const char *hint, uint32_t dtype, const ox_shape *shape,
                                  void **out_data, ox_id *out_value) {
  ox_shape s = *shape;
  size_t bytes;
  *out_data = NULL, *out_value = OX_NONE;
  OX_TRY(tensor_bytes(hint, dtype, &s, &bytes));
  *out_data = ox_arena_alloc(&rw->graph->model->arena, bytes);
  if (!*out_data) return ox_oom();
  ox_tensor t = ox_tensor_view(dtype, &s, *out_data);
  return ox_graph_add_const(rw->graph, hint, &t, out_value);
}

ox_status *ox_rewriter_const_made(const ox_rewrite *rw, const char *hint, uint32_t dtype, const ox_shape *shape,
                                  const ox_tensor *from, void (*make)(const ox_tensor *from, const void *arg, void *to),
                                  const void *arg, size_t arg_bytes, ox_id *out_value) {
  void *data;
  (void)arg_bytes;
  OX_TRY(ox_rewriter_const_room(rw, hint, dtype, shape, &data, out_value));
  make(from, arg, data);
  return NULL;
}

ox_status *ox_rewriter_const_later(const ox_rewrite *rw, const char *hint, uint32_t dtype, const ox_shape *shape,
                                   const ox_tensor *from, ox_make_fn make, const void *arg, size_t arg_bytes,
                                   ox_id *out_value) {
  ox_arena *arena = &rw->graph->model->arena;
  ox_shape s = *shape;
  size_t bytes;
  *out_value = OX_NONE;
  OX_TRY(tensor_bytes(hint, dtype, &s, &bytes));
  const void *kept = ox_arena_copy(arena, arg, arg_bytes);
  const ox_tensor *source = ox_arena_copy(arena, from, sizeof *from);
  if (!kept || !source) return ox_oom();
  return ox_deferred_add(rw->graph, hint, dtype, &s, source, make, kept, out_value);
}

ox_status *ox_rewriter_const_view(const ox_rewrite *rw, const char *hint, const ox_tensor *t, ox_id *out_value) {
  *out_value = OX_NONE;
  OX_TRY(tensor_ok(hint, t));
  return ox_graph_add_const(rw->graph, hint, t, out_value);
}

ox_status *ox_rewriter_make_const(const ox_rewrite *rw, ox_id v, const ox_tensor *t) {
  OX_TRY(value_ok(rw, v, false));
  const ox_graph_value *value = &rw->graph->values[v];
  OX_TRY(tensor_ok(value->name, t));
  if (value->is_input || value->init || value->outer != OX_NONE)
    return ox_fail(OX_INVALID_ARGUMENT, "'%s' cannot become a constant: no node makes it", value->name);
  if (value->producer != OX_NONE) OX_TRY(own(rw, value->producer));
  return ox_graph_make_const(rw->graph, v, t);
}

int ox_rewriter_can_replace(const ox_rewrite *rw, ox_id from, ox_id to) {
  const ox_graph_value *f = ox_rewriter_value(rw, from);
  if (!f || !ox_rewriter_value(rw, to) || (f->producer != OX_NONE && !ox_rewriter_node(rw, f->producer))) return 0;
  return ox_graph_can_replace(rw->graph, from, to);
}

ox_status *ox_rewriter_replace_uses(const ox_rewrite *rw, ox_id from, ox_id to) {
  ox_id first = rw->graph->n_nodes;
  OX_TRY(value_ok(rw, from, false));
  OX_TRY(value_ok(rw, to, false));
  const ox_graph_value *f = &rw->graph->values[from], *t = &rw->graph->values[to];
  if (f->producer != OX_NONE) OX_TRY(own(rw, f->producer));
  if (f->type.dtype && t->type.dtype && (f->type.dtype != t->type.dtype || f->type.kind != t->type.kind))
    return ox_fail(OX_INVALID_ARGUMENT, "'%s' of %s cannot take the place of '%s' of %s", t->name,
                   ox_dtype_name(t->type.dtype), f->name, ox_dtype_name(f->type.dtype));
  OX_TRY(ox_graph_replace_uses(rw->graph, from, to));
  OX_TRY(adopt(rw, first));
  return ox_naming_handed(&ox_rewriter_of(rw)->naming, from, to);
}

/* ---- nodes ---- */

ox_status *ox_rewriter_add_node(const ox_rewrite *rw, const char *domain, const char *op, const char *name,
                                const ox_id *in, uint32_t n_in, const ox_id *out, uint32_t n_out, ox_id *out_node) {
  ox_id first = rw->graph->n_nodes;
  *out_node = OX_NONE;
  if (!op || !*op) return ox_fail(OX_INVALID_ARGUMENT, "a node without an operator");
  OX_TRY(values_ok(rw, in, n_in));
  OX_TRY(values_ok(rw, out, n_out));
  OX_TRY(ox_graph_add_node(rw->graph, op, domain, name, in, n_in, out, n_out, out_node));
  return adopt(rw, first);
}

ox_status *ox_rewriter_set_in(const ox_rewrite *rw, ox_id node, uint32_t slot, ox_id v) {
  OX_TRY(edited(rw, node));
  OX_TRY(value_ok(rw, v, true));
  if (slot >= UINT16_MAX)
    return ox_fail(OX_INVALID_ARGUMENT, "input %u of node '%s'", slot, rw->graph->nodes[node].name);
  return ox_node_set_input(rw->graph, node, slot, v);
}

ox_status *ox_rewriter_set_out(const ox_rewrite *rw, ox_id node, uint32_t slot, ox_id v) {
  OX_TRY(edited(rw, node));
  OX_TRY(value_ok(rw, v, true));
  if (slot >= UINT16_MAX)
    return ox_fail(OX_INVALID_ARGUMENT, "output %u of node '%s'", slot, rw->graph->nodes[node].name);
  return ox_node_set_output(rw->graph, node, slot, v);
}

ox_status *ox_rewriter_set_counts(const ox_rewrite *rw, ox_id node, uint32_t n_in, uint32_t n_out) {
  OX_TRY(edited(rw, node));
  ox_node *n = &rw->graph->nodes[node];
  for (uint32_t i = n_in; i < n->n_in; i++) OX_TRY(ox_node_set_input(rw->graph, node, i, OX_NONE));
  for (uint32_t i = n_out; i < n->n_out; i++) OX_TRY(ox_node_set_output(rw->graph, node, i, OX_NONE));
  if (n->n_in > n_in) n->n_in = n_in;
  if (n->n_out > n_out) n->n_out = n_out;
  return NULL;
}

ox_status *ox_rewriter_become(const ox_rewrite *rw, ox_id node, const char *domain, const char *op) {
  OX_TRY(edited(rw, node));
  if (!op || !*op) return ox_fail(OX_INVALID_ARGUMENT, "node '%s' without an operator", rw->graph->nodes[node].name);
  return ox_node_become(rw->graph, node, domain, op);
}

/* ---- attributes ---- */

static bool has_body(const ox_attr *a) { return a->v.kind == OX_ATTR_GRAPH_KIND || a->v.kind == OX_ATTR_GRAPHS_KIND; }

/* A copy of what the view points to. */
static ox_status *copy_list(ox_arena *a, const void **list, size_t n, size_t item_bytes) {
  *list = ox_arena_copy(a, *list, n * item_bytes);
  return *list ? NULL : ox_oom();
}

static ox_status *copy_strings(ox_arena *a, const ox_str *from, size_t n, const ox_str **out) {
  ox_str *s = OX_ARENA_ARRAY(a, ox_str, n);
  if (!s) return ox_oom();
  for (size_t i = 0; i < n; i++) {
    s[i] = (ox_str){ox_arena_str(a, from[i].p, from[i].n), from[i].n};
    if (!s[i].p) return ox_oom();
  }
  *out = s;
  return NULL;
}

static ox_status *copy_view(ox_arena *a, const char *name, ox_attr_view *v) {
  switch (v->kind) {
    case OX_ATTR_INT_KIND:
    case OX_ATTR_FLOAT_KIND:
      return NULL;
    case OX_ATTR_STRING_KIND:
      v->s.p = ox_arena_str(a, v->s.p, v->s.n);
      return v->s.p ? NULL : ox_oom();
    case OX_ATTR_INTS_KIND:
      return copy_list(a, (const void **)&v->ints, v->n, sizeof *v->ints);
    case OX_ATTR_FLOATS_KIND:
      return copy_list(a, (const void **)&v->floats, v->n, sizeof *v->floats);
    case OX_ATTR_STRINGS_KIND:
      return copy_strings(a, v->strings, v->n, &v->strings);
    case OX_ATTR_TENSOR_KIND:
    case OX_ATTR_SPARSE_KIND:
      return copy_list(a, (const void **)&v->tensor, 1, sizeof *v->tensor);
    case OX_ATTR_TENSORS_KIND:
    case OX_ATTR_SPARSES_KIND:
      return copy_list(a, (const void **)&v->tensor, v->n, sizeof *v->tensor);
    default:
      return ox_fail(OX_INVALID_ARGUMENT, "attribute '%s' is of kind %u, which rules cannot set", name, v->kind);
  }
}

ox_status *ox_rewriter_set_attr(const ox_rewrite *rw, ox_id node, const char *name, const ox_attr_view *value) {
  OX_TRY(edited(rw, node));
  ox_node *n = &rw->graph->nodes[node];
  const ox_attr *old = ox_node_attr(n, name);
  ox_attr a = {.name = name, .v = *value};
  if (old && has_body(old))
    return ox_fail(OX_INVALID_ARGUMENT, "node '%s' (%s): attribute '%s' holds a body", n->name, n->op, name);
  OX_TRY(ox_status_note(copy_view(&rw->graph->model->arena, name, &a.v), "node '%s' (%s)", n->name, n->op));
  return ox_node_set_attr(rw->graph, node, &a);
}

ox_status *ox_rewriter_remove_attr(const ox_rewrite *rw, ox_id node, const char *name) {
  OX_TRY(edited(rw, node));
  ox_node *n = &rw->graph->nodes[node];
  for (uint32_t i = 0; i < n->n_attrs; i++)
    if (has_body(&n->attrs[i]) && (!name || strcmp(n->attrs[i].name, name) == 0))
      return ox_fail(OX_INVALID_ARGUMENT, "node '%s' (%s): attribute '%s' holds a body, which goes with its node only",
                     n->name, n->op, n->attrs[i].name);
  if (name)
    ox_node_remove_attr(rw->graph, node, name);
  else
    n->n_attrs = 0;
  return NULL;
}

/* ---- types and removal ---- */

ox_status *ox_rewriter_infer(const ox_rewrite *rw, ox_id node) {
  OX_TRY(own(rw, node));
  return ox_infer_node(rw->graph, node);
}

ox_status *ox_rewriter_remove_node(const ox_rewrite *rw, ox_id node) {
  OX_TRY(own(rw, node));
  ox_origin_remove(origin_of(rw), rw->graph, node);
  ox_graph_remove_node(rw->graph, node);
  return NULL;
}

ox_status *ox_rewriter_remove_unused(const ox_rewrite *rw, ox_id node) {
  if (!ox_rewriter_node(rw, node)) return NULL;
  return ox_dce_from(rw->graph, node, origin_of(rw));
}
