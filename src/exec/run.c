/* SPDX-License-Identifier: Apache-2.0
 * exec/run.c - walks the steps of a prepared context. Between two kernels: a switch, nothing else. */
#include <string.h>

#include "base/macros.h"
#include "exec/context.h"
#include "exec/bodies.h"

/* ---- services for kernels ---- */

static void *alloc_prep(ox_kernel_ctx *c, size_t bytes) { return ox_arena_alloc(&c->frame->step->prep, bytes); }

static void *alloc_output(const ox_kernel_ctx *c, uint32_t index, const ox_shape *shape) {
  ox_context *cx = c->frame->context;
  ox_tensor *t = c->out[index];
  if (t->data && ox_shape_equal(&t->shape, shape)) return t->data; /* the shape was known after all */
  t->kind = OX_TENSOR, t->shape = *shape;
  if (!ox_tensor_size(t)) return NULL;
  ox_dynpool_give(&cx->dyn, t->data);
  return t->data = ox_dynpool_take(&cx->dyn, t->bytes);
}

static void *alloc_run(const ox_kernel_ctx *c, size_t bytes) {
  return ox_arena_alloc(c->frame->context->env->run_arena, bytes);
}

const ox_ctx_host ox_context_host = {sizeof(ox_ctx_host), alloc_prep, alloc_output, alloc_run};

/* ---- one step ---- */

typedef struct {
  const ox_step *step;
  uint32_t stage;
  char *scratch;
  size_t scratch_bytes;
} stage_run;

static ox_status *run_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const stage_run *r = ctx;
  ox_kernel *k = r->step->unit->kernel;
  char *scratch = r->scratch_bytes ? r->scratch + worker * r->scratch_bytes : NULL;
  return k->api->run(k, &r->step->c, r->stage, begin, end, scratch);
}

ox_status *ox_step_run(ox_context *c, ox_step *s, bool on_pool, char *scratch) {
  ox_kernel *k = s->unit->kernel;
  for (uint32_t stage = 0; stage < s->c.n_stages; stage++) {
    int64_t tiles = s->c.n_tiles[stage];
    if (tiles <= 0) continue;
    if (tiles == 1 || !on_pool) {
      OX_TRY(k->api->run(k, &s->c, stage, 0, tiles, scratch));
      continue;
    }
    stage_run r = {s, stage, scratch, c->scratch_bytes};
    OX_TRY(ox_task_for_max(c->env->pool, c->env->max_threads, tiles, run_tiles, &r));
  }
  return NULL;
}

/* A step whose shapes only this run knows: infer, find memory, prepare, run. */
static ox_status *run_dynamic(ox_context *c, ox_step *s) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  OX_TRY(ox_step_infer(c, s, true));
  if (!s->unit->kernel) { /* a view */
    ox_tensor *out = &c->slots[n->out[0]].t;
    const ox_tensor *in = &c->slots[n->in[0]].t;
    if (in->kind != OX_TENSOR) {
      *out = *in;
      return NULL;
    }
    if (out->bytes != in->bytes || !ox_shape_known(&out->shape))
      return ox_fail(OX_SHAPE_MISMATCH, "input has %zu bytes, output %zu", in->bytes, out->bytes);
    out->data = in->data;
    return NULL;
  }
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE) continue;
    ox_tensor *t = &c->slots[n->out[i]].t;
    if (t->kind != OX_TENSOR || !ox_shape_known(&t->shape) || !t->dtype) continue;
    t->data = ox_dynpool_take(&c->dyn, t->bytes);
    if (!t->data) return ox_fail(OX_OUT_OF_MEMORY, "no memory for %zu bytes", t->bytes);
  }
  ox_arena_reset(&s->prep);
  s->c.n_stages = 1, s->c.n_tiles[0] = 1, s->c.scratch_per_worker = s->c.shared_bytes = 0, s->c.prep = NULL;
  OX_TRY(s->unit->kernel->api->prepare(s->unit->kernel, &s->c));
  size_t per_worker = OX_ROUND_UP(s->c.scratch_per_worker + OX_PAD_BYTES, (size_t)OX_ALIGN_BYTES), all;
  if (__builtin_mul_overflow(per_worker, (size_t)c->env->max_threads, &all))
    return ox_fail(OX_LIMIT, "scratch of %zu bytes per worker", per_worker);
  char *scratch = s->c.scratch_per_worker ? ox_dynpool_take(&c->dyn, all) : NULL;
  s->c.shared = s->c.shared_bytes ? ox_dynpool_take(&c->dyn, s->c.shared_bytes) : NULL;
  if ((s->c.scratch_per_worker && !scratch) || (s->c.shared_bytes && !s->c.shared)) return ox_oom();
  size_t planned = c->scratch_bytes;
  c->scratch_bytes = s->c.scratch_per_worker ? per_worker : 0;
  ox_status *st = ox_step_run(c, s, true, scratch);
  c->scratch_bytes = planned;
  ox_dynpool_give(&c->dyn, scratch);
  ox_dynpool_give(&c->dyn, s->c.shared);
  return st;
}

static ox_status *run_step(ox_context *c, ox_step *s) {
  switch (s->mode) {
    case OX_MODE_DONE: return NULL;
    case OX_MODE_VIEW: {
      const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
      c->slots[n->out[0]].t.data = c->slots[n->in[0]].t.data;
      return NULL;
    }
    case OX_MODE_STATIC: return ox_step_run(c, s, true, c->scratch);
    case OX_MODE_DYNAMIC: return run_dynamic(c, s);
    case OX_MODE_CONTROL: return ox_control_run(c, s);
  }
  return NULL;
}

static void record(ox_context *c, const ox_step *s, int64_t start) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  const char *out = n->n_out && n->out[0] != OX_NONE ? c->plan->graph->values[n->out[0]].name : "";
  ox_profile_event e = {.name = n->name[0] ? n->name : out, .op = n->op, .provider = s->unit->provider, .start_ns = start,
                        .duration_ns = ox_clock_ns() - start};
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) e.out_bytes += c->slots[n->out[i]].t.bytes;
  if (s->unit->cpu && s->unit->cpu->flops && s->mode == OX_MODE_STATIC) e.flops = s->unit->cpu->flops(&s->c);
  ox_profile_add(c->env->profile, &e);
}

/* ---- a whole run ---- */

static ox_status *check_stop(const ox_run_env *env) {
  if (env->cancel && __atomic_load_n(env->cancel, __ATOMIC_RELAXED)) return ox_fail(OX_CANCELLED, "the run was cancelled");
  if (env->deadline_ns && ox_clock_ns() > env->deadline_ns) return ox_fail(OX_CANCELLED, "the deadline passed");
  return NULL;
}

static void bind_inputs(ox_context *c, const ox_tensor *const *bound) {
  uint32_t k = 0;
  const ox_graph *g = c->plan->graph;
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (!c->plan->consts[g->inputs[i]]) c->slots[g->inputs[i]].t = *bound[k++];
  if (!g->parent) return;
  for (ox_id v = 0; v < g->n_values; v++)
    if (g->values[v].outer != OX_NONE && !c->plan->consts[v]) c->slots[v].t = *bound[k++];
}

static ox_status *bind_outputs(ox_context *c, ox_run_sink *sink) {
  const ox_graph *g = c->plan->graph;
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    ox_slot *s = &c->slots[g->outputs[i]];
    if (s->home == OX_HOME_OUTPUT && s->root == g->outputs[i]) s->t.data = NULL;
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    ox_slot *s = &c->slots[g->outputs[i]];
    if (s->home != OX_HOME_OUTPUT || s->root != g->outputs[i] || s->t.data) continue;
    OX_TRY(sink->tensor(sink, i, s->t.dtype, &s->t.shape, s->t.bytes, &s->t.data));
  }
  return NULL;
}

/* Outputs that were not written in place: views, inputs passed through, dynamic values, repeated names. */
static ox_status *hand_over(ox_context *c, ox_run_sink *sink) {
  const ox_graph *g = c->plan->graph;
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    const ox_slot *s = &c->slots[g->outputs[i]];
    bool first = true;
    for (uint32_t k = 0; k < i; k++) first &= g->outputs[k] != g->outputs[i];
    if (first && s->home == OX_HOME_OUTPUT && s->root == g->outputs[i]) continue;
    if (s->t.kind != OX_TENSOR || s->t.dtype == OX_STRING) {
      OX_TRY(sink->other(sink, i, &s->t));
      continue;
    }
    void *to = NULL;
    OX_TRY(sink->tensor(sink, i, s->t.dtype, &s->t.shape, s->t.bytes, &to));
    if (s->t.bytes) memcpy(to, s->t.data, s->t.bytes);
  }
  return NULL;
}

ox_status *ox_context_run(ox_context *c, ox_run_env *env, const ox_tensor *const *bound, ox_run_sink *sink) {
  c->env = env;
  ox_dynpool_give_all(&c->dyn);
  bind_inputs(c, bound);
  if (sink) OX_TRY(bind_outputs(c, sink));
  bool watched = env->cancel || env->deadline_ns;
  for (uint32_t i = 0; i < c->n_steps; i++) {
    ox_step *s = &c->steps[i];
    if (s->mode == OX_MODE_DONE) continue;
    if (watched) OX_TRY(check_stop(env));
    int64_t start = env->profile ? ox_clock_ns() : 0;
    ox_status *st = run_step(c, s);
    if (OX_UNLIKELY(st != NULL)) return ox_unit_note(st, c->plan, s->unit);
    if (env->profile && s->mode != OX_MODE_VIEW) record(c, s, start);
    for (uint32_t k = 0; k < s->n_frees; k++) ox_dynpool_give(&c->dyn, c->slots[s->frees[k]].t.data);
  }
  return sink ? hand_over(c, sink) : NULL;
}

const ox_tensor *ox_context_output(const ox_context *c, uint32_t index) {
  return &c->slots[c->plan->graph->outputs[index]].t;
}
