/* SPDX-License-Identifier: Apache-2.0
 * exec/bodies.c - bodies: binding, contexts per signature, copying results out. */
#include "exec/bodies.h"

#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

static const struct {
  const char *op;
  ox_status *(*run)(ox_context *c, ox_step *s);
} runners[] = {
    {"If", ox_if_run}, {"Loop", ox_loop_run}, {"Scan", ox_scan_run}, {"SequenceMap", ox_sequence_map_run},
    {"FlexAttention", ox_flex_attention_run}};

static ox_status *create_body(ox_context *c, ox_body *b, const ox_plan *plan) {
  b->plan = plan;
  b->n_bound = ox_context_bound(plan, NULL, 0);
  b->bound = OX_ARENA_ARRAY(&c->arena, ox_id, b->n_bound);
  b->known = OX_ARENA_ARRAY(&c->arena, const ox_tensor *, b->n_bound);
  b->args = OX_ARENA_ARRAY(&c->arena, const ox_tensor *, b->n_bound);
  b->key = OX_ARENA_ARRAY(&c->arena, ox_type, b->n_bound);
  if (!b->bound || !b->known || !b->args || !b->key) return ox_oom();
  ox_context_bound(plan, b->bound, b->n_bound);
  for (uint32_t i = 0; i < b->n_bound; i++) {
    ox_id outer = plan->graph->values[b->bound[i]].outer;
    if (outer == OX_NONE) {
      b->n_inputs = i + 1;
      continue;
    }
    const ox_slot *slot = &c->slots[outer];
    b->args[i] = &slot->t;
    if (slot->known && (slot->t.data || !slot->t.bytes)) b->known[i] = &slot->t;
  }
  return NULL;
}

ox_status *ox_control_create(ox_context *c, ox_step *s) {
  const ox_unit *u = s->unit;
  const ox_node *n = ox_graph_node(c->plan->graph, u->node);
  ox_control *k = OX_ARENA_NEW(&c->arena, ox_control);
  if (!k) return ox_oom();
  for (size_t i = 0; i < OX_COUNT(runners); i++)
    if (strcmp(n->op, runners[i].op) == 0) k->run = runners[i].run;
  if (!k->run) return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: %s with a body", n->op);
  k->bodies = OX_ARENA_ARRAY(&c->arena, ox_body, u->n_bodies);
  if (!k->bodies) return ox_oom();
  s->control = k, k->n_bodies = u->n_bodies;
  for (uint32_t i = 0; i < u->n_bodies; i++) OX_TRY(create_body(c, &k->bodies[i], u->bodies[i]));
  return NULL;
}

void ox_control_destroy(ox_control *control) {
  for (uint32_t i = 0; control && i < control->n_bodies; i++) {
    ox_body *b = &control->bodies[i];
    for (uint32_t k = 0; k < b->n_kept; k++) ox_context_destroy(b->kept[k]);
    ox_context_destroy(b->generic);
  }
}

ox_status *ox_control_run(ox_context *c, ox_step *s) {
  if (c->env->depth >= OX_MOST_DEPTH) return ox_fail(OX_LIMIT, "bodies are nested deeper than %d", OX_MOST_DEPTH);
  c->env->depth++;
  ox_status *st = s->control->run(c, s);
  c->env->depth--;
  return st;
}

ox_body *ox_control_body(const ox_context *c, const ox_step *s, const char *name) {
  const ox_attr *a = ox_node_attr(ox_graph_node(c->plan->graph, s->unit->node), name);
  for (uint32_t i = 0; a && i < s->control->n_bodies; i++)
    if (s->control->bodies[i].plan->graph == a->graph) return &s->control->bodies[i];
  return NULL;
}

/* ---- running ---- */

static void set_key(ox_body *b) {
  for (uint32_t i = 0; i < b->n_bound; i++) {
    const ox_tensor *t = b->args[i];
    b->key[i] = b->plan->graph->values[b->bound[i]].type;
    b->key[i].kind = t->kind == OX_NONE_VALUE ? b->key[i].kind : t->kind;
    b->key[i].dtype = t->dtype, b->key[i].shape = t->shape;
  }
}

static ox_status *make_generic(ox_context *c, ox_body *b) {
  for (uint32_t i = 0; i < b->n_bound; i++) b->key[i].shape = ox_shape_unknown();
  return ox_context_create(b->plan, c->env, b->key, b->known, false, &b->generic);
}

static bool generic_fits(const ox_body *b) {
  for (uint32_t i = 0; i < b->n_bound; i++)
    if (b->generic->key[i].kind != b->key[i].kind || b->generic->key[i].dtype != b->key[i].dtype) return false;
  return true;
}

static ox_status *choose(ox_context *c, ox_body *b) {
  set_key(b);
  if (b->current && b->current != b->generic && ox_context_fits(b->current, b->key, b->n_bound)) return NULL;
  for (uint32_t i = 0; i < b->n_kept; i++)
    if (ox_context_fits(b->kept[i], b->key, b->n_bound)) {
      b->current = b->kept[i];
      return NULL;
    }
  if (b->n_kept < OX_BODY_CONTEXTS) {
    ox_context *made;
    OX_TRY(ox_context_create(b->plan, c->env, b->key, b->known, false, &made));
    b->current = b->kept[b->n_kept++] = made;
    return NULL;
  }
  if (b->generic && !generic_fits(b)) {
    ox_context_destroy(b->generic);
    b->generic = NULL;
  }
  if (!b->generic) OX_TRY(make_generic(c, b));
  b->current = b->generic;
  return NULL;
}

ox_status *ox_body_run(ox_context *c, ox_body *b) {
  OX_TRY(choose(c, b));
  return ox_context_run(b->current, c->env, b->args, NULL);
}

bool ox_body_owns_output(const ox_body *b, uint32_t i) {
  const ox_slot *s = &b->current->slots[b->plan->graph->outputs[i]];
  return b->current->slots[s->root].home != OX_HOME_BOUND;
}

/* ---- results ---- */

const ox_tensor *ox_control_input(const ox_context *c, const ox_step *s, uint32_t i) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  return i < n->n_in && n->in[i] != OX_NONE ? &c->slots[n->in[i]].t : NULL;
}

ox_tensor *ox_control_output(const ox_context *c, const ox_step *s, uint32_t i) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  return i < n->n_out && n->out[i] != OX_NONE ? &c->slots[n->out[i]].t : NULL;
}

ox_status *ox_control_copy(ox_context *c, const ox_tensor *from, ox_tensor *to) {
  *to = *from;
  if (from->kind != OX_TENSOR) return NULL;
  to->data = ox_dynpool_take(&c->dyn, from->bytes);
  if (!to->data) return ox_fail(OX_OUT_OF_MEMORY, "no memory for %zu bytes", from->bytes);
  if (from->bytes) memcpy(to->data, from->data, from->bytes);
  return NULL;
}

ox_status *ox_stack_push(ox_context *c, ox_stack *k, const ox_tensor *slice, int64_t expect) {
  if (slice->kind != OX_TENSOR) return ox_fail(OX_INVALID_MODEL, "a scan output must be a tensor");
  if (ox_dtype_bits(slice->dtype) < 8)
    return ox_fail(OX_NOT_IMPLEMENTED, "a scan output of type %s", ox_dtype_name(slice->dtype));
  if (!k->n) {
    k->t = *slice, k->slice_bytes = slice->bytes, k->t.data = NULL;
    if (!ox_mul_ok(slice->bytes, (size_t)OX_MAX(expect, 4), &k->capacity)) return ox_fail(OX_LIMIT, "scan output too large");
    k->t.data = ox_dynpool_take(&c->dyn, k->capacity);
    if (!k->t.data) return ox_oom();
  } else if (k->t.dtype != slice->dtype || !ox_shape_equal(&k->t.shape, &slice->shape)) {
    char was[OX_SHAPE_TEXT], is[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "a scan output has shape %s after %lld slices of %s", ox_shape_text(&slice->shape, is),
                   (long long)k->n, ox_shape_text(&k->t.shape, was));
  }
  size_t used = (size_t)k->n * k->slice_bytes;
  if (used + k->slice_bytes > k->capacity) {
    size_t capacity;
    if (!ox_mul_ok(k->capacity, 2, &capacity)) return ox_fail(OX_LIMIT, "scan output too large");
    void *grown = ox_dynpool_take(&c->dyn, capacity);
    if (!grown) return ox_oom();
    if (used) memcpy(grown, k->t.data, used);
    ox_dynpool_give(&c->dyn, k->t.data);
    k->t.data = grown, k->capacity = capacity;
  }
  if (k->slice_bytes) memcpy((char *)k->t.data + used, slice->data, k->slice_bytes);
  k->n++;
  return NULL;
}

ox_status *ox_stack_finish(ox_context *c, ox_step *s, uint32_t i, ox_stack *k, const ox_type *body_output) {
  ox_tensor *out = ox_control_output(c, s, i);
  if (!out) {
    ox_dynpool_give(&c->dyn, k->t.data);
    return NULL;
  }
  if (!k->n) { /* no slice: the body's type is all there is; unknown dimensions become 0 */
    k->t = (ox_tensor){.kind = OX_TENSOR, .dtype = body_output->dtype, .shape = body_output->shape};
    if (k->t.shape.rank < 0) k->t.shape.rank = 0;
    for (int d = 0; d < k->t.shape.rank; d++)
      if (k->t.shape.dim[d] < 0) k->t.shape.dim[d] = 0;
    k->t.data = ox_dynpool_take(&c->dyn, 0);
    if (!k->t.data) return ox_oom();
  }
  ox_shape slice = k->t.shape;
  if (slice.rank >= OX_MAX_RANK) return ox_fail(OX_LIMIT, "a scan output has rank %d", (int)slice.rank + 1);
  *out = k->t;
  out->shape.rank = slice.rank + 1, out->shape.dim[0] = k->n;
  for (int d = 0; d < slice.rank; d++) out->shape.dim[d + 1] = slice.dim[d];
  return ox_tensor_size(out) ? NULL : ox_fail(OX_LIMIT, "a scan output is too large");
}
