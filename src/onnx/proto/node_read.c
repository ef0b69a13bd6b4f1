/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/node_read.c - NodeProto: two passes over a node list, so that nodes may come in any order. */
#include <string.h>

#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/reader.h"

/* What the first pass over a node finds. */
typedef struct node_parts {
  ox_str op, domain, name, overload;
  uint32_t n_in, n_out, n_attrs;
} node_parts;

static ox_status *scan(ox_str bytes, node_parts *out) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *out = (node_parts){0};
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_LEN(OX_NODE_PROTO_INPUT):
        out->n_in++;
        break;
      case OX_WIRE_LEN(OX_NODE_PROTO_OUTPUT):
        out->n_out++;
        break;
      case OX_WIRE_LEN(OX_NODE_PROTO_NAME):
        out->name = f.bytes;
        break;
      case OX_WIRE_LEN(OX_NODE_PROTO_OP_TYPE):
        out->op = f.bytes;
        break;
      case OX_WIRE_LEN(OX_NODE_PROTO_ATTRIBUTE):
        out->n_attrs++;
        break;
      case OX_WIRE_LEN(OX_NODE_PROTO_DOMAIN):
        out->domain = f.bytes;
        break;
      case OX_WIRE_LEN(OX_NODE_PROTO_OVERLOAD):
        out->overload = f.bytes;
        break;
      default:
        break;
    }
  return ox_wire_end(&w, "NodeProto");
}

/* First pass: every output becomes a value. The second pass reports outputs that two nodes produce. */
static ox_status *declare_outputs(ox_reader *r, ox_str bytes, ox_graph *g) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_arena_reset(&r->scratch);
  while (ox_wire_next(&w, &f)) {
    if (f.tag != OX_WIRE_LEN(OX_NODE_PROTO_OUTPUT) || !f.bytes.n) continue;
    const char *name;
    ox_id v;
    OX_TRY(ox_read_name(&r->scratch, f.bytes, &name));
    if (ox_graph_find(g, name) == OX_NONE) OX_TRY(ox_graph_add_value(g, name, &v));
  }
  return ox_wire_end(&w, "NodeProto");
}

static ox_status *resolve_names(ox_reader *r, ox_str bytes, ox_graph *g, ox_id *in, ox_id *out) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  uint32_t n_in = 0;
  while (ox_wire_next(&w, &f)) {
    bool is_in = f.tag == OX_WIRE_LEN(OX_NODE_PROTO_INPUT);
    if (!is_in && f.tag != OX_WIRE_LEN(OX_NODE_PROTO_OUTPUT)) continue;
    const char *name;
    ox_id v = OX_NONE;
    OX_TRY(ox_read_name(&r->scratch, f.bytes, &name));
    if (is_in && *name) {
      OX_TRY(ox_graph_resolve(g, name, false, &v));
      if (v == OX_NONE) return ox_fail(OX_INVALID_MODEL, "input %u, '%s', is not defined", n_in, name);
    }
    if (!is_in && *name) v = ox_graph_find(g, name);
    if (is_in) in[n_in++] = v;
    if (!is_in) *out++ = v;
  }
  return NULL;
}

static ox_status *add_attrs(ox_reader *r, ox_str bytes, const node_parts *p, ox_graph *g, ox_id node) {
  ox_node *n = ox_graph_node(g, node);
  n->n_attrs = 0, n->cap_attrs = p->n_attrs;
  n->attrs = OX_ARENA_ARRAY(&r->m->arena, ox_attr, p->n_attrs);
  if (!n->attrs) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag != OX_WIRE_LEN(OX_NODE_PROTO_ATTRIBUTE)) continue;
    ox_attr a;
    OX_TRY(ox_read_attr(r, g, f.bytes, &a));
    OX_TRY(ox_node_set_attr(g, node, &a));
  }
  return NULL;
}

/* Some real models have several Constant nodes with one output name. As with initializers, the last one counts: its
 * attributes replace those of the first. */
static ox_id repeated_constant(const ox_graph *g, const char *op, const char *domain, const ox_id *out,
                               uint32_t n_out) {
  if (strcmp(op, "Constant") != 0 || *domain || n_out != 1 || out[0] == OX_NONE) return OX_NONE;
  ox_id node = ox_graph_value_at(g, out[0])->producer;
  if (node == OX_NONE || strcmp(ox_graph_node(g, node)->op, op) != 0) return OX_NONE;
  return *ox_graph_node(g, node)->domain ? OX_NONE : node;
}

static ox_status *add_node(ox_reader *r, ox_str bytes, const node_parts *p, ox_graph *g) {
  const char *op, *domain, *name;
  ox_id node;
  ox_arena_reset(&r->scratch);
  ox_id *in = OX_ARENA_ARRAY(&r->scratch, ox_id, p->n_in);
  ox_id *out = OX_ARENA_ARRAY(&r->scratch, ox_id, p->n_out);
  if (!in || !out) return ox_oom();
  OX_TRY(ox_read_name(&r->scratch, p->op, &op));
  OX_TRY(ox_read_name(&r->scratch, p->domain, &domain));
  OX_TRY(ox_read_name(&r->scratch, p->name, &name));
  if (!*op) return ox_fail(OX_INVALID_MODEL, "it has no op_type");
  OX_TRY(resolve_names(r, bytes, g, in, out));
  node = repeated_constant(g, op, domain, out, p->n_out);
  if (node != OX_NONE) return add_attrs(r, bytes, p, g, node);
  OX_TRY(ox_graph_add_node(g, op, domain, name, in, p->n_in, out, p->n_out, &node));
  if (p->overload.n) OX_TRY(ox_read_name(&r->m->arena, p->overload, &ox_graph_node(g, node)->overload));
  return add_attrs(r, bytes, p, g, node);
}

/* Nodes may come in any order, but one order must work: no cycles. */
static ox_status *check_cycles(const ox_graph *g) {
  ox_id *order;
  uint32_t n;
  OX_TRY(ox_graph_order(g, g->model->alloc, &order, &n));
  ox_delete(g->model->alloc, order, g->n_nodes * sizeof *order);
  return NULL;
}

ox_status *ox_read_nodes(ox_reader *r, ox_str bytes, uint32_t tag, ox_graph *g) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag != tag) continue;
    if (r->n_nodes++ >= r->limits.nodes)
      return ox_fail(OX_LIMIT, "the model has more than %llu nodes", (unsigned long long)r->limits.nodes);
    OX_TRY(declare_outputs(r, f.bytes, g));
  }
  w = ox_wire_sub(bytes);
  for (uint32_t i = 0; ox_wire_next(&w, &f);) {
    if (f.tag != tag) continue;
    node_parts p;
    ox_status *st = scan(f.bytes, &p);
    if (!st) st = ox_watch_check(g->model->watch);
    if (!st) st = add_node(r, f.bytes, &p, g);
    if (st)
      return ox_status_note(st, "node %u '%.*s' (%.*s)", i, (int)OX_MIN(p.name.n, 200), p.name.p ? p.name.p : "",
                            (int)OX_MIN(p.op.n, 200), p.op.p ? p.op.p : "?");
    i++;
  }
  OX_TRY(ox_wire_end(&w, "node list"));
  return check_cycles(g);
}
