/* SPDX-License-Identifier: Apache-2.0
 * plan/layout.c - see layout.h. */
#include "plan/layout.h"

#include <string.h>

#include "base/macros.h"
#include "graph/registry.h"

/* For each value of the graph: the same with channels last, where that was needed. */
typedef struct {
  ox_graph *g;
  ox_id *last;
  size_t room;
} layouts;

static ox_status *make_room(layouts *l) {
  void *last = l->last;
  size_t was = l->room;
  if (!ox_grow(l->g->model->alloc, &last, &l->room, l->g->n_values, sizeof *l->last)) return ox_oom();
  l->last = last;
  for (size_t i = was; i < l->room; i++) l->last[i] = OX_NONE;
  return NULL;
}

/* out = Transpose(in), from channels first to last or back; the node has no owner yet. */
static ox_status *add_transpose(ox_graph *g, ox_id in, ox_id out, bool to_last) {
  int64_t perm[OX_MAX_RANK];
  ox_id node;
  int rank = g->values[in].type.shape.rank;
  for (int d = 0; d < rank; d++)
    perm[d] = d == 0 ? 0 : to_last ? (d == rank - 1 ? 1 : d + 1) : (d == 1 ? rank - 1 : d - 1);
  OX_TRY(ox_graph_add_node(g, "Transpose", "", "", &in, 1, &out, 1, &node));
  return ox_node_set_ints(g, node, "perm", perm, (size_t)rank);
}

static ox_status *add_like(ox_graph *g, ox_id v, bool to_last, ox_id *out_value) {
  ox_type t = g->values[v].type;
  OX_TRY(ox_graph_add_value(g, g->values[v].name, out_value));
  t.shape = to_last ? ox_shape_channels_last(&t.shape) : ox_shape_channels_first(&t.shape);
  g->values[*out_value].type = t;
  return NULL;
}

/* ---- to channels last ---- */

static ox_status *channels_last_of(layouts *l, ox_id v, ox_id *out_value) {
  OX_TRY(make_room(l));
  if (l->last[v] == OX_NONE) {
    ox_id last;
    OX_TRY(add_like(l->g, v, true, &last));
    OX_TRY(add_transpose(l->g, v, last, true));
    l->last[v] = last;
  }
  *out_value = l->last[v];
  return NULL;
}

static ox_status *convert(layouts *l, ox_id id) {
  ox_id in, out, y = l->g->nodes[id].out[0];
  uint32_t version;
  (void)ox_node_schema(l->g->model, &l->g->nodes[id], &version);
  OX_TRY(channels_last_of(l, l->g->nodes[id].in[0], &in));
  OX_TRY(ox_node_set_input(l->g, id, 0, in));
  OX_TRY(add_like(l->g, y, true, &out));
  OX_TRY(ox_node_set_output(l->g, id, 0, out));
  OX_TRY(add_transpose(l->g, out, y, false));
  OX_TRY(ox_node_become(l->g, id, OX_NHWC_DOMAIN, l->g->nodes[id].op));
  l->g->nodes[id].version = version;
  OX_TRY(make_room(l));
  l->last[y] = out;
  return NULL;
}

static bool has_channels(const ox_graph *g, ox_id v) {
  return v != OX_NONE && g->values[v].type.kind == OX_TENSOR && g->values[v].type.shape.rank >= 3;
}

static bool wants_last(const ox_graph *g, const ox_node *n, const ox_provider *p, uint16_t owner) {
  if (n->dead || n->assigned.owner != owner || *n->domain || !n->n_in || !n->n_out) return false;
  if (!has_channels(g, n->in[0]) || !has_channels(g, n->out[0])) return false;
  return p->api.layout(p->ep, n->domain, n->op) == OX_LAYOUT_NHWC;
}

/* Transposes that are not read any more. */
static void drop_unread(ox_graph *g, uint32_t first) {
  for (ox_id i = first; i < g->n_nodes; i++)
    if (!g->nodes[i].dead && !ox_graph_use_count(g, g->nodes[i].out[0])) ox_graph_remove_node(g, i);
}

static ox_status *convert_graph(ox_graph *g, const ox_provider *p, uint16_t owner, uint32_t *out_n) {
  ox_alloc a = g->model->alloc;
  layouts l = {.g = g};
  ox_id *order = NULL;
  uint32_t n = 0, n_nodes = g->n_nodes;
  OX_TRY(ox_graph_order(g, a, &order, &n));
  ox_status *st = NULL;
  for (uint32_t i = 0; i < n && !st; i++)
    if (wants_last(g, &g->nodes[order[i]], p, owner)) st = convert(&l, order[i]), ++*out_n;
  if (!st) drop_unread(g, n_nodes);
  ox_delete(a, order, n_nodes * sizeof *order);
  ox_delete(a, l.last, l.room * sizeof *l.last);
  return st;
}

ox_status *ox_layout_convert(ox_graph *g, const ox_provider *p, uint16_t owner, uint32_t *out_n) {
  ox_graph *b;
  OX_TRY(convert_graph(g, p, owner, out_n));
  for (ox_id i = 0; i < g->n_nodes; i++)
    for (uint32_t k = 0; (b = ox_node_body(&g->nodes[i], k)); k++) OX_TRY(ox_layout_convert(b, p, owner, out_n));
  return NULL;
}

/* ---- and back ---- */

static ox_status *revert(ox_graph *g, ox_id id) {
  ox_id in, out, x = g->nodes[id].in[0], y = g->nodes[id].out[0];
  OX_TRY(add_like(g, x, false, &in));
  OX_TRY(add_transpose(g, x, in, false));
  OX_TRY(ox_node_set_input(g, id, 0, in));
  OX_TRY(add_like(g, y, false, &out));
  OX_TRY(ox_node_set_output(g, id, 0, out));
  OX_TRY(add_transpose(g, out, y, true));
  return ox_node_become(g, id, "", g->nodes[id].op);
}

ox_status *ox_layout_revert(ox_graph *g) {
  ox_graph *b;
  for (ox_id i = 0, n = g->n_nodes; i < n; i++) {
    const ox_node *node = &g->nodes[i];
    if (node->dead) continue;
    if (node->assigned.owner == OX_NO_OWNER && strcmp(node->domain, OX_NHWC_DOMAIN) == 0) OX_TRY(revert(g, i));
    for (uint32_t k = 0; (b = ox_node_body(&g->nodes[i], k)); k++) OX_TRY(ox_layout_revert(b));
  }
  return NULL;
}
