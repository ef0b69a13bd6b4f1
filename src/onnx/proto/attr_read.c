/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/attr_read.c - AttributeProto of every kind. Lists are counted first and stored in one array. */
#include <string.h>

#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/reader.h"

/* What the first pass finds: single values, and the length of each list. */
typedef struct attr_parts {
  ox_str name, ref, s, t, g, sparse, type;
  uint64_t kind, i, f;
  bool has_f, has_i, has_s;
  size_t n_floats, n_ints, n[OX_ATTRIBUTE_PROTO_SPARSE_TENSORS + 1]; /* n: of the other lists, by field */
} attr_parts;

static ox_status *scan(ox_str bytes, attr_parts *p) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *p = (attr_parts){0};
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_NAME):
        p->name = f.bytes;
        break;
      case OX_WIRE_F32(OX_ATTRIBUTE_PROTO_F):
        p->f = f.value, p->has_f = true;
        break;
      case OX_WIRE_VARINT(OX_ATTRIBUTE_PROTO_I):
        p->i = f.value, p->has_i = true;
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_S):
        p->s = f.bytes, p->has_s = true;
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_T):
        p->t = f.bytes;
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_G):
        p->g = f.bytes;
        break;
      case OX_WIRE_F32(OX_ATTRIBUTE_PROTO_FLOATS):
        p->n_floats += 1 + ox_wire_run_floats(&w, f.tag, NULL);
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_FLOATS):
        p->n_floats += f.bytes.n / 4;
        break;
      case OX_WIRE_VARINT(OX_ATTRIBUTE_PROTO_INTS):
        p->n_ints += 1 + ox_wire_run_varints(&w, f.tag, NULL);
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_INTS):
        p->n_ints += ox_wire_count_varints(f.bytes);
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_TP):
        p->type = f.bytes;
        break;
      case OX_WIRE_VARINT(OX_ATTRIBUTE_PROTO_TYPE):
        p->kind = f.value;
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_REF_ATTR_NAME):
        p->ref = f.bytes;
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_SPARSE_TENSOR):
        p->sparse = f.bytes;
        break;
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_STRINGS):
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_TENSORS):
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_GRAPHS):
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_TYPE_PROTOS):
      case OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_SPARSE_TENSORS):
        p->n[ox_wire_number(f.tag)]++;
        break;
      default:
        break;
    }
  return ox_wire_end(&w, "AttributeProto");
}

/* The oldest files have no type: it follows from the field that is set. */
static uint32_t guess_kind(const attr_parts *p) {
  if (p->has_f) return OX_ATTR_FLOAT_KIND;
  if (p->has_i) return OX_ATTR_INT_KIND;
  if (p->has_s) return OX_ATTR_STRING_KIND;
  if (p->t.p) return OX_ATTR_TENSOR_KIND;
  if (p->g.p) return OX_ATTR_GRAPH_KIND;
  if (p->sparse.p) return OX_ATTR_SPARSE_KIND;
  if (p->type.p) return OX_ATTR_TYPE_KIND;
  if (p->n_floats) return OX_ATTR_FLOATS_KIND;
  if (p->n[OX_ATTRIBUTE_PROTO_STRINGS]) return OX_ATTR_STRINGS_KIND;
  if (p->n[OX_ATTRIBUTE_PROTO_TENSORS]) return OX_ATTR_TENSORS_KIND;
  if (p->n[OX_ATTRIBUTE_PROTO_GRAPHS]) return OX_ATTR_GRAPHS_KIND;
  if (p->n[OX_ATTRIBUTE_PROTO_SPARSE_TENSORS]) return OX_ATTR_SPARSES_KIND;
  if (p->n[OX_ATTRIBUTE_PROTO_TYPE_PROTOS]) return OX_ATTR_TYPES_KIND;
  return OX_ATTR_INTS_KIND; /* no field is set: an empty list */
}

static ox_status *read_string(ox_reader *r, ox_str s, ox_str *out) {
  *out = (ox_str){ox_arena_str(&r->m->arena, s.p, s.n), s.n};
  return out->p ? NULL : ox_oom();
}

static ox_status *read_floats(ox_reader *r, ox_str bytes, size_t n, ox_attr *a) {
  float *v = ox_arena_take(&r->m->arena, n * sizeof *v), *at = v;
  if (!v) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_F32(OX_ATTRIBUTE_PROTO_FLOATS)) {
      *at++ = ox_wire_float(f.value);
      at += ox_wire_run_floats(&w, f.tag, at);
    }
    if (f.tag != OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_FLOATS)) continue;
    if (f.bytes.n % 4)
      return ox_fail(OX_INVALID_MODEL, "floats has %zu bytes, which is not a multiple of 4", f.bytes.n);
    if (f.bytes.n) memcpy(at, f.bytes.p, f.bytes.n);
    at += f.bytes.n / 4;
  }
  a->v.floats = v, a->v.n = n;
  return NULL;
}

static ox_status *read_ints(ox_reader *r, ox_str bytes, size_t n, ox_attr *a) {
  int64_t *v = ox_arena_take(&r->m->arena, n * sizeof *v), *at = v; /* n: no more than there are bytes */
  if (!v) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_VARINT(OX_ATTRIBUTE_PROTO_INTS)) {
      *at++ = (int64_t)f.value;
      at += ox_wire_run_varints(&w, f.tag, at);
    }
    if (f.tag != OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_INTS)) continue;
    ox_wire packed = ox_wire_sub(f.bytes);
    uint64_t x;
    while (ox_wire_varint(&packed, &x)) *at++ = (int64_t)x;
    OX_TRY(ox_wire_end(&packed, "list of ints"));
  }
  a->v.ints = v, a->v.n = (size_t)(at - v);
  return NULL;
}

static ox_status *read_strings(ox_reader *r, ox_str bytes, size_t n, ox_attr *a) {
  ox_str *v = OX_ARENA_ARRAY(&r->m->arena, ox_str, n), *at = v;
  if (!v) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f))
    if (f.tag == OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_STRINGS)) OX_TRY(read_string(r, f.bytes, at++));
  a->v.strings = v, a->v.n = n;
  return NULL;
}

static ox_status *read_tensors(ox_reader *r, ox_str bytes, uint32_t tag, size_t n, ox_attr *a) {
  ox_tensor *v = OX_ARENA_ARRAY(&r->m->arena, ox_tensor, n), *at = v;
  if (!v) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  bool sparse = a->v.kind == OX_ATTR_SPARSE_KIND || a->v.kind == OX_ATTR_SPARSES_KIND;
  while (ox_wire_next(&w, &f)) {
    if (f.tag != tag) continue;
    ox_tensor *t = at < v + n ? at++ : at - 1; /* if a single field is repeated, the last one counts */
    OX_TRY(sparse ? ox_sparse_read(&r->tensors, f.bytes, t, NULL) : ox_tensor_read(&r->tensors, f.bytes, t, NULL));
  }
  a->v.tensor = v, a->v.n = n;
  return NULL;
}

static ox_status *read_body(ox_reader *r, ox_graph *parent, ox_str bytes, ox_graph **out_graph) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_str bytes_name = {"", 0};
  const char *name;
  while (ox_wire_next(&w, &f))
    if (f.tag == OX_WIRE_LEN(OX_GRAPH_PROTO_NAME)) bytes_name = f.bytes;
  OX_TRY(ox_wire_end(&w, "GraphProto"));
  ox_arena_reset(&r->scratch);
  OX_TRY(ox_read_name(&r->scratch, bytes_name, &name));
  OX_TRY(ox_graph_create(r->m, parent, name, out_graph));
  return ox_read_graph(r, bytes, *out_graph);
}

static ox_status *read_graphs(ox_reader *r, ox_graph *g, ox_str bytes, size_t n, ox_attr *a) {
  ox_graph **v = OX_ARENA_ARRAY(&r->m->arena, ox_graph *, n), **at = v;
  if (!v) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f))
    if (f.tag == OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_GRAPHS)) OX_TRY(read_body(r, g, f.bytes, at++));
  a->graphs = v, a->v.n = n;
  return NULL;
}

static ox_status *read_types(ox_reader *r, ox_str bytes, uint32_t tag, size_t n, ox_attr *a) {
  ox_type *v = OX_ARENA_ARRAY(&r->m->arena, ox_type, n), *at = v;
  if (!v) return ox_oom();
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f))
    if (f.tag == tag) OX_TRY(ox_read_type(r, f.bytes, at < v + n ? at++ : at - 1));
  a->types = v, a->v.n = n;
  return NULL;
}

static ox_status *missing(const char *what) {
  return ox_fail(OX_INVALID_MODEL, "its type is %s, but it holds none", what);
}

static ox_status *read_value(ox_reader *r, ox_graph *g, ox_str bytes, const attr_parts *p, ox_attr *a) {
  switch (a->v.kind) {
    case OX_ATTR_FLOAT_KIND:
      a->v.f = ox_wire_float(p->f);
      return NULL;
    case OX_ATTR_INT_KIND:
      a->v.i = (int64_t)p->i;
      return NULL;
    case OX_ATTR_STRING_KIND:
      return read_string(r, p->s, &a->v.s);
    case OX_ATTR_TENSOR_KIND:
      return p->t.p ? read_tensors(r, bytes, OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_T), 1, a) : missing("tensor");
    case OX_ATTR_GRAPH_KIND:
      return p->g.p ? read_body(r, g, p->g, &a->graph) : missing("graph");
    case OX_ATTR_FLOATS_KIND:
      return read_floats(r, bytes, p->n_floats, a);
    case OX_ATTR_INTS_KIND:
      return read_ints(r, bytes, p->n_ints, a);
    case OX_ATTR_STRINGS_KIND:
      return read_strings(r, bytes, p->n[OX_ATTRIBUTE_PROTO_STRINGS], a);
    case OX_ATTR_TENSORS_KIND:
      return read_tensors(r, bytes, OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_TENSORS), p->n[OX_ATTRIBUTE_PROTO_TENSORS], a);
    case OX_ATTR_GRAPHS_KIND:
      return read_graphs(r, g, bytes, p->n[OX_ATTRIBUTE_PROTO_GRAPHS], a);
    case OX_ATTR_SPARSE_KIND:
      return p->sparse.p ? read_tensors(r, bytes, OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_SPARSE_TENSOR), 1, a)
                         : missing("sparse tensor");
    case OX_ATTR_SPARSES_KIND:
      return read_tensors(r, bytes, OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_SPARSE_TENSORS),
                          p->n[OX_ATTRIBUTE_PROTO_SPARSE_TENSORS], a);
    case OX_ATTR_TYPE_KIND:
      return p->type.p ? read_types(r, bytes, OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_TP), 1, a) : missing("type");
    case OX_ATTR_TYPES_KIND:
      return read_types(r, bytes, OX_WIRE_LEN(OX_ATTRIBUTE_PROTO_TYPE_PROTOS), p->n[OX_ATTRIBUTE_PROTO_TYPE_PROTOS], a);
    default:
      return ox_fail(OX_INVALID_MODEL, "%u is not an attribute type", a->v.kind);
  }
}

static ox_status *read_attr(ox_reader *r, ox_graph *g, ox_str bytes, const attr_parts *p, ox_attr *a) {
  OX_TRY(ox_read_name(&r->m->arena, p->name, &a->name));
  if (!*a->name) return ox_fail(OX_INVALID_MODEL, "it has no name");
  a->v.kind = p->kind ? (uint32_t)OX_MIN(p->kind, UINT32_MAX) : guess_kind(p);
  if (!p->ref.n) return read_value(r, g, bytes, p, a);
  if (!r->in_function)
    return ox_fail(OX_INVALID_MODEL, "it refers to '%.*s', an attribute of the function, but is not in a function",
                   (int)OX_MIN(p->ref.n, 200), p->ref.p);
  if (!p->kind) a->v.kind = 0; /* known when the call is expanded */
  return ox_read_name(&r->m->arena, p->ref, &a->ref);
}

ox_status *ox_read_attr(ox_reader *r, ox_graph *g, ox_str bytes, ox_attr *out_attr) {
  attr_parts p;
  *out_attr = (ox_attr){0};
  OX_TRY(scan(bytes, &p));
  ox_status *st = read_attr(r, g, bytes, &p, out_attr);
  return ox_status_note(st, "attribute '%.*s'", (int)OX_MIN(p.name.n, 200), p.name.p ? p.name.p : "");
}
