/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/tensor.c - TensorProto in two passes: the first finds the fields, the second decodes what cannot be
 * borrowed. */
#include "onnx/proto/tensor.h"

#include <string.h>

#include "base/cksize.h"
#include "graph/dtype.h"
#include "graph/shape.h"
#include "onnx/proto/onnx_fields.h"

enum { MOST_FIELDS = OX_TENSOR_PROTO_UINT64_DATA + 1 }; /* for arrays indexed by the number of a data field */

/* What the first pass found. */
typedef struct parts {
  ox_shape shape;
  uint64_t data_type;
  ox_str name, raw;
  bool has_raw, is_external, is_segment;
  ox_external_ref external;
  ox_str packed[MOST_FIELDS];    /* the last packed chunk of each data field */
  size_t n_entries[MOST_FIELDS]; /* chunks and single values of each data field */
} parts;

int ox_tensor_field(uint32_t dtype) {
  switch (dtype) {
    case OX_F32:
    case OX_C64:
      return OX_TENSOR_PROTO_FLOAT_DATA;
    case OX_F64:
    case OX_C128:
      return OX_TENSOR_PROTO_DOUBLE_DATA;
    case OX_I64:
      return OX_TENSOR_PROTO_INT64_DATA;
    case OX_U32:
    case OX_U64:
      return OX_TENSOR_PROTO_UINT64_DATA;
    case OX_STRING:
      return OX_TENSOR_PROTO_STRING_DATA;
    default:
      return OX_TENSOR_PROTO_INT32_DATA;
  }
}

ox_status *ox_dtype_check(uint64_t number, uint32_t *out_dtype) {
  *out_dtype = OX_UNDEFINED;
  if (number == 0 || number >= OX_DTYPE_COUNT)
    return ox_fail(OX_INVALID_MODEL, "%lld is not an element type", (long long)number);
  *out_dtype = (uint32_t)number;
  return NULL;
}

ox_status *ox_read_dim(ox_shape *s, uint64_t dim) {
  if (s->rank == OX_MAX_RANK) return ox_fail(OX_LIMIT, "more than %d dimensions", OX_MAX_RANK);
  if ((int64_t)dim < 0) return ox_fail(OX_INVALID_MODEL, "dimension %d is %lld", s->rank, (long long)dim);
  s->dim[s->rank++] = (int64_t)dim;
  return NULL;
}

ox_status *ox_read_dims(ox_shape *s, ox_str packed) {
  ox_wire w = ox_wire_sub(packed);
  uint64_t dim;
  while (ox_wire_varint(&w, &dim)) OX_TRY(ox_read_dim(s, dim));
  return ox_wire_end(&w, "dims");
}

static ox_status *scan_external(ox_str entry, ox_external_ref *ref) {
  ox_wire w = ox_wire_sub(entry);
  ox_wire_field f;
  ox_str key = {0}, value = {"", 0};
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_STRING_STRING_ENTRY_PROTO_KEY)) key = f.bytes;
    if (f.tag == OX_WIRE_LEN(OX_STRING_STRING_ENTRY_PROTO_VALUE)) value = f.bytes;
  }
  if (key.n == 8 && memcmp(key.p, "location", 8) == 0) ref->location = value;
  if (key.n == 6 && memcmp(key.p, "offset", 6) == 0) ref->offset = value;
  if (key.n == 6 && memcmp(key.p, "length", 6) == 0) ref->length = value;
  return ox_wire_end(&w, "external_data");
}

static ox_status *scan(ox_str bytes, parts *out) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *out = (parts){.shape = ox_shape_scalar()};
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_VARINT(OX_TENSOR_PROTO_DIMS):
        OX_TRY(ox_read_dim(&out->shape, f.value));
        break;
      case OX_WIRE_LEN(OX_TENSOR_PROTO_DIMS):
        OX_TRY(ox_read_dims(&out->shape, f.bytes));
        break;
      case OX_WIRE_VARINT(OX_TENSOR_PROTO_DATA_TYPE):
        out->data_type = f.value;
        break;
      case OX_WIRE_LEN(OX_TENSOR_PROTO_SEGMENT):
        out->is_segment = true;
        break;
      case OX_WIRE_LEN(OX_TENSOR_PROTO_FLOAT_DATA):
      case OX_WIRE_LEN(OX_TENSOR_PROTO_INT32_DATA):
      case OX_WIRE_LEN(OX_TENSOR_PROTO_STRING_DATA):
      case OX_WIRE_LEN(OX_TENSOR_PROTO_INT64_DATA):
      case OX_WIRE_LEN(OX_TENSOR_PROTO_DOUBLE_DATA):
      case OX_WIRE_LEN(OX_TENSOR_PROTO_UINT64_DATA):
        out->packed[ox_wire_number(f.tag)] = f.bytes;
        out->n_entries[ox_wire_number(f.tag)]++;
        break;
      case OX_WIRE_F32(OX_TENSOR_PROTO_FLOAT_DATA):
      case OX_WIRE_VARINT(OX_TENSOR_PROTO_INT32_DATA):
      case OX_WIRE_VARINT(OX_TENSOR_PROTO_INT64_DATA):
      case OX_WIRE_F64(OX_TENSOR_PROTO_DOUBLE_DATA):
      case OX_WIRE_VARINT(OX_TENSOR_PROTO_UINT64_DATA):
        out->n_entries[ox_wire_number(f.tag)]++;
        break;
      case OX_WIRE_LEN(OX_TENSOR_PROTO_NAME):
        out->name = f.bytes;
        break;
      case OX_WIRE_LEN(OX_TENSOR_PROTO_RAW_DATA):
        out->raw = f.bytes, out->has_raw = true;
        break;
      case OX_WIRE_LEN(OX_TENSOR_PROTO_EXTERNAL_DATA):
        OX_TRY(scan_external(f.bytes, &out->external));
        break;
      case OX_WIRE_VARINT(OX_TENSOR_PROTO_DATA_LOCATION):
        out->is_external = f.value == OX_TENSOR_PROTO_DATA_LOCATION_EXTERNAL;
        break;
      default:
        break;
    }
  return ox_wire_end(&w, "TensorProto");
}

static ox_status *wrong_count(const char *what, const char *unit, size_t got, size_t want) {
  return ox_fail(OX_INVALID_MODEL, "%s has %zu %s, but type and shape ask for %zu", what, got, unit, want);
}

/* ---- fields of fixed width: float_data, double_data ---- */
static ox_status *read_fixed(const ox_tensor_reader *r, ox_str bytes, const parts *p, int field, ox_tensor *t) {
  uint32_t width = field == OX_TENSOR_PROTO_FLOAT_DATA ? 4 : 8;
  const char *what = field == OX_TENSOR_PROTO_FLOAT_DATA ? "float_data" : "double_data";
  if (p->n_entries[field] == 1 && p->packed[field].p) { /* the usual case: one packed chunk */
    if (p->packed[field].n != t->bytes) return wrong_count(what, "bytes", p->packed[field].n, t->bytes);
    t->data = (void *)(uintptr_t)p->packed[field].p;
    return NULL;
  }
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  size_t n = 0;
  uint32_t single = width == 4 ? OX_WIRE_F32(field) : OX_WIRE_F64(field);
  while (ox_wire_next(&w, &f)) n += f.tag == single ? width : f.tag == OX_WIRE_LEN(field) ? f.bytes.n : 0;
  if (n != t->bytes) return wrong_count(what, "bytes", n, t->bytes);
  char *at = t->data = ox_arena_alloc(r->arena, n);
  if (!at) return ox_oom();
  w = ox_wire_sub(bytes);
  while (ox_wire_next(&w, &f)) {
    size_t step = 0;
    if (f.tag == single) memcpy(at, &f.value, step = width);
    if (f.tag == OX_WIRE_LEN(field) && f.bytes.n) memcpy(at, f.bytes.p, step = f.bytes.n);
    at += step;
  }
  return NULL;
}

/* ---- varint fields: int32_data, int64_data, uint64_data ---- */
typedef struct varint_out {
  unsigned char *at, *end;
  uint32_t width; /* bytes */
  bool is_bool;
  bool is_6bit; /* entries are 6-bit elements; the next is element |index| of the bits at |at| */
  size_t index;
} varint_out;

static inline bool put(varint_out *o, uint64_t v) {
  if (o->is_6bit) {
    if (o->at + o->index * 6 / 8 >= o->end) return false;
    ox_bits_set(o->at, o->index++, 6, (unsigned)(v & 63));
    return true;
  }
  if (o->at == o->end) return false;
  if (o->is_bool) v = v != 0;
  switch (o->width) {
    case 1:
      *o->at = (unsigned char)v;
      break;
    case 2:
      memcpy(o->at, &v, 2);
      break;
    case 4:
      memcpy(o->at, &v, 4);
      break;
    default:
      memcpy(o->at, &v, 8);
      break;
  }
  o->at += o->width;
  return true;
}

static ox_status *read_varints(const ox_tensor_reader *r, ox_str bytes, int field, ox_tensor *t) {
  unsigned bits = ox_dtype_bits(t->dtype);
  uint32_t width = bits < 8 ? 1 : bits / 8; /* sub-byte types: an entry is a byte of several elements */
  size_t n = 0, want = bits == 6 ? (size_t)ox_shape_count(&t->shape) : t->bytes / width;
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(field)) n += ox_wire_count_varints(f.bytes);
    if (f.tag == OX_WIRE_VARINT(field)) n++;
  }
  if (n != want) return wrong_count("its data", "entries", n, want);
  varint_out o = {.width = width, .is_bool = t->dtype == OX_BOOL, .is_6bit = bits == 6};
  o.at = t->data = ox_arena_alloc(r->arena, t->bytes);
  if (!o.at) return ox_oom();
  o.end = o.at + t->bytes;
  w = ox_wire_sub(bytes);
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_VARINT(field)) put(&o, f.value);
    if (f.tag != OX_WIRE_LEN(field)) continue;
    ox_wire packed = ox_wire_sub(f.bytes);
    uint64_t v;
    while (ox_wire_varint(&packed, &v) && put(&o, v)) continue;
    OX_TRY(ox_wire_end(&packed, "packed data"));
  }
  return NULL;
}

static ox_status *read_strings(const ox_tensor_reader *r, ox_str bytes, const parts *p, ox_tensor *t) {
  size_t want = t->bytes / sizeof(ox_str), got = p->n_entries[OX_TENSOR_PROTO_STRING_DATA];
  if (got != want) return wrong_count("string_data", "strings", got, want);
  ox_str *at = t->data = OX_ARENA_ARRAY(r->arena, ox_str, want);
  if (!at) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f))
    if (f.tag == OX_WIRE_LEN(OX_TENSOR_PROTO_STRING_DATA)) *at++ = f.bytes;
  return NULL;
}

static ox_status *read_elements(const ox_tensor_reader *r, ox_str bytes, const parts *p, ox_tensor *t) {
  int field = ox_tensor_field(t->dtype);
  if (p->is_external) {
    if (t->dtype == OX_STRING) return ox_fail(OX_INVALID_MODEL, "strings cannot be external data");
    return ox_external_find(r->external, &p->external, t->bytes, &t->data);
  }
  if (t->dtype == OX_STRING && p->has_raw) return ox_fail(OX_INVALID_MODEL, "strings cannot be raw_data");
  if (p->has_raw && (p->raw.n || !p->n_entries[field])) {
    if (p->raw.n != t->bytes) return wrong_count("raw_data", "bytes", p->raw.n, t->bytes);
    t->data = t->bytes ? (void *)(uintptr_t)p->raw.p : NULL;
    return NULL;
  }
  if (!t->bytes && !p->n_entries[field]) return NULL;
  if (field == OX_TENSOR_PROTO_STRING_DATA) return read_strings(r, bytes, p, t);
  if (field == OX_TENSOR_PROTO_FLOAT_DATA || field == OX_TENSOR_PROTO_DOUBLE_DATA)
    return read_fixed(r, bytes, p, field, t);
  return read_varints(r, bytes, field, t);
}

static ox_status *read_parts(const ox_tensor_reader *r, ox_str bytes, const parts *p, ox_tensor *t) {
  if (p->is_segment) return ox_fail(OX_NOT_IMPLEMENTED, "tensors stored in segments");
  OX_TRY(ox_dtype_check(p->data_type, &t->dtype));
  t->shape = p->shape;
  int64_t count = ox_shape_count(&t->shape);
  if (count < 0 || !ox_dtype_bytes(t->dtype, count, &t->bytes) || t->bytes > PTRDIFF_MAX) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_INVALID_MODEL, "shape %s is too large", ox_shape_text(&t->shape, text));
  }
  bool given = false;
  if (r->given) OX_TRY(ox_givens_take(r->given, p->name, t, &given));
  return given ? NULL : read_elements(r, bytes, p, t);
}

static ox_status *note_name(ox_status *st, ox_str name) {
  return ox_status_note(st, "tensor '%.*s'", (int)OX_MIN(name.n, 200), name.p ? name.p : "");
}

ox_status *ox_tensor_read(const ox_tensor_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  parts p;
  *out = (ox_tensor){.kind = OX_TENSOR};
  ox_status *st = scan(bytes, &p);
  if (out_name) *out_name = p.name;
  if (!st) st = read_parts(r, bytes, &p, out);
  return note_name(st, p.name);
}
