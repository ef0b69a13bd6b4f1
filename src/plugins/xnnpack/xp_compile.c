/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_compile.c - compiles a part to a program. */
#include <string.h>

#include "xp_build.h"

const xp_operator *xp_find_operator(const xp_graph *g, size_t node) {
  static const xp_operator *const tables[] = {xp_ops_weights, xp_ops_window, xp_ops_element, xp_ops_move,
                                              xp_ops_qlinear};
  for (size_t i = 0; i < XP_COUNT(tables); i++)
    for (const xp_operator *o = tables[i]; o->op; o++)
      if (xp_is_op(g, node, o->op)) return o;
  return NULL;
}

static void see(size_t *most, uint32_t value) {
  if (value != UINT32_MAX && value >= *most) *most = (size_t)value + 1;
}

static ox_status *add_values(xp_build *b) {
  const xp_graph *g = &b->g;
  b->n_nodes = g->h->node_count(g->g);
  for (int outputs = 0; outputs < 2; outputs++)
    for (size_t i = 0; i < g->h->io_count(g->g, outputs); i++) see(&b->n_values, g->h->io_value(g->g, outputs, i));
  for (size_t n = 0; n < b->n_nodes; n++) {
    for (size_t i = 0; i < g->h->node_in_count(g->g, n); i++) see(&b->n_values, xp_in(g, n, i));
    for (size_t i = 0; i < g->h->node_out_count(g->g, n); i++) see(&b->n_values, xp_out(g, n, i));
  }
  b->values = xp_arena_get(&b->p->arena, b->n_values, sizeof *b->values);
  b->done = xp_arena_get(&b->p->arena, b->n_nodes, sizeof *b->done);
  if (!b->values || !b->done) return xp_oom(b->ep);
  for (size_t v = 0; v < b->n_values; v++) {
    b->values[v].consumer = SIZE_MAX;
    for (int f = 0; f < XP_FORMS; f++) b->values[v].form[f] = XP_NO_TENSOR;
  }
  for (size_t n = 0; n < b->n_nodes; n++)
    for (size_t i = 0; i < g->h->node_in_count(g->g, n); i++)
      if (xp_in(g, n, i) != UINT32_MAX) b->values[xp_in(g, n, i)].consumer = n;
  return NULL;
}

static ox_status *add_inputs(xp_build *b) {
  const xp_graph *g = &b->g;
  ox_program *p = b->p;
  p->n_in = (uint32_t)g->h->io_count(g->g, 0);
  p->in_rank = xp_arena_get(&p->arena, p->n_in, sizeof *p->in_rank);
  p->tensors = xp_arena_get(&p->arena, p->n_in, sizeof *p->tensors);
  if (!p->in_rank || !p->tensors) return xp_oom(b->ep);
  b->tensor_room = p->n_in;
  for (uint32_t i = 0; i < p->n_in; i++) {
    uint32_t v = g->h->io_value(g->g, 0, i), type = xp_type(g, v);
    p->in_rank[i] = xp_rank(g, v);
    p->tensors[p->n_tensors] = (xp_tensor){.type = (uint8_t)type, .place = XP_INPUT, .index = i};
    b->values[v].form[2 * (type == OX_U8 || type == OX_F16)] = p->n_tensors++;
  }
  return NULL;
}

/* Each output is written into the caller's memory, by a step whose result no other step reads; a copying step is added
 * where there is no such step. */
static ox_status *add_outputs(xp_build *b) {
  const xp_graph *g = &b->g;
  ox_program *p = b->p;
  p->n_out = (uint32_t)g->h->io_count(g->g, 1);
  if (!(p->out_tensor = xp_arena_get(&p->arena, p->n_out, sizeof *p->out_tensor))) return xp_oom(b->ep);
  for (uint32_t i = 0; i < p->n_out; i++) {
    uint32_t v = g->h->io_value(g->g, 1, i), type = xp_type(g, v), t;
    XP_TRY(xp_need(b, v, type, false, &t));
    if (p->tensors[t].place != XP_TEMP || p->tensors[t].used != p->tensors[t].made) {
      xp_step *s;
      size_t node = g->h->value_producer(g->g, v);
      XP_TRY(xp_add(b, node, &xp_kind_relayout, &t, 1, v, type, false, &s));
      t = s->out;
    }
    p->tensors[t].place = XP_OUTPUT;
    p->out_tensor[i] = t;
  }
  return NULL;
}

static ox_status *build(xp_build *b) {
  XP_TRY(add_values(b));
  XP_TRY(add_inputs(b));
  for (size_t n = 0; n < b->n_nodes; n++) {
    if (b->done[n]) continue;
    if (b->g.h->stopped(b->g.g)) return xp_fail(b->ep, OX_CANCELLED, "xnnpack: cancelled");
    const xp_operator *o = xp_find_operator(&b->g, n);
    if (!o) return xp_fail(b->ep, OX_FAIL, "xnnpack: %s was not claimed", b->g.h->node_op(b->g.g, n));
    ox_status *st = o->emit(b, n);
    xp_arena_free(&b->scratch);
    if (st) return st;
  }
  return add_outputs(b);
}

ox_status *xp_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out) {
  const ox_alloc *a = &ep->host.alloc;
  ox_program *p = *out = a->alloc(a->ctx, sizeof *p, 64);
  if (!p) return xp_oom(ep);
  memset(p, 0, sizeof *p);
  p->ep = ep, p->arena.alloc = a;
  pthread_mutex_init(&p->lock, NULL);
  xp_build b = {.ep = ep, .g = {&ep->host, part, ep->half}, .p = p, .scratch.alloc = a};
  ox_status *st = build(&b);
  if (st) xp_program_release(p), *out = NULL;
  return st;
}
