/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/type_read.c - TypeProto and ValueInfoProto. */
#include <string.h>

#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/reader.h"

static void fix_denoted(const ox_denotations *d, ox_str denotation, int64_t *dim) {
  for (size_t i = 0; *dim < 0 && i < d->n; i++)
    if (strlen(d->names[i]) == denotation.n && memcmp(d->names[i], denotation.p, denotation.n) == 0)
      *dim = d->values[i];
}

static ox_status *read_dim(ox_reader *r, ox_str bytes, int64_t *out_dim) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_str denotation = {"", 0};
  *out_dim = -1;
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_VARINT(OX_TENSOR_SHAPE_PROTO_DIMENSION_DIM_VALUE))
      *out_dim = (int64_t)f.value < 0 ? -1 : (int64_t)f.value;
    if (f.tag == OX_WIRE_LEN(OX_TENSOR_SHAPE_PROTO_DIMENSION_DENOTATION)) denotation = f.bytes;
    if (f.tag != OX_WIRE_LEN(OX_TENSOR_SHAPE_PROTO_DIMENSION_DIM_PARAM) || !f.bytes.n) continue;
    const char *name;
    OX_TRY(ox_read_name(&r->scratch, f.bytes, &name));
    OX_TRY(ox_model_symbol(r->m, name, out_dim));
  }
  if (denotation.n) fix_denoted(&r->denotations, denotation, out_dim);
  return ox_wire_end(&w, "dimension");
}

static ox_status *read_shape(ox_reader *r, ox_str bytes, ox_shape *out) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *out = ox_shape_scalar();
  while (ox_wire_next(&w, &f)) {
    if (f.tag != OX_WIRE_LEN(OX_TENSOR_SHAPE_PROTO_DIM)) continue;
    if (out->rank == OX_MAX_RANK) return ox_fail(OX_LIMIT, "a shape has more than %d dimensions", OX_MAX_RANK);
    OX_TRY(read_dim(r, f.bytes, &out->dim[out->rank++]));
  }
  return ox_wire_end(&w, "TensorShapeProto");
}

/* TypeProto.Tensor and TypeProto.SparseTensor. */
static ox_status *read_tensor_type(ox_reader *r, ox_str bytes, uint32_t kind, ox_type *out) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *out = ox_type_unknown();
  out->kind = kind;
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_VARINT(OX_TYPE_PROTO_TENSOR_ELEM_TYPE) && f.value)
      OX_TRY(ox_dtype_check(f.value, &out->dtype));
    if (f.tag == OX_WIRE_LEN(OX_TYPE_PROTO_TENSOR_SHAPE)) OX_TRY(read_shape(r, f.bytes, &out->shape));
  }
  return ox_wire_end(&w, "TypeProto.Tensor");
}

/* TypeProto.Sequence and TypeProto.Map. */
static ox_status *read_container(ox_reader *r, ox_str bytes, uint32_t kind, ox_type *out) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  uint32_t elem_tag =
      kind == OX_MAP ? OX_WIRE_LEN(OX_TYPE_PROTO_MAP_VALUE_TYPE) : OX_WIRE_LEN(OX_TYPE_PROTO_SEQUENCE_ELEM_TYPE);
  ox_type *elem = OX_ARENA_NEW(&r->m->arena, ox_type);
  if (!elem) return ox_oom();
  *elem = *out = ox_type_unknown();
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_VARINT(OX_TYPE_PROTO_MAP_KEY_TYPE) && kind == OX_MAP && f.value)
      OX_TRY(ox_dtype_check(f.value, &out->key_dtype));
    if (f.tag == elem_tag) OX_TRY(ox_read_type(r, f.bytes, elem));
  }
  out->kind = kind, out->elem = elem, out->dtype = elem->dtype;
  return ox_wire_end(&w, kind == OX_MAP ? "TypeProto.Map" : "TypeProto.Sequence");
}

static ox_status *read_optional(ox_reader *r, ox_str bytes, ox_type *out) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *out = ox_type_unknown();
  while (ox_wire_next(&w, &f))
    if (f.tag == OX_WIRE_LEN(OX_TYPE_PROTO_OPTIONAL_ELEM_TYPE)) OX_TRY(ox_read_type(r, f.bytes, out));
  out->optional = true;
  return ox_wire_end(&w, "TypeProto.Optional");
}

ox_status *ox_read_type(ox_reader *r, ox_str bytes, ox_type *out_type) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *out_type = ox_type_unknown();
  OX_TRY(ox_reader_enter(r));
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_LEN(OX_TYPE_PROTO_TENSOR_TYPE):
        OX_TRY(read_tensor_type(r, f.bytes, OX_TENSOR, out_type));
        break;
      case OX_WIRE_LEN(OX_TYPE_PROTO_SEQUENCE_TYPE):
        OX_TRY(read_container(r, f.bytes, OX_SEQUENCE, out_type));
        break;
      case OX_WIRE_LEN(OX_TYPE_PROTO_MAP_TYPE):
        OX_TRY(read_container(r, f.bytes, OX_MAP, out_type));
        break;
      case OX_WIRE_LEN(OX_TYPE_PROTO_SPARSE_TENSOR_TYPE):
        OX_TRY(read_tensor_type(r, f.bytes, OX_SPARSE, out_type));
        break;
      case OX_WIRE_LEN(OX_TYPE_PROTO_OPTIONAL_TYPE):
        OX_TRY(read_optional(r, f.bytes, out_type));
        break;
      default:
        break; /* opaque types stay unknown: only custom operators know them */
    }
  ox_reader_leave(r);
  return ox_wire_end(&w, "TypeProto");
}

ox_status *ox_read_value_info(ox_reader *r, ox_str bytes, const char **out_name, ox_type *out_type) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_str name = {"", 0}, type = {NULL, 0};
  ox_arena_reset(&r->scratch);
  *out_type = ox_type_unknown();
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_VALUE_INFO_PROTO_NAME)) name = f.bytes;
    if (f.tag == OX_WIRE_LEN(OX_VALUE_INFO_PROTO_TYPE)) type = f.bytes;
  }
  OX_TRY(ox_wire_end(&w, "ValueInfoProto"));
  OX_TRY(ox_read_name(&r->scratch, name, out_name));
  if (!type.p) return NULL;
  return ox_status_note(ox_read_type(r, type, out_type), "type of '%s'", *out_name);
}

ox_status *ox_apply_value_info(ox_reader *r, ox_graph *g, ox_str bytes) {
  const char *name;
  ox_type type;
  OX_TRY(ox_read_value_info(r, bytes, &name, &type));
  ox_id v = ox_graph_find(g, name);
  if (v == OX_NONE) return NULL;
  ox_graph_value *value = ox_graph_value_at(g, v);
  bool fixed = value->init && !value->is_input; /* the type of a constant is its tensor's */
  bool has_info = type.kind != OX_TENSOR || type.dtype != OX_UNDEFINED || type.shape.rank >= 0 || type.optional;
  if (!fixed && has_info && value->outer == OX_NONE) value->type = type;
  return NULL;
}
