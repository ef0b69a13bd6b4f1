/* SPDX-License-Identifier: Apache-2.0
 * exec/eval.c - a step without a plan: everything in arenas, in the calling thread. */
#include "exec/eval.h"

#include <string.h>

#include "base/macros.h"
#include "exec/step_run.h"
#include "plan/constants.h"

enum { MOST_SCRATCH = 64 << 20 /* bytes that stay for the next node */ };

/* Results live as long as the model, the rest as long as this call. */
static void *keep_output(ox_step *s, uint32_t i, const ox_tensor *t) {
  (void)i;
  return ox_arena_take(&s->graph->model->arena, t->bytes);
}
static void *keep_run(ox_step *s, size_t bytes) { return ox_arena_alloc(&s->graph->model->arena, bytes); }
static const ox_step_memory memory = {keep_output, keep_run, NULL};

typedef struct {
  const ox_tensor **in;
  ox_tensor **out;
  bool *content;
} operands;

/* |aligned|: for kernels; a view's result shares the constant's own bytes. */
static ox_status *gather(const ox_graph *g, const ox_node *n, bool aligned, ox_arena *a, ox_tensor *outs, operands *o) {
  o->in = OX_ARENA_ARRAY(a, const ox_tensor *, n->n_in);
  o->out = OX_ARENA_ARRAY(a, ox_tensor *, n->n_out);
  o->content = OX_ARENA_ARRAY(a, bool, n->n_in);
  if (!o->in || !o->out || !o->content) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    const ox_tensor *c = ox_graph_const(g, n->in[i]);
    if (!c) return ox_fail(OX_FAIL, "input %u is not constant", i);
    ox_tensor *t = ox_arena_copy(a, c, sizeof *t);
    if (!t) return ox_oom();
    bool move = aligned && t->kind == OX_TENSOR && !ox_tensor_aligned(t);
    if (move && !(t->data = ox_arena_copy(a, c->data, c->bytes))) return ox_oom();
    o->in[i] = t, o->content[i] = true;
  }
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) o->out[i] = &outs[i];
  return NULL;
}

/* Packed constants are hollow from then on. */
static ox_status *load(const ox_provider *p, const ox_graph *g, ox_unit *u, const operands *o) {
  const ox_graph_view view = {.graph = g, .nodes = &u->node, .n_nodes = 1};
  OX_TRY(p->api.kernel_create(p->ep, &view, 0, &u->kernel));
  OX_TRY(ox_watch_status(g->model->watch)); /* it may have packed a part only */
  for (uint32_t i = 0; i < ox_graph_node(g, u->node)->n_in && i < 64; i++)
    if (o->in[i] && (u->kernel->consumed >> i & 1)) ((ox_tensor *)o->in[i])->data = NULL;
  return NULL;
}

static ox_status *run(const ox_provider *p, const ox_graph *g, ox_unit *u, const operands *o, ox_step *s, ox_arena *a) {
  const ox_step_crew alone = {.max_threads = 1, .watch = g->model->watch};
  s->crew = &alone;
  char *scratch = NULL;
  ox_tensor *first = s->c.n_out == 1 ? s->c.out[0] : NULL, offered = first ? *first : (ox_tensor){0};
  OX_TRY(ox_step_infer(s, o->content, &g->model->arena));
  if (u->kind == OX_UNIT_KERNEL) {
    if (offered.data && ox_tensor_shaped(first) && first->bytes <= offered.bytes) first->data = offered.data;
    OX_TRY(ox_step_find_memory(s));
    OX_TRY(load(p, g, u, o));
    OX_TRY(ox_step_prepare(s));
    scratch = ox_arena_alloc(a, s->c.scratch_per_worker), s->c.shared = ox_arena_alloc(a, s->c.shared_bytes);
    if (!scratch || !s->c.shared) return ox_oom();
  }
  return ox_step_run(s, &alone, scratch, 0);
}

ox_status *ox_eval_node(ox_evaluator *e, ox_graph *g, ox_id node, ox_tensor *outs) {
  const ox_node *n = ox_graph_node(g, node);
  ox_packs packs;
  ox_unit u = {.node = node, .owner = e->provider, .packs = &packs};
  ox_arena *a = &e->scratch;
  ox_step s = {0};
  operands o;
  ox_status *st = NULL;
  u.def = ox_node_schema(g->model, n, &u.op_version);
  if (!u.def || (u.def->traits & OX_CONTROL)) return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: %s", n->op);
  u.kind = u.def->traits & OX_VIEW ? OX_UNIT_VIEW : OX_UNIT_KERNEL;
  ox_packs_init(&packs, NULL);
  OX_TRY_TO(done, st, gather(g, n, u.kind == OX_UNIT_KERNEL, a, outs, &o));
  OX_TRY_TO(done, st, ox_attrs_decode(u.def, n, a, &u.attrs));
  OX_TRY_TO(done, st, ox_step_init(&s, g, &u, o.in, o.out, a));
  s.memory = &memory, s.mode = OX_MODE_DYNAMIC;
  st = run(e->provider, g, &u, &o, &s, a);
done:
  ox_step_deinit(&s);
  ox_packs_deinit(&packs);
  if (u.kernel) u.kernel->api->release(u.kernel);
  if (a->total > MOST_SCRATCH)
    ox_arena_deinit(a);
  else
    ox_arena_reset(a);
  return st;
}
