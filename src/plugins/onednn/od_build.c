/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_build.c - builds a plan (od_plan.h) node by node, for inputs of known shapes. */
#include <string.h>

#include "od_build.h"

/* ---- values ---- */

static size_t count_values(const od_builder *b) {
  const ox_ep_host *h = &b->ep->host;
  uint32_t most = 0;
  for (size_t k = 0; k < b->n_nodes; k++) {
    od_node n = od_node_of(b, k);
    for (size_t i = 0; i < od_n_in(&n); i++)
      if (od_in(&n, i) != OD_NO_VALUE) most = OD_MAX(most, od_in(&n, i));
    for (size_t i = 0; i < od_n_out(&n); i++)
      if (od_out(&n, i) != OD_NO_VALUE) most = OD_MAX(most, od_out(&n, i));
  }
  for (int out = 0; out < 2; out++)
    for (size_t i = 0; i < h->io_count(b->g, out); i++) most = OD_MAX(most, h->io_value(b->g, out, i));
  return (size_t)most + 1;
}

static void find_constants(od_builder *b) {
  for (size_t k = 0; k < b->n_nodes; k++) {
    od_node n = od_node_of(b, k);
    for (size_t i = 0; i < od_n_in(&n); i++) {
      const ox_tensor *t = od_in_const(&n, i);
      uint32_t id = od_in(&n, i);
      if (id == OD_NO_VALUE) continue;
      od_value *v = od_val(b, id);
      v->uses++;
      if (!t) continue;
      v->constant = t, v->shape = t->shape, v->dtype = t->dtype;
    }
  }
}

static ox_status *find_values(od_builder *b) {
  const ox_ep_host *h = &b->ep->host;
  b->n_nodes = h->node_count(b->g);
  b->n_values = count_values(b);
  b->values = od_alloc(b->ep, (b->n_values + b->n_nodes) * sizeof *b->values);
  b->done = od_alloc(b->ep, b->n_nodes + 1);
  if (!b->values || !b->done) return od_no_memory(b->ep);
  for (size_t i = 0; i < b->n_values + b->n_nodes; i++)
    b->values[i].output = OD_NONE, b->values[i].quant.from = OD_NO_VALUE;
  find_constants(b);
  for (size_t i = 0; i < h->io_count(b->g, 1); i++) {
    od_value *v = od_val(b, h->io_value(b->g, 1, i));
    v->output = (int32_t)i, v->uses++;
  }
  return NULL;
}

/* ---- inputs and outputs ---- */

static ox_status *take_inputs(od_builder *b, const ox_tensor *const *in) {
  const ox_ep_host *h = &b->ep->host;
  od_plan *p = b->plan;
  p->n_in = h->io_count(b->g, 0), p->n_out = h->io_count(b->g, 1);
  p->in = od_alloc(b->ep, (p->n_in + 1) * sizeof *p->in);
  p->in_type = od_alloc(b->ep, (p->n_in + 1) * sizeof *p->in_type);
  p->out = od_alloc(b->ep, (p->n_out + 1) * sizeof *p->out);
  if (!p->in || !p->in_type || !p->out) return od_no_memory(b->ep);
  for (size_t i = 0; i < p->n_in; i++) {
    p->in[i].rank = -1;
    if (!in[i]) continue;
    p->in[i] = in[i]->shape, p->in_type[i] = in[i]->dtype;
    if (od_type(in[i]->dtype) == dnnl_data_type_undef || in[i]->shape.rank > OD_MOST_DIMS) continue;
    uint32_t value = h->io_value(b->g, 0, i), mem;
    dnnl_memory_desc_t md = od_md_plain(in[i]->shape.rank, in[i]->shape.dim, od_type(in[i]->dtype));
    OD_TRY(od_temporary(b, &md, &mem));
    od_buf *buf = &p->bufs[p->mems[mem].buf];
    buf->place = OD_INPUT, buf->index = (uint32_t)i;
    OD_TRY(od_define(b, value, &in[i]->shape, in[i]->dtype, mem));
  }
  return NULL;
}

static bool lies_in_output(const od_builder *b, const od_value *v) {
  for (uint32_t i = 0; i < v->n_forms; i++) {
    const od_buf *buf = &b->plan->bufs[b->plan->mems[v->form[i]].buf];
    if (buf->place == OD_OUTPUT && buf->index == (uint32_t)v->output) return true;
  }
  return false;
}

/* Adds a reorder into the host's memory for output |i|, unless the value lies there already. */
static ox_status *give_output(od_builder *b, size_t i) {
  od_value *v = od_val(b, b->ep->host.io_value(b->g, 1, i));
  uint32_t mem, to;
  OD_TRY(od_read(b, (uint32_t)(v - b->values), &mem));
  b->plan->out[i] = v->shape;
  if (lies_in_output(b, v) || od_count(&v->shape) == 0) return NULL;
  dnnl_memory_desc_t md = od_md_of(v);
  OD_TRY(od_temporary(b, &md, &to));
  od_buf *buf = &b->plan->bufs[b->plan->mems[to].buf];
  buf->place = OD_OUTPUT, buf->index = (uint32_t)i;
  return od_copy(b, mem, to);
}

/* ---- all of it ---- */

static ox_status *build(od_builder *b, const ox_tensor *const *in) {
  OD_TRY(find_values(b));
  OD_TRY(take_inputs(b, in));
  for (b->node = 0; b->node < b->n_nodes; b->node++) {
    if (b->done[b->node]) continue; /* fused into an earlier node */
    od_node n = od_node_of(b, b->node);
    const od_op *op = od_op_find(&n);
    if (!op) return od_fail(b->ep, OX_NOT_IMPLEMENTED, "oneDNN: operator %s", od_op_name(&n));
    OD_TRY(op->build(b, &n));
    if (!b->done[b->node]) od_node_done(b, b->node);
  }
  b->node = b->n_nodes ? b->n_nodes - 1 : 0;
  for (size_t i = 0; i < b->plan->n_out; i++) OD_TRY(give_output(b, i));
  return od_arena_lay(b->ep, b->plan);
}

ox_status *od_plan_build(ox_program *p, const ox_tensor *const *in, od_plan **out_plan) {
  ox_ep *ep = p->ep;
  od_crew crew = {.host = &ep->host, .threads = ep->threads, .alone = 1}; /* for constants; the lock is held */
  od_builder b = {.ep = ep, .p = p, .g = p->g, .plan = od_alloc(ep, sizeof(od_plan))};
  if (!b.plan) return od_no_memory(ep);
  od_seat before = od_crew_enter(&crew);
  ox_status *st = build(&b, in);
  od_crew_leave(before);
  od_free(ep, b.values);
  od_free(ep, b.done);
  if (st) od_plan_release(ep, b.plan), b.plan = NULL;
  *out_plan = b.plan;
  return st;
}

void od_plan_release(ox_ep *ep, od_plan *plan) {
  if (!plan) return;
  for (od_context *c = plan->idle, *next; c; c = next) {
    next = c->next;
    od_context_release(ep, plan, c);
  }
  for (size_t i = 0; i < plan->n_steps; i++)
    if (plan->steps[i].prim) dnnl_primitive_destroy(plan->steps[i].prim);
  void *const parts[] = {plan->in, plan->out, plan->in_type, plan->bufs, plan->mems, plan->steps, plan};
  for (size_t i = 0; i < OD_COUNT(parts); i++) od_free(ep, parts[i]);
}
