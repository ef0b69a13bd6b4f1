/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/type_write.c - TypeProto and ValueInfoProto. */
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/proto_write.h"

bool ox_type_has_info(const ox_type *t) {
  return t->kind != OX_TENSOR || t->dtype != OX_UNDEFINED || t->shape.rank >= 0 || t->optional;
}

static void out_shape(ox_wire_out *o, const ox_model *m, const ox_shape *s) {
  if (s->rank < 0) return;
  ox_wire_mark shape = ox_out_begin(o, OX_TYPE_PROTO_TENSOR_SHAPE);
  for (int i = 0; i < s->rank; i++) {
    const char *symbol = ox_model_symbol_name(m, s->dim[i]);
    ox_wire_mark dim = ox_out_begin(o, OX_TENSOR_SHAPE_PROTO_DIM);
    if (s->dim[i] >= 0) ox_out_varint(o, OX_TENSOR_SHAPE_PROTO_DIMENSION_DIM_VALUE, (uint64_t)s->dim[i]);
    if (symbol) ox_out_str(o, OX_TENSOR_SHAPE_PROTO_DIMENSION_DIM_PARAM, symbol);
    ox_out_end(o, dim);
  }
  ox_out_end(o, shape);
}

static void out_content(ox_wire_out *o, const ox_model *m, const ox_type *t) {
  static const uint32_t fields[] = {[OX_TENSOR] = OX_TYPE_PROTO_TENSOR_TYPE,
                                    [OX_SEQUENCE] = OX_TYPE_PROTO_SEQUENCE_TYPE,
                                    [OX_MAP] = OX_TYPE_PROTO_MAP_TYPE,
                                    [OX_NONE_VALUE] = OX_TYPE_PROTO_TENSOR_TYPE,
                                    [OX_SPARSE] = OX_TYPE_PROTO_SPARSE_TENSOR_TYPE};
  ox_wire_mark box = ox_out_begin(o, fields[t->kind]);
  if (t->kind == OX_SEQUENCE || t->kind == OX_MAP) {
    if (t->kind == OX_MAP) ox_out_varint(o, OX_TYPE_PROTO_MAP_KEY_TYPE, t->key_dtype);
    ox_wire_mark elem =
        ox_out_begin(o, t->kind == OX_MAP ? OX_TYPE_PROTO_MAP_VALUE_TYPE : OX_TYPE_PROTO_SEQUENCE_ELEM_TYPE);
    if (t->elem) ox_out_type(o, m, t->elem);
    ox_out_end(o, elem);
  } else {
    if (t->dtype != OX_UNDEFINED) ox_out_varint(o, OX_TYPE_PROTO_TENSOR_ELEM_TYPE, t->dtype);
    out_shape(o, m, &t->shape);
  }
  ox_out_end(o, box);
}

void ox_out_type(ox_wire_out *o, const ox_model *m, const ox_type *t) {
  if (!t->optional) {
    if (ox_type_has_info(t)) out_content(o, m, t);
    return;
  }
  ox_type content = *t;
  content.optional = false;
  ox_wire_mark optional = ox_out_begin(o, OX_TYPE_PROTO_OPTIONAL_TYPE);
  ox_wire_mark elem = ox_out_begin(o, OX_TYPE_PROTO_OPTIONAL_ELEM_TYPE);
  ox_out_type(o, m, &content);
  ox_out_end(o, elem);
  ox_out_end(o, optional);
}

void ox_out_value_info(ox_wire_out *o, uint32_t number, const ox_graph *g, ox_id v) {
  const ox_type *t = &ox_graph_value_at(g, v)->type;
  ox_wire_mark info = ox_out_begin(o, number);
  ox_out_str(o, OX_VALUE_INFO_PROTO_NAME, ox_graph_value_name(g, v));
  if (ox_type_has_info(t)) {
    ox_wire_mark type = ox_out_begin(o, OX_VALUE_INFO_PROTO_TYPE);
    ox_out_type(o, g->model, t);
    ox_out_end(o, type);
  }
  ox_out_end(o, info);
}
