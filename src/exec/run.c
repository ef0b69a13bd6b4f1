/* SPDX-License-Identifier: Apache-2.0
 * exec/run.c - walks the steps of a prepared context. Between two kernels: a switch, nothing else. */
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"
#include "exec/bodies.h"
#include "exec/context.h"
#include "exec/placed.h"
#include "exec/step_run.h"
#include "exec/stretch.h"
#include "exec/waits.h"
#include "plan/transfers.h"

enum { CONTENT_FLAGS = 64 }; /* inputs of a step whose flags need no memory */

/* ---- one step ---- */

/* What was prepared for the shape of output 0 must find it. */
static ox_status *infer_shaped(ox_step *s, const bool *flags) {
  ox_shape was = s->c.out[0]->shape;
  char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
  OX_TRY(ox_step_infer(s, flags, &s->infer));
  ox_shape is = s->c.out[0]->shape;
  s->c.out[0]->shape = was;
  if (ox_shape_equal(&was, &is)) return NULL;
  return ox_fail(OX_INCOMPATIBLE, "output 0 was to be of shape %s, and is of %s", ox_shape_text(&was, a),
                 ox_shape_text(&is, b));
}

/* A step whose shapes only this run knows: infer, find memory, prepare, run. */
static ox_status *run_dynamic(ox_context *c, ox_step *s) {
  bool content[CONTENT_FLAGS] = {false}, *flags = content;
  ox_arena_reset(&s->infer);
  if (s->c.n_in > CONTENT_FLAGS && !(flags = ox_arena_alloc(&s->infer, s->c.n_in))) return ox_oom();
  for (uint32_t i = 0; i < s->c.n_in; i++)
    flags[i] = s->c.in[i] && ox_host_reads(c->plan->providers, c->slots[s->node->in[i]].memory) &&
               (s->c.in[i]->data || !s->c.in[i]->bytes);
  OX_TRY(s->shaped ? infer_shaped(s, flags) : ox_step_infer(s, flags, &s->infer));
  if (s->unit->kind == OX_UNIT_VIEW) return ox_step_run(s, &c->crew, NULL, 0);
  OX_TRY(ox_step_find_memory(s));
  OX_TRY(ox_step_prepare(s));
  size_t per_worker = ox_step_rounded(s->c.scratch_per_worker), all = 0;
  if (!ox_mul_ok(per_worker, c->env->max_threads, &all)) return ox_fail(OX_LIMIT, "scratch of %zu bytes per worker", per_worker);
  char *scratch = all ? ox_dynpool_take(&c->dyn, all) : NULL;
  bool got = scratch || !all;
  s->c.shared = got && s->c.shared_bytes ? ox_dynpool_take(&c->dyn, s->c.shared_bytes) : NULL;
  got = got && (s->c.shared || !s->c.shared_bytes);
  if (!got) ox_workspace_refused(c->workspace, s, "scratch");
  ox_status *st = got ? ox_step_run(s, &c->crew, scratch, per_worker) : ox_oom();
  ox_dynpool_give(&c->dyn, scratch);
  ox_dynpool_give(&c->dyn, s->c.shared);
  return st ? st : ox_step_check_outputs(s);
}

/* |st|, unless what a step's output lacked was the caller's memory. */
static ox_status *or_sink_status(ox_context *c, ox_status *st) {
  if (OX_LIKELY(!c->sink_status)) return st;
  ox_status_free(st);
  st = c->sink_status, c->sink_status = NULL;
  return st;
}

static ox_status *run_mode(ox_context *c, ox_step *s) {
  switch (s->mode) {
    case OX_MODE_DONE: return NULL;
    case OX_MODE_VIEW:
      s->c.out[0]->data = s->c.in[0]->data;
      return NULL;
    case OX_MODE_STATIC: return ox_step_run(s, &c->crew, s->scratch, c->scratch_bytes);
    case OX_MODE_DYNAMIC:
      return or_sink_status(c, run_dynamic(c, s));
    case OX_MODE_CONTROL: return ox_control_run(c, s);
  }
  return NULL;
}

static ox_status *run_step(ox_context *c, ox_step *s) {
  if (OX_UNLIKELY(s->n_waits)) OX_TRY(ox_step_wait(s));
  bool done = false;
  if (OX_UNLIKELY(c->placed != NULL) && s->unit->kind == OX_UNIT_COPY) OX_TRY(ox_placed_copy(c, s, &done));
  if (OX_LIKELY(!done)) OX_TRY(run_mode(c, s));
  return OX_UNLIKELY(s->event != NULL) ? ox_step_record(s) : NULL;
}

/* What the node's values were like. */
static void record_tensors(const ox_context *c, const ox_step *s, ox_profile_event *e) {
  const ox_node *n = s->node;
  ox_tensor *t = ox_profile_tensors(c->env->profile, s->c.n_in + s->c.n_out);
  if (!t) return;
  e->tensors = t, e->n_in = s->c.n_in, e->n_out = s->c.n_out;
  for (uint32_t i = 0; i < e->n_in; i++) {
    if (!s->c.in[i]) continue;
    t[i] = *s->c.in[i];
    if (n->in[i] != OX_NONE && c->plan->consts[n->in[i]]) e->constant_bytes += t[i].bytes;
  }
  for (uint32_t i = 0; i < e->n_out; i++)
    if (s->c.out[i]) t[e->n_in + i] = *s->c.out[i];
  for (uint32_t i = 0; i < e->n_in + e->n_out; i++) t[i].data = NULL;
}

static void record(ox_context *c, const ox_step *s, int64_t start) {
  const ox_node *n = s->node;
  ox_profile_event e = {.name = ox_node_label(s->graph, n), .op = n->op, .provider = ox_unit_owner(s->unit),
                        .start_ns = start, .duration_ns = ox_clock_ns() - start};
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) e.out_bytes += c->slots[n->out[i]].t.bytes;
  e.flops = ox_step_flops(s), e.index = (uint32_t)(s - c->steps), e.form = s->c.form;
  record_tensors(c, s, &e);
  ox_profile_add(c->env->profile, &e);
}

/* ---- a whole run ---- */

/* Dynamic buffers that no later step reads. */
static void give_back(ox_context *c, const ox_step *s) {
  for (uint32_t k = 0; k < s->n_frees; k++) {
    const ox_slot *slot = &c->slots[s->frees[k]];
    ox_device_memory *m = ox_device_memory_find(&c->devices, slot->memory);
    ox_dynpool_give(m ? &m->dyn : &c->dyn, slot->t.data);
  }
}

static void bind_inputs(ox_context *c, const ox_tensor *const *bound) {
  for (uint32_t i = 0; i < c->n_key; i++) c->slots[c->bound[i]].t = *bound[i];
}

/* Output |i| will lie on a device, and nowhere else: the copy that would bring it here is left out. */
static bool elsewhere(const ox_context *c, uint32_t i) {
  const ox_graph *g = c->plan->graph;
  const ox_graph_value *v = &g->values[g->outputs[i]];
  if (OX_LIKELY(!c->placed) || !c->placed->out[i].memory || v->producer == OX_NONE) return false;
  const ox_node *n = ox_graph_node(g, v->producer);
  return ox_node_is_copy(n) && g->values[n->in[0]].memory == c->placed->out[i].memory && ox_output_is_last(g, i);
}

static ox_status *bind_outputs(ox_context *c, ox_run_sink *sink) {
  const ox_graph *g = c->plan->graph;
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    ox_slot *s = &c->slots[g->outputs[i]];
    if (s->home == OX_HOME_OUTPUT && s->root == g->outputs[i]) s->t.data = NULL;
    s->given = NULL;
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    ox_slot *s = &c->slots[g->outputs[i]];
    if (s->home != OX_HOME_OUTPUT || s->root != g->outputs[i] || s->t.data || elsewhere(c, i)) continue;
    OX_TRY(sink->tensor(sink, i, s->t.dtype, &s->t.shape, s->t.bytes, &s->t.data));
    s->output = i, s->given = s->t.data;
  }
  return NULL;
}

/* Outputs that were not written in place: views, inputs passed through, what bodies made, repeated names. */
static ox_status *hand_over(ox_context *c, ox_run_sink *sink) {
  const ox_graph *g = c->plan->graph;
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    const ox_slot *s = &c->slots[g->outputs[i]];
    if (s->given && s->given == s->t.data && s->output == i) continue;
    if (OX_UNLIKELY(c->placed != NULL) && c->placed->out[i].done && ox_output_is_last(g, i)) continue;
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

/* Nothing may still write when the caller has its memory back. Work that failed on a stream came first: what was
 * computed from its results may have failed for that. The text has both: the second one names a node. */
static ox_status *stop(const ox_context *c, ox_status *st) {
  ox_status *earlier = ox_devices_sync(&c->devices);
  if (!earlier || ox_status_code(st) == OX_CANCELLED) {
    ox_status_free(earlier);
    return st;
  }
  ox_status *both = ox_fail(ox_status_code(earlier), "%s; then %s", ox_status_message(earlier), ox_status_message(st));
  ox_status_free(earlier);
  ox_status_free(st);
  return both;
}

static ox_status *run_steps(ox_context *c, const ox_run_env *env) {
  bool apart = c->stretches && ox_stretches_begin(c);
  for (uint32_t i = 0; i < c->n_steps; i++) {
    ox_step *s = &c->steps[i];
    if (s->mode == OX_MODE_DONE) continue;
    if (OX_UNLIKELY(apart && s->stretch)) {
      OX_TRY(ox_stretch_run(c, s->stretch));
      for (uint32_t last = s->stretch->last; i < last; i++) give_back(c, &c->steps[i]);
      give_back(c, &c->steps[i]);
      continue;
    }
    int64_t start = env->profile ? ox_clock_ns() : 0;
    if (OX_UNLIKELY(env->watch != NULL)) OX_TRY(ox_watch_check(env->watch));
    ox_status *st = run_step(c, s);
    if (OX_UNLIKELY(st != NULL)) return ox_context_note(c, s->unit, ox_workspace_explain(c->workspace, s, st));
    if (env->profile && s->mode != OX_MODE_VIEW) record(c, s, start);
    give_back(c, s);
  }
  if (c->stretches) ox_stretches_end(c);
  return NULL;
}

static ox_status *run_bound(ox_context *c, const ox_run_env *env, ox_run_sink *sink) {
  if (sink) OX_TRY(bind_outputs(c, sink));
  if (OX_UNLIKELY(c->placed != NULL)) OX_TRY(ox_placed_begin(c));
  ox_status *st = run_steps(c, env);
  if (OX_UNLIKELY(st != NULL)) return stop(c, st);
  if (c->devices.streams) OX_TRY(ox_devices_sync(&c->devices));
  return sink ? hand_over(c, sink) : NULL;
}

ox_status *ox_context_run(ox_context *c, ox_run_env *env, const ox_tensor *const *bound, ox_run_sink *sink) {
  c->env = env;
  if (c->workspace == &c->own_workspace) {
    ox_workspace_next_run(c->workspace);
    env->workspace = c->workspace;
  }
  c->crew = (ox_step_crew){env->pool, env->max_threads, env->watch, env->profile, &c->passing};
  c->sink = sink;
  ox_dynpool_give_all(&c->dyn);
  for (uint32_t i = 0; i < c->devices.n_memories; i++) ox_dynpool_give_all(&c->devices.memories[i].dyn);
  bind_inputs(c, bound);
  c->placed = env->placed, env->placed = NULL; /* bodies have none */
  ox_status *st = run_bound(c, env, sink);
  if (OX_UNLIKELY(c->placed != NULL)) ox_placed_end(c);
  ox_passing_end(&c->passing);
  return st;
}

const ox_tensor *ox_context_output(const ox_context *c, uint32_t index) {
  return &c->slots[c->plan->graph->outputs[index]].t;
}
