/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/model_write.c - ModelProto and FunctionProto. */
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/proto_write.h"

static void out_opset(ox_wire_out *o, uint32_t number, const ox_opset *opset) {
  ox_wire_mark m = ox_out_begin(o, number);
  ox_out_str(o, OX_OPERATOR_SET_ID_PROTO_DOMAIN, opset->domain);
  ox_out_varint(o, OX_OPERATOR_SET_ID_PROTO_VERSION, (uint64_t)opset->version);
  ox_out_end(o, m);
}

static void out_text(ox_wire_out *o, uint32_t number, const char *s) {
  if (s && *s) ox_out_str(o, number, s);
}

static ox_status *out_function(ox_wire_out *o, uint32_t number, const ox_function *fn) {
  const ox_graph *g = fn->body;
  ox_wire_mark function = ox_out_begin(o, number);
  ox_out_str(o, OX_FUNCTION_PROTO_NAME, fn->name);
  for (uint32_t i = 0; i < fn->n_inputs; i++) ox_out_str(o, OX_FUNCTION_PROTO_INPUT, fn->inputs[i]);
  for (uint32_t i = 0; i < fn->n_outputs; i++) ox_out_str(o, OX_FUNCTION_PROTO_OUTPUT, fn->outputs[i]);
  for (uint32_t i = 0; i < fn->n_attr_names; i++) ox_out_str(o, OX_FUNCTION_PROTO_ATTRIBUTE, fn->attr_names[i]);
  OX_TRY(ox_out_nodes(o, OX_FUNCTION_PROTO_NODE, g));
  for (uint32_t i = 0; i < fn->n_opsets; i++) out_opset(o, OX_FUNCTION_PROTO_OPSET_IMPORT, &fn->opsets[i]);
  out_text(o, OX_FUNCTION_PROTO_DOMAIN, fn->domain);
  for (uint32_t i = 0; i < fn->n_attr_defaults; i++)
    OX_TRY(ox_out_attr(o, OX_FUNCTION_PROTO_ATTRIBUTE_PROTO, g, &fn->attr_defaults[i]));
  for (ox_id v = 0; v < g->n_values; v++)
    if (!ox_graph_value_at(g, v)->dead && ox_type_has_info(&ox_graph_value_at(g, v)->type))
      ox_out_value_info(o, OX_FUNCTION_PROTO_VALUE_INFO, g, v);
  out_text(o, OX_FUNCTION_PROTO_OVERLOAD, fn->overload);
  ox_out_end(o, function);
  return NULL;
}

ox_status *ox_out_model(ox_wire_out *o, const ox_model *m) {
  ox_out_varint(o, OX_MODEL_PROTO_IR_VERSION, (uint64_t)m->ir_version);
  out_text(o, OX_MODEL_PROTO_PRODUCER_NAME, m->producer_name);
  out_text(o, OX_MODEL_PROTO_PRODUCER_VERSION, m->producer_version);
  out_text(o, OX_MODEL_PROTO_DOMAIN, m->domain);
  if (m->model_version) ox_out_varint(o, OX_MODEL_PROTO_MODEL_VERSION, (uint64_t)m->model_version);
  out_text(o, OX_MODEL_PROTO_DOC_STRING, m->doc);
  ox_wire_mark graph = ox_out_begin(o, OX_MODEL_PROTO_GRAPH);
  OX_TRY(ox_out_graph(o, m->graph));
  ox_out_end(o, graph);
  for (uint32_t i = 0; i < m->n_opsets; i++) out_opset(o, OX_MODEL_PROTO_OPSET_IMPORT, &m->opsets[i]);
  for (uint32_t i = 0; i < m->n_props; i++) {
    ox_wire_mark prop = ox_out_begin(o, OX_MODEL_PROTO_METADATA_PROPS);
    ox_out_str(o, OX_STRING_STRING_ENTRY_PROTO_KEY, m->props[i].key);
    ox_out_str(o, OX_STRING_STRING_ENTRY_PROTO_VALUE, m->props[i].value);
    ox_out_end(o, prop);
  }
  for (uint32_t i = 0; i < m->n_functions; i++) OX_TRY(out_function(o, OX_MODEL_PROTO_FUNCTIONS, &m->functions[i]));
  return NULL;
}
