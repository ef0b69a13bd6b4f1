/* SPDX-License-Identifier: Apache-2.0
 * exec/control_loop.c - Loop (ONNX 1..25): trip count and condition, carried values, scan outputs. */
#include <string.h>

#include "base/macros.h"
#include "exec/bodies.h"

typedef struct {
  ox_body *body;
  uint32_t n_carried, n_scan;
  int64_t iteration;
  uint8_t cond;
  ox_tensor iteration_t, cond_t;
  ox_tensor *carried; /* current values; copied out of the body after each iteration */
  ox_stack *stacks;
} loop_state;

static ox_tensor scalar(uint32_t dtype, void *data, size_t bytes) {
  return (ox_tensor){.kind = OX_TENSOR, .dtype = dtype, .data = data, .bytes = bytes};
}

/* Replaces a carried value by the body's output; the buffer is reused if it fits. */
static ox_status *carry(ox_context *c, ox_tensor *value, const ox_tensor *from) {
  if (from->kind == OX_TENSOR && value->kind == OX_TENSOR && value->data && value->bytes == from->bytes) {
    void *data = value->data;
    *value = *from, value->data = data;
    if (from->bytes) memmove(data, from->data, from->bytes);
    return NULL;
  }
  ox_tensor old = *value;
  OX_TRY(ox_control_copy(c, from, value));
  if (old.kind == OX_TENSOR) ox_dynpool_give(&c->dyn, old.data);
  return NULL;
}

/* A body may hand a carried input through to another carried output: those must all be read before any is replaced. */
static ox_status *carry_all(ox_context *c, loop_state *l) {
  bool crossed = false;
  for (uint32_t i = 0; i < l->n_carried; i++) crossed |= !ox_body_owns_output(l->body, i + 1);
  if (!crossed) {
    for (uint32_t i = 0; i < l->n_carried; i++) OX_TRY(carry(c, &l->carried[i], ox_body_output(l->body, i + 1)));
    return NULL;
  }
  ox_tensor *next = ox_arena_array(c->env->run_arena, l->n_carried, sizeof *next);
  if (!next) return ox_oom();
  for (uint32_t i = 0; i < l->n_carried; i++) OX_TRY(ox_control_copy(c, ox_body_output(l->body, i + 1), &next[i]));
  for (uint32_t i = 0; i < l->n_carried; i++) {
    if (l->carried[i].kind == OX_TENSOR) ox_dynpool_give(&c->dyn, l->carried[i].data);
    l->carried[i] = next[i];
  }
  return NULL;
}

static ox_status *start(ox_context *c, ox_step *s, loop_state *l) {
  ox_arena *arena = c->env->run_arena;
  l->body = ox_control_body(c, s, "body");
  const ox_graph *g = l->body->plan->graph;
  uint32_t n_in = s->c.n_in;
  l->n_carried = n_in > 2 ? n_in - 2 : 0;
  if (g->n_inputs != l->n_carried + 2 || l->body->n_inputs != g->n_inputs || g->n_outputs < l->n_carried + 1)
    return ox_fail(OX_INVALID_MODEL, "Loop carries %u values, its body has %u inputs and %u outputs", l->n_carried,
                   g->n_inputs, g->n_outputs);
  l->n_scan = g->n_outputs - 1 - l->n_carried;
  l->carried = ox_arena_array(arena, l->n_carried, sizeof *l->carried);
  l->stacks = ox_arena_array(arena, l->n_scan, sizeof *l->stacks);
  if (!l->carried || !l->stacks) return ox_oom();
  l->iteration_t = scalar(OX_I64, &l->iteration, 8), l->cond_t = scalar(OX_BOOL, &l->cond, 1);
  /* iteration number and condition may be declared as one-element vectors */
  for (uint32_t i = 0; i < 2; i++) {
    const ox_type *t = &g->values[g->inputs[i]].type;
    ox_tensor *arg = i ? &l->cond_t : &l->iteration_t;
    if (t->shape.rank == 1) arg->shape = (ox_shape){.rank = 1, .dim = {1}};
    l->body->args[i] = arg;
  }
  for (uint32_t i = 0; i < l->n_carried; i++) {
    const ox_tensor *in = ox_control_input(c, s, i + 2);
    if (!in) return ox_fail(OX_INVALID_MODEL, "Loop: initial value %u is missing", i);
    OX_TRY(ox_control_copy(c, in, &l->carried[i]));
    l->body->args[i + 2] = &l->carried[i];
  }
  return NULL;
}

ox_status *ox_loop_run(ox_context *c, ox_step *s) {
  const ox_tensor *trip = ox_control_input(c, s, 0), *cond = ox_control_input(c, s, 1);
  if ((trip && (trip->dtype != OX_I64 || trip->bytes != 8)) || (cond && (cond->dtype != OX_BOOL || cond->bytes != 1)))
    return ox_fail(OX_INVALID_MODEL, "Loop wants an int64 trip count and a bool condition");
  int64_t most = trip ? *(const int64_t *)trip->data : INT64_MAX;
  loop_state l = {.cond = cond ? *(const uint8_t *)cond->data : 1};
  OX_TRY(start(c, s, &l));
  for (; l.iteration < most && l.cond; l.iteration++) {
    if (c->env->cancel && __atomic_load_n(c->env->cancel, __ATOMIC_RELAXED))
      return ox_fail(OX_CANCELLED, "the run was cancelled");
    OX_TRY(ox_body_run(c, l.body));
    for (uint32_t i = 0; i < l.n_scan; i++)
      OX_TRY(ox_stack_push(c, &l.stacks[i], ox_body_output(l.body, 1 + l.n_carried + i), most == INT64_MAX ? 16 : most));
    const ox_tensor *go = ox_body_output(l.body, 0);
    if (go->dtype != OX_BOOL || go->bytes < 1) return ox_fail(OX_INVALID_MODEL, "the Loop body's condition is no bool");
    l.cond = *(const uint8_t *)go->data;
    OX_TRY(carry_all(c, &l));
  }
  for (uint32_t i = 0; i < l.n_carried; i++) {
    ox_tensor *out = ox_control_output(c, s, i);
    if (out) *out = l.carried[i];
  }
  const ox_graph *g = l.body->plan->graph;
  for (uint32_t i = 0; i < l.n_scan; i++)
    OX_TRY(ox_stack_finish(c, s, l.n_carried + i, &l.stacks[i], &g->values[g->outputs[1 + l.n_carried + i]].type));
  return NULL;
}
