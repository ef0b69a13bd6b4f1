/* SPDX-License-Identifier: Apache-2.0
 * exec/bodies.c - bodies: binding, contexts per signature, running. */
#include "exec/bodies.h"

#include "base/macros.h"
#include "exec/context.h"
#include "exec/placed.h"
#include "graph/control.h"
#include "plan/transfers.h"

/* Contexts kept per body before one is made that takes any shape. */
enum { BODY_CONTEXTS = 4, MOST_DEPTH = 64 };

typedef struct body {
  ox_body face; /* args: per bound value; the operator sets the first n_inputs */
  const ox_plan *plan;
  ox_id *bound; /* ox_context_bound; the first n_inputs are graph inputs */
  uint32_t n_bound;
  const ox_tensor **known; /* per bound: content that never changes, or NULL */
  ox_type *key;
  ox_context *kept[BODY_CONTEXTS];
  uint32_t n_kept;
  ox_context *generic; /* for shapes that keep changing */
  ox_context *current; /* of the last run: where its outputs are */
  ox_placed placed;    /* what it reads of the caller's on devices; |in|: per bound value */
  ox_placed_value *in;
  uint64_t turn;       /* the run of the top-level context (ox_workspace.turn) that entered it last */
} body;

struct ox_control {
  const ox_control_def *def;
  ox_context *context;
  ox_step *step;
  body *bodies;
  uint32_t n_bodies;
};

static bool has_memories(const ox_plan *p) {
  for (size_t i = 0; i < p->n_providers; i++)
    if (p->providers[i].api.n_memories) return true;
  return false;
}

static ox_status *create_body(ox_context *c, body *b, const ox_plan *plan) {
  b->plan = plan, b->face.graph = plan->graph;
  b->n_bound = ox_context_bound(plan, NULL, 0);
  b->bound = OX_ARENA_ARRAY(&c->arena, ox_id, b->n_bound);
  b->known = OX_ARENA_ARRAY(&c->arena, const ox_tensor *, b->n_bound);
  b->face.args = OX_ARENA_ARRAY(&c->arena, const ox_tensor *, b->n_bound);
  b->key = OX_ARENA_ARRAY(&c->arena, ox_type, b->n_bound);
  if (!b->bound || !b->known || !b->face.args || !b->key) return ox_oom();
  if (has_memories(c->plan)) {
    b->in = OX_ARENA_ARRAY(&c->arena, ox_placed_value, b->n_bound + 1);
    ox_placed_value *out = OX_ARENA_ARRAY(&c->arena, ox_placed_value, plan->graph->n_outputs + 1);
    if (!b->in || !out) return ox_oom();
    b->placed = (ox_placed){.in = b->in, .out = out};
  }
  ox_context_bound(plan, b->bound, b->n_bound);
  for (uint32_t i = 0; i < b->n_bound; i++) {
    ox_id outer = plan->graph->values[b->bound[i]].outer;
    if (outer == OX_NONE) {
      b->face.n_inputs = i + 1;
      continue;
    }
    const ox_slot *slot = &c->slots[outer];
    b->face.args[i] = &slot->t;
    if (slot->known && (slot->t.data || !slot->t.bytes)) b->known[i] = &slot->t;
  }
  return NULL;
}

ox_status *ox_control_create(ox_context *c, ox_step *s) {
  const ox_unit *u = s->unit;
  const ox_node *n = ox_graph_node(c->plan->graph, u->node);
  if (!u->def || !u->def->control)
    return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: %s with a body", n->op);
  ox_control *k = OX_ARENA_NEW(&c->arena, ox_control);
  if (!k) return ox_oom();
  k->def = u->def->control, k->context = c, k->step = s;
  k->bodies = OX_ARENA_ARRAY(&c->arena, body, u->n_bodies);
  if (!k->bodies) return ox_oom();
  s->control = k, k->n_bodies = u->n_bodies;
  s->c.attrs = u->attrs, s->c.op_version = u->op_version; /* what a provider's kernel sets for itself */
  for (uint32_t i = 0; i < u->n_bodies; i++) OX_TRY(create_body(c, &k->bodies[i], u->bodies[i]));
  return NULL;
}

void ox_control_destroy(ox_control *control) {
  for (uint32_t i = 0; control && i < control->n_bodies; i++) {
    body *b = &control->bodies[i];
    for (uint32_t k = 0; k < b->n_kept; k++) ox_context_destroy(b->kept[k]);
    ox_context_destroy(b->generic);
  }
}

/* ---- short of memory ---- */

/* Of a body that the run has entered, the context with its latest outputs stays. */
void ox_control_trim(ox_control *control) {
  for (uint32_t i = 0; i < control->n_bodies; i++) {
    body *b = &control->bodies[i];
    ox_context *stays = b->turn == control->context->workspace->turn ? b->current : NULL;
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->n_kept; k++) {
      if (b->kept[k] == stays) b->kept[n++] = b->kept[k];
      else ox_context_destroy(b->kept[k]);
    }
    b->n_kept = n, b->current = stays;
    if (b->generic != stays) {
      ox_context_destroy(b->generic);
      b->generic = NULL;
    }
    if (stays) ox_context_trim(stays);
  }
}

/* ---- running ---- */

static void set_key(body *b) {
  for (uint32_t i = 0; i < b->n_bound; i++) {
    const ox_tensor *t = b->face.args[i];
    b->key[i] = b->plan->graph->values[b->bound[i]].type;
    b->key[i].kind = t->kind; /* an empty optional has no shape that a step could be prepared for */
    b->key[i].dtype = t->dtype, b->key[i].shape = t->shape;
  }
}

/* The shape of argument |i| has changed from one kept context to another, or was not counted on before. */
static bool varies(const body *b, uint32_t i) {
  const ox_shape *now = &b->key[i].shape;
  if (b->generic && !ox_shape_equal(&b->generic->key[i].shape, now)) return true;
  for (uint32_t k = 0; k < b->n_kept; k++)
    if (!ox_shape_equal(&b->kept[k]->key[i].shape, now)) return true;
  return false;
}

/* In the place of the one there is, which did not fit. */
static ox_status *make_generic(ox_context *c, body *b) {
  for (uint32_t i = 0; i < b->n_bound; i++)
    if (varies(b, i)) b->key[i].shape = ox_shape_unknown();
  if (b->current == b->generic) b->current = NULL; /* what is short of memory meanwhile looks at it */
  ox_context_destroy(b->generic);
  b->generic = NULL;
  return ox_context_create(b->plan, c->env, b->key, b->known, false, &b->generic);
}

/* The context was made for such arguments: asked in each iteration, so it looks at them where they are. */
static bool fits(const body *b, const ox_context *c) {
  for (uint32_t i = 0; i < b->n_bound; i++) {
    const ox_tensor *t = b->face.args[i];
    const ox_type *key = &c->key[i];
    if (key->kind != t->kind || key->dtype != t->dtype) return false;
    bool any = c == b->generic && key->shape.rank < 0;
    if (!any && t->kind == OX_TENSOR && !ox_shape_equal(&key->shape, &t->shape)) return false;
  }
  return true;
}

static ox_status *choose(ox_context *c, body *b) {
  if (b->current && b->current != b->generic && fits(b, b->current)) return NULL;
  for (uint32_t i = 0; i < b->n_kept; i++)
    if (fits(b, b->kept[i])) {
      b->current = b->kept[i];
      return NULL;
    }
  if (b->n_kept == BODY_CONTEXTS && b->generic && fits(b, b->generic)) {
    b->current = b->generic;
    return NULL;
  }
  set_key(b);
  if (b->n_kept < BODY_CONTEXTS) {
    ox_context *made;
    OX_TRY(ox_context_create(b->plan, c->env, b->key, b->known, false, &made));
    b->current = b->kept[b->n_kept++] = made;
    return NULL;
  }
  OX_TRY(make_generic(c, b));
  b->current = b->generic;
  return NULL;
}

/* ---- services ---- */

static ox_body *find_body(ox_control *k, const ox_graph *g) {
  for (uint32_t i = 0; g && i < k->n_bodies; i++)
    if (k->bodies[i].plan->graph == g) return &k->bodies[i].face;
  return NULL;
}

static ox_status *body_run(ox_control *k, ox_body *face) {
  body *b = (body *)face;
  OX_TRY(ox_watch_check(k->context->env->watch)); /* a body without a step must end, too */
  OX_TRY(choose(k->context, b));
  b->turn = k->context->workspace->turn;
  if (OX_UNLIKELY(k->context->placed != NULL) && b->in &&
      ox_placed_for_body(k->context, b->plan->graph, b->bound, b->n_bound, b->in))
    k->context->env->placed = &b->placed;
  return ox_context_run(b->current, k->context->env, b->face.args, NULL);
}

static const ox_tensor *body_output(const ox_body *face, uint32_t i) {
  return ox_context_output(((const body *)face)->current, i);
}

static bool body_owns(const ox_body *face, uint32_t i) {
  const ox_context *c = ((const body *)face)->current;
  return c->slots[c->slots[face->graph->outputs[i]].root].home != OX_HOME_BOUND;
}

static ox_status *copy_there(ox_control *k, const ox_body *face, uint32_t i, ox_tensor *to, bool *out_done) {
  const ox_context *c = ((const body *)face)->current;
  const ox_slot *slot = &c->slots[face->graph->outputs[i]];
  ox_device_memory *m = ox_device_memory_find(&k->context->devices, slot->memory);
  *out_done = m != NULL;
  if (!m) return NULL;
  const ox_provider *p = m->provider;
  uint32_t index = ox_memory_index(m->id);
  *to = slot->t, to->data = NULL;
  if (!to->bytes) return NULL;
  to->data = ox_dynpool_take(&m->dyn, to->bytes);
  if (!to->data)
    return ox_fail(OX_OUT_OF_MEMORY, "provider '%s': no memory for '%s', %zu bytes", p->api.name,
                   face->graph->values[face->graph->outputs[i]].name, to->bytes);
  return ox_status_note(p->api.copy(p->ep, to->data, index, slot->t.data, index, to->bytes, NULL), "provider '%s'",
                        p->api.name);
}

static void *take(ox_control *k, size_t bytes) {
  void *data = ox_dynpool_take(&k->context->dyn, bytes);
  if (!data) ox_workspace_refused(k->context->workspace, k->step, "a value that goes into or out of a body");
  return data;
}
static void give(ox_control *k, void *p) { ox_dynpool_give(&k->context->dyn, p); }

static void mark(ox_control *k, ox_run_mark *m) {
  ox_run_memory_mark(k->context->env->run_memory, k->context->workspace, m);
}

static ox_status *collect(ox_control *k, ox_run_mark *m, ox_tensor *const *values, uint32_t n) {
  return ox_run_memory_collect(k->context->env->run_memory, k->context->workspace, m, values, n);
}

static const ox_control_host host = {find_body, body_run, body_output, body_owns, copy_there,
                                     take,      give,     mark,        collect};

ox_status *ox_control_run(ox_context *c, ox_step *s) {
  ox_control_ctx ctx = {&s->c, &host, s->control};
  if (c->env->depth >= MOST_DEPTH) return ox_fail(OX_LIMIT, "bodies are nested deeper than %d", MOST_DEPTH);
  const ox_run_mark *around = c->env->run_memory->innermost;
  c->env->depth++;
  ox_status *st = s->control->def->run(&ctx);
  c->env->depth--;
  c->env->run_memory->innermost = around;
  return st;
}
