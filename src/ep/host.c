/* SPDX-License-Identifier: Apache-2.0
 * ep/host.c - graph views and claims behind function pointers: what a provider may know, and nothing else. */
#include "ep/host.h"

#include "base/clock.h"
#include "base/macros.h"
#include "task/team.h"

/* ---- claims ---- */

static void claim_node(ox_claims *c, size_t node) {
  if (node < c->n && !c->part[node]) c->kind[node] = OX_CLAIM_KERNEL;
}

static void claim_fused(ox_claims *c, size_t node) {
  if (node < c->n && !c->part[node]) c->kind[node] = OX_CLAIM_FUSED;
}

static ox_status *claim_part(ox_claims *c, const size_t *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (nodes[i] >= c->n) return ox_fail(OX_INVALID_ARGUMENT, "claim_part: node %zu of %zu", nodes[i], c->n);
    if (c->part[nodes[i]])
      return ox_fail(OX_INVALID_ARGUMENT, "claim_part: node '%s' is in a part already",
                     ox_node_label(c->view->graph, ox_view_node(c->view, nodes[i])));
  }
  if (!n) return ox_fail(OX_INVALID_ARGUMENT, "claim_part: no nodes");
  OX_TRY(c->check_part(c, nodes, n));
  c->n_parts++;
  for (size_t i = 0; i < n; i++) c->kind[nodes[i]] = OX_CLAIM_FUSED, c->part[nodes[i]] = c->n_parts;
  return NULL;
}

static void decline(ox_claims *c, size_t node, const char *why) {
  if (node >= c->n || c->part[node]) return;
  c->kind[node] = OX_CLAIM_NONE;
  if (!c->status) c->status = c->keep(c, node, why ? why : "");
}

/* ---- the rest ---- */

static void log_nothing(int level, const char *text) { (void)level, (void)text; }

static void log_text(const ox_ep_host *h, int level, const char *text) {
  const ox_ep_services *s = h->host_data;
  ox_log_write(s->log, (ox_log_level)OX_MAX(0, OX_MIN(level, OX_LOG_ERROR)), "%s: %s", s->provider, text ? text : "");
}

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
  loop l = {fn, ctx};
  if (h->struct_size < offsetof(ox_ep_host, log_text)) /* a 1.0 table does not name its session */
    return ox_task_for(ox_pool_default(), n, loop_tiles, &l);
  const ox_ep_services *s = h->host_data;
  return ox_task_for_max(s->pool, s->max_threads, n, loop_tiles, &l);
}

static uint32_t max_threads(const ox_ep_host *h) { return ((const ox_ep_services *)h->host_data)->max_threads; }

/* 0: no cap of the caller's. */
static uint32_t within(const ox_ep_services *s, uint32_t n) { return n ? OX_MIN(n, s->max_threads) : s->max_threads; }

static ox_status *parallel_tiles(const ox_ep_host *h, int64_t n_tiles, uint32_t max_threads, ox_tile_fn fn, void *ctx) {
  const ox_ep_services *s = h->host_data;
  return ox_task_for_max(s->pool, within(s, max_threads), n_tiles, fn, ctx);
}

static void parallel_team(const ox_ep_host *h, uint32_t n, ox_team_fn fn, void *ctx) {
  const ox_ep_services *s = h->host_data;
  ox_task_team(s->pool, within(s, n), fn, ctx);
}

static ox_status *status_note(ox_status *st, const char *text) { return ox_status_note(st, "%s", text); }

static ox_status *memory_take(const ox_ep_host *h, uint32_t memory, size_t bytes, void **out_data) {
  const ox_ep_services *s = h->host_data;
  *out_data = NULL;
  return s->take ? s->take(s, memory, bytes, out_data) : ox_fail(OX_INVALID_ARGUMENT, "the provider has no memory");
}

static void memory_give(const ox_ep_host *h, uint32_t memory, void *data, size_t bytes) {
  const ox_ep_services *s = h->host_data;
  if (data) s->give(s, memory, data, bytes);
}

ox_ep_host ox_ep_host_make(const ox_ep_services *s, const ox_ep_api *api) {
  bool first = api->struct_size < sizeof(ox_ep_api) && api->struct_size <= offsetof(ox_ep_api, version);
  return (ox_ep_host){.struct_size = first ? offsetof(ox_ep_host, host_data) : sizeof(ox_ep_host),
                      .abi_major = OX_EP_ABI_MAJOR,
                      .alloc = s->alloc,
                      .status_make = ox_status_of_text,
                      .log = log_nothing,
                      .node_count = ox_view_node_count,
                      .node_op = ox_view_node_op,
                      .node_domain = ox_view_node_domain,
                      .node_name = ox_view_node_name,
                      .node_version = ox_view_node_version,
                      .node_in_count = ox_view_node_in_count,
                      .node_out_count = ox_view_node_out_count,
                      .node_in = ox_view_node_in,
                      .node_out = ox_view_node_out,
                      .node_attr = ox_view_node_attr,
                      .value_name = ox_view_value_name,
                      .value_type = ox_view_value_type,
                      .value_const = ox_view_value_const,
                      .io_count = ox_view_io_count,
                      .io_value = ox_view_io_value,
                      .claim_node = claim_node,
                      .claim_fused = claim_fused,
                      .decline = decline,
                      .parallel_for = parallel_for,
                      .host_data = (void *)s,
                      .log_text = log_text,
                      .now_ns = ox_clock_ns,
                      .max_threads = max_threads,
                      .claim_part = claim_part,
                      .node_attr_count = ox_view_node_attr_count,
                      .node_attr_at = ox_view_node_attr_at,
                      .node_body = ox_view_node_body,
                      .value_outer = ox_view_value_outer,
                      .value_producer = ox_view_value_producer,
                      .value_use_count = ox_view_value_use_count,
                      .dim_name = ox_view_dim_name,
                      .opset = ox_view_opset,
                      .constant_done = ox_view_constant_done,
                      .user = s->user,
                      .value_full_type = ox_view_value_full_type,
                      .value_file = ox_view_value_file,
                      .graph_name = ox_view_graph_name,
                      .graph_parent = ox_view_graph_parent,
                      .model_info = ox_view_model_info,
                      .model_opset = ox_view_model_opset,
                      .model_prop = ox_view_model_prop,
                      .stopped = ox_view_stopped,
                      .parallel_tiles = parallel_tiles,
                      .parallel_team = parallel_team,
                      .value_count = ox_view_value_count,
                      .status_note = status_note,
                      .status_free = ox_status_free,
                      .memory_take = memory_take,
                      .memory_give = memory_give,
                      .value_const_type = ox_view_value_const_type};
}
