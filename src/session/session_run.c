/* SPDX-License-Identifier: Apache-2.0
 * session/session_run.c - a run borrows a call frame and a context that fits its shapes, and returns both. */
#include <string.h>

#include "base/macros.h"
#include "exec/context_slab.h"
#include "plan/constants.h"
#include "session/fall_back.h"
#include "session/memory_limit.h"
#include "session/overriding.h"
#include "session/session_devices.h"
#include "session/state.h"

/* ---- borrowing ---- */

static ox_status *new_call(ox_session *s, ox_call **out_call) {
  const ox_graph *g = s->model->graph;
  ox_call *c = ox_new_zeroed(s->alloc, sizeof *c);
  *out_call = c;
  if (!c) return ox_oom();
  c->session = s;
  ox_run_memory_init(&c->run_memory, s->alloc);
  c->bound = ox_new_zeroed(s->alloc, (s->n_inputs + 1) * sizeof *c->bound);
  c->aligned = ox_new_zeroed(s->alloc, (s->n_inputs + 1) * sizeof *c->aligned);
  c->out = ox_new_zeroed(s->alloc, (g->n_outputs + 1) * sizeof *c->out);
  c->out_given = ox_new_zeroed(s->alloc, g->n_outputs + 1);
  c->out_bytes = ox_new_zeroed(s->alloc, (g->n_outputs + 1) * sizeof *c->out_bytes);
  return c->bound && c->aligned && c->out && c->out_given && c->out_bytes ? NULL : ox_oom();
}

static void give_call(ox_session *s, ox_call *c) {
  pthread_mutex_lock(&s->lock);
  c->next = s->calls, s->calls = c;
  pthread_mutex_unlock(&s->lock);
}

static ox_status *take_call(ox_session *s, ox_call **out_call) {
  pthread_mutex_lock(&s->lock);
  ox_call *c = s->calls;
  if (c) s->calls = c->next;
  pthread_mutex_unlock(&s->lock);
  *out_call = c;
  if (c) return NULL;
  ox_status *st = new_call(s, out_call);
  if (!st) return NULL;
  if (*out_call) ox_call_free(*out_call, s);
  *out_call = NULL;
  return st;
}

static bool fits(const ox_context *c, const ox_tensor *const *bound) {
  for (uint32_t i = 0; i < c->n_key; i++) {
    const ox_type *k = &c->key[i];
    const ox_tensor *t = bound[i];
    if (k->kind != t->kind || k->dtype != t->dtype || (t->kind == OX_TENSOR && !ox_shape_equal(&k->shape, &t->shape)))
      return false;
  }
  return true;
}

static ox_status *make_context(ox_session *s, ox_call *call, ox_context **out_context) {
  ox_type *key = ox_arena_array(&call->run_memory.arena, s->n_inputs, sizeof *key);
  if (!key) return ox_oom();
  for (uint32_t i = 0; i < s->n_inputs; i++) {
    key[i] = s->model->graph->values[s->inputs[i]].type;
    key[i].kind = call->bound[i]->kind, key[i].dtype = call->bound[i]->dtype, key[i].shape = call->bound[i]->shape;
  }
  return ox_context_create(s->plan, &call->env, key, NULL, true, out_context);
}

static void give_context(ox_session *s, ox_context *c) {
  ox_context *old = NULL;
  ox_context_rest(c);
  pthread_mutex_lock(&s->lock);
  if (s->n_idle == OX_IDLE_CONTEXTS) {
    old = s->idle[0];
    memmove(&s->idle[0], &s->idle[1], --s->n_idle * sizeof *s->idle);
  }
  s->idle[s->n_idle++] = c;
  pthread_mutex_unlock(&s->lock);
  ox_context_destroy(old);
}

static ox_status *take_context(ox_session *s, ox_call *call, ox_context **out_context) {
  *out_context = NULL;
  pthread_mutex_lock(&s->lock);
  for (uint32_t i = s->n_idle; i-- > 0 && !*out_context;) {
    if (!fits(s->idle[i], call->bound)) continue;
    *out_context = s->idle[i];
    memmove(&s->idle[i], &s->idle[i + 1], (--s->n_idle - i) * sizeof *s->idle);
  }
  pthread_mutex_unlock(&s->lock);
  if (!*out_context) return make_context(s, call, out_context);
  ox_status *st = ox_context_wake(*out_context, &call->env);
  if (!st) return NULL;
  give_context(s, *out_context);
  *out_context = NULL;
  return st;
}

static bool has_idle(ox_session *s) {
  pthread_mutex_lock(&s->lock);
  bool any = s->n_idle > 0;
  pthread_mutex_unlock(&s->lock);
  return any;
}

/* ---- inputs ---- */

static ox_status *check_input(const ox_session *s, uint32_t i, const ox_tensor *t) {
  const ox_graph_value *v = &s->model->graph->values[s->inputs[i]];
  const ox_type *want = &v->type;
  if (t->kind == OX_NONE_VALUE && want->optional) return NULL;
  if (t->kind != want->kind)
    return ox_fail(OX_SHAPE_MISMATCH, "input '%s': wanted a value of kind %s, got %s", v->name,
                   ox_kind_name(want->kind), ox_kind_name(t->kind));
  if (t->kind != OX_TENSOR && t->kind != OX_SPARSE) return NULL;
  if (want->dtype && t->dtype != want->dtype)
    return ox_fail(OX_SHAPE_MISMATCH, "input '%s': wanted %s, got %s", v->name, ox_dtype_name(want->dtype),
                   ox_dtype_name(t->dtype));
  bool ok = want->shape.rank < 0 || want->shape.rank == t->shape.rank;
  for (int d = 0; ok && d < want->shape.rank; d++) ok = want->shape.dim[d] < 0 || want->shape.dim[d] == t->shape.dim[d];
  if (ok) return NULL;
  char a[OX_MODEL_SHAPE_TEXT], b[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "input '%s': wanted shape %s, got %s", v->name,
                 ox_model_shape_text(s->model, &want->shape, a), ox_shape_text(&t->shape, b));
}

/* A tensor of one element serves where a scalar is declared: programs hand over [1], and models expect it of them. */
static const ox_tensor *as_scalar(const ox_session *s, ox_call *c, uint32_t i, const ox_tensor *t) {
  const ox_type *want = &s->model->graph->values[s->inputs[i]].type;
  if (want->shape.rank != 0 || t->kind != OX_TENSOR || t->shape.rank == 0 || ox_tensor_count(t) != 1) return t;
  c->aligned[i] = *t;
  c->aligned[i].shape.rank = 0;
  return &c->aligned[i];
}

static ox_status *align_input(ox_call *c, uint32_t i, const ox_tensor *t) {
  if (t->kind != OX_TENSOR || ox_tensor_aligned(t)) return NULL;
  c->aligned[i] = *t;
  c->aligned[i].data = ox_arena_copy(&c->run_memory.arena, t->data, t->bytes);
  c->bound[i] = &c->aligned[i];
  return c->aligned[i].data ? NULL : ox_oom();
}

/* The index of the input called |name|, which is probably the one at |guess|; OX_NONE: there is none. */
static uint32_t find_input(const ox_session *s, const char *name, size_t guess) {
  const ox_graph *g = s->model->graph;
  if (guess < s->n_inputs && strcmp(g->values[s->inputs[guess]].name, name) == 0) return (uint32_t)guess;
  ox_id v = ox_graph_find(g, name);
  return v == OX_NONE ? OX_NONE : s->input_at[v];
}

static const ox_tensor nothing = {.kind = OX_NONE_VALUE}; /* for an input of an optional type that is left out */

/* Copies inputs on devices to the host, if they are read there. */
static ox_status *place_inputs(ox_session *s, ox_call *c, const char *const *names, const ox_value *const *values,
                               size_t n) {
  for (size_t k = 0; k < n; k++) {
    uint32_t i = find_input(s, names[k], k);
    bool bound = i != OX_NONE && values[k] && c->bound[i] && c->bound[i]->data == ox_value_get(values[k])->data;
    bool there = false;
    if (bound) OX_TRY(ox_call_place_input(c, i, values[k], &c->bound[i], &there));
    if (!there) continue;
    c->aligned[i] = *c->bound[i];
    c->aligned[i].data = NULL; /* nobody reads it here */
    c->bound[i] = &c->aligned[i];
  }
  return NULL;
}

static ox_status *bind_inputs(ox_session *s, ox_call *c, const char *const *names, const ox_value *const *values,
                              size_t n, bool devices) {
  const ox_graph *g = s->model->graph;
  size_t bytes = 0;
  for (uint32_t i = 0; i < s->n_inputs; i++) c->bound[i] = NULL;
  for (size_t k = n; k-- > 0;) { /* backwards: the first of two equal names counts */
    uint32_t i = find_input(s, names[k], k);
    if (i != OX_NONE) c->bound[i] = values[k] ? ox_value_get(values[k]) : NULL;
  }
  if (OX_UNLIKELY(devices)) OX_TRY(place_inputs(s, c, names, values, n));
  for (uint32_t i = 0; i < s->n_inputs; i++) {
    const ox_tensor *t = c->bound[i] ? c->bound[i] : g->values[s->inputs[i]].init;
    if (!t && g->values[s->inputs[i]].type.optional) t = &nothing;
    if (!t) return ox_fail(OX_INVALID_ARGUMENT, "input '%s' is missing", g->values[s->inputs[i]].name);
    t = as_scalar(s, c, i, t);
    OX_TRY(check_input(s, i, t));
    bytes += t->bytes;
    c->bound[i] = t;
  }
  ox_session_count_inputs(s, bytes);
  for (uint32_t i = 0; i < s->n_inputs; i++) OX_TRY(align_input(c, i, c->bound[i]));
  for (size_t k = 0; n != s->n_inputs && k < n; k++) {
    ox_id v = ox_graph_find(g, names[k]);
    if ((v != OX_NONE && g->values[v].is_input) || ox_session_find_default(s, names[k]) < s->n_defaults) continue;
    if (v != OX_NONE && s->plan->consts[v])
      return ox_fail(OX_INVALID_ARGUMENT, "'%s' is a constant of the model and cannot be overridden", names[k]);
    return ox_fail(OX_INVALID_ARGUMENT, "the model has no input '%s'", names[k]);
  }
  return NULL;
}

/* ---- outputs ---- */

static ox_status *sink_tensor(ox_run_sink *sink, uint32_t index, uint32_t dtype, const ox_shape *shape, size_t bytes,
                              void **out_data) {
  ox_call *c = (ox_call *)((char *)sink - offsetof(ox_call, sink));
  const ox_graph *g = c->session->model->graph;
  bool lent = false;
  if (OX_UNLIKELY(c->grows != NULL)) OX_TRY(ox_state_lend(c->grows, index, shape, &lent, out_data));
  if (lent) return NULL;
  if (!c->out[index]) {
    size_t before = c->out_bytes[index];
    c->out_bytes[index] = bytes;
    OX_TRY(ox_status_note(
        ox_value_take(c->session->recycler, dtype, shape, bytes, before < bytes && before >= bytes / 2, &c->out[index]),
        "output '%s'", g->values[g->outputs[index]].name));
  }
  const ox_tensor *t = ox_value_get(c->out[index]);
  if (t->kind != OX_TENSOR || t->dtype != dtype || !ox_shape_equal(&t->shape, shape)) {
    char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "output '%s': the given value is %s%s, the result %s%s",
                   g->values[g->outputs[index]].name, ox_dtype_name(t->dtype), ox_shape_text(&t->shape, a),
                   ox_dtype_name(dtype), ox_shape_text(shape, b));
  }
  *out_data = t->data;
  return NULL;
}

static ox_status *sink_other(ox_run_sink *sink, uint32_t index, const ox_tensor *t) {
  ox_call *c = (ox_call *)((char *)sink - offsetof(ox_call, sink));
  if (c->out_given[index])
    return ox_fail(OX_INVALID_ARGUMENT, "output %u is not a tensor, so it cannot be written into a given value", index);
  const ox_graph *g = c->session->model->graph;
  ox_value_release(c->out[index]); /* a tensor, as it was to be before the kernel ran */
  c->out[index] = NULL;
  return ox_status_note(ox_value_take_copy(c->session->recycler, t, &c->out[index]), "output '%s'",
                        g->values[g->outputs[index]].name);
}

/* The index of the graph output called |name|; n_outputs if there is none. */
static uint32_t find_output(const ox_graph *g, const char *name) {
  ox_id v = ox_graph_find(g, name);
  return v != OX_NONE && g->values[v].is_output ? g->values[v].output_at : g->n_outputs;
}

static ox_status *bind_outputs(ox_session *s, ox_call *c, const char *const *names, ox_value **outputs, size_t n,
                               ox_memory *const *memories, bool devices) {
  const ox_graph *g = s->model->graph;
  if (!names && n > g->n_outputs)
    return ox_fail(OX_INVALID_ARGUMENT, "%zu outputs asked for, the model has %u", n, g->n_outputs);
  memset(c->out, 0, g->n_outputs * sizeof *c->out);
  memset(c->out_given, 0, g->n_outputs);
  for (size_t k = 0; k < n; k++) {
    uint32_t i = names ? find_output(g, names[k]) : (uint32_t)k;
    if (i == g->n_outputs) return ox_fail(OX_INVALID_ARGUMENT, "the model has no output '%s'", names[k]);
    ox_memory *m = outputs[k] ? ox_value_memory(outputs[k]) : memories ? memories[k] : NULL;
    if (OX_UNLIKELY(devices) && m)
      ox_call_place_output(c, i, m, outputs[k]);
    else if (outputs[k])
      c->out[i] = outputs[k], c->out_given[i] = true;
  }
  return NULL;
}

/* Moves outputs for devices there. */
static ox_status *deliver_to_devices(ox_session *s, ox_call *c, const char *const *names, size_t n) {
  const ox_graph *g = s->model->graph;
  for (size_t k = 0; k < n; k++) {
    uint32_t i = names ? find_output(g, names[k]) : (uint32_t)k;
    OX_TRY(ox_status_note(ox_call_deliver(c, i, &c->out[i]), "output '%s'", g->values[g->outputs[i]].name));
  }
  return NULL;
}

/* Requested outputs go to the caller, the others back to the recycler. */
static void deliver(ox_session *s, ox_call *c, const char *const *names, ox_value **outputs, size_t n) {
  const ox_graph *g = s->model->graph;
  for (size_t k = 0; k < n; k++) {
    uint32_t i = names ? find_output(g, names[k]) : (uint32_t)k;
    if (!c->out_given[i]) outputs[k] = ox_value_retain(c->out[i]);
  }
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (!c->out_given[i]) ox_value_release(c->out[i]);
}

/* ---- the run ---- */

static void set_env(ox_session *s, ox_call *c, const ox_run_opts *o) {
  const ox_session *whole = s->origin ? s->origin : s; /* the one that the caller knows */
  c->sink = (ox_run_sink){sink_tensor, sink_other};
  c->env = (ox_run_env){.alloc = s->alloc,
                        .pool = s->pool,
                        .max_threads = s->max_threads,
                        .run_memory = &c->run_memory,
                        .max_workspace = s->max_workspace,
                        .slabs = &s->slabs,
                        .profile = whole->profiling ? whole->profile : NULL};
  c->grows = NULL;
  if (!o) return;
  c->env.watch = ox_watch_start(&c->watch, o->cancel, o->timeout_ms);
}

/* |devices|: some values are to lie there. |*out_others|: contexts that are kept for other shapes. */
static ox_status *run_once(ox_session *s, const ox_run_opts *o, const ox_run_values *v, bool devices,
                           bool *out_others) {
  ox_call *c;
  ox_context *cx = NULL;
  ox_status *st = NULL;
  size_t refusals = ox_quota_refusals(s->quota);
  *out_others = false;
  st = take_call(s, &c);
  if (st) return ox_session_explain(s, refusals, st);
  ox_run_memory_reset(&c->run_memory);
  set_env(s, c, o);
  memset(c->out, 0, s->model->graph->n_outputs * sizeof *c->out);
  memset(c->out_given, 0, s->model->graph->n_outputs);
  if (OX_UNLIKELY(devices)) OX_TRY_TO(done, st, ox_call_devices_begin(c));
  OX_TRY_TO(done, st, bind_inputs(s, c, v->input_names, v->inputs, v->n_inputs, devices));
  OX_TRY_TO(done, st, bind_outputs(s, c, v->output_names, v->outputs, v->n_outputs, o->output_memories, devices));
  OX_TRY_TO(done, st, take_context(s, c, &cx));
  if (OX_UNLIKELY(o->state != NULL)) OX_TRY_TO(done, st, ox_state_begin(o->state, s, c, cx, devices));
  st = ox_context_run(cx, &c->env, c->bound, &c->sink);
  if (OX_UNLIKELY(c->grows != NULL)) ox_state_end(c->grows, cx);
  if (OX_UNLIKELY(devices) && !st) st = deliver_to_devices(s, c, v->output_names, v->n_outputs);
done:
  if (!st)
    deliver(s, c, v->output_names, v->outputs, v->n_outputs);
  else
    for (uint32_t i = 0; i < s->model->graph->n_outputs; i++)
      if (!c->out_given[i]) ox_value_release(c->out[i]);
  if (OX_UNLIKELY(st != NULL)) *out_others = has_idle(s);
  if (cx) give_context(s, cx);
  if (OX_UNLIKELY(devices) && c->devices) ox_call_devices_end(c);
  give_call(s, c);
  return st ? ox_session_explain(s, refusals, st) : NULL;
}

/* A device ran out of memory. Memory that is kept there for other shapes is freed, as on the host. */
static bool lacked_device_memory(const ox_session *s, const ox_status *st) {
  ox_code code = ox_status_code(st);
  bool devices = false;
  for (size_t i = 0; i < s->n_providers; i++) devices |= s->providers[i].api.n_memories > 0;
  return devices && (code == OX_LIMIT || code == OX_OUT_OF_MEMORY);
}

ox_status *ox_session_run_given(ox_session *s, const ox_run_opts *opts, const ox_run_values *v) {
  bool others, devices = ox_run_has_devices(opts, v->inputs, v->n_inputs, v->outputs, v->n_outputs);
  ox_session *whole = s;
  if (OX_UNLIKELY(s->fall_back) && ox_session_fallen(s)) whole = s = ox_session_fallen(s);
  if (OX_UNLIKELY(v->n_inputs > s->n_inputs && ox_session_overrides(s, v->input_names, v->inputs, v->n_inputs)))
    OX_TRY(ox_session_sibling(s, &s));
  ox_status *st = run_once(s, opts, v, devices, &others);
  if (OX_UNLIKELY(st != NULL) && others && lacked_device_memory(s, st)) {
    ox_status_free(st);
    ox_session_trim(s);
    st = run_once(s, opts, v, devices, &others);
  }
  if (OX_UNLIKELY(st != NULL) && ox_session_may_fall_back(whole, st)) {
    ox_session *backup;
    ox_status *second = ox_session_backup(whole, &backup);
    if (!second) second = ox_session_run_given(backup, opts, v);
    return ox_session_fell_back(whole, st, second);
  }
  if (st && opts->tag) st = ox_status_note(st, "run '%s'", opts->tag);
  return st;
}

ox_status *ox_session_run(ox_session *s, const ox_run_opts *opts, const char *const *input_names,
                          const ox_value *const *inputs, size_t n_inputs, const char *const *output_names,
                          ox_value **outputs, size_t n_outputs) {
  ox_run_opts o = {0};
  if (opts && opts->struct_size < offsetof(ox_run_opts, output_memories))
    return ox_fail(OX_INVALID_ARGUMENT, "ox_run_opts.struct_size is %zu: set it to sizeof(ox_run_opts)",
                   opts->struct_size);
  if (opts) memcpy(&o, opts, OX_MIN(opts->struct_size, sizeof o));
  ox_state_run_fn *run = o.state ? ox_state_run : ox_session_run_given;
  const ox_run_values v = {input_names, inputs, n_inputs, output_names, outputs, n_outputs};
  return run(s, &o, &v);
}

ox_status *ox_session_plan(ox_session *s, const ox_shape *shapes, size_t n, size_t *out_workspace) {
  ox_call *c;
  ox_context *cx = NULL;
  ox_status *st = NULL;
  size_t bytes = 0;
  *out_workspace = 0;
  if (n != s->n_inputs) return ox_fail(OX_INVALID_ARGUMENT, "%zu shapes for %u inputs", n, s->n_inputs);
  size_t refusals = ox_quota_refusals(s->quota);
  st = take_call(s, &c);
  if (st) return ox_session_explain(s, refusals, st);
  ox_run_memory_reset(&c->run_memory);
  set_env(s, c, NULL);
  for (uint32_t i = 0; i < s->n_inputs; i++) {
    const ox_type *t = &s->model->graph->values[s->inputs[i]].type;
    c->aligned[i] = (ox_tensor){.kind = t->kind, .dtype = t->dtype, .shape = shapes[i]};
    c->bound[i] = &c->aligned[i];
    if (t->kind == OX_TENSOR && !ox_shape_known(&shapes[i]))
      st = ox_fail(OX_INVALID_ARGUMENT, "shape %u is not concrete", i);
    if (!st) st = check_input(s, i, &c->aligned[i]);
    if (st) goto done;
    if (ox_tensor_size(&c->aligned[i])) bytes += c->aligned[i].bytes;
  }
  ox_session_count_inputs(s, bytes);
  OX_TRY_TO(done, st, take_context(s, c, &cx));
  *out_workspace = cx->slab_bytes;
  give_context(s, cx);
done:
  give_call(s, c);
  return ox_session_explain(s, refusals, st);
}
