/* SPDX-License-Identifier: Apache-2.0
 * graph/node_infer.c - runs a schema's inference on a node of the graph. */
#include "base/macros.h"
#include "graph/registry.h"

static void *alloc(void *host_data, size_t bytes) {
  return ox_arena_alloc(((const ox_node_call *)host_data)->arena, bytes);
}

static ox_status *status_make(ox_code code, const char *text) { return ox_fail(code, "%s", text); }

static int attr(void *host_data, const char *name, ox_attr_view *out) {
  const ox_attr *a = ox_node_attr(((const ox_node_call *)host_data)->node, name);
  if (a) *out = a->v;
  return a != NULL;
}

static const ox_op_host host = {sizeof host, alloc, status_make, attr};

ox_status *ox_node_infer(const ox_node_call *call) {
  const ox_node *n = call->node;
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
                    .host_data = &mine};
  for (uint32_t i = 0; i < n->n_out; i++) call->out[i] = ox_type_unknown();
  return call->schema->infer(&c);
}
