/* SPDX-License-Identifier: Apache-2.0
 * ep/host.c - graph views and claims behind function pointers: what a provider may know, and nothing else. */
#include "ep/host.h"

#include "onyx/task.h"

static const ox_node *node_at(const ox_graph_view *g, size_t node) { return ox_graph_node(g->graph, g->nodes[node]); }

static size_t node_count(const ox_graph_view *g) { return g->n_nodes; }
static const char *node_op(const ox_graph_view *g, size_t node) { return node_at(g, node)->op; }
static const char *node_domain(const ox_graph_view *g, size_t node) { return node_at(g, node)->domain; }
static const char *node_name(const ox_graph_view *g, size_t node) { return node_at(g, node)->name; }
static size_t node_in_count(const ox_graph_view *g, size_t node) { return node_at(g, node)->n_in; }
static size_t node_out_count(const ox_graph_view *g, size_t node) { return node_at(g, node)->n_out; }
static uint32_t node_in(const ox_graph_view *g, size_t node, size_t i) { return node_at(g, node)->in[i]; }
static uint32_t node_out(const ox_graph_view *g, size_t node, size_t i) { return node_at(g, node)->out[i]; }

static uint32_t node_version(const ox_graph_view *g, size_t node) {
  int64_t v = ox_node_version(g->graph->model, node_at(g, node));
  return v > 0 ? (uint32_t)v : 1; /* domains that only the optimizer uses are not imported: version 1 */
}

static int node_attr(const ox_graph_view *g, size_t node, const char *name, ox_attr_view *out) {
  const ox_attr *a = ox_node_attr(node_at(g, node), name);
  if (!a) return 0;
  *out = a->v;
  return 1;
}

static const char *value_name(const ox_graph_view *g, uint32_t value) { return g->graph->values[value].name; }

static void value_type(const ox_graph_view *g, uint32_t value, uint32_t *kind, uint32_t *dtype, ox_shape *shape) {
  const ox_type *t = &g->graph->values[value].type;
  *kind = t->kind, *dtype = t->dtype, *shape = t->shape;
}

static const ox_tensor *value_const(const ox_graph_view *g, uint32_t value) { return ox_graph_const(g->graph, value); }

static size_t io_count(const ox_graph_view *g, int outputs) {
  if (g->inputs) return outputs ? g->n_outputs : g->n_inputs;
  return outputs ? g->graph->n_outputs : g->graph->n_inputs;
}

static uint32_t io_value(const ox_graph_view *g, int outputs, size_t i) {
  if (g->inputs) return outputs ? g->outputs[i] : g->inputs[i];
  return outputs ? g->graph->outputs[i] : g->graph->inputs[i];
}

static void claim_node(ox_claims *c, size_t node) {
  if (node < c->n) c->kind[node] = OX_CLAIM_KERNEL;
}

static void claim_fused(ox_claims *c, size_t node) {
  if (node < c->n) c->kind[node] = OX_CLAIM_FUSED;
}

static void decline(ox_claims *c, size_t node, const char *why) {
  if (node >= c->n) return;
  c->kind[node] = OX_CLAIM_NONE;
  ox_log_write(c->log, OX_LOG_DEBUG, "%s declines node '%s' (%s): %s", c->provider, node_name(c->view, node),
               node_op(c->view, node), why);
}

static ox_status *status_make(ox_code code, const char *text) { return ox_fail(code, "%s", text); }

static void log_nothing(int level, const char *text) { (void)level, (void)text; }

typedef struct {
  void (*fn)(void *ctx, int64_t begin, int64_t end);
  void *ctx;
} loop;

static ox_status *loop_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  const loop *l = ctx;
  l->fn(l->ctx, begin, end);
  return NULL;
}

static ox_status *parallel_for(const ox_ep_host *h, int64_t n, void (*fn)(void *, int64_t, int64_t), void *ctx) {
  (void)h;
  loop l = {fn, ctx};
  return ox_task_for(ox_pool_default(), n, loop_tiles, &l);
}

ox_ep_host ox_ep_host_make(ox_alloc alloc) {
  return (ox_ep_host){.struct_size = sizeof(ox_ep_host),
                      .abi_major = OX_EP_ABI_MAJOR,
                      .alloc = alloc,
                      .status_make = status_make,
                      .log = log_nothing,
                      .node_count = node_count,
                      .node_op = node_op,
                      .node_domain = node_domain,
                      .node_name = node_name,
                      .node_version = node_version,
                      .node_in_count = node_in_count,
                      .node_out_count = node_out_count,
                      .node_in = node_in,
                      .node_out = node_out,
                      .node_attr = node_attr,
                      .value_name = value_name,
                      .value_type = value_type,
                      .value_const = value_const,
                      .io_count = io_count,
                      .io_value = io_value,
                      .claim_node = claim_node,
                      .claim_fused = claim_fused,
                      .decline = decline,
                      .parallel_for = parallel_for};
}
