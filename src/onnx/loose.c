/* SPDX-License-Identifier: Apache-2.0
 * onnx/loose.c - reads values from files of their own (onnx-data.proto). */
#include "onnx/loose.h"

#include <string.h>

#include "graph/dtype.h"
#include "graph/shape.h"
#include "onnx/tensor.h"
#include "onnx/wire.h"

enum { MAX_DEPTH = 32 };

/* SequenceProto.DataType and OptionalProto.DataType. */
enum { ELEM_NONE = 0, ELEM_TENSOR = 1, ELEM_SPARSE = 2, ELEM_SEQUENCE = 3, ELEM_MAP = 4, ELEM_OPTIONAL = 5 };

typedef struct loose {
  ox_tensor_reader tensors;
  uint32_t depth;
} loose;

static ox_status *read_value(loose *l, ox_loose_kind kind, ox_str bytes, ox_tensor *out, ox_str *out_name);

ox_loose_kind ox_loose_kind_of(const ox_type *t) {
  if (t->optional) return OX_LOOSE_OPTIONAL;
  switch (t->kind) {
    case OX_SEQUENCE:
      return OX_LOOSE_SEQUENCE;
    case OX_MAP:
      return OX_LOOSE_MAP;
    case OX_SPARSE:
      return OX_LOOSE_SPARSE;
    default:
      return OX_LOOSE_TENSOR;
  }
}

/* The kind behind a DataType of SequenceProto or OptionalProto. */
static bool kind_of_elem(uint64_t elem, ox_loose_kind *out) {
  static const ox_loose_kind kinds[] = {OX_LOOSE_TENSOR,   OX_LOOSE_TENSOR, OX_LOOSE_SPARSE,
                                        OX_LOOSE_SEQUENCE, OX_LOOSE_MAP,    OX_LOOSE_OPTIONAL};
  if (elem < ELEM_TENSOR || elem > ELEM_OPTIONAL) return false;
  *out = kinds[elem];
  return true;
}

static ox_tensor vector(uint32_t kind, uint32_t dtype, void *data, size_t bytes, size_t n) {
  int64_t dim = (int64_t)n;
  return (ox_tensor){.kind = kind, .dtype = dtype, .data = data, .bytes = bytes, .shape = ox_shape_of(1, &dim)};
}

static ox_status *read_sequence(loose *l, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  uint64_t elem = ELEM_NONE;
  size_t n = 0, counts[8] = {0};
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(1)) *out_name = f.bytes;
    if (f.tag == OX_WIRE_VARINT(2)) elem = f.value;
    if ((f.tag & 7) == OX_WIRE_TYPE_LEN && f.tag >> 3 >= 3 && f.tag >> 3 <= 7) counts[f.tag >> 3]++;
  }
  OX_TRY(ox_wire_end(&w, "SequenceProto"));
  ox_loose_kind kind = OX_LOOSE_TENSOR;
  if (!kind_of_elem(elem, &kind)) {
    if (elem != ELEM_NONE) return ox_fail(OX_INVALID_MODEL, "%llu is not an element type", (unsigned long long)elem);
    elem = ELEM_TENSOR; /* some writers leave it out */
  }
  uint32_t field = (uint32_t)elem + 2;
  size_t count = counts[field];
  ox_tensor *items = OX_ARENA_ARRAY(l->tensors.arena, ox_tensor, count);
  const ox_tensor **list = OX_ARENA_ARRAY(l->tensors.arena, const ox_tensor *, count);
  if (!items || !list) return ox_oom();
  w = ox_wire_sub(bytes);
  while (ox_wire_next(&w, &f)) {
    if (f.tag != OX_WIRE_LEN(field)) continue;
    OX_TRY(ox_status_note(read_value(l, kind, f.bytes, &items[n], NULL), "item %zu", n));
    list[n] = &items[n];
    n++;
  }
  *out = vector(OX_SEQUENCE, n ? items[0].dtype : OX_UNDEFINED, list, n * sizeof *list, n);
  return NULL;
}

/* ---- maps ---- */

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
      case OX_WIRE_LEN(1):
        p->name = f.bytes;
        break;
      case OX_WIRE_VARINT(2):
        p->key_type = f.value;
        break;
      case OX_WIRE_VARINT(3):
        p->n_ints++;
        break;
      case OX_WIRE_LEN(3):
        p->n_ints += ox_wire_count_varints(f.bytes);
        break;
      case OX_WIRE_LEN(4):
        p->n_strings++;
        break;
      case OX_WIRE_LEN(5):
        p->values = f.bytes;
        break;
      default:
        break;
    }
  return ox_wire_end(&w, "MapProto");
}

static ox_status *read_keys(loose *l, ox_str bytes, const map_parts *p, ox_tensor *out) {
  uint32_t dtype;
  OX_TRY(ox_dtype_check(p->key_type, &dtype));
  bool strings = dtype == OX_STRING;
  if (!strings && !(OX_BIT(dtype) & OX_T_INT))
    return ox_fail(OX_INVALID_MODEL, "keys cannot be of type %s", ox_dtype_name(dtype));
  size_t n = strings ? p->n_strings : p->n_ints, width = ox_dtype_bits(dtype) / 8, at = 0;
  char *data = ox_arena_array(l->tensors.arena, n, width);
  if (!data) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (strings && f.tag == OX_WIRE_LEN(4)) memcpy(data + width * at++, &f.bytes, width);
    if (strings || f.tag >> 3 != 3) continue;
    if (f.tag == OX_WIRE_VARINT(3)) memcpy(data + width * at++, &f.value, width);
    if (f.tag != OX_WIRE_LEN(3)) continue;
    ox_wire packed = ox_wire_sub(f.bytes);
    uint64_t v;
    while (ox_wire_varint(&packed, &v)) memcpy(data + width * at++, &v, width);
    OX_TRY(ox_wire_end(&packed, "keys"));
  }
  *out = vector(OX_TENSOR, dtype, data, at * width, at);
  return NULL;
}

/* A sequence of scalars becomes one vector; anything else stays. */
static ox_status *flatten_values(loose *l, ox_tensor *values) {
  const ox_tensor *const *items = values->data;
  size_t n = (size_t)values->shape.dim[0], bits = n ? ox_dtype_bits(items[0]->dtype) : 0;
  if (bits < 8) return NULL;
  for (size_t i = 0; i < n; i++)
    if (items[i]->kind != OX_TENSOR || items[i]->dtype != items[0]->dtype || items[i]->bytes != bits / 8) return NULL;
  char *data = ox_arena_array(l->tensors.arena, n, bits / 8);
  if (!data) return ox_oom();
  for (size_t i = 0; i < n; i++) memcpy(data + i * (bits / 8), items[i]->data, bits / 8);
  *values = vector(OX_TENSOR, items[0]->dtype, data, n * (bits / 8), n);
  return NULL;
}

static ox_status *read_map(loose *l, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  map_parts p;
  ox_tensor *pair = OX_ARENA_ARRAY(l->tensors.arena, ox_tensor, 2);
  if (!pair) return ox_oom();
  OX_TRY(scan_map(bytes, &p));
  *out_name = p.name;
  OX_TRY(read_keys(l, bytes, &p, &pair[0]));
  OX_TRY(read_value(l, OX_LOOSE_SEQUENCE, p.values, &pair[1], NULL));
  OX_TRY(flatten_values(l, &pair[1]));
  if (pair[0].shape.dim[0] != pair[1].shape.dim[0])
    return ox_fail(OX_INVALID_MODEL, "a map of %lld keys and %lld values", (long long)pair[0].shape.dim[0],
                   (long long)pair[1].shape.dim[0]);
  *out = (ox_tensor){.kind = OX_MAP, .dtype = pair[1].dtype, .data = pair, .bytes = 2 * sizeof *pair};
  out->shape = pair[0].shape;
  return NULL;
}

static ox_status *read_optional(loose *l, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_str content[8] = {{0}};
  uint64_t elem = ELEM_NONE;
  ox_loose_kind kind;
  *out = (ox_tensor){.kind = OX_NONE_VALUE};
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(1)) *out_name = f.bytes;
    if (f.tag == OX_WIRE_VARINT(2)) elem = f.value;
    if ((f.tag & 7) == OX_WIRE_TYPE_LEN && f.tag >> 3 >= 3 && f.tag >> 3 <= 7) content[f.tag >> 3] = f.bytes;
  }
  OX_TRY(ox_wire_end(&w, "OptionalProto"));
  if (!kind_of_elem(elem, &kind) || !content[elem + 2].p) return NULL;
  return read_value(l, kind, content[elem + 2], out, NULL);
}

static ox_status *read_value(loose *l, ox_loose_kind kind, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  ox_status *st = NULL;
  ox_str ignored = {"", 0};
  if (!out_name) out_name = &ignored;
  if (l->depth >= MAX_DEPTH) return ox_fail(OX_LIMIT, "values nested deeper than %d levels", MAX_DEPTH);
  l->depth++;
  switch (kind) {
    case OX_LOOSE_TENSOR:
      st = ox_tensor_read(&l->tensors, bytes, out, out_name);
      break;
    case OX_LOOSE_SPARSE:
      st = ox_sparse_read(&l->tensors, bytes, out, out_name);
      break;
    case OX_LOOSE_SEQUENCE:
      st = read_sequence(l, bytes, out, out_name);
      break;
    case OX_LOOSE_MAP:
      st = read_map(l, bytes, out, out_name);
      break;
    case OX_LOOSE_OPTIONAL:
      st = read_optional(l, bytes, out, out_name);
      break;
  }
  l->depth--;
  return st;
}

ox_status *ox_loose_read(ox_arena *arena, ox_loose_kind kind, const void *bytes, size_t n, ox_tensor *out_value,
                         ox_str *out_name) {
  loose l = {.tensors = {.arena = arena}};
  *out_value = (ox_tensor){.kind = OX_NONE_VALUE};
  if (out_name) *out_name = (ox_str){"", 0};
  return read_value(&l, kind, (ox_str){bytes, n}, out_value, out_name);
}
