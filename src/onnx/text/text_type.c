/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_type.c - types and tensor literals of the textual syntax. */
#include <string.h>

#include "graph/dtype.h"
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/tensor.h"
#include "onnx/text/text_parse.h"

enum { MAX_DEPTH = 64 };

ox_status *ox_text_enter(ox_text *t) {
  if (t->depth >= MAX_DEPTH) return ox_lex_fail(&t->lex, "nested deeper than %d levels", MAX_DEPTH);
  t->depth++;
  return NULL;
}

bool ox_text_at_type(ox_text *t) {
  static const char *const words[] = {"seq", "map", "optional", "sparse_tensor", "opaque"};
  ox_str word = ox_lex_peek_ident(&t->lex);
  if (ox_text_dtype_find(word)) return true;
  for (size_t i = 0; i < OX_COUNT(words); i++)
    if (ox_str_is(word, words[i])) return true;
  return false;
}

static ox_status *read_dim(ox_text *t, ox_text_type *type) {
  ox_lex *x = &t->lex;
  if (type->rank == OX_MAX_RANK) return ox_lex_fail(x, "more than %d dimensions", OX_MAX_RANK);
  ox_wire_mark dim = ox_out_begin(&t->out, OX_TENSOR_SHAPE_PROTO_DIM);
  if (!ox_lex_try(x, '?')) {
    ox_str symbol;
    bool found;
    OX_TRY(ox_lex_try_name(x, &symbol, &found));
    if (found) {
      ox_out_bytes(&t->out, OX_TENSOR_SHAPE_PROTO_DIMENSION_DIM_PARAM, symbol.p, symbol.n);
    } else {
      OX_TRY(ox_lex_int(x, &type->dim[type->rank++]));
      ox_out_varint(&t->out, OX_TENSOR_SHAPE_PROTO_DIMENSION_DIM_VALUE, (uint64_t)type->dim[type->rank - 1]);
      ox_out_end(&t->out, dim);
      return NULL;
    }
  }
  type->is_numeric = false;
  type->dim[type->rank++] = -1;
  ox_out_end(&t->out, dim);
  return NULL;
}

/* Element type and shape: "float" a scalar, "float[]" of unknown rank, "float[2,N]". */
static ox_status *read_tensor_type(ox_text *t, uint32_t number, ox_str word, ox_text_type *type) {
  ox_lex *x = &t->lex;
  type->dtype = ox_text_dtype_find(word);
  if (!type->dtype) return ox_lex_fail(x, "'%.*s' is not an element type", (int)OX_MIN(word.n, 60), word.p);
  type->is_numeric = type->has_shape = true;
  ox_wire_mark tensor = ox_out_begin(&t->out, number);
  ox_out_varint(&t->out, OX_TYPE_PROTO_TENSOR_ELEM_TYPE, type->dtype);
  bool brackets = ox_lex_try(x, '[');
  if (brackets && ox_lex_try(x, ']')) {
    type->has_shape = false;
  } else {
    ox_wire_mark shape = ox_out_begin(&t->out, OX_TYPE_PROTO_TENSOR_SHAPE);
    if (brackets) {
      do OX_TRY(read_dim(t, type));
      while (ox_lex_try(x, ','));
      OX_TRY(ox_lex_expect(x, ']'));
    }
    ox_out_end(&t->out, shape);
  }
  ox_out_end(&t->out, tensor);
  return NULL;
}

static ox_status *read_key_type(ox_text *t) {
  ox_str word;
  OX_TRY(ox_lex_ident(&t->lex, &word));
  uint32_t key = ox_text_dtype_find(word);
  if (!key) return ox_lex_fail(&t->lex, "'%.*s' is not an element type", (int)OX_MIN(word.n, 60), word.p);
  ox_out_varint(&t->out, OX_TYPE_PROTO_MAP_KEY_TYPE, key);
  return ox_lex_expect(&t->lex, ',');
}

/* opaque(domain.parts, name) is parsed, but the type stays unknown. */
static ox_status *skip_opaque(ox_text *t) {
  ox_lex *x = &t->lex;
  while (ox_lex_take_ident(x).n && (ox_lex_try(x, '.') || ox_lex_try(x, ','))) continue;
  return ox_lex_expect(x, ')');
}

static const struct {
  const char *word;
  uint8_t number, elem; /* fields: of TypeProto; of the message in it, for the type of the elements */
} containers[] = {
    {"seq", OX_TYPE_PROTO_SEQUENCE_TYPE, OX_TYPE_PROTO_SEQUENCE_ELEM_TYPE},
    {"map", OX_TYPE_PROTO_MAP_TYPE, OX_TYPE_PROTO_MAP_VALUE_TYPE},
    {"optional", OX_TYPE_PROTO_OPTIONAL_TYPE, OX_TYPE_PROTO_OPTIONAL_ELEM_TYPE},
};

static ox_status *read_container(ox_text *t, ox_str word, ox_text_type *type) {
  ox_text_type elem;
  OX_TRY(ox_lex_expect(&t->lex, '('));
  if (ox_str_is(word, "opaque")) return skip_opaque(t);
  if (ox_str_is(word, "sparse_tensor")) {
    ox_str dtype;
    type->is_tensor = false, type->is_sparse = true;
    OX_TRY(ox_lex_ident(&t->lex, &dtype));
    OX_TRY(read_tensor_type(t, OX_TYPE_PROTO_SPARSE_TENSOR_TYPE, dtype, type));
    return ox_lex_expect(&t->lex, ')');
  }
  size_t k = 0;
  while (k < OX_COUNT(containers) && !ox_str_is(word, containers[k].word)) k++;
  if (k == OX_COUNT(containers)) return ox_lex_fail(&t->lex, "'%.*s' is not a type", (int)OX_MIN(word.n, 60), word.p);
  ox_wire_mark box = ox_out_begin(&t->out, containers[k].number);
  if (containers[k].number == OX_TYPE_PROTO_MAP_TYPE) OX_TRY(read_key_type(t));
  OX_TRY(ox_text_type_read(t, containers[k].elem, &elem));
  ox_out_end(&t->out, box);
  return ox_lex_expect(&t->lex, ')');
}

ox_status *ox_text_type_read(ox_text *t, uint32_t number, ox_text_type *out_type) {
  ox_str word;
  *out_type = (ox_text_type){0};
  OX_TRY(ox_text_enter(t));
  OX_TRY(ox_lex_ident(&t->lex, &word));
  ox_wire_mark type = ox_out_begin(&t->out, number);
  if (ox_text_dtype_find(word)) {
    out_type->is_tensor = true;
    OX_TRY(read_tensor_type(t, OX_TYPE_PROTO_TENSOR_TYPE, word, out_type));
  } else {
    OX_TRY(read_container(t, word, out_type));
  }
  ox_out_end(&t->out, type);
  ox_text_leave(t);
  return NULL;
}

/* ---- tensors ---- */

static ox_status *read_int32_entry(ox_text *t, const ox_literal *lit, uint32_t dtype) {
  if (lit->kind == OX_LIT_FLOAT && (dtype == OX_F16 || dtype == OX_BF16)) { /* by value */
    float f;
    OX_TRY(ox_lex_to_float(&t->lex, lit, &f));
    ox_out_raw_varint(&t->out, dtype == OX_F16 ? ox_f16_from_f32(f) : ox_bf16_from_f32(f));
    return NULL;
  }
  int64_t v;
  OX_TRY(ox_lex_to_int(&t->lex, lit, &v));
  if (v < INT32_MIN || v > INT32_MAX) return ox_lex_fail(&t->lex, "%s does not fit 32 bits", lit->number);
  ox_out_raw_varint(&t->out, (uint64_t)v);
  return NULL;
}

static ox_status *read_entry(ox_text *t, uint32_t dtype) {
  ox_lex *x = &t->lex;
  ox_literal lit;
  OX_TRY(ox_lex_literal(x, &lit));
  switch (ox_tensor_field(dtype)) {
    case OX_TENSOR_PROTO_FLOAT_DATA: {
      float f;
      OX_TRY(ox_lex_to_float(x, &lit, &f));
      ox_out_raw(&t->out, &f, sizeof f);
      return NULL;
    }
    case OX_TENSOR_PROTO_DOUBLE_DATA: {
      double d;
      OX_TRY(ox_lex_to_double(x, &lit, &d));
      ox_out_raw(&t->out, &d, sizeof d);
      return NULL;
    }
    case OX_TENSOR_PROTO_INT64_DATA: {
      int64_t v;
      OX_TRY(ox_lex_to_int(x, &lit, &v));
      ox_out_raw_varint(&t->out, (uint64_t)v);
      return NULL;
    }
    case OX_TENSOR_PROTO_UINT64_DATA: {
      uint64_t v;
      OX_TRY(ox_lex_to_uint(x, &lit, &v));
      ox_out_raw_varint(&t->out, v);
      return NULL;
    }
    case OX_TENSOR_PROTO_STRING_DATA:
      if (lit.kind != OX_LIT_STRING) return ox_lex_fail(x, "a string expected");
      ox_out_bytes(&t->out, OX_TENSOR_PROTO_STRING_DATA, lit.s.p, lit.s.n);
      return NULL;
    default:
      return read_int32_entry(t, &lit, dtype);
  }
}

static ox_status *read_entries(ox_text *t, uint32_t dtype) {
  ox_lex *x = &t->lex;
  ox_wire_mark packed = {0};
  OX_TRY(ox_lex_expect(x, '{'));
  if (ox_lex_try(x, '}')) return NULL;
  if (dtype != OX_STRING) packed = ox_out_begin(&t->out, (uint32_t)ox_tensor_field(dtype));
  do OX_TRY(read_entry(t, dtype));
  while (ox_lex_try(x, ','));
  if (dtype != OX_STRING) ox_out_end(&t->out, packed);
  return ox_lex_expect(x, '}');
}

ox_status *ox_text_props(ox_text *t, uint32_t number) {
  ox_lex *x = &t->lex;
  if (ox_lex_try(x, ']')) return NULL;
  do {
    ox_str key, value;
    OX_TRY(ox_lex_string(x, &key));
    OX_TRY(ox_lex_expect(x, ':'));
    OX_TRY(ox_lex_string(x, &value));
    ox_wire_mark entry = ox_out_begin(&t->out, number);
    ox_out_bytes(&t->out, OX_STRING_STRING_ENTRY_PROTO_KEY, key.p, key.n);
    ox_out_bytes(&t->out, OX_STRING_STRING_ENTRY_PROTO_VALUE, value.p, value.n);
    ox_out_end(&t->out, entry);
  } while (ox_lex_try(x, ','));
  return ox_lex_expect(x, ']');
}

ox_status *ox_text_tensor(ox_text *t, uint32_t number, ox_str name, const ox_text_type *type) {
  ox_lex *x = &t->lex;
  if (!type->is_tensor || !type->has_shape || !type->is_numeric)
    return ox_lex_fail(x, "data needs a tensor type whose dimensions are all numbers");
  ox_wire_mark tensor = ox_out_begin(&t->out, number);
  for (int32_t i = 0; i < type->rank; i++) ox_out_varint(&t->out, OX_TENSOR_PROTO_DIMS, (uint64_t)type->dim[i]);
  ox_out_varint(&t->out, OX_TENSOR_PROTO_DATA_TYPE, type->dtype);
  if (name.n) ox_out_bytes(&t->out, OX_TENSOR_PROTO_NAME, name.p, name.n);
  if (ox_lex_try(x, '[')) {
    ox_out_varint(&t->out, OX_TENSOR_PROTO_DATA_LOCATION, OX_TENSOR_PROTO_DATA_LOCATION_EXTERNAL);
    OX_TRY(ox_text_props(t, OX_TENSOR_PROTO_EXTERNAL_DATA));
  } else {
    OX_TRY(read_entries(t, type->dtype));
  }
  ox_out_end(&t->out, tensor);
  return NULL;
}

/* A type and a content, written as TensorProto in field |number|. */
static ox_status *read_sparse_part(ox_text *t, uint32_t number) {
  ox_text_type type;
  ox_wire_mark before = ox_out_mark(&t->out);
  OX_TRY(ox_text_type_read(t, number, &type));
  ox_out_take_back(&t->out, before); /* the TypeProto: a TensorProto has its own fields for dtype and shape */
  return ox_text_tensor(t, number, (ox_str){"", 0}, &type);
}

/* sparse_tensor(float[3,3]) { float[2] {1, 2}, int64[2] {0, 8} }: values and indices. */
ox_status *ox_text_sparse(ox_text *t, uint32_t number, const ox_text_type *type) {
  ox_lex *x = &t->lex;
  if (!type->has_shape || !type->is_numeric)
    return ox_lex_fail(x, "a sparse tensor needs a type whose dimensions are all numbers");
  ox_wire_mark sparse = ox_out_begin(&t->out, number);
  OX_TRY(ox_lex_expect(x, '{'));
  OX_TRY(read_sparse_part(t, OX_SPARSE_TENSOR_PROTO_VALUES));
  OX_TRY(ox_lex_expect(x, ','));
  OX_TRY(read_sparse_part(t, OX_SPARSE_TENSOR_PROTO_INDICES));
  OX_TRY(ox_lex_expect(x, '}'));
  for (int32_t i = 0; i < type->rank; i++) ox_out_varint(&t->out, OX_SPARSE_TENSOR_PROTO_DIMS, (uint64_t)type->dim[i]);
  ox_out_end(&t->out, sparse);
  return NULL;
}
