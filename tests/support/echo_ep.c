/* SPDX-License-Identifier: Apache-2.0
 * support/echo_ep.c - see echo_ep.h. */
#include "support/echo_ep.h"

#include <string.h>

#include "base/macros.h"
#include "ep/cpu/ep_cpu.h"
#include "ep/host.h"
#include "support/claim_rule.h"
#include "support/ep_watch.h"
#include "support/part_program.h"

struct ox_ep {
  ox_ep_host host;
  claim_rule rule;
  ox_ep *cpu;
};

/* ---- life ---- */

static void destroy(ox_ep *ep) {
  if (ep->cpu) ox_ep_cpu()->destroy(ep->cpu);
  ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep);
  ep_watch_gone();
}

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  OX_TRY(ep_watch_call(host, EP_CREATE));
  ox_ep *ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, 16);
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  *ep = (ox_ep){.host = *host};
  ep_watch_made();
  claim_rule_read(&ep->rule, opts);
  ox_status *st = ox_ep_cpu()->create(host, NULL, &ep->cpu);
  if (st)
    destroy(ep);
  else
    *out_ep = ep;
  return st;
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  OX_TRY(ep_watch_call(&ep->host, EP_CLAIM));
  return claim_rule_apply(&ep->rule, &ep->host, g, claims, NULL);
}

/* ---- kernels ---- */

typedef struct {
  ox_kernel base;
  ox_ep *ep;
  ox_kernel *cpu;
} kernel;

static ox_status *prepare(ox_kernel *k, ox_kernel_ctx *c) {
  const kernel *e = (const kernel *)k;
  OX_TRY(ep_watch_call(&e->ep->host, EP_PREPARE));
  return e->cpu->api->prepare(e->cpu, c);
}

static ox_status *run_kernel(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                             void *scratch) {
  const kernel *e = (const kernel *)k;
  OX_TRY(ep_watch_call(&e->ep->host, EP_KERNEL_RUN));
  return e->cpu->api->run(e->cpu, c, stage, begin, end, scratch);
}

static void release(ox_kernel *k) {
  kernel *e = (kernel *)k;
  e->cpu->api->release(e->cpu);
  e->ep->host.alloc.free(e->ep->host.alloc.ctx, e, sizeof *e);
  ep_watch_gone();
}

static void traits(const ox_kernel *k, ox_kernel_traits *out) {
  const kernel *e = (const kernel *)k;
  e->cpu->api->traits(e->cpu, out);
}

static double flops(const ox_kernel *k, const ox_kernel_ctx *c) {
  const kernel *e = (const kernel *)k;
  return e->cpu->api->flops(e->cpu, c);
}

static const ox_kernel_api kernel_api = {sizeof kernel_api, prepare, run_kernel, release, traits, flops};

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  OX_TRY(ep_watch_call(&ep->host, EP_KERNEL_CREATE));
  kernel *e = ep->host.alloc.alloc(ep->host.alloc.ctx, sizeof *e, 16);
  if (!e) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  *e = (kernel){.base.api = &kernel_api, .ep = ep};
  ox_status *st = ox_ep_cpu()->kernel_create(ep->cpu, g, node, &e->cpu);
  if (st) {
    ep->host.alloc.free(ep->host.alloc.ctx, e, sizeof *e);
    return st;
  }
  e->base.consumed = e->cpu->consumed;
  ep_watch_made();
  *out_kernel = &e->base;
  return NULL;
}

/* ---- programs ---- */

struct ox_program {
  ox_ep *ep;
  part_program *part;
  const ox_graph_view *view;
};

static ox_status *make_program(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  ox_program *p = ep->host.alloc.alloc(ep->host.alloc.ctx, sizeof *p, 16);
  if (!p) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  *p = (ox_program){.ep = ep, .view = part};
  ox_status *st = part_program_create(&ep->host, part, &p->part);
  if (st) {
    ep->host.alloc.free(ep->host.alloc.ctx, p, sizeof *p);
    return st;
  }
  ep_watch_made();
  *out_program = p;
  return NULL;
}

static ox_status *compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  OX_TRY(ep_watch_call(&ep->host, EP_COMPILE));
  return make_program(ep, part, out_program);
}

static ox_status *run_program(ox_program *p, const ox_io *io) {
  OX_TRY(ep_watch_call(&p->ep->host, EP_PROGRAM_RUN));
  return part_program_run(p->part, io);
}

static void program_release(ox_program *p) {
  ox_ep *ep = p->ep;
  part_program_destroy(p->part);
  ep->host.alloc.free(ep->host.alloc.ctx, p, sizeof *p);
  ep_watch_gone();
}

/* What is saved: the operators in order, one a line. Enough to tell one part from another. */
static ox_status *save(ox_program *p, ox_status *(*write)(void *ctx, const void *bytes, size_t n), void *ctx) {
  const ox_ep_host *h = &p->ep->host;
  OX_TRY(ep_watch_call(h, EP_SAVE));
  for (size_t i = 0; i < h->node_count(p->view); i++) {
    const char *op = h->node_op(p->view, i);
    OX_TRY(write(ctx, op, strlen(op)));
    OX_TRY(write(ctx, "\n", 1));
  }
  return NULL;
}

static ox_status *load(ox_ep *ep, const ox_graph_view *part, const void *bytes, size_t n, ox_program **out_program) {
  const ox_ep_host *h = &ep->host;
  const char *at = bytes, *end = at + n;
  OX_TRY(ep_watch_call(h, EP_LOAD));
  for (size_t i = 0; i < h->node_count(part); i++) {
    size_t len = strlen(h->node_op(part, i));
    bool same = (size_t)(end - at) > len && memcmp(at, h->node_op(part, i), len) == 0 && at[len] == '\n';
    if (!same) return h->status_make(OX_FAIL, "saved from another part");
    at += len + 1;
  }
  if (at != end) return h->status_make(OX_FAIL, "saved from a longer part");
  return make_program(ep, part, out_program);
}

static const ox_ep_api api = {.struct_size = sizeof api,
                              .abi_major = OX_EP_ABI_MAJOR,
                              .name = "echo",
                              .create = create,
                              .destroy = destroy,
                              .claim = claim,
                              .kernel_create = kernel_create,
                              .compile = compile,
                              .run = run_program,
                              .program_release = program_release,
                              .version = "1",
                              .options = claim_rule_options,
                              .n_options = CLAIM_RULE_OPTIONS,
                              .save = save,
                              .load = load};

const ox_ep_api *echo_ep(void) { return &api; }
