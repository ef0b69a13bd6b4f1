/* SPDX-License-Identifier: Apache-2.0
 * ops/loop.c - Loop (ONNX 1..25): trip count and condition, carried values, scan outputs. */
#include <string.h>

#include "base/macros.h"
#include "ops/shared/body_types.h"

typedef struct {
  ox_graph *body;
} loop_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_GRAPH(loop_attrs, body)};

/* ---- types ---- */

/* Carried values may change shape from one iteration to the next, so only their element type is passed to the body. */
static void enter(const ox_type *const *in, uint32_t n_in, uint32_t op_version, uint32_t n_types, ox_type *types) {
  (void)op_version;
  for (uint32_t i = 0; i < n_types; i++) {
    if (i < 2)
      types[i] = ox_type_tensor(i ? OX_BOOL : OX_I64, NULL);
    else if (i < n_in && in[i])
      types[i] = ox_type_any_shape(in[i]);
  }
}

static ox_status *infer(ox_infer_ctx *c) {
  const ox_graph *body = ((const loop_attrs *)c->attrs)->body;
  uint32_t n = c->n_in > 2 ? c->n_in - 2 : 0;
  if (body->n_inputs != n + 2 || body->n_outputs < n + 1 || c->n_out > body->n_outputs - 1)
    return ox_fail(OX_INVALID_MODEL, "Loop: body has %u inputs and %u outputs; the node %u and %u", body->n_inputs,
                   body->n_outputs, c->n_in, c->n_out);
  for (uint32_t i = 0; i < c->n_out; i++) {
    if (i < n)
      ox_infer_carried(c, i, 2 + i, ox_body_type(body, 1 + i));
    else
      OX_TRY(ox_infer_stacked(c, i, ox_body_type(body, 1 + i), 0, -1));
  }
  return NULL;
}

/* ---- run ---- */

typedef struct {
  const ox_graph *graph;
  ox_body *body;
  uint32_t n_carried, n_scan;
  int64_t iteration;
  uint8_t cond;
  ox_tensor iteration_t, cond_t;
  ox_tensor *carried; /* current values; copied out of the body after each iteration */
  ox_tensor *next;    /* theirs while some are passed through */
  ox_stack *stacks;
  ox_survivors survivors;
} loop_state;

static ox_tensor scalar(uint32_t dtype, void *data, size_t bytes) {
  return (ox_tensor){.kind = OX_TENSOR, .dtype = dtype, .data = data, .bytes = bytes};
}

/* Replaces a carried value by the body's output; the buffer is reused if it fits. */
static ox_status *carry(const ox_control_ctx *c, ox_tensor *value, const ox_tensor *from) {
  if (from->kind == OX_TENSOR && value->kind == OX_TENSOR && value->data && value->bytes == from->bytes) {
    void *data = value->data;
    *value = *from, value->data = data;
    if (from->bytes) memmove(data, from->data, from->bytes);
    return NULL;
  }
  ox_tensor old = *value;
  OX_TRY(ox_control_copy(c, from, value));
  ox_control_drop(c, &old);
  return NULL;
}

/* A body may return a carried input as another carried output: all outputs must be read before any value is
 * replaced. */
static ox_status *carry_all(const ox_control_ctx *c, loop_state *l) {
  bool crossed = false;
  for (uint32_t i = 0; i < l->n_carried; i++) crossed |= !c->host->body_owns(l->body, i + 1);
  if (!crossed) {
    for (uint32_t i = 0; i < l->n_carried; i++) OX_TRY(carry(c, &l->carried[i], ox_body_output(c, l->body, i + 1)));
    return NULL;
  }
  for (uint32_t i = 0; i < l->n_carried; i++)
    OX_TRY(ox_control_copy(c, ox_body_output(c, l->body, i + 1), &l->next[i]));
  for (uint32_t i = 0; i < l->n_carried; i++) {
    ox_control_drop(c, &l->carried[i]);
    l->carried[i] = l->next[i];
  }
  return NULL;
}

static ox_status *start(const ox_control_ctx *c, loop_state *l) {
  const ox_graph *g = l->graph = ((const loop_attrs *)c->node->attrs)->body;
  l->body = ox_control_body(c, g);
  l->n_carried = c->node->n_in > 2 ? c->node->n_in - 2 : 0;
  if (!l->body || g->n_inputs != l->n_carried + 2 || l->body->n_inputs != g->n_inputs ||
      g->n_outputs < l->n_carried + 1)
    return ox_fail(OX_INVALID_MODEL, "Loop carries %u values, its body has %u inputs and %u outputs", l->n_carried,
                   g->n_inputs, g->n_outputs);
  l->n_scan = g->n_outputs - 1 - l->n_carried;
  l->carried = ox_control_array(c, l->n_carried, sizeof *l->carried);
  l->next = ox_control_array(c, l->n_carried, sizeof *l->next);
  l->stacks = ox_control_array(c, l->n_scan, sizeof *l->stacks);
  if (!l->carried || !l->next || !l->stacks) return ox_oom();
  l->iteration_t = scalar(OX_I64, &l->iteration, 8), l->cond_t = scalar(OX_BOOL, &l->cond, 1);
  /* iteration number and condition may be declared as one-element vectors */
  for (uint32_t i = 0; i < 2; i++) {
    const ox_type *t = &g->values[g->inputs[i]].type;
    ox_tensor *arg = i ? &l->cond_t : &l->iteration_t;
    if (t->shape.rank == 1) arg->shape = (ox_shape){.rank = 1, .dim = {1}};
    l->body->args[i] = arg;
  }
  for (uint32_t i = 0; i < l->n_carried; i++) {
    const ox_tensor *in = ox_control_in(c, i + 2);
    if (!in) return ox_fail(OX_INVALID_MODEL, "Loop: initial value %u is missing", i);
    OX_TRY(ox_control_copy(c, in, &l->carried[i]));
    l->body->args[i + 2] = &l->carried[i];
  }
  return ox_survivors_init(c, &l->survivors, l->carried, l->n_carried, l->stacks, l->n_scan);
}

static ox_status *iterate(const ox_control_ctx *c, loop_state *l, int64_t most) {
  OX_TRY(ox_body_run(c, l->body));
  for (uint32_t i = 0; i < l->n_scan; i++)
    OX_TRY(ox_stack_push(c, &l->stacks[i], ox_body_output(c, l->body, 1 + l->n_carried + i), most));
  const ox_tensor *go = ox_body_output(c, l->body, 0);
  if (go->dtype != OX_BOOL || go->bytes < 1) return ox_fail(OX_INVALID_MODEL, "the Loop body's condition is no bool");
  l->cond = *(const uint8_t *)go->data;
  OX_TRY(carry_all(c, l));
  return ox_survivors_keep(c, &l->survivors);
}

/* Does the body return its condition input, or always true? */
static bool goes_on_for_ever(const ox_graph *body) {
  ox_id v = ox_graph_source(body, body->outputs[0]);
  const ox_tensor *t = ox_graph_const(body, v);
  return v == body->inputs[1] || (t && t->dtype == OX_BOOL && t->bytes == 1 && *(const uint8_t *)t->data);
}

static ox_status *run(const ox_control_ctx *c) {
  const ox_tensor *trip = ox_control_in(c, 0), *cond = ox_control_in(c, 1);
  if ((trip && (trip->dtype != OX_I64 || trip->bytes != 8)) || (cond && (cond->dtype != OX_BOOL || cond->bytes != 1)))
    return ox_fail(OX_INVALID_MODEL, "Loop needs an int64 trip count and a bool condition");
  int64_t most = trip ? *(const int64_t *)trip->data : INT64_MAX;
  loop_state l = {.cond = cond ? *(const uint8_t *)cond->data : 1};
  OX_TRY(start(c, &l));
  if (most == INT64_MAX && l.cond && goes_on_for_ever(l.graph))
    return ox_fail(OX_INVALID_MODEL, "Loop would never end: it has no trip count, and its condition stays true");
  for (; l.iteration < most && l.cond; l.iteration++) OX_TRY(iterate(c, &l, most));
  for (uint32_t i = 0; i < l.n_carried; i++) {
    ox_tensor *out = ox_control_out(c, i);
    if (out) *out = l.carried[i];
  }
  for (uint32_t i = 0; i < l.n_scan; i++)
    OX_TRY(ox_stack_finish(c, l.n_carried + i, &l.stacks[i], ox_body_type(l.graph, 1 + l.n_carried + i)));
  return NULL;
}

static bool carried(const ox_node *n, ox_carried_values *c) {
  *c = (ox_carried_values){.n = n->n_in - 2, .node_in = 2, .body_in = 2, .body_out = 1, .node_out = 0};
  return n->n_in > 2;
}

static int64_t trips(const ox_graph *g, const ox_node *n) {
  const ox_tensor *t = n->n_in ? ox_graph_const(g, n->in[0]) : NULL;
  return t && t->dtype == OX_I64 && t->bytes == 8 ? OX_MAX(*(const int64_t *)t->data, 0) : -1;
}

static const ox_control_def control = {.enter = enter, .carried = carried, .trips = trips, .run = run};

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Loop", .since = 1, .types = {OX_BIT(OX_I64), OX_BIT(OX_BOOL), OX_T_ALL}, .min_in = 0,
               .max_in = OX_VARIADIC, .min_out = 1, .max_out = OX_VARIADIC, .traits = OX_CONTROL | OX_ANY_KIND,
               OX_ATTRS(attr_defs), .attrs_bytes = sizeof(loop_attrs), .infer = infer, .control = &control),
     NULL},
};
const ox_op_set ox_ops_loop = {ops, OX_COUNT(ops)};
