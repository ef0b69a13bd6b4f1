/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_program.c - a compiled part: its constants, and a cache of plans for recent input shapes. */
#include <string.h>

#include "od_program.h"

#include "od_build.h"

ox_status *od_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  ox_program *p = od_alloc(ep, sizeof *p);
  if (!p) return od_no_memory(ep);
  p->ep = ep, p->g = part;
  if (pthread_mutex_init(&p->lock, NULL) != 0) {
    od_free(ep, p);
    return od_fail(ep, OX_FAIL, "oneDNN: no mutex could be made");
  }
  *out_program = p;
  return NULL;
}

void od_program_release(ox_program *p) {
  for (od_plan *plan = p->plans, *next; plan; plan = next) {
    next = plan->next;
    od_plan_release(p->ep, plan);
  }
  for (od_fixed *f = p->fixed, *next; f; f = next) {
    next = f->next;
    od_free(p->ep, f->data);
    od_free(p->ep, f);
  }
  pthread_mutex_destroy(&p->lock);
  od_free(p->ep, p);
}

/* ---- plans; callers hold the lock ---- */

static bool fits(const od_plan *plan, const ox_io *io) {
  for (size_t i = 0; i < plan->n_in; i++) {
    const ox_tensor *t = io->in[i];
    if (!t != (plan->in[i].rank < 0)) return false;
    if (!t) continue;
    if (t->dtype != plan->in_type[i] || t->shape.rank != plan->in[i].rank) return false;
    if (memcmp(t->shape.dim, plan->in[i].dim, (size_t)t->shape.rank * sizeof *t->shape.dim) != 0) return false;
  }
  return true;
}

static void drop(ox_program *p, od_plan *plan) {
  if (--plan->users == 0) od_plan_release(p->ep, plan);
}

/* Finds or builds the plan for |io|'s signature and moves it to the front of the cache. */
static ox_status *find_plan(ox_program *p, const ox_io *io, od_plan **out_plan) {
  od_plan **at = &p->plans, *plan;
  while (*at && !fits(*at, io)) at = &(*at)->next;
  if ((plan = *at)) {
    *at = plan->next;
  } else {
    OD_TRY(od_plan_build(p, io->in, &plan));
    plan->users = 1, p->n_plans++;
  }
  plan->next = p->plans, p->plans = plan;
  *out_plan = plan;
  return NULL;
}

/* Drops the least recently used plan if there are too many. */
static void forget(ox_program *p) {
  od_plan **at = &p->plans;
  if (p->n_plans <= p->ep->cache_capacity) return;
  while ((*at)->next) at = &(*at)->next;
  od_plan *last = *at;
  *at = NULL, p->n_plans--;
  drop(p, last);
}

static ox_status *begin(ox_program *p, const ox_io *io, od_plan **out_plan, od_context **out_context) {
  OD_TRY(find_plan(p, io, out_plan));
  od_plan *plan = *out_plan;
  *out_context = plan->idle;
  if (*out_context) plan->idle = (*out_context)->next;
  plan->users++;
  forget(p);
  return NULL;
}

static void end(ox_program *p, od_plan *plan, od_context *c) {
  pthread_mutex_lock(&p->lock);
  if (c) c->next = plan->idle, plan->idle = c;
  drop(p, plan);
  pthread_mutex_unlock(&p->lock);
}

/* ---- runs ---- */

static bool same_shape(const ox_shape *a, const ox_shape *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static ox_status *find_outputs(ox_program *p, const od_plan *plan, const ox_io *io) {
  for (size_t i = 0; i < plan->n_out; i++) {
    const ox_shape *s = &plan->out[i];
    if (io->out[i]->data && !same_shape(s, &io->out[i]->shape))
      return od_fail(p->ep, OX_SHAPE_MISMATCH, "oneDNN: output %zu of a part has not the shape that the host expects",
                     i);
    if (io->out[i]->data) continue;
    if (!io->alloc_output(io, (uint32_t)i, s) && od_count(s)) return od_no_memory(p->ep);
  }
  return NULL;
}

ox_status *od_run(ox_program *p, const ox_io *io) {
  od_plan *plan;
  od_context *c;
  pthread_mutex_lock(&p->lock);
  ox_status *st = begin(p, io, &plan, &c);
  pthread_mutex_unlock(&p->lock);
  if (st) return st;
  if (!c) st = od_context_create(p->ep, plan, &c);
  if (!st) st = find_outputs(p, plan, io);
  if (!st) st = od_context_run(p->ep, plan, c, io);
  end(p, plan, c);
  return st;
}
