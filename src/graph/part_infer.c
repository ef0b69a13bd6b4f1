/* SPDX-License-Identifier: Apache-2.0
 * graph/part_infer.c - see part_infer.h. */
#include "graph/part_infer.h"

#include "base/macros.h"

typedef struct {
  const ox_graph *g;
  ox_type *types;         /* per value */
  const ox_tensor **data; /* per value */
  ox_arena *arena;
} walk;

/* What the graph says of a value, without the names of its dimensions: they may stand for other numbers by now. */
static ox_type declared(const ox_graph_value *v) {
  ox_type t = v->type;
  for (int d = 0; d < t.shape.rank; d++) t.shape.dim[d] = OX_MAX(t.shape.dim[d], -1);
  return t;
}

static bool says_nothing(const ox_type *t) { return t->kind == OX_TENSOR && !t->dtype && t->shape.rank < 0; }

static ox_status *infer_node(walk *w, const ox_node *n) {
  const ox_type **in = OX_ARENA_ARRAY(w->arena, const ox_type *, n->n_in);
  const ox_tensor **data = OX_ARENA_ARRAY(w->arena, const ox_tensor *, n->n_in);
  ox_type *out = OX_ARENA_ARRAY(w->arena, ox_type, n->n_out);
  ox_node_call call = {.model = w->g->model,
                       .schema = ox_node_schema(w->g->model, n, &call.version),
                       .node = n,
                       .in = in,
                       .in_data = data,
                       .out = out,
                       .arena = w->arena};
  void *attrs;
  if (!in || !data || !out) return ox_oom();
  if (!call.schema) return NULL;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != OX_NONE) in[i] = &w->types[n->in[i]], data[i] = w->data[n->in[i]];
  OX_TRY(ox_op_check(call.schema, n, in));
  OX_TRY(ox_attrs_decode(call.schema, n, w->arena, &attrs));
  call.attrs = attrs;
  OX_TRY(ox_node_infer(&call));
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE || says_nothing(&out[i])) continue;
    if (!out[i].dtype) out[i].dtype = w->types[n->out[i]].dtype;
    w->types[n->out[i]] = out[i];
  }
  return NULL;
}

ox_status *ox_part_infer_values(const ox_graph *part, const ox_type *const *in, const ox_tensor *const *in_data,
                                ox_arena *arena, ox_type **out_types) {
  walk w = {part, OX_ARENA_ARRAY(arena, ox_type, part->n_values),
            OX_ARENA_ARRAY(arena, const ox_tensor *, part->n_values), arena};
  if (!w.types || !w.data) return ox_oom();
  for (ox_id v = 0; v < part->n_values; v++)
    w.types[v] = declared(&part->values[v]), w.data[v] = ox_graph_const(part, v);
  for (uint32_t i = 0; i < part->n_inputs; i++) {
    if (in[i]) w.types[part->inputs[i]] = *in[i];
    w.data[part->inputs[i]] = in_data[i];
  }
  for (ox_id i = 0; i < part->n_nodes; i++) {
    const ox_node *n = &part->nodes[i];
    if (!n->dead) OX_TRY(ox_status_note(infer_node(&w, n), "node '%s' (%s)", n->name, n->op));
  }
  *out_types = w.types;
  return NULL;
}

ox_status *ox_part_infer(const ox_graph *part, const ox_type *const *in, const ox_tensor *const *in_data, ox_type *out,
                         ox_arena *arena) {
  ox_type *types;
  OX_TRY(ox_part_infer_values(part, in, in_data, arena, &types));
  for (uint32_t i = 0; i < part->n_outputs; i++) out[i] = types[part->outputs[i]];
  return NULL;
}
