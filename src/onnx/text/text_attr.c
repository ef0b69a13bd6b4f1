/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_attr.c - attributes of the textual syntax: name, optional kind, a value or a list of values. */
#include "graph/graph.h"
#include "onnx/proto/onnx_fields.h"
#include "onnx/text/text_parse.h"

/* AttributeProto's field for one value of a kind, and for a list of them; the list's kind. */
static const struct {
  uint8_t one, many, list_kind;
} fields[OX_ATTR_TYPES_KIND + 1] = {
    [OX_ATTR_FLOAT_KIND] = {OX_ATTRIBUTE_PROTO_F, OX_ATTRIBUTE_PROTO_FLOATS, OX_ATTR_FLOATS_KIND},
    [OX_ATTR_INT_KIND] = {OX_ATTRIBUTE_PROTO_I, OX_ATTRIBUTE_PROTO_INTS, OX_ATTR_INTS_KIND},
    [OX_ATTR_STRING_KIND] = {OX_ATTRIBUTE_PROTO_S, OX_ATTRIBUTE_PROTO_STRINGS, OX_ATTR_STRINGS_KIND},
    [OX_ATTR_TENSOR_KIND] = {OX_ATTRIBUTE_PROTO_T, OX_ATTRIBUTE_PROTO_TENSORS, OX_ATTR_TENSORS_KIND},
    [OX_ATTR_GRAPH_KIND] = {OX_ATTRIBUTE_PROTO_G, OX_ATTRIBUTE_PROTO_GRAPHS, OX_ATTR_GRAPHS_KIND},
    [OX_ATTR_SPARSE_KIND] = {OX_ATTRIBUTE_PROTO_SPARSE_TENSOR, OX_ATTRIBUTE_PROTO_SPARSE_TENSORS, OX_ATTR_SPARSES_KIND},
    [OX_ATTR_TYPE_KIND] = {OX_ATTRIBUTE_PROTO_TP, OX_ATTRIBUTE_PROTO_TYPE_PROTOS, OX_ATTR_TYPES_KIND},
};

static uint32_t field_of(uint32_t kind, bool in_list) { return in_list ? fields[kind].many : fields[kind].one; }

/* The kind of a list's elements; for other kinds, the kind itself. */
static uint32_t element_kind(uint32_t kind) {
  for (uint32_t k = 1; k < OX_COUNT(fields); k++)
    if (kind && fields[k].list_kind == kind) return k;
  return kind;
}

/* A type, or a tensor: a type and its content. */
static ox_status *read_typed(ox_text *t, bool in_list, uint32_t *out_kind) {
  ox_lex *x = &t->lex;
  ox_text_type type;
  ox_wire_mark before = ox_out_mark(&t->out);
  OX_TRY(ox_text_type_read(t, field_of(OX_ATTR_TYPE_KIND, in_list), &type));
  int next = ox_lex_peek(x);
  *out_kind = OX_ATTR_TYPE_KIND;
  if (next != '{' && next != '=' && next != '"' && !ox_lex_peek_ident(x).n) return NULL;
  ox_out_take_back(&t->out, before);
  if (type.is_sparse) {
    *out_kind = OX_ATTR_SPARSE_KIND;
    return ox_text_sparse(t, field_of(OX_ATTR_SPARSE_KIND, in_list), &type);
  }
  ox_str name;
  bool found;
  OX_TRY(ox_lex_try_name(x, &name, &found));
  ox_lex_try(x, '=');
  *out_kind = OX_ATTR_TENSOR_KIND;
  return ox_text_tensor(t, field_of(OX_ATTR_TENSOR_KIND, in_list), name, &type);
}

static ox_status *read_literal(ox_text *t, uint32_t wanted, bool in_list, uint32_t *out_kind) {
  ox_lex *x = &t->lex;
  ox_literal lit;
  OX_TRY(ox_lex_literal(x, &lit));
  if (lit.kind == OX_LIT_STRING) {
    int next = ox_lex_peek(x);
    *out_kind = next == '(' || next == '=' ? OX_ATTR_GRAPH_KIND : OX_ATTR_STRING_KIND; /* a graph's name in quotes */
    uint32_t number = field_of(*out_kind, in_list);
    if (*out_kind == OX_ATTR_GRAPH_KIND) return ox_text_graph(t, number, lit.s);
    ox_out_bytes(&t->out, number, lit.s.p, lit.s.n);
    return NULL;
  }
  if (lit.kind == OX_LIT_FLOAT || wanted == OX_ATTR_FLOAT_KIND) {
    float f;
    *out_kind = OX_ATTR_FLOAT_KIND;
    OX_TRY(ox_lex_to_float(x, &lit, &f));
    ox_out_f32(&t->out, field_of(OX_ATTR_FLOAT_KIND, in_list), f);
    return NULL;
  }
  int64_t v;
  *out_kind = OX_ATTR_INT_KIND;
  OX_TRY(ox_lex_to_int(x, &lit, &v));
  ox_out_varint(&t->out, field_of(OX_ATTR_INT_KIND, in_list), (uint64_t)v);
  return NULL;
}

/* One value; |wanted|: the kind it must have, or 0. */
static ox_status *read_value(ox_text *t, uint32_t wanted, bool in_list, uint32_t *out_kind) {
  ox_lex *x = &t->lex;
  if (ox_text_at_type(t)) {
    OX_TRY(read_typed(t, in_list, out_kind));
  } else if (!ox_lex_peek_ident(x).n || ox_lex_at_special_float(x)) {
    OX_TRY(read_literal(t, wanted, in_list, out_kind));
  } else {
    *out_kind = OX_ATTR_GRAPH_KIND;
    OX_TRY(ox_text_graph(t, field_of(OX_ATTR_GRAPH_KIND, in_list), ox_lex_take_ident(x)));
  }
  if (wanted && wanted != *out_kind)
    return ox_lex_fail(x, "%s expected, not %s", ox_text_attr_kind_name(wanted), ox_text_attr_kind_name(*out_kind));
  return NULL;
}

static ox_status *read_list(ox_text *t, uint32_t *kind) {
  ox_lex *x = &t->lex;
  uint32_t element = element_kind(*kind), got;
  if (*kind && element == *kind)
    return ox_lex_fail(x, "a single %s expected, not a list", ox_text_attr_kind_name(*kind));
  if (ox_lex_try(x, ']')) return *kind ? NULL : ox_lex_fail(x, "an empty list needs its kind: name: ints = []");
  do {
    OX_TRY(read_value(t, element, true, &got));
    element = got;
  } while (ox_lex_try(x, ','));
  *kind = fields[element].list_kind;
  return ox_lex_expect(x, ']');
}

ox_status *ox_text_attr(ox_text *t, uint32_t number, ox_str name) {
  ox_lex *x = &t->lex;
  uint32_t kind = 0;
  ox_wire_mark attr = ox_out_begin(&t->out, number);
  ox_out_bytes(&t->out, OX_ATTRIBUTE_PROTO_NAME, name.p, name.n);
  if (ox_lex_try(x, ':')) {
    ox_str word;
    OX_TRY(ox_lex_ident(x, &word));
    kind = ox_text_attr_kind_find(word);
    if (!kind) return ox_lex_fail(x, "'%.*s' is not an attribute kind", (int)OX_MIN(word.n, 60), word.p);
  }
  OX_TRY(ox_lex_expect(x, '='));
  if (ox_lex_try(x, '@')) {
    ox_str ref;
    OX_TRY(ox_lex_name(x, &ref));
    ox_out_bytes(&t->out, OX_ATTRIBUTE_PROTO_REF_ATTR_NAME, ref.p, ref.n);
  } else if (ox_lex_try(x, '[')) {
    OX_TRY(read_list(t, &kind));
  } else {
    OX_TRY(read_value(t, kind, false, &kind));
  }
  if (kind) ox_out_varint(&t->out, OX_ATTRIBUTE_PROTO_TYPE, kind);
  ox_out_end(&t->out, attr);
  return NULL;
}
