/* SPDX-License-Identifier: Apache-2.0
 * plan/parts.c - groups as a union-find whose members form a ring, in a topological order of the contracted graph.
 * Groups can be joined if no path leaves them and comes back. Such a path only visits groups whose rank lies between
 * theirs, so the search ends there; what it reached must come after the joined group from then on, the rest of that
 * span before it (the reordering of Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic
 * graphs", 2007, for a contraction instead of a new edge). Along a chain of nodes the span is a few groups long. */
#include "plan/parts.h"

#include <string.h>

#include "base/macros.h"

struct ox_parts {
  const ox_graph *g;
  ox_alloc alloc;
  uint32_t n, n_ranks;
  uint32_t *memory; /* the block behind the arrays below */
  size_t bytes;
  uint32_t *group;      /* per node, union-find: parent */
  uint32_t *ring;       /* per node: the next member of its group */
  uint32_t *rank;       /* per root: its place in the order */
  uint32_t *at_rank;    /* per rank: the root there, or OX_NONE */
  uint32_t *mark;       /* per root: the round in which it was reached, or was one of those to join */
  uint32_t *stack;      /* roots */
  uint32_t *first_succ; /* per node, n + 1: where its readers begin in |succ| */
  uint32_t *succ;
  uint32_t round;
};

/* ---- readers ---- */

/* Calls |fn| for the producer of each value that node |i| or one of its bodies reads. */
static void each_read(ox_parts *p, ox_id i, void (*fn)(ox_parts *p, ox_id producer, ox_id reader)) {
  const ox_node *n = &p->g->nodes[i];
  ox_graph *b;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != OX_NONE && p->g->values[n->in[k]].producer != OX_NONE) fn(p, p->g->values[n->in[k]].producer, i);
  for (uint32_t k = 0; (b = ox_node_body(n, k)); k++)
    for (ox_id v = 0; v < b->n_values; v++) {
      ox_id outer = b->values[v].dead ? OX_NONE : b->values[v].outer;
      if (outer != OX_NONE && p->g->values[outer].producer != OX_NONE) fn(p, p->g->values[outer].producer, i);
    }
}

static void count_reader(ox_parts *p, ox_id producer, ox_id reader) {
  (void)reader;
  p->first_succ[producer + 1]++;
}

static void add_reader(ox_parts *p, ox_id producer, ox_id reader) { p->succ[p->stack[producer]++] = reader; }

static ox_status *list_readers(ox_parts *p) {
  for (ox_id i = 0; i < p->n; i++)
    if (!p->g->nodes[i].dead) each_read(p, i, count_reader);
  for (ox_id i = 0; i < p->n; i++) p->first_succ[i + 1] += p->first_succ[i];
  p->succ = ox_new(p->alloc, ((size_t)p->first_succ[p->n] + 1) * sizeof *p->succ);
  if (!p->succ) return ox_oom();
  memcpy(p->stack, p->first_succ, p->n * sizeof *p->stack);
  for (ox_id i = 0; i < p->n; i++)
    if (!p->g->nodes[i].dead) each_read(p, i, add_reader);
  return NULL;
}

static ox_status *rank_nodes(ox_parts *p) {
  ox_id *order = NULL;
  OX_TRY(ox_graph_order(p->g, p->alloc, &order, &p->n_ranks));
  for (uint32_t r = 0; r < p->n_ranks; r++) p->at_rank[r] = order[r], p->rank[order[r]] = r;
  ox_delete(p->alloc, order, p->n * sizeof *order);
  return NULL;
}

static ox_status *build(ox_parts *p) {
  size_t n = p->n;
  p->bytes = (7 * n + 1) * sizeof(uint32_t);
  uint32_t *at = p->memory = ox_new_zeroed(p->alloc, p->bytes);
  if (!at) return ox_oom();
  p->group = at, p->ring = at + n, p->rank = at + 2 * n, p->at_rank = at + 3 * n;
  p->mark = at + 4 * n, p->stack = at + 5 * n, p->first_succ = at + 6 * n;
  for (uint32_t i = 0; i < p->n; i++) p->group[i] = p->ring[i] = i;
  OX_TRY(rank_nodes(p));
  return list_readers(p);
}

ox_status *ox_parts_create(const ox_graph *g, ox_alloc alloc, ox_parts **out_parts) {
  *out_parts = NULL;
  ox_parts *p = ox_new_zeroed(alloc, sizeof *p);
  if (!p) return ox_oom();
  p->g = g, p->alloc = alloc, p->n = g->n_nodes;
  ox_status *st = build(p);
  if (st)
    ox_parts_destroy(p);
  else
    *out_parts = p;
  return st;
}

void ox_parts_destroy(ox_parts *p) {
  if (!p) return;
  if (p->succ) ox_delete(p->alloc, p->succ, ((size_t)p->first_succ[p->n] + 1) * sizeof *p->succ);
  ox_delete(p->alloc, p->memory, p->bytes);
  ox_delete(p->alloc, p, sizeof *p);
}

/* ---- groups ---- */

ox_id ox_parts_group(ox_parts *p, ox_id node) {
  while (p->group[node] != node) {
    p->group[node] = p->group[p->group[node]]; /* halves the path */
    node = p->group[node];
  }
  return node;
}

/* The groups to join, and the span of ranks from the first to the last of them. */
typedef struct {
  const uint32_t *roots;
  size_t n;
  uint32_t low, high;
} joint;

static joint joint_of(const ox_parts *p, const uint32_t *roots, size_t n) {
  joint j = {roots, n, UINT32_MAX, 0};
  for (size_t i = 0; i < n; i++) {
    j.low = OX_MIN(j.low, p->rank[roots[i]]);
    j.high = OX_MAX(j.high, p->rank[roots[i]]);
  }
  return j;
}

/* Marks what can be reached from the joint group without entering it, up to its last rank. Returns a node outside that
 * leads back into it, or OX_NONE. Two rounds: 2k for members, 2k + 1 for what was reached. */
static ox_id way_back(ox_parts *p, const joint *j) {
  uint32_t depth = 0, member = ++p->round, reached = ++p->round;
  for (size_t i = 0; i < j->n; i++) p->mark[j->roots[i]] = member, p->stack[depth++] = j->roots[i];
  while (depth) {
    uint32_t root = p->stack[--depth], node = root;
    do {
      for (uint32_t k = p->first_succ[node]; k < p->first_succ[node + 1]; k++) {
        uint32_t to = ox_parts_group(p, p->succ[k]);
        if (p->mark[to] == member && p->mark[root] == reached) return node;
        if (p->mark[to] == member || p->mark[to] == reached || p->rank[to] > j->high) continue;
        p->mark[to] = reached, p->stack[depth++] = to;
      }
      node = p->ring[node];
    } while (node != root);
  }
  return OX_NONE;
}

static void put(ox_parts *p, uint32_t rank, uint32_t root) { p->at_rank[rank] = root, p->rank[root] = rank; }

/* Merges the joint's groups into one and reorders the span: what was not reached, the group, what was reached. After
 * way_back. */
static void contract(ox_parts *p, const joint *j) {
  uint32_t reached = p->round, to = j->low, held = 0, whole = j->roots[0];
  for (size_t i = 1; i < j->n; i++) {
    uint32_t other = j->roots[i], next = p->ring[whole];
    p->ring[whole] = p->ring[other], p->ring[other] = next; /* two rings become one */
    p->group[other] = whole;
  }
  for (uint32_t r = j->low; r <= j->high; r++) {
    uint32_t root = p->at_rank[r];
    p->at_rank[r] = OX_NONE;
    if (root == OX_NONE || p->mark[root] == reached - 1) continue;
    if (p->mark[root] == reached)
      p->stack[held++] = root;
    else
      put(p, to++, root);
  }
  put(p, to++, whole);
  for (uint32_t i = 0; i < held; i++) put(p, to++, p->stack[i]);
}

ox_status *ox_parts_join(ox_parts *p, const ox_id *nodes, size_t n) {
  size_t n_roots = 0, bytes = (n + 1) * sizeof(uint32_t);
  uint32_t *roots = ox_new(p->alloc, bytes);
  if (!roots) return ox_oom();
  p->round++;
  for (size_t i = 0; i < n; i++) {
    uint32_t root = ox_parts_group(p, nodes[i]);
    if (p->mark[root] != p->round) p->mark[root] = p->round, roots[n_roots++] = root;
  }
  joint j = joint_of(p, roots, n_roots);
  ox_id between = n_roots > 1 ? way_back(p, &j) : OX_NONE;
  if (n_roots > 1 && between == OX_NONE) contract(p, &j);
  ox_delete(p->alloc, roots, bytes);
  if (between == OX_NONE) return NULL;
  const ox_node *m = &p->g->nodes[between];
  return ox_fail(OX_INVALID_ARGUMENT, "node '%s' (%s) lies on a path between the nodes, but is not among them",
                 ox_node_label(p->g, m), m->op);
}

/* ---- growing ---- */

/* Joins the groups of an edge's two ends, if they can be. */
static bool join_edge(ox_parts *p, ox_id from, ox_id to) {
  const uint32_t roots[] = {ox_parts_group(p, from), ox_parts_group(p, to)};
  if (roots[0] == roots[1]) return false;
  joint j = joint_of(p, roots, 2);
  if (way_back(p, &j) != OX_NONE) return false;
  contract(p, &j);
  return true;
}

void ox_parts_grow(ox_parts *p, uint64_t (*kind_of)(const ox_node *n)) {
  for (bool changed = true; changed;) {
    changed = false;
    for (ox_id from = 0; from < p->n; from++) {
      uint64_t kind = p->g->nodes[from].dead ? 0 : kind_of(&p->g->nodes[from]);
      for (uint32_t k = p->first_succ[from]; kind && k < p->first_succ[from + 1]; k++)
        if (kind_of(&p->g->nodes[p->succ[k]]) == kind) changed |= join_edge(p, from, p->succ[k]);
    }
  }
}
