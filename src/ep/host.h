/* SPDX-License-Identifier: Apache-2.0
 * ep/host.h - the host's side of ep.h: graph views, claims, the service table. */
#ifndef OX_EP_HOST_H
#define OX_EP_HOST_H

#include "base/log.h"
#include "graph/graph.h"

/* A graph, or the part of it that |nodes| lists, as a provider sees it. */
struct ox_graph_view {
  const ox_graph *graph;
  const ox_id *nodes;
  size_t n_nodes;
  const ox_id *inputs, *outputs; /* of a part; NULL: the graph's own */
  size_t n_inputs, n_outputs;
};

enum { OX_CLAIM_NONE = 0, OX_CLAIM_KERNEL = 1, OX_CLAIM_FUSED = 2 };

struct ox_claims {
  size_t n;
  uint8_t *kind; /* OX_CLAIM_* per node of the view */
  const ox_graph_view *view;
  const ox_log *log; /* reasons for declining go here, at debug level */
  const char *provider;
};

/* The service table for providers; |alloc| serves their long-lived memory. */
ox_ep_host ox_ep_host_make(ox_alloc alloc);

/* Checks a provider's table (sizes, required entries, kernels or programs complete) and copies it. INCOMPATIBLE. */
OX_NODISCARD ox_status *ox_ep_adopt(const ox_ep_api *theirs, ox_ep_api *out_api);

/* The providers that are built in. */
const ox_ep_api *ox_ep_cpu(void);
const ox_ep_api *ox_ep_null(void);

#endif
