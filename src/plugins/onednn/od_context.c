/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_context.c - the state of one run of a plan: an arena for intermediates, and the library's memory
 * objects that point into it. Idle contexts are kept, so later runs create none. */
#include <stdio.h>

#include "od_plan.h"

void od_context_release(ox_ep *ep, const od_plan *plan, od_context *c) {
  if (!c) return;
  for (size_t i = 0; c->mems && i < plan->n_mems; i++)
    if (c->mems[i]) dnnl_memory_destroy(c->mems[i]);
  od_free(ep, c->mems);
  od_free(ep, c->args);
  od_free(ep, c->arena);
  od_free(ep, c);
}

static ox_status *make_mems(ox_ep *ep, const od_plan *plan, od_context *c) {
  for (size_t i = 0; i < plan->n_mems; i++) {
    const od_buf *buf = &plan->bufs[plan->mems[i].buf];
    if (buf->first == UINT32_MAX) continue; /* no step uses it */
    void *at = DNNL_MEMORY_NONE;
    if (buf->place == OD_ARENA) at = c->arena + buf->offset + plan->mems[i].offset;
    if (buf->place == OD_FIXED) at = (char *)buf->fixed + plan->mems[i].offset;
    dnnl_status_t s = dnnl_memory_create(&c->mems[i], &plan->mems[i].md, ep->engine, at);
    if (s != dnnl_success)
      return od_fail(ep, od_status_code(s), "oneDNN: making a memory object: %s", od_status_text(s));
  }
  return NULL;
}

static ox_status *fill(ox_ep *ep, const od_plan *plan, od_context *c) {
  size_t n_args = 0, at = 0;
  for (size_t i = 0; i < plan->n_steps; i++) n_args += plan->steps[i].n_args;
  c->arena = od_alloc(ep, plan->arena_bytes);
  c->mems = od_alloc(ep, (plan->n_mems + 1) * sizeof *c->mems);
  c->args = od_alloc(ep, (n_args + 1) * sizeof *c->args);
  if (!c->arena || !c->mems || !c->args) return od_no_memory(ep);
  OD_TRY(make_mems(ep, plan, c));
  for (size_t i = 0; i < plan->n_steps; i++)
    for (uint32_t k = 0; k < plan->steps[i].n_args; k++, at++)
      c->args[at] = (dnnl_exec_arg_t){plan->steps[i].arg[k].id, c->mems[plan->steps[i].arg[k].mem]};
  return NULL;
}

ox_status *od_context_create(ox_ep *ep, const od_plan *plan, od_context **out_context) {
  od_context *c = od_alloc(ep, sizeof *c);
  if (!c) return od_no_memory(ep);
  ox_status *st = fill(ep, plan, c);
  if (st) od_context_release(ep, plan, c), c = NULL;
  *out_context = c;
  return st;
}

/* ---- runs ---- */

static ox_status *bind(ox_ep *ep, const od_plan *plan, od_context *c, const ox_io *io) {
  for (size_t i = 0; i < plan->n_mems; i++) {
    const od_buf *buf = &plan->bufs[plan->mems[i].buf];
    if (!c->mems[i] || buf->place == OD_ARENA || buf->place == OD_FIXED) continue;
    char *at = buf->place == OD_INPUT ? io->in[buf->index]->data : io->out[buf->index]->data;
    dnnl_status_t s = dnnl_memory_set_data_handle(c->mems[i], at + plan->mems[i].offset);
    if (s != dnnl_success) return od_fail(ep, od_status_code(s), "oneDNN: binding a tensor: %s", od_status_text(s));
  }
  return NULL;
}

static ox_status *run_own(ox_ep *ep, const od_plan *plan, const od_step *s, const od_context *c) {
  void *at[3];
  for (uint32_t i = 0; i < s->n_args; i++) {
    dnnl_status_t st = dnnl_memory_get_data_handle(c->mems[s->arg[i].mem], &at[i]);
    if (st != dnnl_success) return od_fail(ep, od_status_code(st), "oneDNN: a memory object: %s", od_status_text(st));
  }
  return od_own_run(ep, plan, s, at);
}

static ox_status *stopped(ox_ep *ep, const ox_io *io) {
  if (io->cancel && *io->cancel) return ep->host.status_make(OX_CANCELLED, "oneDNN: cancelled");
  if (io->deadline_ns && ep->host.now_ns() > io->deadline_ns)
    return ep->host.status_make(OX_CANCELLED, "oneDNN: the deadline has passed");
  return NULL;
}

typedef struct call {
  const ox_ep *ep;
  const od_step *step;
  const dnnl_exec_arg_t *args;
  dnnl_status_t status;
} call;

static void execute(void *ctx) {
  call *c = ctx;
  c->status = dnnl_primitive_execute(c->step->prim, c->ep->stream, (int)c->step->n_args, c->args);
}

static ox_status *run_primitive(ox_ep *ep, const od_step *s, const dnnl_exec_arg_t *args) {
  od_crew crew = {.host = &ep->host, .threads = ep->threads, .together = s->together, .fixed = s->fixed};
  call c = {ep, s, args, dnnl_success};
  od_crew_call(&crew, execute, &c);
  if (c.status == dnnl_success && !crew.broken) return NULL;
  return od_fail(ep, crew.broken ? OX_FAIL : od_status_code(c.status), "oneDNN: node '%s', primitive %s: %s", s->name,
                 s->impl,
                 crew.broken ? "its threads wait for each other, which was not expected" : od_status_text(c.status));
}

typedef struct group {
  ox_ep *ep;
  const od_step *first;
  const dnnl_exec_arg_t *args;
} group;

static ox_status *run_some(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  const group *g = ctx;
  const dnnl_exec_arg_t *args = g->args;
  for (int64_t i = 0; i < end; args += g->first[i].n_args, i++)
    if (i >= begin) OD_TRY(run_primitive(g->ep, &g->first[i], args));
  return NULL;
}

/* Runs |s| and the steps beside it. */
static ox_status *run_step(ox_ep *ep, const od_plan *plan, const od_context *c, const od_step *s,
                           const dnnl_exec_arg_t *args) {
  if (!s->prim) return run_own(ep, plan, s, c);
  if (!s->beside) return run_primitive(ep, s, args);
  group g = {ep, s, args};
  return ep->host.parallel_tiles(&ep->host, s->beside + 1, (uint32_t)ep->threads, run_some, &g);
}

/* As "convolution jit:avx2". */
static void note_time(const ox_io *io, const od_step *s, int64_t start, int64_t end) {
  char name[96];
  if (!io->profile_event) return;
  snprintf(name, sizeof name, "%s%s%s", s->kind ? s->kind : "", s->kind ? " " : "", s->impl);
  io->profile_event(io, name, start, end - start);
}

ox_status *od_context_run(ox_ep *ep, const od_plan *plan, od_context *c, const ox_io *io) {
  const dnnl_exec_arg_t *args = c->args;
  OD_TRY(bind(ep, plan, c, io));
  for (size_t i = 0, end; i < plan->n_steps; i = end) {
    const od_step *s = &plan->steps[i];
    int64_t start = ep->host.now_ns();
    OD_TRY(stopped(ep, io));
    OD_TRY(run_step(ep, plan, c, s, args));
    note_time(io, s, start, ep->host.now_ns());
    for (end = i + 1 + s->beside; i < end; i++) args += plan->steps[i].n_args;
  }
  return NULL;
}
