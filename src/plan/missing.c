/* SPDX-License-Identifier: Apache-2.0
 * plan/missing.c - collects missing operators over all bodies, counted, in order of first appearance. */
#include "plan/missing.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  const char *domain, *op;
  int64_t version;
  size_t count;
} missing_op;

enum { MOST_LISTED = 64 };

typedef struct {
  missing_op ops[MOST_LISTED];
  size_t n, total;
  const ox_plan_opts *opts;
} missing_list;

static void note(missing_list *l, const char *domain, const char *op, int64_t version) {
  l->total++;
  for (size_t i = 0; i < l->n; i++)
    if (strcmp(l->ops[i].op, op) == 0 && strcmp(l->ops[i].domain, domain) == 0) {
      l->ops[i].count++;
      return;
    }
  if (l->n < MOST_LISTED) l->ops[l->n++] = (missing_op){domain, op, version, 1};
}

static ox_status *collect(const ox_graph *g, const uint32_t *provider_of, missing_list *l) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    if (n->dead) continue;
    uint32_t version;
    const ox_schema *def = ox_node_schema(g->model, n, &version);
    bool by_host = def && (def->traits & (OX_VIEW | OX_CONTROL));
    if (provider_of[i] == OX_NONE && !by_host) note(l, n->domain, n->op, version);
    for (uint32_t k = 0; k < n->n_attrs; k++) {
      const ox_graph *body = n->attrs[k].graph;
      if (!body) continue;
      size_t bytes = (body->n_nodes + 1) * (sizeof(uint32_t) + 1);
      uint32_t *taken = ox_new(l->opts->alloc, bytes);
      if (!taken) return ox_oom();
      ox_status *st = ox_partition(body, l->opts, taken, (uint8_t *)(taken + body->n_nodes + 1));
      if (!st) st = collect(body, taken, l);
      ox_delete(l->opts->alloc, taken, bytes);
      OX_TRY(st);
    }
  }
  return NULL;
}

ox_status *ox_missing_check(const ox_graph *g, const ox_plan_opts *opts, const uint32_t *provider_of) {
  missing_list l = {.opts = opts};
  OX_TRY(collect(g, provider_of, &l));
  if (!l.total) return NULL;
  char text[MOST_LISTED * 48];
  size_t at = 0;
  for (size_t i = 0; i < l.n && at + 1 < sizeof text; i++) {
    const missing_op *m = &l.ops[i];
    int n = snprintf(text + at, sizeof text - at, "%s%s%s%s(%lld) x%zu", i ? ", " : "", m->domain, m->domain[0] ? "." : "",
                     m->op, (long long)m->version, m->count);
    if (n < 0) break;
    at += (size_t)n;
  }
  return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: %s", text);
}
