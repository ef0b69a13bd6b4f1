/* SPDX-License-Identifier: Apache-2.0
 * graph/part_infer.c - see part_infer.h. Shape arithmetic inside the part is computed on the way (graph/known.h). */
#include "graph/part_infer.h"

#include "base/macros.h"
#include "graph/known.h"

typedef struct {
  const ox_graph *g;
  ox_type *types;         /* per value */
  const ox_tensor **data; /* per value */
  const ox_known **known; /* per value */
  ox_arena *arena;
} walk;

/* What the graph says of a value, without the names of its dimensions: they may stand for other numbers by now. */
static ox_type declared(const ox_graph_value *v) {
  ox_type t = v->type;
  for (int d = 0; d < t.shape.rank; d++) t.shape.dim[d] = OX_MAX(t.shape.dim[d], -1);
  return t;
}

static bool says_nothing(const ox_type *t) { return t->kind == OX_TENSOR && !t->dtype && t->shape.rank < 0; }

static const ox_known *known_of(walk *w, ox_id v) {
  const ox_tensor *t = w->data[v];
  if (!w->known[v] && t && (t->data || !t->bytes)) w->known[v] = ox_known_of_tensor(w->arena, t);
  return w->known[v];
}

/* What follows from contents: more of output 0's shape, and its own content. */
static ox_status *infer_content(walk *w, const ox_node_call *call) {
  const ox_node *n = call->node;
  const ox_schema *s = call->schema;
  if ((!s->known && !s->refine) || !n->n_in || !n->n_out || n->out[0] == OX_NONE || !call->in[0]) return NULL;
  const ox_known **in = OX_ARENA_ARRAY(w->arena, const ox_known *, n->n_in);
  if (!in) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != OX_NONE) in[i] = known_of(w, n->in[i]);
  const ox_known_ctx c = {w->arena, n->op, call->attrs, n->n_in, call->in, in, NULL};
  if (s->refine && call->out[0].kind == OX_TENSOR) s->refine(&c, &call->out[0].shape);
  w->known[n->out[0]] = s->known ? s->known(&c) : NULL;
  if (w->known[n->out[0]]) w->data[n->out[0]] = ox_known_tensor(w->arena, w->known[n->out[0]]);
  return NULL;
}

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
  OX_TRY(infer_content(w, &call));
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE || says_nothing(&out[i])) continue;
    if (!out[i].dtype) out[i].dtype = w->types[n->out[i]].dtype;
    w->types[n->out[i]] = out[i];
  }
  return NULL;
}

ox_status *ox_part_infer_values(const ox_graph *part, const ox_type *const *in, const ox_tensor *const *in_data,
                                ox_arena *arena, ox_part_values *out) {
  walk w = {part, OX_ARENA_ARRAY(arena, ox_type, part->n_values),
            OX_ARENA_ARRAY(arena, const ox_tensor *, part->n_values),
            OX_ARENA_ARRAY(arena, const ox_known *, part->n_values), arena};
  if (!w.types || !w.data || !w.known) return ox_oom();
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
  *out = (ox_part_values){w.types, w.data};
  return NULL;
}

ox_status *ox_part_infer(const ox_graph *part, const ox_type *const *in, const ox_tensor *const *in_data, ox_type *out,
                         const ox_tensor **out_data, ox_arena *arena) {
  ox_part_values values;
  OX_TRY(ox_part_infer_values(part, in, in_data, arena, &values));
  for (uint32_t i = 0; i < part->n_outputs; i++) {
    out[i] = values.types[part->outputs[i]];
    if (out_data) out_data[i] = values.data[part->outputs[i]];
  }
  return NULL;
}
