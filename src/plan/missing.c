/* SPDX-License-Identifier: Apache-2.0
 * plan/missing.c - see missing.h; in order of first appearance. */
#include "plan/missing.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"

typedef struct {
  const char *domain, *op;
  int64_t version;
  size_t count;
} missing_op;

enum { MOST_LISTED = 64 };

typedef struct {
  missing_op ops[MOST_LISTED];
  size_t n, total;
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

static void collect(const ox_graph *g, missing_list *l) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    ox_graph *b;
    if (n->dead) continue;
    if (n->assigned.owner == OX_NO_OWNER) note(l, n->domain, n->op, OX_MAX(ox_node_version(g->model, n), 1));
    for (uint32_t k = 0; (b = ox_node_body(n, k)); k++) collect(b, l);
  }
}

ox_status *ox_missing_check(const ox_graph *g) {
  missing_list l = {.n = 0};
  collect(g, &l);
  if (!l.total) return NULL;
  char text[MOST_LISTED * 48];
  size_t at = 0;
  for (size_t i = 0; i < l.n && at + 1 < sizeof text; i++) {
    const missing_op *m = &l.ops[i];
    int n = snprintf(text + at, sizeof text - at, "%s%s%s%s(%lld) x%zu", i ? ", " : "", m->domain,
                     m->domain[0] ? "." : "", m->op, (long long)m->version, m->count);
    if (n < 0) break;
    at += (size_t)n;
  }
  return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: %s", text);
}
