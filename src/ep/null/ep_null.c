/* SPDX-License-Identifier: Apache-2.0
 * ep/null/ep_null.c - a provider that wants nothing: the template to clone. */
#include "onyx/ep.h"

struct ox_ep {
  ox_ep_host host;
};

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  (void)opts;
  *out_ep = host->alloc.alloc(host->alloc.ctx, sizeof **out_ep, 16);
  if (!*out_ep) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  (*out_ep)->host = *host;
  return NULL;
}

static void destroy(ox_ep *ep) {
  if (ep) ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep);
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  for (size_t i = 0; i < ep->host.node_count(g); i++) ep->host.decline(claims, i, "the null provider takes nothing");
  return NULL;
}

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  (void)g, (void)node;
  *out_kernel = NULL;
  return ep->host.status_make(OX_FAIL, "the null provider has no kernels");
}

static const ox_ep_api api = {.struct_size = sizeof(ox_ep_api),
                              .abi_major = OX_EP_ABI_MAJOR,
                              .name = "null",
                              .create = create,
                              .destroy = destroy,
                              .claim = claim,
                              .kernel_create = kernel_create};

const ox_ep_api *ox_ep_null(void) { return &api; }
