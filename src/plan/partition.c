/* SPDX-License-Identifier: Apache-2.0
 * plan/partition.c - asks the providers, in the caller's order, which nodes each will take. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

/* One provider looks at all nodes that are still free. */
static ox_status *ask(const ox_graph *g, const ox_plan_opts *o, size_t provider, uint32_t *provider_of, uint8_t *kind) {
  ox_status *st = NULL;
  uint32_t n = g->n_nodes;
  ox_id *free_nodes = ox_new(o->alloc, (n + 1) * sizeof *free_nodes);
  uint8_t *claimed = ox_new_zeroed(o->alloc, n + 1);
  if (!free_nodes || !claimed) {
    st = ox_oom();
    goto done;
  }
  ox_graph_view view = {.graph = g, .nodes = free_nodes};
  for (ox_id i = 0; i < n; i++)
    if (!g->nodes[i].dead && provider_of[i] == OX_NONE) free_nodes[view.n_nodes++] = i;
  const ox_provider *p = &o->providers[provider];
  ox_claims claims = {.n = view.n_nodes, .kind = claimed, .view = &view, .log = o->log, .provider = p->api.name};
  OX_TRY_TO(done, st, p->api.claim(p->ep, &view, &claims));
  size_t taken = 0;
  for (size_t i = 0; i < view.n_nodes; i++) {
    if (claimed[i] != OX_CLAIM_KERNEL || !p->api.kernel_create) continue; /* programs are not served: docs/providers.md */
    provider_of[free_nodes[i]] = (uint32_t)provider, kind[free_nodes[i]] = claimed[i], taken++;
  }
  ox_log_write(o->log, OX_LOG_INFO, "provider %s takes %zu of %zu free nodes", p->api.name, taken, view.n_nodes);
done:
  ox_delete(o->alloc, free_nodes, (n + 1) * sizeof *free_nodes);
  ox_delete(o->alloc, claimed, n + 1);
  return st;
}

ox_status *ox_partition(const ox_graph *g, const ox_plan_opts *opts, uint32_t *provider_of, uint8_t *kind) {
  for (uint32_t i = 0; i < g->n_nodes; i++) provider_of[i] = OX_NONE, kind[i] = OX_CLAIM_NONE;
  for (size_t p = 0; p < opts->n_providers; p++) OX_TRY(ask(g, opts, p, provider_of, kind));
  return NULL;
}
