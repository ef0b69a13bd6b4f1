/* SPDX-License-Identifier: Apache-2.0
 * exec/context.c - prepares a plan for a signature: infers every shape, computes what is already known, prepares the
 * kernels, plans what lies in the slab. */
#include "exec/context.h"

#include <string.h>

#include "base/macros.h"
#include "exec/bodies.h"
#include "exec/context_slab.h"
#include "exec/lifetimes.h"
#include "exec/placed.h"
#include "exec/step_run.h"
#include "exec/stretch.h"
#include "exec/waits.h"
#include "graph/trail.h"

/* Results of shape arithmetic are computed once per signature; anything larger is left to the run. */
enum { MOST_KNOWN_ELEMENTS = 4096 };

uint32_t ox_context_bound(const ox_plan *p, ox_id *out, uint32_t max) {
  const ox_graph *g = p->graph;
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (!p->consts[g->inputs[i]]) {
      if (n < max) out[n] = g->inputs[i];
      n++;
    }
  for (ox_id v = 0; v < g->n_values; v++)
    if (g->values[v].outer != OX_NONE && !p->consts[v]) {
      if (n < max) out[n] = v;
      n++;
    }
  return n;
}

/* ---- memory of steps ---- */

static ox_dynpool *pool_of(ox_context *c, const ox_step *s, uint32_t output) {
  ox_device_memory *m = ox_device_memory_find(&c->devices, c->slots[s->node->out[output]].memory);
  return m ? &m->dyn : &c->dyn;
}

/* The caller's memory for the output of the graph that |v| is. */
static void *take_from_sink(ox_context *c, ox_id v, const ox_tensor *t) {
  ox_slot *slot = &c->slots[v];
  uint32_t output = c->plan->graph->values[v].output_at;
  void *data = NULL;
  if (!c->sink_status) c->sink_status = c->sink->tensor(c->sink, output, t->dtype, &t->shape, t->bytes, &data);
  slot->output = output, slot->given = data;
  return data;
}

static void *give_output(ox_step *s, uint32_t i, const ox_tensor *t) {
  ox_context *c = s->owner;
  const ox_slot *slot = &c->slots[s->node->out[i]];
  if (slot->direct && c->sink && !slot->given && t->dtype != OX_STRING && t->bytes)
    return take_from_sink(c, s->node->out[i], t);
  if (OX_UNLIKELY(c->placed != NULL)) {
    void *theirs = ox_placed_output(c, s->node->out[i], t);
    if (theirs || c->sink_status) return theirs;
  }
  void *data = ox_dynpool_take(pool_of(c, s, i), t->bytes);
  if (OX_UNLIKELY(!data)) ox_workspace_refused(c->workspace, s, c->plan->graph->values[s->node->out[i]].name);
  return data;
}

static void *extend_run(ox_step *s, const void *p, size_t used, size_t more) {
  ox_context *c = s->owner;
  bool locked = c->in_stretch;
  if (locked) pthread_mutex_lock(&c->lock);
  void *data = ox_run_memory_extend(c->env->run_memory, c->workspace, p, used, more);
  if (OX_UNLIKELY(!data)) ox_workspace_refused(c->workspace, s, "memory of the kernel");
  if (locked) pthread_mutex_unlock(&c->lock);
  return data;
}

static void *give_run(ox_step *s, size_t bytes) {
  ox_context *c = s->owner;
  bool locked = c->in_stretch;
  if (locked) pthread_mutex_lock(&c->lock);
  void *data = ox_run_memory_take(c->env->run_memory, c->workspace, bytes);
  if (OX_UNLIKELY(!data)) ox_workspace_refused(c->workspace, s, "memory of the kernel");
  if (locked) pthread_mutex_unlock(&c->lock);
  return data;
}

static const ox_step_memory memory = {give_output, give_run, extend_run};

/* What is computed when the context is made stays with it. */
static void *give_lasting(ox_step *s, size_t bytes) { return ox_arena_alloc(&((ox_context *)s->owner)->arena, bytes); }
static const ox_step_memory lasting = {give_output, give_lasting, NULL};

/* ---- deciding how a step runs ---- */

static bool all_inputs_known(const ox_context *c, const ox_step *s) {
  const ox_node *n = s->node;
  bool shape_only = s->unit->def && (s->unit->def->traits & OX_SHAPE_ONLY);
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    const ox_slot *slot = &c->slots[n->in[i]];
    bool fixed = s->unit->fixed && s->unit->fixed[i];
    if (!(slot->known && (slot->t.data || !slot->t.bytes) && !fixed) && !(shape_only && ox_tensor_shaped(&slot->t)))
      return false;
  }
  return true;
}

/* Shapes are known, but an input whose content inference or prepare reads is not: wait for the run. */
static bool waits_for_content(const ox_context *c, const ox_step *s) {
  const ox_node *n = s->node;
  uint32_t bits = s->unit->def ? s->unit->def->value_in : 0;
  for (uint32_t i = 0; i < n->n_in && i < 32; i++)
    if ((bits >> i & 1) && n->in[i] != OX_NONE && !c->slots[n->in[i]].known) return true;
  return false;
}

static bool inputs_have_shapes(const ox_context *c, const ox_step *s, bool *out_all_tensors) {
  const ox_node *n = s->node;
  bool known = true;
  *out_all_tensors = true;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    known &= ox_tensor_shaped(&c->slots[n->in[i]].t);
    *out_all_tensors &= c->slots[n->in[i]].t.kind == OX_TENSOR;
  }
  return known;
}

static bool outputs_known(const ox_context *c, const ox_step *s, int64_t *out_elements) {
  const ox_node *n = s->node;
  *out_elements = 0;
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE) continue;
    const ox_tensor *t = &c->slots[n->out[i]].t;
    if (!ox_tensor_shaped(t) || !t->dtype) return false;
    *out_elements += ox_shape_count(&t->shape);
  }
  return true;
}

/* Computes a step whose inputs are known now; its outputs stay known. */
static ox_status *evaluate(ox_context *c, ox_step *s) {
  const ox_node *n = s->node;
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE) continue;
    ox_slot *slot = &c->slots[n->out[i]];
    slot->t.data = ox_arena_alloc(&c->arena, slot->t.bytes);
    if (!slot->t.data) return ox_oom();
    slot->home = OX_HOME_KNOWN, slot->known = true;
  }
  s->prep = &c->arena;
  OX_TRY(ox_step_prepare(s));
  char *scratch = ox_arena_alloc(&c->arena, s->c.scratch_per_worker + 1);
  s->c.shared = ox_arena_alloc(&c->arena, s->c.shared_bytes + 1);
  if (!scratch || !s->c.shared) return ox_oom();
  s->mode = OX_MODE_STATIC, s->memory = &lasting;
  const ox_step_crew alone = {.max_threads = 1, .watch = c->env->watch};
  OX_TRY(ox_step_run(s, &alone, scratch, 0));
  s->crew = &c->crew;
  s->mode = OX_MODE_DONE;
  return NULL;
}

static ox_status *settle_view(ox_context *c, ox_step *s) {
  const ox_node *n = s->node;
  const ox_slot *in = &c->slots[n->in[0]];
  ox_slot *out = &c->slots[n->out[0]];
  if (in->t.bytes != out->t.bytes)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: input has %zu bytes, output %zu", n->op, in->t.bytes, out->t.bytes);
  if (in->known && (in->t.data || !in->t.bytes)) {
    out->t.data = in->t.data, out->known = true, out->home = in->home;
    s->mode = OX_MODE_DONE;
  } else {
    s->mode = OX_MODE_VIEW, out->root = in->root, out->home = c->slots[in->root].home;
  }
  return NULL;
}

static void set_homes(ox_context *c, const ox_step *s, ox_home home) {
  const ox_node *n = s->node;
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) c->slots[n->out[i]].home = home;
}

/* What only the run decides must not be believed before: nothing downstream may be planned on a guessed shape. */
static void forget_shapes(ox_context *c, const ox_step *s) {
  const ox_node *n = s->node;
  for (uint32_t i = s->shaped ? 1 : 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) c->slots[n->out[i]].t.shape = ox_shape_unknown();
}

/* What inference may read before the run. */
static ox_status *infer_now(ox_context *c, ox_step *s) {
  bool *content = ox_arena_alloc(&c->arena, s->c.n_in);
  if (!content) return ox_oom();
  for (uint32_t i = 0; i < s->c.n_in; i++) content[i] = s->c.in[i] && c->slots[s->node->in[i]].known;
  return ox_step_infer(s, content, &c->arena);
}

/* The host can compute it now: all is in its own memory, and the result is small. */
static bool computable(const ox_context *c, const ox_step *s, int64_t elements) {
  bool random = s->unit->def && (s->unit->def->traits & OX_NONDETERMINISTIC);
  bool device = s->unit->owner && (s->unit->owner->api.n_memories || s->unit->owner->api.stream_create);
  return s->unit->kind == OX_UNIT_KERNEL && !random && !device && elements <= MOST_KNOWN_ELEMENTS && all_inputs_known(c, s);
}

/* What inference found out about a program's outputs in host memory is known to all that read them. The program writes
 * the same there. */
static void keep_made(ox_context *c, const ox_step *s) {
  const ox_node *n = s->node;
  if (s->unit->kind != OX_UNIT_PROGRAM || !s->unit->owner->api.part_out_memory) return;
  for (uint32_t i = 0; i < n->n_out; i++) {
    ox_slot *slot = n->out[i] == OX_NONE ? NULL : &c->slots[n->out[i]];
    const ox_tensor *t = s->made[i];
    if (!slot || !t || slot->memory || t->bytes != slot->t.bytes || (t->bytes && !t->data)) continue;
    slot->t.data = t->data, slot->home = OX_HOME_KNOWN, slot->known = true;
  }
}

/* The operator says that content is not needed for the first output's shape, and it was not. */
static bool out0_shaped(const ox_step *s) {
  const ox_tensor *t = s->c.n_out ? s->c.out[0] : NULL;
  return t && s->unit->kind == OX_UNIT_KERNEL && s->unit->def && (s->unit->def->traits & OX_OUT0_SHAPED) &&
         ox_tensor_shaped(t) && t->dtype;
}

/* Its outputs are what the run makes of them. */
static void leave_to_run(ox_context *c, ox_step *s, ox_mode mode) {
  s->mode = mode;
  set_homes(c, s, OX_HOME_DYNAMIC);
  forget_shapes(c, s);
}

static ox_status *settle(ox_context *c, ox_step *s) {
  const ox_unit *u = s->unit;
  bool all_tensors, view = u->kind == OX_UNIT_VIEW;
  int64_t elements = 0;
  if (u->kind == OX_UNIT_REFUSED) {
    leave_to_run(c, s, OX_MODE_DYNAMIC);
    return NULL;
  }
  bool shaped = inputs_have_shapes(c, s, &all_tensors);
  OX_TRY(infer_now(c, s));
  if (u->kind == OX_UNIT_CONTROL) {
    leave_to_run(c, s, OX_MODE_CONTROL);
    return ox_control_create(c, s);
  }
  if (all_tensors && shaped && outputs_known(c, s, &elements) && !waits_for_content(c, s)) {
    if (view) return settle_view(c, s);
    if (computable(c, s, elements)) return evaluate(c, s);
    s->mode = OX_MODE_STATIC;
    set_homes(c, s, OX_HOME_SLAB);
    keep_made(c, s);
    s->prep = &c->arena;
    return ox_step_prepare(s);
  }
  s->shaped = all_tensors && shaped && out0_shaped(s);
  leave_to_run(c, s, OX_MODE_DYNAMIC);
  if (view) {
    ox_id in = s->node->in[0], out = s->node->out[0];
    c->slots[out].root = c->slots[in].root, c->slots[out].home = c->slots[c->slots[in].root].home;
  }
  return NULL;
}

/* ---- building ---- */

static ox_status *make_step(ox_context *c, ox_step *s, const ox_unit *u) {
  const ox_node *n = ox_graph_node(c->plan->graph, u->node);
  const ox_tensor **in = OX_ARENA_ARRAY(&c->arena, const ox_tensor *, n->n_in);
  ox_tensor **out = OX_ARENA_ARRAY(&c->arena, ox_tensor *, n->n_out);
  if (!in || !out) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    in[i] = u->fixed && u->fixed[i] ? u->fixed[i] : &c->slots[n->in[i]].t;
  }
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) out[i] = &c->slots[n->out[i]].t;
  OX_TRY(ox_step_init(s, c->plan->graph, u, in, out, &c->arena));
  s->memory = &memory, s->owner = c, s->crew = &c->crew; /* preparing may take long, too */
  s->c.stream = ox_device_stream(&c->devices, u->owner);
  return NULL;
}

static ox_status *bind_types(ox_context *c, const ox_type *key, const ox_tensor *const *known) {
  const ox_plan *p = c->plan;
  c->n_key = ox_context_bound(p, NULL, 0);
  ox_id *bound = c->bound = OX_ARENA_ARRAY(&c->arena, ox_id, c->n_key);
  c->key = ox_arena_copy(&c->arena, key, c->n_key * sizeof *key);
  if (!bound || !c->key) return ox_oom();
  ox_context_bound(p, bound, c->n_key);
  for (ox_id v = 0; v < p->graph->n_values; v++) {
    ox_slot *slot = &c->slots[v];
    slot->root = v, slot->memory = p->graph->values[v].memory;
    if (!p->consts[v]) continue;
    slot->t = *p->consts[v], slot->known = true, slot->home = OX_HOME_CONST;
  }
  for (uint32_t i = 0; i < c->n_key; i++) {
    ox_slot *slot = &c->slots[bound[i]];
    slot->home = OX_HOME_BOUND;
    slot->t = (ox_tensor){.kind = key[i].kind, .dtype = key[i].dtype, .shape = key[i].shape};
    if (ox_tensor_shaped(&slot->t)) (void)ox_tensor_size(&slot->t);
    if (known && known[i]) slot->t = *known[i], slot->known = true;
  }
  return NULL;
}

/* What the steps are to pack in runs. */
static void find_passing(ox_context *c) {
  ox_passing_init(&c->passing, c->env->alloc);
  for (uint32_t i = 0; i < c->n_steps; i++)
    if (c->steps[i].mode == OX_MODE_STATIC) ox_passing_add(&c->passing, c->steps[i].late);
}

static const ox_shape *shape_of(const void *context, ox_id v) { return &((const ox_context *)context)->slots[v].t.shape; }

ox_status *ox_context_note(const ox_context *c, const ox_unit *u, ox_status *st) {
  if (OX_LIKELY(!st)) return NULL;
  return ox_unit_note(ox_trail_add(st, c->plan->graph, u->node, shape_of, c), c->plan, u);
}

static ox_status *build(ox_context *c, const ox_type *key, const ox_tensor *const *known, bool direct) {
  const ox_plan *p = c->plan;
  c->slots = OX_ARENA_ARRAY(&c->arena, ox_slot, p->graph->n_values + 1);
  c->steps = OX_ARENA_ARRAY(&c->arena, ox_step, p->n_units + 1);
  if (!c->slots || !c->steps) return ox_oom();
  OX_TRY(ox_devices_init(&c->devices, p, &c->arena, c->env->alloc));
  OX_TRY(bind_types(c, key, known));
  for (uint32_t i = 0; i < p->n_units; i++) {
    ox_step *s = &c->steps[c->n_steps];
    c->n_steps++;
    OX_TRY(ox_watch_check(c->env->watch));
    OX_TRY(make_step(c, s, &p->units[i]));
    OX_TRY(ox_context_note(c, s->unit, settle(c, s)));
  }
  find_passing(c);
  OX_TRY(ox_context_add_waits(c));
  OX_TRY(ox_lifetimes_plan(c, direct));
  OX_TRY(ox_stretches_find(c));
  OX_TRY(ox_watch_check(c->env->watch)); /* what a kernel prepared may be half done */
  OX_TRY(ox_context_reserve(c));
  return ox_stretches_link(c);
}

ox_status *ox_context_create(const ox_plan *p, ox_run_env *env, const ox_type *key, const ox_tensor *const *known,
                             bool direct, ox_context **out_context) {
  *out_context = NULL;
  ox_context *c = ox_new_zeroed(env->alloc, sizeof *c);
  if (!c) return ox_oom();
  c->plan = p, c->env = env;
  c->crew = (ox_step_crew){env->pool, env->max_threads, env->watch, NULL, NULL}; /* packs weights */
  c->own_workspace = (ox_workspace){.limit = env->max_workspace, .trim = ox_context_trim, .ctx = c};
  c->workspace = env->workspace ? env->workspace : &c->own_workspace;
  c->slabs = env->workspace ? NULL : env->slabs;
  pthread_mutex_init(&c->lock, NULL);
  ox_arena_init(&c->arena, env->alloc);
  ox_dynpool_init(&c->dyn, env->alloc, c->workspace);
  ox_status *st = build(c, key, known, direct);
  if (st) ox_context_destroy(c);
  else *out_context = c;
  return st;
}

void ox_context_destroy(ox_context *c) {
  if (!c) return;
  ox_alloc alloc = c->arena.alloc;
  ox_status_free(ox_devices_sync(&c->devices));
  ox_context_release_events(c);
  ox_stretches_release(c);
  for (uint32_t i = 0; i < c->n_steps; i++) {
    ox_control_destroy(c->steps[i].control);
    ox_step_deinit(&c->steps[i]);
  }
  ox_context_give_slab(c);
  ox_devices_deinit(&c->devices);
  ox_dynpool_deinit(&c->dyn);
  pthread_mutex_destroy(&c->lock);
  ox_arena_deinit(&c->arena);
  ox_delete(alloc, c, sizeof *c);
}

void ox_context_trim(void *context) {
  ox_context *c = context;
  ox_dynpool_trim(&c->dyn);
  ox_run_memory_trim(c->env->run_memory);
  for (uint32_t i = 0; i < c->n_steps; i++)
    if (c->steps[i].control) ox_control_trim(c->steps[i].control);
}
