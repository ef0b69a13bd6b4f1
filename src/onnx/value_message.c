/* SPDX-License-Identifier: Apache-2.0
 * onnx/value_message.c - reads and writes values on their own. */
#include "onnx/value_message.h"

#include <string.h>

#include "graph/dtype.h"
#include "graph/shape.h"
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/proto_write.h"
#include "onnx/proto/tensor.h"
#include "onnx/proto/wire.h"

enum { MAX_DEPTH = 32 };

/* How a message stands in a SequenceProto or OptionalProto: its number in their DataType, the field that holds it. */
static const struct {
  uint32_t data_type, in_sequence, in_optional;
} content[] = {
    [OX_TENSOR_MESSAGE] = {OX_SEQUENCE_PROTO_DATA_TYPE_TENSOR, OX_SEQUENCE_PROTO_TENSOR_VALUES,
                           OX_OPTIONAL_PROTO_TENSOR_VALUE},
    [OX_SPARSE_TENSOR_MESSAGE] = {OX_SEQUENCE_PROTO_DATA_TYPE_SPARSE_TENSOR, OX_SEQUENCE_PROTO_SPARSE_TENSOR_VALUES,
                                  OX_OPTIONAL_PROTO_SPARSE_TENSOR_VALUE},
    [OX_SEQUENCE_MESSAGE] = {OX_SEQUENCE_PROTO_DATA_TYPE_SEQUENCE, OX_SEQUENCE_PROTO_SEQUENCE_VALUES,
                             OX_OPTIONAL_PROTO_SEQUENCE_VALUE},
    [OX_MAP_MESSAGE] = {OX_SEQUENCE_PROTO_DATA_TYPE_MAP, OX_SEQUENCE_PROTO_MAP_VALUES, OX_OPTIONAL_PROTO_MAP_VALUE},
    [OX_OPTIONAL_MESSAGE] = {OX_SEQUENCE_PROTO_DATA_TYPE_OPTIONAL, OX_SEQUENCE_PROTO_OPTIONAL_VALUES,
                             OX_OPTIONAL_PROTO_OPTIONAL_VALUE},
};

ox_value_message ox_value_message_of(uint32_t kind) {
  switch (kind) {
    case OX_SEQUENCE:
      return OX_SEQUENCE_MESSAGE;
    case OX_MAP:
      return OX_MAP_MESSAGE;
    case OX_SPARSE:
      return OX_SPARSE_TENSOR_MESSAGE;
    case OX_NONE_VALUE:
      return OX_OPTIONAL_MESSAGE;
    default:
      return OX_TENSOR_MESSAGE;
  }
}

static bool find_data_type(uint64_t data_type, ox_value_message *out_message) {
  for (uint32_t i = 0; i < OX_COUNT(content); i++)
    if (content[i].data_type == data_type) {
      *out_message = (ox_value_message)i;
      return true;
    }
  return false;
}

/* ---- reading ---- */

typedef struct value_reader {
  ox_tensor_reader tensors;
  uint32_t depth;
} value_reader;

static ox_status *read_value(value_reader *r, ox_value_message message, ox_str bytes, ox_tensor *out, ox_str *out_name);

static ox_tensor vector(uint32_t kind, uint32_t dtype, void *data, size_t bytes, size_t n) {
  int64_t dim = (int64_t)n;
  return (ox_tensor){.kind = kind, .dtype = dtype, .data = data, .bytes = bytes, .shape = ox_shape_of(1, &dim)};
}

static size_t count_fields(ox_str bytes, uint32_t tag) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  size_t n = 0;
  while (ox_wire_next(&w, &f)) n += f.tag == tag;
  return n;
}

static ox_status *read_sequence(value_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  uint64_t data_type = OX_SEQUENCE_PROTO_DATA_TYPE_UNDEFINED;
  ox_value_message message = OX_TENSOR_MESSAGE; /* some writers leave elem_type out */
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_SEQUENCE_PROTO_NAME)) *out_name = f.bytes;
    if (f.tag == OX_WIRE_VARINT(OX_SEQUENCE_PROTO_ELEM_TYPE)) data_type = f.value;
  }
  OX_TRY(ox_wire_end(&w, "SequenceProto"));
  if (data_type != OX_SEQUENCE_PROTO_DATA_TYPE_UNDEFINED && !find_data_type(data_type, &message))
    return ox_fail(OX_INVALID_MODEL, "SequenceProto.elem_type is %llu, which is not defined",
                   (unsigned long long)data_type);
  uint32_t tag = OX_WIRE_LEN(content[message].in_sequence);
  size_t n = 0, count = count_fields(bytes, tag);
  ox_tensor *items = OX_ARENA_ARRAY(r->tensors.arena, ox_tensor, count);
  const ox_tensor **list = OX_ARENA_ARRAY(r->tensors.arena, const ox_tensor *, count);
  if (!items || !list) return ox_oom();
  w = ox_wire_sub(bytes);
  while (ox_wire_next(&w, &f)) {
    if (f.tag != tag) continue;
    OX_TRY(ox_status_note(read_value(r, message, f.bytes, &items[n], NULL), "item %zu", n));
    list[n] = &items[n];
    n++;
  }
  *out = vector(OX_SEQUENCE, n ? items[0].dtype : OX_UNDEFINED, list, n * sizeof *list, n);
  return NULL;
}

typedef struct map_parts {
  ox_str name, values;
  uint64_t key_type;
  size_t n_ints, n_strings;
} map_parts;

static ox_status *scan_map(ox_str bytes, map_parts *p) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *p = (map_parts){0};
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_LEN(OX_MAP_PROTO_NAME):
        p->name = f.bytes;
        break;
      case OX_WIRE_VARINT(OX_MAP_PROTO_KEY_TYPE):
        p->key_type = f.value;
        break;
      case OX_WIRE_VARINT(OX_MAP_PROTO_KEYS):
        p->n_ints++;
        break;
      case OX_WIRE_LEN(OX_MAP_PROTO_KEYS):
        p->n_ints += ox_wire_count_varints(f.bytes);
        break;
      case OX_WIRE_LEN(OX_MAP_PROTO_STRING_KEYS):
        p->n_strings++;
        break;
      case OX_WIRE_LEN(OX_MAP_PROTO_VALUES):
        p->values = f.bytes;
        break;
      default:
        break;
    }
  return ox_wire_end(&w, "MapProto");
}

static ox_status *read_keys(value_reader *r, ox_str bytes, const map_parts *p, ox_tensor *out) {
  uint32_t dtype;
  OX_TRY(ox_dtype_check(p->key_type, &dtype));
  bool strings = dtype == OX_STRING;
  if (!strings && !(OX_BIT(dtype) & OX_T_INT))
    return ox_fail(OX_INVALID_MODEL, "the keys of a map are integers or strings, not %s", ox_dtype_name(dtype));
  size_t n = strings ? p->n_strings : p->n_ints, width = ox_dtype_bits(dtype) / 8, at = 0;
  char *data = ox_arena_array(r->tensors.arena, n, width);
  if (!data) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (strings && f.tag == OX_WIRE_LEN(OX_MAP_PROTO_STRING_KEYS)) memcpy(data + width * at++, &f.bytes, width);
    if (!strings && f.tag == OX_WIRE_VARINT(OX_MAP_PROTO_KEYS)) memcpy(data + width * at++, &f.value, width);
    if (strings || f.tag != OX_WIRE_LEN(OX_MAP_PROTO_KEYS)) continue;
    ox_wire packed = ox_wire_sub(f.bytes);
    uint64_t v;
    while (ox_wire_varint(&packed, &v)) memcpy(data + width * at++, &v, width);
    OX_TRY(ox_wire_end(&packed, "keys"));
  }
  *out = vector(OX_TENSOR, dtype, data, at * width, at);
  return NULL;
}

/* A sequence of scalars becomes one vector; anything else stays. */
static ox_status *flatten_values(value_reader *r, ox_tensor *values) {
  const ox_tensor *const *items = values->data;
  size_t n = (size_t)values->shape.dim[0], bits = n ? ox_dtype_bits(items[0]->dtype) : 0;
  if (bits < 8) return NULL;
  for (size_t i = 0; i < n; i++)
    if (items[i]->kind != OX_TENSOR || items[i]->dtype != items[0]->dtype || items[i]->bytes != bits / 8) return NULL;
  char *data = ox_arena_array(r->tensors.arena, n, bits / 8);
  if (!data) return ox_oom();
  for (size_t i = 0; i < n; i++) memcpy(data + i * (bits / 8), items[i]->data, bits / 8);
  *values = vector(OX_TENSOR, items[0]->dtype, data, n * (bits / 8), n);
  return NULL;
}

static ox_status *read_map(value_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  map_parts p;
  ox_tensor *pair = OX_ARENA_ARRAY(r->tensors.arena, ox_tensor, 2);
  if (!pair) return ox_oom();
  OX_TRY(scan_map(bytes, &p));
  *out_name = p.name;
  OX_TRY(read_keys(r, bytes, &p, &pair[0]));
  OX_TRY(read_value(r, OX_SEQUENCE_MESSAGE, p.values, &pair[1], NULL));
  OX_TRY(flatten_values(r, &pair[1]));
  if (pair[0].shape.dim[0] != pair[1].shape.dim[0])
    return ox_fail(OX_INVALID_MODEL, "a map has %lld keys, but %lld values", (long long)pair[0].shape.dim[0],
                   (long long)pair[1].shape.dim[0]);
  *out = (ox_tensor){.kind = OX_MAP, .dtype = pair[1].dtype, .data = pair, .bytes = 2 * sizeof *pair};
  out->shape = pair[0].shape;
  return NULL;
}

static ox_status *read_optional(value_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_str value = {NULL, 0};
  uint64_t data_type = OX_SEQUENCE_PROTO_DATA_TYPE_UNDEFINED;
  ox_value_message message;
  *out = (ox_tensor){.kind = OX_NONE_VALUE};
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_OPTIONAL_PROTO_NAME)) *out_name = f.bytes;
    if (f.tag == OX_WIRE_VARINT(OX_OPTIONAL_PROTO_ELEM_TYPE)) data_type = f.value;
  }
  OX_TRY(ox_wire_end(&w, "OptionalProto"));
  if (!find_data_type(data_type, &message)) return NULL;
  w = ox_wire_sub(bytes);
  while (ox_wire_next(&w, &f))
    if (f.tag == OX_WIRE_LEN(content[message].in_optional)) value = f.bytes;
  return value.p ? read_value(r, message, value, out, NULL) : NULL;
}

static ox_status *read_value(value_reader *r, ox_value_message message, ox_str bytes, ox_tensor *out,
                             ox_str *out_name) {
  ox_status *st = NULL;
  ox_str ignored = {"", 0};
  if (!out_name) out_name = &ignored;
  if (r->depth >= MAX_DEPTH) return ox_fail(OX_LIMIT, "values nested deeper than %d levels", MAX_DEPTH);
  r->depth++;
  switch (message) {
    case OX_TENSOR_MESSAGE:
      st = ox_tensor_read(&r->tensors, bytes, out, out_name);
      break;
    case OX_SPARSE_TENSOR_MESSAGE:
      st = ox_sparse_read(&r->tensors, bytes, out, out_name);
      break;
    case OX_SEQUENCE_MESSAGE:
      st = read_sequence(r, bytes, out, out_name);
      break;
    case OX_MAP_MESSAGE:
      st = read_map(r, bytes, out, out_name);
      break;
    case OX_OPTIONAL_MESSAGE:
      st = read_optional(r, bytes, out, out_name);
      break;
  }
  r->depth--;
  return st;
}

ox_status *ox_value_message_read(ox_arena *arena, ox_value_message message, const void *bytes, size_t n,
                                 ox_tensor *out_value, ox_str *out_name) {
  value_reader r = {.tensors = {.arena = arena}};
  *out_value = (ox_tensor){.kind = OX_NONE_VALUE};
  if (out_name) *out_name = (ox_str){"", 0};
  return read_value(&r, message, (ox_str){bytes, n}, out_value, out_name);
}

/* ---- writing ---- */

static void write_value(ox_wire_out *o, ox_value_message message, const ox_tensor *v, const char *name);

/* |v| as field |number|. */
static void write_field(ox_wire_out *o, uint32_t number, ox_value_message message, const ox_tensor *v) {
  ox_wire_mark m = ox_out_begin(o, number);
  write_value(o, message, v, NULL);
  ox_out_end(o, m);
}

static void write_sequence(ox_wire_out *o, const ox_tensor *v) {
  const ox_tensor *const *items = v->data;
  size_t n = v->shape.rank == 1 ? (size_t)v->shape.dim[0] : 0;
  ox_value_message message = n ? ox_value_message_of(items[0]->kind) : OX_TENSOR_MESSAGE;
  for (size_t i = 1; i < n; i++) /* if an item is empty, all are written as optionals */
    if (ox_value_message_of(items[i]->kind) != message) message = OX_OPTIONAL_MESSAGE;
  ox_out_varint(o, OX_SEQUENCE_PROTO_ELEM_TYPE, content[message].data_type);
  for (size_t i = 0; i < n; i++) write_field(o, content[message].in_sequence, message, items[i]);
}

/* A vector of values is written as a sequence of scalars. */
static void write_scalars(ox_wire_out *o, const ox_tensor *v) {
  size_t n = (size_t)v->shape.dim[0], width = ox_dtype_bits(v->dtype) / 8;
  ox_out_varint(o, OX_SEQUENCE_PROTO_ELEM_TYPE, OX_SEQUENCE_PROTO_DATA_TYPE_TENSOR);
  for (size_t i = 0; i < n; i++) {
    ox_tensor item = {.kind = OX_TENSOR, .dtype = v->dtype, .data = (char *)v->data + i * width, .bytes = width};
    write_field(o, OX_SEQUENCE_PROTO_TENSOR_VALUES, OX_TENSOR_MESSAGE, &item);
  }
}

static void write_keys(ox_wire_out *o, const ox_tensor *keys) {
  size_t n = (size_t)keys->shape.dim[0], width = ox_dtype_bits(keys->dtype) / 8;
  if (keys->dtype == OX_STRING) {
    const ox_str *s = keys->data;
    for (size_t i = 0; i < n; i++) ox_out_bytes(o, OX_MAP_PROTO_STRING_KEYS, s[i].p, s[i].n);
    return;
  }
  unsigned unused = 64 - 8 * (unsigned)width;
  for (size_t i = 0; i < n; i++) {
    uint64_t v = 0;
    memcpy(&v, (const char *)keys->data + i * width, width);
    if (unused && ox_dtype_is_signed(keys->dtype)) v = (uint64_t)((int64_t)(v << unused) >> unused);
    ox_out_varint(o, OX_MAP_PROTO_KEYS, v);
  }
}

static void write_map(ox_wire_out *o, const ox_tensor *v) {
  const ox_tensor *pair = v->data;
  ox_out_varint(o, OX_MAP_PROTO_KEY_TYPE, pair[0].dtype);
  write_keys(o, &pair[0]);
  ox_wire_mark m = ox_out_begin(o, OX_MAP_PROTO_VALUES);
  if (pair[1].kind == OX_SEQUENCE) {
    write_sequence(o, &pair[1]);
  } else {
    write_scalars(o, &pair[1]);
  }
  ox_out_end(o, m);
}

static void write_optional(ox_wire_out *o, const ox_tensor *v) {
  if (v->kind == OX_NONE_VALUE) {
    ox_out_varint(o, OX_OPTIONAL_PROTO_ELEM_TYPE, OX_SEQUENCE_PROTO_DATA_TYPE_UNDEFINED);
    return;
  }
  ox_value_message message = ox_value_message_of(v->kind);
  ox_out_varint(o, OX_OPTIONAL_PROTO_ELEM_TYPE, content[message].data_type);
  write_field(o, content[message].in_optional, message, v);
}

static void out_name(ox_wire_out *o, uint32_t number, const char *name) {
  if (name && *name) ox_out_str(o, number, name);
}

static void write_value(ox_wire_out *o, ox_value_message message, const ox_tensor *v, const char *name) {
  switch (message) {
    case OX_TENSOR_MESSAGE:
      ox_out_tensor(o, v, name);
      break;
    case OX_SPARSE_TENSOR_MESSAGE:
      ox_out_sparse(o, v, name);
      break;
    case OX_SEQUENCE_MESSAGE:
      out_name(o, OX_SEQUENCE_PROTO_NAME, name);
      write_sequence(o, v);
      break;
    case OX_MAP_MESSAGE:
      out_name(o, OX_MAP_PROTO_NAME, name);
      write_map(o, v);
      break;
    case OX_OPTIONAL_MESSAGE:
      out_name(o, OX_OPTIONAL_PROTO_NAME, name);
      write_optional(o, v);
      break;
  }
}

ox_status *ox_value_message_write(ox_alloc alloc, ox_value_message message, const ox_tensor *value, const char *name,
                                  ox_sink sink) {
  if (message != OX_OPTIONAL_MESSAGE && ox_value_message_of(value->kind) != message)
    return ox_fail(OX_INVALID_ARGUMENT, "the value is of another kind than the message");
  ox_wire_out o = ox_wire_out_of(alloc);
  write_value(&o, message, value, name);
  ox_status *st = ox_wire_out_flush(&o, sink);
  ox_wire_out_deinit(&o);
  return st;
}
