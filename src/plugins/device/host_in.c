/* SPDX-License-Identifier: Apache-2.0
 * device/host_in.c - inputs that stay with the host (op.h). */
#include <string.h>

#include "base/macros.h"
#include "plugins/device/op.h"

static const struct {
  const char *name; /* as in dev_op.names */
  uint32_t host_in; /* bit i: input i */
} rows[] = {{"com.microsoft:GroupQueryAttention", 1u << 6}};

static uint32_t host_in(const dev_node *n) {
  const char *domain = n->host->node_domain(n->graph, n->index);
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    if (dev_op_is_called(rows[i].name, "", domain, dev_node_op(n))) return rows[i].host_in;
  return 0;
}

bool dev_stays_with_host(const ox_ep_host *h, const ox_graph_view *g, uint32_t value) {
  bool any = false;
  for (size_t i = 0; i < h->node_count(g); i++) {
    const dev_node n = {h, g, i};
    for (size_t k = 0; k < dev_in_count(&n); k++) {
      if (dev_in(&n, k) != value) continue;
      if (k >= 32 || !(host_in(&n) >> k & 1)) return false;
      any = true;
    }
  }
  return any;
}
