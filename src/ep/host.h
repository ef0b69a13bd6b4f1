/* SPDX-License-Identifier: Apache-2.0
 * ep/host.h - the host's side of ep.h: graph views, claims, the service table. */
#ifndef OX_EP_HOST_H
#define OX_EP_HOST_H

#include "base/log.h"
#include "ep/view.h"
#include "graph/registry.h"
#include "onyx/task.h"

enum { OX_CLAIM_NONE = 0, OX_CLAIM_KERNEL = 1, OX_CLAIM_FUSED = 2 };

/* What one provider claims in one view. |kind| and |part| have an entry per node of the view. */
struct ox_claims {
  size_t n;
  uint8_t *kind;        /* OX_CLAIM_* */
  uint32_t *part;       /* 0, or the number of the claim_part that took the node */
  uint32_t n_parts;
  const ox_graph_view *view;
  const char *provider;
  /* |keep| is called for each refusal; the first failure of the host (out of memory) stays in |status|. */
  ox_status *(*keep)(struct ox_claims *c, size_t node, const char *why);
  /* Whether these nodes can become one node without a cycle. */
  ox_status *(*check_part)(struct ox_claims *c, const size_t *nodes, size_t n);
  void *ctx;
  ox_status *status;
};

/* What the services of one provider in one session work with. */
typedef struct ox_ep_services {
  ox_alloc alloc;      /* for the provider's long-lived memory */
  const ox_log *log;
  ox_pool *pool;
  uint32_t max_threads;
  const char *provider;
  const ox_registry *custom_ops; /* operators given to env and session; NULL: none */
  void *user;                    /* ox_ep_host.user */
  /* ox_ep_host.memory_take and memory_give; NULL: there are no memories. */
  ox_status *(*take)(const struct ox_ep_services *s, uint32_t memory, size_t bytes, void **out_data);
  void (*give)(const struct ox_ep_services *s, uint32_t memory, void *data, size_t bytes);
} ox_ep_services;

/* Makes the service table for a provider with the table |api|; it is no larger than the one the plug-in was built
 * against, so that the plug-in can copy all of it. |s| must outlive the provider. */
ox_ep_host ox_ep_host_make(const ox_ep_services *s, const ox_ep_api *api);

/* Checks a provider's table (sizes, required entries, entries that need each other) and copies it. Error:
 * INCOMPATIBLE. */
OX_NODISCARD ox_status *ox_ep_adopt(const ox_ep_api *theirs, ox_ep_api *out_api);
/* Checks |o| against the options that |api| declares. Error: INVALID_ARGUMENT naming key, value and what is allowed. */
OX_NODISCARD ox_status *ox_ep_check_options(const ox_ep_api *api, const ox_options *o);

#endif
