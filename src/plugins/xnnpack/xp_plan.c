/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_plan.c - plans a context for given input shapes: shapes of all tensors, operators without weights, offsets
 * in memory. */
#include <string.h>

#include "xp_library.h"

enum { ALIGN = 64 };

static ox_status *get_shapes(ox_program *p, xp_context *c) {
  for (uint32_t t = 0; t < p->n_tensors; t++) {
    const xp_tensor *x = &p->tensors[t];
    if (x->place == XP_CONST) c->dims[t] = x->dims;
    if (x->place == XP_INPUT) c->dims[t] = c->in_dims[x->index];
  }
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const xp_step *s = &p->steps[i];
    for (uint32_t k = 0; k < s->n_in; k++) c->step_dims[k] = &c->dims[s->in[k]];
    const char *why = s->kind->shape(s, c->step_dims, &c->dims[s->out]);
    if (why) return xp_fail(p->ep, OX_SHAPE_MISMATCH, "xnnpack: %s '%s': %s", s->op, s->name, why);
  }
  return NULL;
}

static ox_status *bytes_of(const ox_program *p, const xp_context *c, uint32_t t, size_t *out) {
  size_t n = xp_type_bytes(p->tensors[t].type);
  for (int d = 0; d < c->dims[t].rank; d++)
    if (__builtin_mul_overflow(n, (size_t)c->dims[t].d[d], &n) || n > PTRDIFF_MAX / 2)
      return xp_fail(p->ep, OX_LIMIT, "xnnpack: a tensor of a part is too large");
  *out = (n + XNN_EXTRA_BYTES + ALIGN - 1) / ALIGN * ALIGN; /* the library reads beyond the end */
  return NULL;
}

/* The offset of an input that step |s|, which makes |t|, may overwrite; SIZE_MAX: there is none. No other tensor
 * overlaps it: one that is alive when |t| is made and was placed earlier was also alive together with that input. */
static size_t place_of_input(const ox_program *p, const xp_context *c, const xp_step *s, uint32_t t) {
  for (uint32_t k = 0; s->kind->in_place && k < s->n_in; k++) {
    const xp_tensor *x = &p->tensors[s->in[k]], *y = &p->tensors[t];
    bool same = x->type == y->type && x->last == y->last && xp_dims_equal(&c->dims[s->in[k]], &c->dims[t]);
    if (x->place == XP_TEMP && x->used == y->made && same) return c->offset[s->in[k]];
  }
  return SIZE_MAX;
}

/* First fit: each tensor goes to the lowest offset that does not overlap a tensor alive at the same time. */
static ox_status *place(const ox_program *p, xp_context *c, size_t *out_bytes) {
  const size_t *size = c->size;
  *out_bytes = 0;
  for (uint32_t t = 0; t < p->n_tensors; t++) {
    const xp_tensor *x = &p->tensors[t];
    c->offset[t] = SIZE_MAX;
    if (!size[t]) continue;
    size_t at = 0;
    if (x->place == XP_TEMP && (c->offset[t] = place_of_input(p, c, &p->steps[x->made], t)) != SIZE_MAX) continue;
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t o = 0; o < t; o++) {
        const xp_tensor *y = &p->tensors[o];
        bool together = y->made <= x->used && x->made <= y->used;
        if (c->offset[o] == SIZE_MAX || !together || at >= c->offset[o] + size[o] || c->offset[o] >= at + size[t])
          continue;
        at = c->offset[o] + size[o], moved = true;
      }
    }
    c->offset[t] = at;
    if (at > PTRDIFF_MAX / 2) return xp_fail(p->ep, OX_LIMIT, "xnnpack: a part needs too much memory");
    if (at + size[t] > *out_bytes) *out_bytes = at + size[t];
  }
  return NULL;
}

static ox_status *get_places(ox_program *p, xp_context *c, size_t *out_bytes) {
  for (uint32_t t = 0; t < p->n_tensors; t++) {
    const xp_tensor *x = &p->tensors[t];
    XP_TRY(bytes_of(p, c, t, &c->size[t]));
    if (x->place != XP_TEMP && !x->guarded) c->size[t] = 0;
  }
  return place(p, c, out_bytes);
}

static ox_status *get_memory(ox_program *p, xp_context *c, size_t bytes) {
  const ox_alloc *a = &p->ep->host.alloc;
  if (bytes <= c->memory_bytes) return NULL;
  if (c->memory) a->free(a->ctx, c->memory, c->memory_bytes);
  c->memory = a->alloc(a->ctx, bytes, ALIGN);
  c->memory_bytes = c->memory ? bytes : 0;
  return c->memory ? NULL : xp_oom(p->ep);
}

static void delete_ops(ox_program *p, xp_context *c) {
  for (uint32_t i = 0; i < p->n_steps; i++) {
    if (c->ops[i]) xnn_delete_operator(c->ops[i]);
    c->ops[i] = NULL;
  }
}

static ox_status *create_op(ox_program *p, xp_context *c, const xp_step *s, size_t *most_room) {
  xnn_operator_t *op = &c->ops[s - p->steps];
  size_t room = 0;
  for (uint32_t k = 0; k < s->n_in; k++)
    c->step_dims[k] = &c->dims[s->in[k]], c->step_tensors[k] = &p->tensors[s->in[k]];
  const xp_call call = {
      .ep = p->ep, .in_tensor = c->step_tensors, .in_dims = c->step_dims, .out_dims = &c->dims[s->out]};
  const xp_calls *lib = s->kind->lib;
  if (s->kind->run_empty && !xp_elements(c->step_dims[0])) return NULL;
  enum xnn_status answer = lib->create ? lib->create(s, &call, op) : xnn_status_success;
  if (answer == xnn_status_success && lib->reshape) answer = lib->reshape(s, &call, *op, &room);
  if (room > *most_room) *most_room = room;
  return xp_check(p->ep, answer, s->op, s->name);
}

/* Creates the operators without weights; |*out_room| is the largest workspace that one of them needs. */
static ox_status *create_ops(ox_program *p, xp_context *c, size_t *out_room) {
  delete_ops(p, c);
  *out_room = 0;
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const xp_step *s = &p->steps[i];
    if (!s->kind->lib || s->shared || !xp_elements(&c->dims[s->out])) continue;
    XP_TRY(create_op(p, c, s, out_room));
  }
  return *out_room > PTRDIFF_MAX / 2 ? xp_fail(p->ep, OX_LIMIT, "xnnpack: a part needs too much memory") : NULL;
}

ox_status *xp_plan(ox_program *p, xp_context *c) {
  size_t room;
  c->planned = false;
  XP_TRY(get_shapes(p, c));
  XP_TRY(get_places(p, c, &c->room));
  XP_TRY(create_ops(p, c, &room));
  XP_TRY(get_memory(p, c, c->room + room));
  c->planned = true;
  return NULL;
}

void xp_context_release(ox_program *p, xp_context *c) {
  const ox_alloc *a = &p->ep->host.alloc;
  delete_ops(p, c);
  if (c->memory) a->free(a->ctx, c->memory, c->memory_bytes);
  a->free(a->ctx, c, xp_context_bytes(p));
}
