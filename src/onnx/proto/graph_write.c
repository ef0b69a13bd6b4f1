/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/graph_write.c - GraphProto, NodeProto and AttributeProto. */
#include <string.h>

#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/proto_write.h"

/* A body refers to outer values by name, so neither it nor a graph in between may have a value of that name. */
static ox_status *check_outer_name(const ox_graph *g, ox_id v) {
  const char *name = ox_graph_value_name(g, v);
  for (; ox_graph_value_at(g, v)->outer != OX_NONE; v = ox_graph_value_at(g, v)->outer, g = g->parent) {
    ox_id found = ox_graph_find(g, name);
    if (found != OX_NONE && found != v && !ox_graph_value_at(g, found)->dead)
      return ox_fail(OX_INVALID_MODEL, "graph '%s' hides the outer value '%s', which it reads", g->name, name);
  }
  return NULL;
}

static void out_float_list(ox_wire_out *o, const ox_attr *a) {
  ox_wire_mark packed = ox_out_begin(o, OX_ATTRIBUTE_PROTO_FLOATS);
  ox_out_raw(o, a->v.floats, a->v.n * sizeof *a->v.floats);
  ox_out_end(o, packed);
}

static void out_int_list(ox_wire_out *o, const ox_attr *a) {
  ox_wire_mark packed = ox_out_begin(o, OX_ATTRIBUTE_PROTO_INTS);
  for (size_t i = 0; i < a->v.n; i++) ox_out_raw_varint(o, (uint64_t)a->v.ints[i]);
  ox_out_end(o, packed);
}

static ox_status *out_graph_field(ox_wire_out *o, uint32_t number, const ox_graph *g) {
  ox_wire_mark graph = ox_out_begin(o, number);
  OX_TRY(ox_out_graph(o, g));
  ox_out_end(o, graph);
  return NULL;
}

static void out_types(ox_wire_out *o, uint32_t number, const ox_graph *g, const ox_attr *a) {
  for (size_t i = 0; i < a->v.n; i++) {
    ox_wire_mark type = ox_out_begin(o, number);
    ox_out_type(o, g->model, &a->types[i]);
    ox_out_end(o, type);
  }
}

static ox_status *out_attr_value(ox_wire_out *o, const ox_graph *g, const ox_attr *a) {
  const ox_attr_view *v = &a->v;
  switch (v->kind) {
    case OX_ATTR_FLOAT_KIND:
      ox_out_f32(o, OX_ATTRIBUTE_PROTO_F, v->f);
      break;
    case OX_ATTR_INT_KIND:
      ox_out_varint(o, OX_ATTRIBUTE_PROTO_I, (uint64_t)v->i);
      break;
    case OX_ATTR_STRING_KIND:
      ox_out_bytes(o, OX_ATTRIBUTE_PROTO_S, v->s.p, v->s.n);
      break;
    case OX_ATTR_TENSOR_KIND:
      ox_out_tensor_field(o, OX_ATTRIBUTE_PROTO_T, v->tensor, NULL);
      break;
    case OX_ATTR_GRAPH_KIND:
      return out_graph_field(o, OX_ATTRIBUTE_PROTO_G, a->graph);
    case OX_ATTR_FLOATS_KIND:
      out_float_list(o, a);
      break;
    case OX_ATTR_INTS_KIND:
      out_int_list(o, a);
      break;
    case OX_ATTR_STRINGS_KIND:
      for (size_t i = 0; i < v->n; i++) ox_out_bytes(o, OX_ATTRIBUTE_PROTO_STRINGS, v->strings[i].p, v->strings[i].n);
      break;
    case OX_ATTR_TENSORS_KIND:
      for (size_t i = 0; i < v->n; i++) ox_out_tensor_field(o, OX_ATTRIBUTE_PROTO_TENSORS, &v->tensor[i], NULL);
      break;
    case OX_ATTR_SPARSES_KIND:
      for (size_t i = 0; i < v->n; i++) ox_out_tensor_field(o, OX_ATTRIBUTE_PROTO_SPARSE_TENSORS, &v->tensor[i], NULL);
      break;
    case OX_ATTR_SPARSE_KIND:
      ox_out_tensor_field(o, OX_ATTRIBUTE_PROTO_SPARSE_TENSOR, v->tensor, NULL);
      break;
    case OX_ATTR_GRAPHS_KIND:
      for (size_t i = 0; i < v->n; i++) OX_TRY(out_graph_field(o, OX_ATTRIBUTE_PROTO_GRAPHS, a->graphs[i]));
      break;
    case OX_ATTR_TYPE_KIND:
      out_types(o, OX_ATTRIBUTE_PROTO_TP, g, a);
      break;
    case OX_ATTR_TYPES_KIND:
      out_types(o, OX_ATTRIBUTE_PROTO_TYPE_PROTOS, g, a);
      break;
    default:
      return ox_fail(OX_INVALID_MODEL, "attribute '%s' has the unknown kind %u", a->name, v->kind);
  }
  return NULL;
}

ox_status *ox_out_attr(ox_wire_out *o, uint32_t number, const ox_graph *g, const ox_attr *a) {
  ox_wire_mark attr = ox_out_begin(o, number);
  ox_out_str(o, OX_ATTRIBUTE_PROTO_NAME, a->name);
  if (a->ref) {
    ox_out_str(o, OX_ATTRIBUTE_PROTO_REF_ATTR_NAME, a->ref);
  } else {
    OX_TRY(out_attr_value(o, g, a));
  }
  if (a->v.kind) ox_out_varint(o, OX_ATTRIBUTE_PROTO_TYPE, a->v.kind);
  ox_out_end(o, attr);
  return NULL;
}

static void out_value_name(ox_wire_out *o, uint32_t number, const ox_graph *g, ox_id v) {
  ox_out_str(o, number, v == OX_NONE ? "" : ox_graph_value_name(g, v));
}

ox_status *ox_check_version(const ox_model *m, const ox_node *n) {
  if (!n->version || n->version == ox_model_opset(m, n->domain)) return NULL;
  return ox_fail(OX_NOT_IMPLEMENTED,
                 "node '%s' (%s) is written for operator set %u, the model imports %lld: a file can import only one",
                 n->name, n->op, n->version, (long long)ox_model_opset(m, n->domain));
}

static ox_status *out_node(ox_wire_out *o, uint32_t number, const ox_graph *g, const ox_node *n) {
  OX_TRY(ox_check_version(g->model, n));
  ox_wire_mark node = ox_out_begin(o, number);
  for (uint32_t i = 0; i < n->n_in; i++) out_value_name(o, OX_NODE_PROTO_INPUT, g, n->in[i]);
  for (uint32_t i = 0; i < n->n_out; i++) out_value_name(o, OX_NODE_PROTO_OUTPUT, g, n->out[i]);
  if (*n->name) ox_out_str(o, OX_NODE_PROTO_NAME, n->name);
  ox_out_str(o, OX_NODE_PROTO_OP_TYPE, n->op);
  for (uint32_t i = 0; i < n->n_attrs; i++)
    OX_TRY(ox_status_note(ox_out_attr(o, OX_NODE_PROTO_ATTRIBUTE, g, &n->attrs[i]), "node '%s' (%s)", n->name, n->op));
  if (*n->domain) ox_out_str(o, OX_NODE_PROTO_DOMAIN, n->domain);
  if (n->overload && *n->overload) ox_out_str(o, OX_NODE_PROTO_OVERLOAD, n->overload);
  ox_out_end(o, node);
  return NULL;
}

ox_status *ox_out_nodes(ox_wire_out *o, uint32_t number, const ox_graph *g) {
  ox_id *order = NULL;
  uint32_t n = 0;
  ox_status *st = ox_graph_order(g, o->alloc, &order, &n);
  for (uint32_t i = 0; !st && i < n; i++) st = out_node(o, number, g, &g->nodes[order[i]]);
  ox_delete(o->alloc, order, g->n_nodes * sizeof *order);
  return st;
}

ox_status *ox_out_graph(ox_wire_out *o, const ox_graph *g) {
  /* before IR version 4 the inputs must list every initializer */
  bool list_constants = g->model->ir_version < 4;
  OX_TRY(ox_out_nodes(o, OX_GRAPH_PROTO_NODE, g));
  ox_out_str(o, OX_GRAPH_PROTO_NAME, *g->name ? g->name : "graph");
  for (uint32_t i = 0; i < g->n_inputs; i++) ox_out_value_info(o, OX_GRAPH_PROTO_INPUT, g, g->inputs[i]);
  for (uint32_t i = 0; i < g->n_outputs; i++) ox_out_value_info(o, OX_GRAPH_PROTO_OUTPUT, g, g->outputs[i]);
  for (ox_id v = 0; v < g->n_values; v++) {
    const ox_graph_value *value = ox_graph_value_at(g, v);
    if (value->dead) continue;
    if (value->outer != OX_NONE) OX_TRY(check_outer_name(g, v));
    if (value->init) {
      uint32_t number = value->init->kind == OX_SPARSE ? OX_GRAPH_PROTO_SPARSE_INITIALIZER : OX_GRAPH_PROTO_INITIALIZER;
      ox_out_tensor_field(o, number, ox_graph_init(g, v), value->name);
    }
    if (value->init && !value->is_input && list_constants) ox_out_value_info(o, OX_GRAPH_PROTO_INPUT, g, v);
    bool elsewhere = value->is_input || value->is_output || value->init || value->outer != OX_NONE;
    if (!elsewhere && value->producer != OX_NONE && ox_type_has_info(&value->type))
      ox_out_value_info(o, OX_GRAPH_PROTO_VALUE_INFO, g, v);
  }
  return NULL;
}
