/* SPDX-License-Identifier: Apache-2.0
 * exec/context.c - prepares a plan for a signature: infers every shape, computes what is already known, prepares the
 * kernels, plans the slab. */
#include "exec/context.h"

#include <string.h>

#include "base/macros.h"
#include "exec/bodies.h"
#include "exec/lifetimes.h"

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

bool ox_tensor_size(ox_tensor *t) {
  int64_t n = ox_shape_count(&t->shape);
  return n >= 0 && ox_dtype_bytes(t->dtype, n, &t->bytes) && t->bytes <= SIZE_MAX / 8;
}

/* ---- inference of one step ---- */

static bool tensor_known_shape(const ox_tensor *t) { return t->kind == OX_TENSOR && ox_shape_known(&t->shape); }

/* The type of an input as inference sees it: graph knowledge (kinds of elements), the slot's shape and dtype. */
static void type_of_slot(const ox_context *c, ox_id v, ox_type *out) {
  const ox_tensor *t = &c->slots[v].t;
  *out = c->plan->graph->values[v].type;
  out->kind = t->kind == OX_NONE_VALUE ? out->kind : t->kind;
  if (t->dtype) out->dtype = t->dtype;
  out->shape = t->shape;
}

ox_status *ox_step_infer(ox_context *c, ox_step *s, bool at_run) {
  const ox_unit *u = s->unit;
  const ox_graph *g = c->plan->graph;
  const ox_node *n = ox_graph_node(g, u->node);
  const ox_tensor **data = (const ox_tensor **)(void *)(s->types + n->n_in);
  ox_type *out = s->type_values + n->n_in;
  for (uint32_t i = 0; i < n->n_in; i++) {
    s->types[i] = NULL, data[i] = NULL;
    if (n->in[i] == OX_NONE) continue;
    const ox_slot *slot = &c->slots[n->in[i]];
    type_of_slot(c, n->in[i], &s->type_values[i]);
    s->types[i] = &s->type_values[i];
    bool content = at_run ? slot->t.data != NULL || slot->t.bytes == 0 : slot->known;
    if (content && slot->t.kind != OX_NONE_VALUE) data[i] = &slot->t;
  }
  for (uint32_t i = 0; i < n->n_out; i++) out[i] = ox_type_unknown();
  if (u->def) {
    ox_node_call call = {.schema = u->def, .node = n, .version = u->op_version, .attrs = u->attrs, .in = s->types,
                         .in_data = data, .out = out, .arena = at_run ? c->env->run_arena : &c->arena};
    OX_TRY(ox_node_infer(&call));
  }
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE) continue;
    ox_tensor *t = &c->slots[n->out[i]].t;
    const ox_type *declared = &g->values[n->out[i]].type;
    t->kind = out[i].kind, t->shape = out[i].shape;
    t->dtype = out[i].dtype ? out[i].dtype : declared->dtype;
    if (out[i].kind == OX_TENSOR && out[i].dtype == OX_UNDEFINED && declared->kind != OX_TENSOR) t->kind = declared->kind;
    t->data = NULL, t->bytes = 0;
    for (int k = 0; k < t->shape.rank; k++)
      if (t->shape.dim[k] < -1) t->shape.dim[k] = -1;
    if (tensor_known_shape(t) && !ox_tensor_size(t)) {
      char text[OX_SHAPE_TEXT];
      return ox_fail(OX_LIMIT, "output %u of type %s%s is too large or of unknown type", i, ox_dtype_name(t->dtype),
                     ox_shape_text(&t->shape, text));
    }
  }
  return NULL;
}

/* ---- deciding how a step runs ---- */

static bool all_inputs_known(const ox_context *c, const ox_step *s) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  bool shape_only = s->unit->def && (s->unit->def->traits & OX_SHAPE_ONLY);
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    const ox_slot *slot = &c->slots[n->in[i]];
    bool consumed = s->unit->consumed && s->unit->consumed[i];
    if (!(slot->known && (slot->t.data || !slot->t.bytes) && !consumed) && !(shape_only && tensor_known_shape(&slot->t)))
      return false;
  }
  return true;
}

/* Shapes are known, but an input whose content inference or prepare reads is not: wait for the run. */
static bool waits_for_content(const ox_context *c, const ox_step *s) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  uint32_t bits = s->unit->def ? s->unit->def->value_in : 0;
  for (uint32_t i = 0; i < n->n_in && i < 32; i++)
    if ((bits >> i & 1) && n->in[i] != OX_NONE && !c->slots[n->in[i]].known) return true;
  return false;
}

static bool inputs_have_shapes(const ox_context *c, const ox_step *s, bool *out_all_tensors) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  bool known = true;
  *out_all_tensors = true;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    known &= tensor_known_shape(&c->slots[n->in[i]].t);
    *out_all_tensors &= c->slots[n->in[i]].t.kind == OX_TENSOR;
  }
  return known;
}

static bool outputs_known(const ox_context *c, const ox_step *s, int64_t *out_elements) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  *out_elements = 0;
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE) continue;
    const ox_tensor *t = &c->slots[n->out[i]].t;
    if (!tensor_known_shape(t) || !t->dtype) return false;
    *out_elements += ox_shape_count(&t->shape);
  }
  return true;
}

static void reset_ctx(ox_step *s) {
  s->c.n_stages = 1, s->c.n_tiles[0] = 1;
  s->c.scratch_per_worker = s->c.shared_bytes = 0;
  s->c.prep = NULL, s->c.shared = NULL;
}

/* Computes a step whose inputs are known now; its outputs stay known. */
static ox_status *evaluate(ox_context *c, ox_step *s) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE) continue;
    ox_slot *slot = &c->slots[n->out[i]];
    slot->t.data = ox_arena_alloc(&c->arena, slot->t.bytes);
    if (!slot->t.data) return ox_oom();
    slot->home = OX_HOME_KNOWN, slot->known = true;
  }
  reset_ctx(s);
  OX_TRY(s->unit->kernel->api->prepare(s->unit->kernel, &s->c));
  char *scratch = ox_arena_alloc(&c->arena, s->c.scratch_per_worker + 1);
  s->c.shared = ox_arena_alloc(&c->arena, s->c.shared_bytes + 1);
  if (!scratch || !s->c.shared) return ox_oom();
  s->mode = OX_MODE_DONE;
  return ox_step_run(c, s, false, scratch);
}

static ox_status *settle_view(ox_context *c, ox_step *s) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
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
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) c->slots[n->out[i]].home = home;
}

/* What only the run decides must not be believed before: nothing downstream may be planned on a guessed shape. */
static void forget_shapes(ox_context *c, const ox_step *s) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) c->slots[n->out[i]].t.shape = ox_shape_unknown();
}

static ox_status *settle(ox_context *c, ox_step *s) {
  const ox_unit *u = s->unit;
  bool all_tensors;
  int64_t elements = 0;
  if (u->n_bodies) {
    s->mode = OX_MODE_CONTROL;
    OX_TRY(ox_step_infer(c, s, false));
    set_homes(c, s, OX_HOME_DYNAMIC);
    forget_shapes(c, s);
    return ox_control_create(c, s);
  }
  bool shaped = inputs_have_shapes(c, s, &all_tensors);
  OX_TRY(ox_step_infer(c, s, false));
  bool ready = all_tensors && shaped && outputs_known(c, s, &elements);
  bool view = u->def && (u->def->traits & OX_VIEW);
  if (ready && view && !waits_for_content(c, s)) return settle_view(c, s);
  s->mode = OX_MODE_DYNAMIC;
  set_homes(c, s, OX_HOME_DYNAMIC);
  if (view) {
    const ox_node *n = ox_graph_node(c->plan->graph, u->node);
    c->slots[n->out[0]].root = c->slots[n->in[0]].root, c->slots[n->out[0]].home = c->slots[c->slots[n->in[0]].root].home;
    forget_shapes(c, s);
    return NULL;
  }
  bool random = u->def && (u->def->traits & OX_NONDETERMINISTIC);
  if (ready && !random && elements <= MOST_KNOWN_ELEMENTS && all_inputs_known(c, s)) return evaluate(c, s);
  if (!ready || waits_for_content(c, s)) {
    forget_shapes(c, s);
    return NULL;
  }
  s->mode = OX_MODE_STATIC;
  set_homes(c, s, OX_HOME_SLAB);
  reset_ctx(s);
  return u->kernel->api->prepare(u->kernel, &s->c);
}

/* ---- building ---- */

static ox_status *make_step(ox_context *c, ox_step *s, const ox_unit *u) {
  const ox_node *n = ox_graph_node(c->plan->graph, u->node);
  const ox_tensor **in = OX_ARENA_ARRAY(&c->arena, const ox_tensor *, n->n_in);
  ox_tensor **out = OX_ARENA_ARRAY(&c->arena, ox_tensor *, n->n_out);
  s->types = OX_ARENA_ARRAY(&c->arena, const ox_type *, 2 * (size_t)n->n_in);
  s->type_values = OX_ARENA_ARRAY(&c->arena, ox_type, (size_t)n->n_in + n->n_out);
  if (!in || !out || !s->types || !s->type_values) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    in[i] = u->consumed && u->consumed[i] ? u->consumed[i] : &c->slots[n->in[i]].t;
  }
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) out[i] = &c->slots[n->out[i]].t;
  s->unit = u;
  s->frame = (ox_frame){c, s};
  s->c = (ox_kernel_ctx){.struct_size = sizeof s->c, .n_in = n->n_in, .n_out = n->n_out, .in = in, .out = out,
                         .attrs = u->attrs, .op_version = u->op_version, .frame = &s->frame, .host = &ox_context_host};
  ox_arena_init(&s->prep, c->env->alloc);
  return NULL;
}

static ox_status *bind_types(ox_context *c, const ox_type *key, const ox_tensor *const *known) {
  const ox_plan *p = c->plan;
  c->n_key = ox_context_bound(p, NULL, 0);
  ox_id *bound = OX_ARENA_ARRAY(&c->arena, ox_id, c->n_key);
  c->key = ox_arena_copy(&c->arena, key, c->n_key * sizeof *key);
  if (!bound || !c->key) return ox_oom();
  ox_context_bound(p, bound, c->n_key);
  for (ox_id v = 0; v < p->graph->n_values; v++) {
    ox_slot *slot = &c->slots[v];
    slot->root = v;
    if (!p->consts[v]) continue;
    slot->t = *p->consts[v], slot->known = true, slot->home = OX_HOME_CONST;
  }
  for (uint32_t i = 0; i < c->n_key; i++) {
    ox_slot *slot = &c->slots[bound[i]];
    slot->home = OX_HOME_BOUND;
    slot->t = (ox_tensor){.kind = key[i].kind, .dtype = key[i].dtype, .shape = key[i].shape};
    if (tensor_known_shape(&slot->t)) (void)ox_tensor_size(&slot->t);
    if (known && known[i]) slot->t = *known[i], slot->known = true;
  }
  return NULL;
}

static ox_status *reserve(ox_context *c) {
  size_t shared = 0, scratch = 0, workers = c->env->max_threads, total = 0, all_scratch;
  for (uint32_t i = 0; i < c->n_steps; i++) {
    if (c->steps[i].mode != OX_MODE_STATIC) continue;
    shared = OX_MAX(shared, c->steps[i].c.shared_bytes);
    scratch = OX_MAX(scratch, c->steps[i].c.scratch_per_worker);
  }
  scratch = scratch ? OX_ROUND_UP(scratch + OX_PAD_BYTES, (size_t)OX_ALIGN_BYTES) : 0;
  shared = shared ? OX_ROUND_UP(shared + OX_PAD_BYTES, (size_t)OX_ALIGN_BYTES) : 0;
  if (__builtin_mul_overflow(scratch, workers, &all_scratch) || __builtin_add_overflow(c->values_bytes, shared, &total) ||
      __builtin_add_overflow(total, all_scratch, &total))
    return ox_fail(OX_LIMIT, "workspace is larger than the address space");
  if (c->env->max_workspace && total > c->env->max_workspace)
    return ox_fail(OX_LIMIT, "workspace of %zu bytes exceeds the limit of %zu", total, c->env->max_workspace);
  c->slab_bytes = total, c->scratch_bytes = scratch;
  if (!total) return NULL;
  c->slab = ox_new_aligned(c->env->alloc, total, OX_ALIGN_BYTES);
  if (!c->slab) return ox_fail(OX_OUT_OF_MEMORY, "no memory for a workspace of %zu bytes", total);
  c->shared = c->slab + c->values_bytes, c->scratch = c->shared + shared;
  return NULL;
}

/* Fixed addresses: slab values, and everything that looks at them. */
static void place_values(ox_context *c) {
  for (ox_id v = 0; v < c->plan->graph->n_values; v++) {
    ox_slot *slot = &c->slots[v];
    if (slot->home == OX_HOME_SLAB) slot->t.data = c->slab + c->slots[slot->root].offset;
  }
  for (uint32_t i = 0; i < c->n_steps; i++)
    if (c->steps[i].mode == OX_MODE_STATIC) c->steps[i].c.shared = c->shared;
}

static ox_status *build(ox_context *c, const ox_type *key, const ox_tensor *const *known, bool direct) {
  const ox_plan *p = c->plan;
  c->slots = OX_ARENA_ARRAY(&c->arena, ox_slot, p->graph->n_values + 1);
  c->steps = OX_ARENA_ARRAY(&c->arena, ox_step, p->n_units + 1);
  if (!c->slots || !c->steps) return ox_oom();
  OX_TRY(bind_types(c, key, known));
  for (uint32_t i = 0; i < p->n_units; i++) {
    ox_step *s = &c->steps[c->n_steps];
    OX_TRY(make_step(c, s, &p->units[i]));
    c->n_steps++;
    OX_TRY(ox_unit_note(settle(c, s), p, s->unit));
  }
  OX_TRY(ox_lifetimes_plan(c, direct));
  OX_TRY(reserve(c));
  place_values(c);
  return NULL;
}

ox_status *ox_context_create(const ox_plan *p, ox_run_env *env, const ox_type *key, const ox_tensor *const *known,
                             bool direct, ox_context **out_context) {
  *out_context = NULL;
  ox_context *c = ox_new_zeroed(env->alloc, sizeof *c);
  if (!c) return ox_oom();
  c->plan = p, c->env = env;
  ox_arena_init(&c->arena, env->alloc);
  ox_dynpool_init(&c->dyn, env->alloc);
  ox_status *st = build(c, key, known, direct);
  if (st) ox_context_destroy(c);
  else *out_context = c;
  return st;
}

void ox_context_destroy(ox_context *c) {
  if (!c) return;
  ox_alloc alloc = c->arena.alloc;
  for (uint32_t i = 0; i < c->n_steps; i++) {
    ox_control_destroy(c->steps[i].control);
    ox_arena_deinit(&c->steps[i].prep);
  }
  ox_delete(alloc, c->slab, c->slab_bytes);
  ox_dynpool_deinit(&c->dyn);
  ox_arena_deinit(&c->arena);
  ox_delete(alloc, c, sizeof *c);
}

bool ox_context_fits(const ox_context *c, const ox_type *key, uint32_t n_key) {
  if (n_key != c->n_key) return false;
  for (uint32_t i = 0; i < n_key; i++) {
    const ox_type *a = &c->key[i], *b = &key[i];
    if (a->kind != b->kind || a->dtype != b->dtype || (a->kind == OX_TENSOR && !ox_shape_equal(&a->shape, &b->shape)))
      return false;
  }
  return true;
}
