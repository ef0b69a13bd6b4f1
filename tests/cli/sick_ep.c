/* SPDX-License-Identifier: Apache-2.0
 * cli/sick_ep.c - a provider whose library loads, but which cannot be created: as of a device that is not there. */
#include "onyx/plugin.h"

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  (void)opts;
  *out_ep = NULL;
  return host->status_make(OX_FAIL, "there is no such device in this machine");
}

static void destroy(ox_ep *ep) { (void)ep; }

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  (void)ep, (void)g, (void)claims;
  return NULL;
}

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  (void)ep, (void)g, (void)node;
  *out_kernel = NULL;
  return NULL;
}

static const ox_option_def options[] = {{.key = "device_id", .type = OX_OPTION_INT, .otherwise = "0", .help = "which"}};
static const ox_ep_api api = {.struct_size = sizeof(ox_ep_api),
                              .abi_major = OX_EP_ABI_MAJOR,
                              .name = "sick",
                              .create = create,
                              .destroy = destroy,
                              .claim = claim,
                              .kernel_create = kernel_create,
                              .options = options,
                              .n_options = 1};
static const ox_ep_api *const providers[] = {&api};
static const ox_plugin plugin = {.struct_size = sizeof plugin,
                                 .abi_major = OX_EP_ABI_MAJOR,
                                 .name = "sick",
                                 .providers = providers,
                                 .n_providers = 1};

const ox_plugin *ox_plugin_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &plugin : NULL; }
