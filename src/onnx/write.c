/* SPDX-License-Identifier: Apache-2.0
 * onnx/write.c - ModelProto and FunctionProto, to a sink or a file. */
#include "onnx/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx_fields.h"
#include "onnx/proto_write.h"

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
    if (!ox_graph_value_at(g, v)->dead && ox_type_says(&ox_graph_value_at(g, v)->type))
      ox_out_value_info(o, OX_FUNCTION_PROTO_VALUE_INFO, g, v);
  out_text(o, OX_FUNCTION_PROTO_OVERLOAD, fn->overload);
  ox_out_end(o, function);
  return NULL;
}

static ox_status *out_model(ox_wire_out *o, const ox_model *m) {
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

ox_status *ox_model_write(const ox_model *m, ox_sink sink) {
  ox_wire_out o = ox_wire_out_of(m->alloc);
  ox_status *st = out_model(&o, m);
  if (!st) st = ox_wire_out_flush(&o, sink);
  ox_wire_out_deinit(&o);
  return st;
}

static ox_status *write_to_file(void *ctx, const void *bytes, size_t n) {
  if (fwrite(bytes, 1, n, ctx) == n) return NULL;
  return ox_fail(OX_FAIL, "writing failed: %s", strerror(errno));
}

ox_status *ox_model_write_file(const ox_model *m, const char *path) {
  ox_status *st = NULL;
  size_t n = strlen(path) + sizeof ".part";
  char *part = ox_new(m->alloc, n);
  if (!part) return ox_oom();
  snprintf(part, n, "%s.part", path);
  FILE *file = fopen(part, "wb");
  if (!file) {
    st = ox_fail(OX_FAIL, "%s: %s", part, strerror(errno));
    goto done;
  }
  st = ox_model_write(m, (ox_sink){write_to_file, file});
  if (fclose(file) != 0 && !st) st = ox_fail(OX_FAIL, "%s: %s", part, strerror(errno));
  if (!st && rename(part, path) != 0) st = ox_fail(OX_FAIL, "%s: %s", path, strerror(errno));
  if (st) remove(part);
done:
  ox_delete(m->alloc, part, n);
  return st;
}
