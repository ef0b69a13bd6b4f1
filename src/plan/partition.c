/* SPDX-License-Identifier: Apache-2.0
 * plan/partition.c - see partition.h. */
#include "plan/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "ep/view.h"
#include "graph/extract.h"
#include "graph/registry.h"
#include "plan/kept_parts.h"
#include "plan/layout.h"
#include "plan/missing.h"
#include "plan/parts.h"

enum { MOST_OWNERS = OX_HOST_OWNER - 1 };

/* ---- asking ---- */

/* One provider and one graph. */
typedef struct {
  ox_graph *g;
  const ox_provider *p;
  uint16_t owner;
  ox_parts *parts; /* made when a provider first names a part */
  ox_claims claims;
} question;

static bool is_free(const ox_node *n) { return n->assigned.owner == OX_NO_OWNER; }

/* A node that its operator rejects has no owner: it is an error if it runs. */
static bool is_asked_about(const ox_node *n) { return is_free(n) && !n->refused; }

static ox_status *keep_refusal(ox_claims *c, size_t node, const char *why) {
  const question *q = c->ctx;
  ox_node *n = &q->g->nodes[c->view->nodes[node]];
  ox_arena *a = &q->g->model->arena;
  ox_refusal *r = OX_ARENA_NEW(a, ox_refusal);
  const ox_refusal *before = n->refusals;
  if (before && before->owner == q->owner) before = before->next; /* asked a second time */
  if (r) *r = (ox_refusal){q->owner, ox_arena_str(a, why, strlen(why)), before};
  if (!r || !r->why) return ox_oom();
  n->refusals = r;
  ox_log_write(q->p->services.log, OX_LOG_DEBUG, "%s declines node '%s' (%s): %s", q->p->api.name, n->name, n->op, why);
  return NULL;
}

/* A node that a provider put into a part by claim_part. */
typedef struct {
  uint64_t key; /* owner and part */
  ox_id node;
} named_node;

static int compare_named(const void *a, const void *b) {
  const named_node *x = a, *y = b;
  return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->node > y->node) - (x->node < y->node);
}

/* Joins the nodes of each part that a provider named. */
static ox_status *join_named(ox_parts *parts, const ox_graph *g) {
  ox_alloc a = g->model->alloc;
  size_t bytes = (g->n_nodes + 1) * (sizeof(named_node) + sizeof(ox_id)), n = 0;
  named_node *named = ox_new(a, bytes);
  ox_status *st = NULL;
  if (!named) return ox_oom();
  ox_id *nodes = (ox_id *)(named + g->n_nodes + 1);
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_assignment *x = &g->nodes[i].assigned;
    if (!g->nodes[i].dead && x->part) named[n++] = (named_node){(uint64_t)x->owner << 32 | x->part, i};
  }
  qsort(named, n, sizeof *named, compare_named);
  for (size_t i = 0; i < n; i++) nodes[i] = named[i].node;
  for (size_t i = 0, end; i < n && !st; i = end) {
    for (end = i + 1; end < n && named[end].key == named[i].key;) end++;
    st = ox_parts_join(parts, nodes + i, end - i);
  }
  ox_delete(a, named, bytes);
  return st;
}

static ox_status *check_part(ox_claims *c, const size_t *nodes, size_t n) {
  question *q = c->ctx;
  ox_alloc a = q->g->model->alloc;
  if (!q->parts) {
    OX_TRY(ox_parts_create(q->g, a, &q->parts));
    OX_TRY(join_named(q->parts, q->g));
  }
  ox_id *ids = ox_new(a, n * sizeof *ids);
  if (!ids) return ox_oom();
  for (size_t i = 0; i < n; i++) ids[i] = c->view->nodes[nodes[i]];
  ox_status *st = ox_parts_join(q->parts, ids, n);
  ox_delete(a, ids, n * sizeof *ids);
  return ox_status_note(st, "claim_part");
}

/* Assigns what was claimed and can be served. */
static ox_status *assign(question *q) {
  size_t taken = 0;
  const ox_claims *c = &q->claims;
  for (size_t i = 0; i < c->n; i++) {
    ox_node *n = &q->g->nodes[c->view->nodes[i]];
    bool kernel = c->kind[i] == OX_CLAIM_KERNEL, fused = c->kind[i] == OX_CLAIM_FUSED;
    const char *why = kernel && !q->p->api.kernel_create ? "the provider has no kernels"
                      : kernel && ox_node_body(n, 0)     ? "a node with bodies can only be claimed as part of a program"
                      : fused && !q->p->api.compile      ? "the provider has no programs"
                                                         : NULL;
    if (why) OX_TRY(keep_refusal(&q->claims, i, why));
    if (why || !(kernel || fused)) continue;
    n->assigned = (ox_assignment){q->owner, c->kind[i], c->part[i]};
    taken++;
  }
  ox_log_write(q->p->services.log, OX_LOG_INFO, "provider %s takes %zu of %zu free nodes of graph '%s'", q->p->api.name,
               taken, c->n, q->g->name);
  return NULL;
}

static ox_status *ask_about(question *q, ox_arena *a) {
  ox_graph_view *view;
  OX_TRY(ox_view_create(q->g, a, is_asked_about, &view));
  if (!view->n_nodes) return NULL;
  q->claims = (ox_claims){.n = view->n_nodes,
                          .kind = ox_arena_alloc(a, view->n_nodes),
                          .part = OX_ARENA_ARRAY(a, uint32_t, view->n_nodes),
                          .view = view,
                          .provider = q->p->api.name,
                          .keep = keep_refusal,
                          .check_part = check_part,
                          .ctx = q};
  if (!q->claims.kind || !q->claims.part) return ox_oom();
  ox_status *st = q->p->api.claim(q->p->ep, view, &q->claims);
  if (q->claims.status && st)
    ox_status_free(q->claims.status);
  else if (q->claims.status)
    st = q->claims.status;
  OX_TRY(st);
  return assign(q);
}

/* |g| and the bodies of nodes that are still free, outermost first: claiming a node claims its bodies. */
static ox_status *ask(ox_graph *g, const ox_provider *p, uint16_t owner) {
  ox_arena arena;
  question q = {.g = g, .p = p, .owner = owner};
  ox_arena_init(&arena, g->model->alloc);
  ox_status *st = ask_about(&q, &arena);
  ox_parts_destroy(q.parts);
  ox_arena_deinit(&arena);
  OX_TRY(ox_status_note(st, "provider '%s'", p->api.name));
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    ox_graph *b;
    for (uint32_t k = 0; !n->dead && is_free(n) && (b = ox_node_body(n, k)); k++) OX_TRY(ask(b, p, owner));
  }
  return NULL;
}

/* The owner of a node owns all nodes of its bodies. */
static void assign_below(const ox_node *n) {
  ox_graph *b;
  for (uint32_t k = 0; (b = ox_node_body(n, k)); k++)
    for (ox_id i = 0; i < b->n_nodes; i++) {
      if (b->nodes[i].dead) continue;
      b->nodes[i].assigned = n->assigned;
      assign_below(&b->nodes[i]);
    }
}

static bool by_host(const ox_model *m, const ox_node *n) {
  const ox_schema *s = ox_node_schema(m, n, NULL);
  return n->refused || (s && ((s->traits & (OX_VIEW | OX_CONTROL)) || ox_node_body(n, 0)));
}

/* What the host does itself: views and the walk through bodies. */
static void assign_host(ox_graph *g) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    ox_node *n = &g->nodes[i];
    ox_graph *b;
    if (n->dead) continue;
    if (!is_free(n)) {
      assign_below(n);
      continue;
    }
    if (by_host(g->model, n)) n->assigned.owner = OX_HOST_OWNER;
    for (uint32_t k = 0; (b = ox_node_body(n, k)); k++) assign_host(b);
  }
}

/* Frees what |owner| claimed. */
static void unassign(ox_graph *g, uint16_t owner) {
  ox_graph *b;
  for (ox_id i = 0; i < g->n_nodes; i++) {
    if (g->nodes[i].assigned.owner == owner) g->nodes[i].assigned = (ox_assignment){.owner = OX_NO_OWNER};
    for (uint32_t k = 0; (b = ox_node_body(&g->nodes[i], k)); k++) unassign(b, owner);
  }
}

/* A provider that prefers channels last is asked a second time, about the graph as it would be then. */
static ox_status *ask_with_layout(ox_model *m, const ox_provider *p, uint16_t owner) {
  uint32_t n = 0;
  OX_TRY(ask(m->graph, p, owner));
  if (!p->api.layout) return NULL;
  OX_TRY(ox_layout_convert(m->graph, p, owner, &n));
  if (!n) return NULL;
  ox_log_write(p->services.log, OX_LOG_INFO, "provider %s: %u nodes with channels last", p->api.name, n);
  unassign(m->graph, owner);
  OX_TRY(ask(m->graph, p, owner));
  return ox_layout_revert(m->graph);
}

/* Nodes that may share a program: one owner, and no part of their own. */
static uint64_t kind_of(const ox_node *n) {
  return n->assigned.claim == OX_CLAIM_FUSED && !n->assigned.part ? n->assigned.owner : 0;
}

/* Frees those programs of the main graph that |owner| is not to have; bodies are not divided. */
static ox_status *keep_some(ox_graph *g, uint16_t owner, const char *list) {
  ox_parts *parts;
  OX_TRY(ox_parts_create(g, g->model->alloc, &parts));
  ox_status *st = join_named(parts, g);
  if (!st) ox_parts_grow(parts, kind_of);
  if (!st) st = ox_parts_keep(g, parts, owner, list);
  ox_parts_destroy(parts);
  return st;
}

ox_status *ox_partition(ox_model *m, ox_provider *providers, size_t n) {
  if (n > MOST_OWNERS) return ox_fail(OX_LIMIT, "more than %d providers", MOST_OWNERS);
  for (size_t i = 0; i < n; i++) {
    OX_TRY(ask_with_layout(m, &providers[i], (uint16_t)(i + 1)));
    if (providers[i].parts) OX_TRY(keep_some(m->graph, (uint16_t)(i + 1), providers[i].parts));
  }
  assign_host(m->graph);
  return ox_missing_check(m->graph);
}

/* ---- parts ---- */

static ox_status *extract_one(ox_graph *g, const ox_provider *providers, size_t n_providers, const ox_id *nodes,
                              size_t n, uint32_t number) {
  char name[128];
  ox_id node;
  ox_assignment assigned = g->nodes[nodes[0]].assigned;
  snprintf(name, sizeof name, "%.64s part %u of %.32s", ox_owner_name(providers, n_providers, assigned.owner), number,
           g->name);
  OX_TRY(ox_graph_extract(g, name, nodes, n, &node));
  g->nodes[node].assigned = assigned;
  return NULL;
}

/* Whether a group is views alone: the host leaves their bytes in place, also on a device, where a program would copy
 * them. Not for views of the graph's inputs, which a caller may have on the device while other readers see them in host
 * memory. */
static bool only_views(const ox_graph *g, const ox_provider *providers, const ox_id *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const ox_node *node = &g->nodes[nodes[i]];
    const ox_schema *s = ox_node_schema(g->model, node, NULL);
    if (!s || !(s->traits & OX_VIEW) || node->assigned.part || !providers[node->assigned.owner - 1].api.n_memories)
      return false;
    if (node->in[0] == OX_NONE || g->values[node->in[0]].is_input) return false;
  }
  return true;
}

static void give_to_host(ox_graph *g, const ox_id *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) g->nodes[nodes[i]].assigned = (ox_assignment){.owner = OX_HOST_OWNER};
}

/* |order|: all nodes, topologically; those of one group become one node. |begin| and |members|: room for n + 1 and n.
 */
static ox_status *extract_groups(ox_graph *g, const ox_provider *providers, size_t n_providers, ox_parts *parts,
                                 const ox_id *order, uint32_t n, uint32_t *begin, ox_id *members) {
  uint32_t number = 0, n_ids = g->n_nodes, n_members;
  for (uint32_t i = 0; i < n; i++)
    if (g->nodes[order[i]].assigned.claim == OX_CLAIM_FUSED) begin[ox_parts_group(parts, order[i]) + 1]++;
  for (uint32_t i = 0; i < n_ids; i++) begin[i + 1] += begin[i];
  n_members = begin[n_ids];
  for (uint32_t i = n; i-- > 0;) /* begin[k + 1] falls from the end of group k to its beginning */
    if (g->nodes[order[i]].assigned.claim == OX_CLAIM_FUSED)
      members[--begin[ox_parts_group(parts, order[i]) + 1]] = order[i];
  for (uint32_t i = 0; i < n_ids; i++) {
    uint32_t from = begin[i + 1], to = i + 1 < n_ids ? begin[i + 2] : n_members;
    if (to > from && only_views(g, providers, members + from, to - from))
      give_to_host(g, members + from, to - from);
    else if (to > from)
      OX_TRY(extract_one(g, providers, n_providers, members + from, to - from, ++number));
  }
  return NULL;
}

static ox_status *extract_from(ox_graph *g, const ox_provider *providers, size_t n_providers) {
  ox_alloc a = g->model->alloc;
  ox_parts *parts = NULL;
  ox_id *order = NULL;
  uint32_t n = 0, n_alloc = g->n_nodes;
  size_t bytes = (2 * (size_t)n_alloc + 2) * sizeof(uint32_t);
  bool any = false;
  for (ox_id i = 0; i < g->n_nodes; i++) any |= !g->nodes[i].dead && g->nodes[i].assigned.claim == OX_CLAIM_FUSED;
  if (!any) return NULL;
  uint32_t *begin = ox_new_zeroed(a, bytes);
  ox_status *st = begin ? ox_parts_create(g, a, &parts) : ox_oom();
  if (!st) st = join_named(parts, g);
  if (!st) ox_parts_grow(parts, kind_of);
  if (!st) st = ox_graph_order(g, a, &order, &n);
  if (!st) st = extract_groups(g, providers, n_providers, parts, order, n, begin, begin + n_alloc + 1);
  ox_delete(a, order, n_alloc * sizeof *order);
  ox_delete(a, begin, bytes);
  ox_parts_destroy(parts);
  return st;
}

static ox_status *extract_all(ox_graph *g, const ox_provider *providers, size_t n) {
  OX_TRY(extract_from(g, providers, n));
  for (ox_id i = 0; i < g->n_nodes; i++) {
    ox_graph *b;
    if (g->nodes[i].dead || g->nodes[i].assigned.claim == OX_CLAIM_FUSED) continue;
    for (uint32_t k = 0; (b = ox_node_body(&g->nodes[i], k)); k++) OX_TRY(extract_all(b, providers, n));
  }
  return NULL;
}

ox_status *ox_partition_extract(ox_model *m, const ox_provider *providers, size_t n) {
  return extract_all(m->graph, providers, n);
}
