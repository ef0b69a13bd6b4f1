/* SPDX-License-Identifier: Apache-2.0
 * task/task_graph.c - building graphs that run many times. */
#include "task/task_graph.h"

#include "base/alloc.h"

typedef struct ox_graph_edge {
  uint32_t parent, child;
} ox_graph_edge;

ox_status *ox_task_graph_create(ox_task_graph **out_graph) {
  *out_graph = ox_new_zeroed(ox_alloc_heap(), sizeof **out_graph);
  return *out_graph ? NULL : ox_oom();
}

static void drop_prepared(ox_task_graph *g) {
  ox_heap_free(g->waits), ox_heap_free(g->children);
  ox_heap_free(g->next), ox_heap_free(g->roots);
  g->waits = NULL, g->children = NULL, g->next = NULL, g->roots = NULL;
  g->prepared = false;
}

void ox_task_graph_destroy(ox_task_graph *g) {
  if (!g || atomic_load_explicit(&g->running, memory_order_acquire)) return;
  drop_prepared(g);
  ox_heap_free(g->nodes);
  ox_heap_free(g->edges);
  ox_delete(ox_alloc_heap(), g, sizeof *g);
}

static ox_status *check_node(const ox_task_graph *g, const uint32_t *parents, uint32_t n_parents) {
  if (atomic_load_explicit(&g->running, memory_order_acquire))
    return ox_fail(OX_INVALID_ARGUMENT, "a graph cannot grow while it runs");
  if (n_parents && !parents)
    return ox_fail(OX_INVALID_ARGUMENT, "n_parents is %u but parents is NULL", (unsigned)n_parents);
  if (g->n_nodes >= OX_GRAPH_NODES_MAX || n_parents > OX_GRAPH_EDGES_MAX - g->n_edges)
    return ox_fail(OX_LIMIT, "a graph of more than %u nodes or %u edges", OX_GRAPH_NODES_MAX, OX_GRAPH_EDGES_MAX);
  for (uint32_t i = 0; i < n_parents; i++)
    if (parents[i] >= g->n_nodes)
      return ox_fail(OX_INVALID_ARGUMENT, "parent %u of node %zu is node %u, which has not been added", (unsigned)i,
                     g->n_nodes, (unsigned)parents[i]);
  return NULL;
}

ox_status *ox_task_graph_add(ox_task_graph *g, ox_unit_fn fn, void *payload, uint32_t n_units, const uint32_t *parents,
                             uint32_t n_parents, uint32_t *out_node) {
  OX_TRY(check_node(g, parents, n_parents));
  ox_alloc heap = ox_alloc_heap();
  if (!ox_grow(heap, (void **)&g->nodes, &g->nodes_capacity, g->n_nodes, sizeof *g->nodes)) return ox_oom();
  if (n_parents && !ox_grow(heap, (void **)&g->edges, &g->edges_capacity, g->n_edges + n_parents - 1, sizeof *g->edges))
    return ox_oom();
  drop_prepared(g);
  uint32_t index = (uint32_t)g->n_nodes++;
  g->nodes[index] = (ox_graph_node){n_units ? fn : NULL, payload, n_units, 0, NULL};
  for (uint32_t i = 0; i < n_parents; i++) g->edges[g->n_edges++] = (ox_graph_edge){parents[i], index};
  if (out_node) *out_node = index;
  return NULL;
}

/* Sorts the edges by parent; each node's children stay in the order they were added. */
static void link_children(ox_task_graph *g) {
  for (size_t i = 0; i < g->n_nodes; i++) g->nodes[i].n_children = 0;
  for (size_t e = 0; e < g->n_edges; e++) g->nodes[g->edges[e].parent].n_children++;
  size_t at = 0;
  for (size_t i = 0; i < g->n_nodes; i++) {
    g->nodes[i].children = g->children + at;
    at += g->nodes[i].n_children;
    g->nodes[i].n_children = 0;
  }
  for (size_t e = 0; e < g->n_edges; e++) {
    ox_graph_node *parent = &g->nodes[g->edges[e].parent];
    g->children[(size_t)(parent->children - g->children) + parent->n_children++] = g->edges[e].child;
    g->waits[g->edges[e].child].n_parents++;
  }
}

ox_status *ox_graph_prepare(ox_task_graph *g) {
  ox_alloc heap = ox_alloc_heap();
  g->waits = ox_new_aligned(heap, g->n_nodes * sizeof *g->waits, 64);
  g->children = ox_new_aligned(heap, OX_MAX(g->n_edges, 1) * sizeof *g->children, 64);
  g->next = ox_new_aligned(heap, g->n_nodes * sizeof *g->next, 64);
  g->roots = ox_new_aligned(heap, g->n_nodes * sizeof *g->roots, 64);
  if (!g->waits || !g->children || !g->next || !g->roots) {
    drop_prepared(g);
    return ox_oom();
  }
  for (size_t i = 0; i < g->n_nodes; i++) g->waits[i].n_parents = 0;
  link_children(g);
  g->n_roots = 0;
  for (size_t i = 0; i < g->n_nodes; i++) {
    uint32_t n = g->waits[i].n_parents;
    atomic_store_explicit(&g->waits[i].left, n, memory_order_relaxed);
    if (!n) g->roots[g->n_roots++] = (uint32_t)i;
  }
  g->prepared = true;
  return NULL;
}
