/* SPDX-License-Identifier: Apache-2.0
 * graph/node_infer.c - runs a schema's inference on a node of the graph. */
#include <string.h>

#include "base/macros.h"
#include "graph/registry.h"

static void *alloc(void *host_data, size_t bytes) {
  return ox_arena_alloc(((const ox_node_call *)host_data)->arena, bytes);
}

static int attr(void *host_data, const char *name, ox_attr_view *out) {
  const ox_attr *a = ox_node_attr(((const ox_node_call *)host_data)->node, name);
  if (a) *out = a->v;
  return a != NULL;
}

static const char *attr_at(void *host_data, size_t i, ox_attr_view *out) {
  const ox_node *n = ((const ox_node_call *)host_data)->node;
  if (i >= n->n_attrs) return NULL;
  *out = n->attrs[i].v;
  return n->attrs[i].name;
}

static const char *dim_name(void *host_data, int64_t dim) {
  return ox_model_symbol_name(((const ox_node_call *)host_data)->model, dim);
}

static int stopped(void *host_data) { return ox_watch_stopped(((const ox_node_call *)host_data)->model->watch); }

static const ox_op_host host = {sizeof host, alloc, ox_status_of_text, attr, attr_at, dim_name, stopped};

/* With channels last: the operator sees them first. */
static ox_status *infer_nhwc(const ox_node_call *call) {
  ox_node plain = *call->node;
  ox_node_call c = *call;
  const ox_type **in = OX_ARENA_ARRAY(call->arena, const ox_type *, plain.n_in);
  const ox_tensor **data = OX_ARENA_ARRAY(call->arena, const ox_tensor *, plain.n_in);
  ox_type *first = OX_ARENA_NEW(call->arena, ox_type);
  if (!in || !data || !first) return ox_oom();
  for (uint32_t i = 1; i < plain.n_in; i++) in[i] = call->in[i], data[i] = call->in_data[i];
  if (plain.n_in && call->in[0]) {
    *first = *call->in[0];
    first->shape = ox_shape_channels_first(&first->shape);
    in[0] = first;
  }
  plain.domain = "", c.node = &plain, c.in = in, c.in_data = data;
  OX_TRY(ox_node_infer(&c));
  if (plain.n_out) c.out[0].shape = ox_shape_channels_last(&c.out[0].shape);
  return NULL;
}

static ox_status *check_size(const char *what, uint32_t i, const ox_type *t) {
  char text[OX_SHAPE_TEXT];
  if (!t || t->kind != OX_TENSOR || OX_LIKELY(ox_shape_fits(&t->shape))) return NULL;
  return ox_fail(OX_LIMIT, "%s %u of shape %s is too large", what, i, ox_shape_text(&t->shape, text));
}

ox_status *ox_node_infer(const ox_node_call *call) {
  const ox_node *n = call->node;
  if (strcmp(n->domain, OX_NHWC_DOMAIN) == 0) return infer_nhwc(call);
  ox_node_call mine = *call; /* not const: it is what the host's calls get back */
  ox_infer_ctx c = {.struct_size = sizeof c,
                    .op_version = call->version,
                    .op = n->op,
                    .attrs = call->attrs,
                    .n_in = n->n_in,
                    .n_out = n->n_out,
                    .in = call->in,
                    .in_data = call->in_data,
                    .out = call->out,
                    .host = &host,
                    .host_data = &mine,
                    .user = call->schema->user};
  for (uint32_t i = 0; i < n->n_in; i++) OX_TRY(check_size("input", i, call->in[i]));
  for (uint32_t i = 0; i < n->n_out; i++) call->out[i] = ox_type_unknown();
  OX_TRY(call->schema->infer(&c));
  for (uint32_t i = 0; i < n->n_out; i++) OX_TRY(check_size("output", i, &call->out[i]));
  return NULL;
}
