/* SPDX-License-Identifier: Apache-2.0
 * abi/plugin_1_0.c - a plug-in as it was written for 1.0: Neg of float32 as kernels, Abs and Sqrt of float32 as
 * programs. It keeps a copy of the host's services, by value, and computes on the host's threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ep_1_0.h"

#define EXPORT __attribute__((visibility("default")))

/* The layout that this library was compiled with, for the test to compare. */
typedef struct {
  const char *name;
  size_t offset;
} row;
EXPORT extern const row abi_1_0_rows[];
const row abi_1_0_rows[] = {
#define STRUCT(s) {#s, sizeof(s)},
#define MEMBER(s, m) {#s "." #m, offsetof(s, m)},
#include "abi/ep_1_0.inc"
    {NULL, 0}};

struct ox_ep {
  ox_ep_host host;
  int fails; /* the option "fail": in run */
};

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  ox_ep *ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, 16);
  if (host->struct_size != sizeof(ox_ep_host)) return host->status_make(OX_INCOMPATIBLE, "the host has another size");
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  *ep = (ox_ep){.host = *host};
  for (uint32_t i = 0; opts && i < opts->n; i++) ep->fails |= strcmp(opts->keys[i], "fail") == 0;
  host->log(1, "hello from 1.0");
  *out_ep = ep;
  return NULL;
}

static void destroy(ox_ep *ep) { ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep); }

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  const ox_ep_host *h = &ep->host;
  for (size_t i = 0; i < h->node_count(g); i++) {
    uint32_t kind, dtype;
    ox_shape shape;
    h->value_type(g, h->node_in(g, i, 0), &kind, &dtype, &shape);
    const char *op = h->node_op(g, i);
    if (dtype != OX_F32)
      h->decline(claims, i, "not of float32");
    else if (strcmp(op, "Neg") == 0)
      h->claim_node(claims, i);
    else if (strcmp(op, "Abs") == 0 || strcmp(op, "Sqrt") == 0)
      h->claim_fused(claims, i);
    else
      h->decline(claims, i, "another operator");
  }
  return NULL;
}

/* ---- kernels ---- */

typedef struct {
  ox_kernel base;
  ox_ep *ep;
} kernel;

static ox_status *prepare(ox_kernel *k, ox_kernel_ctx *c) {
  (void)k;
  c->n_stages = 1, c->n_tiles[0] = (int64_t)(c->in[0]->bytes / 4 + 63) / 64;
  return NULL;
}

static ox_status *run_kernel(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                             void *scratch) {
  const float *in = c->in[0]->data;
  float *out = c->out[0]->data;
  int64_t n = (int64_t)(c->in[0]->bytes / 4);
  (void)k, (void)stage, (void)scratch;
  for (int64_t i = begin * 64; i < end * 64 && i < n; i++) out[i] = -in[i];
  return NULL;
}

static void release(ox_kernel *k) {
  const ox_ep_host *h = &((kernel *)k)->ep->host;
  h->alloc.free(h->alloc.ctx, k, sizeof(kernel));
}

static const ox_kernel_api kernel_api = {sizeof(ox_kernel_api), prepare, run_kernel, release};

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  (void)g, (void)node;
  kernel *k = ep->host.alloc.alloc(ep->host.alloc.ctx, sizeof *k, 16);
  if (!k) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  *k = (kernel){{&kernel_api, 0}, ep};
  *out_kernel = &k->base;
  return NULL;
}

/* ---- programs: a chain of Abs and Sqrt ---- */

enum { MOST = 16 };

struct ox_program {
  ox_ep *ep;
  size_t n;
  int is_sqrt[MOST];
};

static ox_status *compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  const ox_ep_host *h = &ep->host;
  size_t n = h->node_count(part);
  if (n > MOST || h->io_count(part, 0) != 1 || h->io_count(part, 1) != 1) return h->status_make(OX_FAIL, "no chain");
  for (size_t i = 0; i < n; i++)
    if (h->node_in(part, i, 0) != (i ? h->node_out(part, i - 1, 0) : h->io_value(part, 0, 0)))
      return h->status_make(OX_FAIL, "no chain in order");
  ox_program *p = h->alloc.alloc(h->alloc.ctx, sizeof *p, 16);
  if (!p) return h->status_make(OX_OUT_OF_MEMORY, "out of memory");
  p->ep = ep, p->n = n;
  for (size_t i = 0; i < n; i++) p->is_sqrt[i] = strcmp(h->node_op(part, i), "Sqrt") == 0;
  *out_program = p;
  return NULL;
}

typedef struct {
  const ox_program *p;
  const float *in;
  float *out;
} work;

static void block(void *ctx, int64_t begin, int64_t end) {
  const work *w = ctx;
  for (int64_t i = begin; i < end; i++) {
    float x = w->in[i];
    for (size_t k = 0; k < w->p->n; k++) x = w->p->is_sqrt[k] ? sqrtf(x) : fabsf(x);
    w->out[i] = x;
  }
}

static ox_status *run(ox_program *p, const ox_io *io) {
  const ox_ep_host *h = &p->ep->host;
  if (p->ep->fails) return h->status_make(OX_FAIL, "told to fail by 1.0");
  work w = {p, io->in[0]->data, io->out[0]->data};
  if (!w.out) w.out = io->alloc_output(io, 0, &io->in[0]->shape);
  if (!w.out) return h->status_make(OX_OUT_OF_MEMORY, "out of memory");
  return h->parallel_for(h, (int64_t)(io->in[0]->bytes / 4), block, &w);
}

static void program_release(ox_program *p) { p->ep->host.alloc.free(p->ep->host.alloc.ctx, p, sizeof *p); }

static const ox_ep_api api = {sizeof(ox_ep_api), OX_EP_ABI_MAJOR, "first", create,         destroy, claim,
                              kernel_create,     compile,         run,     program_release};

EXPORT const ox_ep_api *ox_ep_query(uint32_t host_abi_major);
const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &api : NULL; }
