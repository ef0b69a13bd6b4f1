/* SPDX-License-Identifier: Apache-2.0
 * ep/view.h - reading a graph through a view: the functions behind ox_ep_host's. Indices out of range give "", 0 or
 * OX_NONE, so that a provider's mistake harms only the provider. */
#ifndef OX_EP_VIEW_H
#define OX_EP_VIEW_H

#include "graph/graph.h"

/* A graph, or the nodes of it that |nodes| lists, as a provider sees it. */
struct ox_graph_view {
  const ox_graph *graph;
  const ox_id *nodes;
  size_t n_nodes;
  const uint32_t *place; /* per node of the graph: its index in |nodes|, or OX_NONE; NULL: a view of one node */
  const ox_graph_view *const *bodies; /* of its nodes, in their order; NULL where a view has none (one node's kernel) */
  size_t n_bodies;
  ox_arena *arena; /* where it lies; NULL: a view of one node */
  uint8_t *done; /* while a program is compiled: per value, whether constant_done was called for it; else NULL */
};

/* A view of the nodes of |g| that |wanted| (NULL: all live ones) accepts, in topological order, and of all nodes of the
 * bodies below them. In |a|, which must outlive it. */
OX_NODISCARD ox_status *ox_view_create(const ox_graph *g, ox_arena *a, bool (*wanted)(const ox_node *n),
                                       ox_graph_view **out_view);

/* Node |node| of the view; NULL beyond the end. */
const ox_node *ox_view_node(const ox_graph_view *g, size_t node);

/* ---- the functions of ox_ep_host (onyx/ep.h) of these names ---- */

size_t ox_view_node_count(const ox_graph_view *g);
const char *ox_view_node_op(const ox_graph_view *g, size_t node);
const char *ox_view_node_domain(const ox_graph_view *g, size_t node);
const char *ox_view_node_name(const ox_graph_view *g, size_t node);
uint32_t ox_view_node_version(const ox_graph_view *g, size_t node);
size_t ox_view_node_in_count(const ox_graph_view *g, size_t node);
size_t ox_view_node_out_count(const ox_graph_view *g, size_t node);
uint32_t ox_view_node_in(const ox_graph_view *g, size_t node, size_t i);
uint32_t ox_view_node_out(const ox_graph_view *g, size_t node, size_t i);
int ox_view_node_attr(const ox_graph_view *g, size_t node, const char *name, ox_attr_view *out);
size_t ox_view_node_attr_count(const ox_graph_view *g, size_t node);
const char *ox_view_node_attr_at(const ox_graph_view *g, size_t node, size_t i, ox_attr_view *out);
const ox_graph_view *ox_view_node_body(const ox_graph_view *g, size_t node, const char *name);
size_t ox_view_value_count(const ox_graph_view *g);
const char *ox_view_value_name(const ox_graph_view *g, uint32_t value);
void ox_view_value_type(const ox_graph_view *g, uint32_t value, uint32_t *kind, uint32_t *dtype, ox_shape *shape);
const ox_tensor *ox_view_value_const(const ox_graph_view *g, uint32_t value);
const ox_tensor *ox_view_value_const_type(const ox_graph_view *g, uint32_t value);
uint32_t ox_view_value_outer(const ox_graph_view *g, uint32_t value);
size_t ox_view_value_producer(const ox_graph_view *g, uint32_t value);
size_t ox_view_value_use_count(const ox_graph_view *g, uint32_t value);
size_t ox_view_io_count(const ox_graph_view *g, int outputs);
uint32_t ox_view_io_value(const ox_graph_view *g, int outputs, size_t i);
const char *ox_view_dim_name(const ox_graph_view *g, int64_t dim);
int64_t ox_view_opset(const ox_graph_view *g, const char *domain);
const ox_type *ox_view_value_full_type(const ox_graph_view *g, uint32_t value);
const char *ox_view_value_file(const ox_graph_view *g, uint32_t value, uint64_t *out_offset);
const char *ox_view_graph_name(const ox_graph_view *g);
const ox_graph_view *ox_view_graph_parent(const ox_graph_view *g);
void ox_view_model_info(const ox_graph_view *g, ox_model_info *out);
const char *ox_view_model_opset(const ox_graph_view *g, size_t i, int64_t *out_version);
const char *ox_view_model_prop(const ox_graph_view *g, size_t i, const char **out_value);
int ox_view_stopped(const ox_graph_view *g);
void ox_view_constant_done(const ox_graph_view *g, uint32_t value);

#endif
