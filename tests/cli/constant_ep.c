/* SPDX-License-Identifier: Apache-2.0
 * cli/constant_ep.c - a provider in a shared library: takes Relu of float32 and every node of domain "test", and fills
 * what they give with its option "value" (7). Built twice, the second time under a name that JSON has to escape. */
#include <stdlib.h>
#include <string.h>

#include "onyx/ep.h"

struct ox_ep {
  ox_ep_host host;
  float value;
};

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  ox_ep *ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, 16);
  *out_ep = ep;
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  *ep = (ox_ep){*host, 7};
  for (uint32_t i = 0; opts && i < opts->n; i++)
    if (strcmp(opts->keys[i], "value") == 0) ep->value = strtof(opts->values[i], NULL);
  return NULL;
}

static void destroy(ox_ep *ep) { ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep); }

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  const ox_ep_host *h = &ep->host;
  for (size_t i = 0; i < h->node_count(g); i++)
    if (strcmp(h->node_op(g, i), "Relu") == 0 || strcmp(h->node_domain(g, i), "test") == 0) h->claim_node(claims, i);
  return NULL;
}

typedef struct {
  ox_kernel base;
  ox_ep *ep;
} kernel;

static ox_status *prepare(ox_kernel *k, ox_kernel_ctx *c) {
  (void)k, (void)c;
  return NULL;
}

static ox_status *run(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end, void *scratch) {
  const ox_ep *ep = ((kernel *)k)->ep;
  (void)stage, (void)begin, (void)end, (void)scratch;
  float *out = c->out[0]->data;
  if (!out) out = c->host->alloc_output(c, 0, &c->in[0]->shape); /* domain "test": nobody knew the shape */
  if (!out) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  for (size_t i = 0; i < c->in[0]->bytes / sizeof *out; i++) out[i] = ep->value;
  return NULL;
}

static void release(ox_kernel *k) {
  const ox_ep *ep = ((kernel *)k)->ep;
  ep->host.alloc.free(ep->host.alloc.ctx, k, sizeof(kernel));
}

static const ox_kernel_api kernel_api = {
    .struct_size = sizeof(ox_kernel_api), .prepare = prepare, .run = run, .release = release};

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  (void)g, (void)node;
  kernel *k = ep->host.alloc.alloc(ep->host.alloc.ctx, sizeof *k, 16);
  *out_kernel = k ? &k->base : NULL;
  if (!k) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  *k = (kernel){{&kernel_api, 0}, ep};
  return NULL;
}

static const ox_ep_api api = {.struct_size = sizeof(ox_ep_api),
                              .abi_major = OX_EP_ABI_MAJOR,
#ifdef QUOTED_NAME
                              .name = "quo\"ted",
#else
                              .name = "plain",
#endif
                              .create = create,
                              .destroy = destroy,
                              .claim = claim,
                              .kernel_create = kernel_create};

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &api : NULL; }
