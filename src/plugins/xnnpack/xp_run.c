/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_run.c - one run of a part. */
#include <stdlib.h>
#include <string.h>

#include "xp_library.h"

enum { ALIGN = 64, PAGE = 4096 };

static size_t up(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

size_t xp_context_bytes(const ox_program *p) {
  return up(sizeof(xp_context)) + up(p->n_in * sizeof(xp_dims)) + up(p->n_tensors * sizeof(xp_dims)) +
         2 * up(p->n_tensors * sizeof(size_t)) + up(p->n_tensors * sizeof(void *)) +
         up(p->n_steps * sizeof(xnn_operator_t)) + 3 * up(p->most_in * sizeof(void *));
}

static xp_context *context_create(const ox_program *p) {
  const ox_alloc *a = &p->ep->host.alloc;
  char *at = a->alloc(a->ctx, xp_context_bytes(p), ALIGN);
  if (!at) return NULL;
  memset(at, 0, xp_context_bytes(p));
  xp_context *c = (void *)at;
  c->in_dims = (void *)(at += up(sizeof(xp_context)));
  c->dims = (void *)(at += up(p->n_in * sizeof(xp_dims)));
  c->size = (void *)(at += up(p->n_tensors * sizeof(xp_dims)));
  c->offset = (void *)(at += up(p->n_tensors * sizeof(size_t)));
  c->at = (void *)(at += up(p->n_tensors * sizeof(size_t)));
  c->ops = (void *)(at += up(p->n_tensors * sizeof(void *)));
  c->step_dims = (void *)(at += up(p->n_steps * sizeof(xnn_operator_t)));
  c->step_tensors = (void *)(at += up(p->most_in * sizeof(void *)));
  c->step_in = (void *)(at + up(p->most_in * sizeof(void *)));
  return c;
}

static bool fits(const ox_program *p, const xp_context *c, const ox_io *io) {
  if (!c->planned) return false;
  for (uint32_t i = 0; i < p->n_in; i++) {
    if (!io->in[i]) return false;
    const ox_shape *s = &io->in[i]->shape;
    if (s->rank != c->in_dims[i].rank) return false;
    for (int d = 0; d < s->rank; d++)
      if (s->dim[d] != c->in_dims[i].d[d]) return false;
  }
  return true;
}

/* An idle context, preferably one planned for these shapes, or a new one; NULL: out of memory. */
static xp_context *take(ox_program *p, const ox_io *io) {
  pthread_mutex_lock(&p->lock);
  xp_context **at = &p->free;
  while (*at && !fits(p, *at, io)) at = &(*at)->next;
  if (!*at) at = &p->free;
  xp_context *c = *at;
  if (c) *at = c->next;
  pthread_mutex_unlock(&p->lock);
  return c ? c : context_create(p);
}

static void give(ox_program *p, xp_context *c) {
  pthread_mutex_lock(&p->lock);
  c->next = p->free, p->free = c;
  pthread_mutex_unlock(&p->lock);
}

/* ---- addresses of tensors in this run ---- */

static ox_status *bind_input(const ox_program *p, const xp_context *c, uint32_t t, const ox_tensor *given, void **out) {
  const xp_tensor *x = &p->tensors[t];
  if (given->dtype != x->type) return xp_fail(p->ep, OX_SHAPE_MISMATCH, "xnnpack: input %u has another type", x->index);
  uintptr_t end = (uintptr_t)given->data + given->bytes;
  *out = given->data;
  /* The library reads beyond the end: if that may touch an unmapped page, it gets a copy. */
  if (!x->guarded || (end - 1) / PAGE == (end - 1 + XNN_EXTRA_BYTES) / PAGE) return NULL;
  *out = c->memory + c->offset[t];
  if (given->bytes) memcpy(*out, given->data, given->bytes);
  return NULL;
}

static ox_status *bind_output(const ox_program *p, const xp_context *c, uint32_t i, const ox_io *io, void **out) {
  const xp_dims *d = &c->dims[p->out_tensor[i]];
  ox_tensor *y = io->out[i];
  ox_shape shape = {.rank = d->rank};
  size_t bytes = xp_elements(d) * xp_type_bytes(p->tensors[p->out_tensor[i]].type);
  for (int k = 0; k < d->rank; k++) shape.dim[k] = d->d[k];
  *out = y->data;
  if (!y->data && bytes && !(*out = io->alloc_output(io, i, &shape))) return xp_oom(p->ep);
  if (!y->data && !bytes) (void)io->alloc_output(io, i, &shape);
  if (y->bytes != bytes)
    return xp_fail(p->ep, OX_SHAPE_MISMATCH, "xnnpack: output %u has %zu bytes, not %zu", i, bytes, y->bytes);
  return NULL;
}

static ox_status *bind(const ox_program *p, xp_context *c, const ox_io *io) {
  for (uint32_t t = 0; t < p->n_tensors; t++) {
    const xp_tensor *x = &p->tensors[t];
    if (x->place == XP_CONST)
      c->at[t] = (void *)x->data;
    else if (x->place == XP_INPUT)
      XP_TRY(bind_input(p, c, t, io->in[x->index], &c->at[t]));
    else if (x->place == XP_TEMP)
      c->at[t] = c->memory + c->offset[t];
  }
  for (uint32_t i = 0; i < p->n_out; i++) XP_TRY(bind_output(p, c, i, io, &c->at[p->out_tensor[i]]));
  return NULL;
}

/* ---- steps ---- */

static enum xnn_status run_op(const xp_step *s, const xp_call *call, xnn_operator_t op) {
  struct pthreadpool pool = call->ep->pool;
  enum xnn_status answer = s->kind->lib->setup(s, call, op);
  if (s->shared) pool.columns = s->shared->columns;
  return answer == xnn_status_success && op ? xnn_run_operator(op, call->ep->given ? &pool : NULL) : answer;
}

/* Reshapes the operator for this call unless the call before had the same shape and threads. */
static enum xnn_status reshape_shared(const xp_step *s, const xp_call *call) {
  xp_shared *o = s->shared;
  size_t room = 0;
  uint32_t threads = call->ep->pool.threads;
  if (!s->kind->lib->reshape || (o->threads == threads && xp_dims_equal(&o->shaped, call->in_dims[0])))
    return xnn_status_success;
  o->threads = 0;
  enum xnn_status answer = s->kind->lib->reshape(s, call, o->op, &room);
  if (answer != xnn_status_success) return answer;
  if (room > o->room_bytes) {
    free(o->room);
    o->room = room < PTRDIFF_MAX / 2 ? aligned_alloc(ALIGN, up(room)) : NULL;
    o->room_bytes = o->room ? room : 0;
    if (!o->room) return xnn_status_out_of_memory;
  }
  o->shaped = *call->in_dims[0], o->threads = threads;
  return xnn_status_success;
}

static enum xnn_status run_shared(const xp_step *s, xp_call *call) {
  pthread_mutex_lock(&s->shared->busy);
  enum xnn_status answer = reshape_shared(s, call);
  call->room = s->shared->room;
  if (answer == xnn_status_success) answer = run_op(s, call, s->shared->op);
  pthread_mutex_unlock(&s->shared->busy);
  return answer;
}

static ox_status *run_step(const ox_program *p, const xp_context *c, const xp_step *s, xp_call *call) {
  bool empty = s->kind->run_empty && !xp_elements(call->in_dims[0]);
  if (s->kind->run || empty) {
    empty ? s->kind->run_empty(s, call) : s->kind->run(s, call);
    return NULL;
  }
  enum xnn_status answer = s->shared ? run_shared(s, call) : run_op(s, call, c->ops[s - p->steps]);
  return xp_check(p->ep, answer, s->op, s->name);
}

static bool stopped(const ox_program *p, const ox_io *io) {
  return (io->cancel && *io->cancel) || (io->deadline_ns && p->ep->host.now_ns() >= io->deadline_ns);
}

static ox_status *run_steps(const ox_program *p, const xp_context *c, const ox_io *io) {
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const xp_step *s = &p->steps[i];
    if (stopped(p, io)) return xp_fail(p->ep, OX_CANCELLED, "xnnpack: cancelled");
    if (!xp_elements(&c->dims[s->out])) continue;
    for (uint32_t k = 0; k < s->n_in; k++)
      c->step_in[k] = c->at[s->in[k]], c->step_dims[k] = &c->dims[s->in[k]], c->step_tensors[k] = &p->tensors[s->in[k]];
    xp_call call = {p->ep,      c->step_tensors, c->step_dims,       &c->dims[s->out],
                    c->step_in, c->at[s->out],   c->memory + c->room};
    int64_t start = io->profile_event ? p->ep->host.now_ns() : 0;
    XP_TRY(run_step(p, c, s, &call));
    if (io->profile_event) io->profile_event(io, s->name[0] ? s->name : s->op, start, p->ep->host.now_ns() - start);
  }
  return NULL;
}

static ox_status *run_in(ox_program *p, xp_context *c, const ox_io *io) {
  if (!fits(p, c, io)) {
    c->planned = false;
    for (uint32_t i = 0; i < p->n_in; i++) {
      if (!io->in[i]) return xp_fail(p->ep, OX_INVALID_ARGUMENT, "xnnpack: input %u is omitted", i);
      const ox_shape *s = &io->in[i]->shape;
      if (s->rank != p->in_rank[i])
        return xp_fail(p->ep, OX_SHAPE_MISMATCH, "xnnpack: input %u has rank %d, not %d", i, s->rank, p->in_rank[i]);
      c->in_dims[i].rank = s->rank;
      for (int d = 0; d < s->rank; d++) c->in_dims[i].d[d] = s->dim[d];
    }
    XP_TRY(xp_plan(p, c));
  }
  XP_TRY(bind(p, c, io));
  return run_steps(p, c, io);
}

ox_status *xp_program_run(ox_program *p, const ox_io *io) {
  xp_context *c = take(p, io);
  if (!c) return xp_oom(p->ep);
  ox_status *st = run_in(p, c, io);
  give(p, c);
  return st;
}

void xp_program_release(ox_program *p) {
  if (!p) return;
  for (xp_context *c = p->free, *next; c; c = next) {
    next = c->next;
    xp_context_release(p, c);
  }
  for (uint32_t i = 0; i < p->n_steps; i++) xp_shared_release(p->steps[i].shared);
  pthread_mutex_destroy(&p->lock);
  ox_ep *ep = p->ep;
  xp_arena_free(&p->arena);
  ep->host.alloc.free(ep->host.alloc.ctx, p, sizeof *p);
}
