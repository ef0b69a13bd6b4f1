/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/function_read.c - FunctionProto: a graph whose attributes may take their values from the call. */
#include <string.h>

#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/reader.h"

typedef struct function_parts {
  ox_str domain, name, overload;
  uint32_t n_inputs, n_outputs, n_attrs, n_defaults, n_opsets;
} function_parts;

static ox_status *scan(ox_str bytes, function_parts *p) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *p = (function_parts){0};
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_NAME):
        p->name = f.bytes;
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_INPUT):
        p->n_inputs++;
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_OUTPUT):
        p->n_outputs++;
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_ATTRIBUTE):
        p->n_attrs++;
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_OPSET_IMPORT):
        p->n_opsets++;
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_DOMAIN):
        p->domain = f.bytes;
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_ATTRIBUTE_PROTO):
        p->n_defaults++;
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_OVERLOAD):
        p->overload = f.bytes;
        break;
      default:
        break;
    }
  return ox_wire_end(&w, "FunctionProto");
}

static ox_status *allocate(ox_reader *r, const function_parts *p, ox_function *fn) {
  ox_arena *a = &r->m->arena;
  *fn = (ox_function){0};
  OX_TRY(ox_read_name(a, p->domain, &fn->domain));
  if (strcmp(fn->domain, "ai.onnx") == 0) fn->domain = "";
  OX_TRY(ox_read_name(a, p->name, &fn->name));
  OX_TRY(ox_read_name(a, p->overload, &fn->overload));
  fn->inputs = OX_ARENA_ARRAY(a, const char *, p->n_inputs);
  fn->outputs = OX_ARENA_ARRAY(a, const char *, p->n_outputs);
  fn->attr_names = OX_ARENA_ARRAY(a, const char *, p->n_attrs);
  fn->attr_defaults = OX_ARENA_ARRAY(a, ox_attr, p->n_defaults);
  fn->opsets = OX_ARENA_ARRAY(a, ox_opset, p->n_opsets);
  if (!fn->inputs || !fn->outputs || !fn->attr_names || !fn->attr_defaults || !fn->opsets) return ox_oom();
  return ox_graph_create(r->m, NULL, fn->name, &fn->body);
}

static ox_status *add_input(ox_reader *r, ox_function *fn, ox_str name) {
  const char **slot = &fn->inputs[fn->n_inputs++];
  ox_id v;
  OX_TRY(ox_read_name(&r->m->arena, name, slot));
  if (!**slot || ox_graph_find(fn->body, *slot) != OX_NONE)
    return ox_fail(OX_INVALID_MODEL, "the name of input '%s' is empty or taken", *slot);
  OX_TRY(ox_graph_add_value(fn->body, *slot, &v));
  return ox_graph_add_input(fn->body, v);
}

static ox_status *add_output(ox_reader *r, ox_function *fn, ox_str name) {
  const char **slot = &fn->outputs[fn->n_outputs++];
  OX_TRY(ox_read_name(&r->m->arena, name, slot));
  ox_id v = ox_graph_find(fn->body, *slot);
  if (v == OX_NONE) return ox_fail(OX_INVALID_MODEL, "output '%s' is not defined", *slot);
  return ox_graph_add_output(fn->body, v);
}

/* Inputs, attributes, opsets: what must be known before the nodes. */
static ox_status *read_head(ox_reader *r, ox_str bytes, ox_function *fn) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_INPUT):
        OX_TRY(add_input(r, fn, f.bytes));
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_ATTRIBUTE):
        OX_TRY(ox_read_name(&r->m->arena, f.bytes, &fn->attr_names[fn->n_attr_names++]));
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_OPSET_IMPORT):
        OX_TRY(ox_read_opset(r, f.bytes, &fn->opsets[fn->n_opsets++]));
        break;
      case OX_WIRE_LEN(OX_FUNCTION_PROTO_ATTRIBUTE_PROTO):
        OX_TRY(ox_read_attr(r, fn->body, f.bytes, &fn->attr_defaults[fn->n_attr_defaults++]));
        break;
      default:
        break;
    }
  return NULL;
}

static ox_status *read_tail(ox_reader *r, ox_str bytes, ox_function *fn) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_FUNCTION_PROTO_OUTPUT)) OX_TRY(add_output(r, fn, f.bytes));
    if (f.tag == OX_WIRE_LEN(OX_FUNCTION_PROTO_VALUE_INFO)) OX_TRY(ox_apply_value_info(r, fn->body, f.bytes));
  }
  return NULL;
}

static ox_status *read_parts(ox_reader *r, ox_str bytes, const function_parts *p, ox_function *fn) {
  OX_TRY(allocate(r, p, fn));
  if (!*fn->name) return ox_fail(OX_INVALID_MODEL, "it has no name");
  OX_TRY(read_head(r, bytes, fn));
  OX_TRY(ox_read_nodes(r, bytes, OX_WIRE_LEN(OX_FUNCTION_PROTO_NODE), fn->body));
  return read_tail(r, bytes, fn);
}

ox_status *ox_read_function(ox_reader *r, ox_str bytes, ox_function *out_function) {
  function_parts p;
  OX_TRY(scan(bytes, &p));
  r->in_function = true;
  ox_status *st = read_parts(r, bytes, &p, out_function);
  r->in_function = false;
  return ox_status_note(st, "function '%.*s'", (int)OX_MIN(p.name.n, 200), p.name.p ? p.name.p : "");
}
