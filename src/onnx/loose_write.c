/* SPDX-License-Identifier: Apache-2.0
 * onnx/loose_write.c - writes values as files of their own (onnx-data.proto). */
#include <string.h>

#include "graph/dtype.h"
#include "onnx/loose.h"
#include "onnx/proto_write.h"

static void write_value(ox_wire_out *o, ox_loose_kind kind, const ox_tensor *v, const char *name);

static ox_loose_kind kind_of_value(const ox_tensor *v) {
  switch (v->kind) {
    case OX_SEQUENCE:
      return OX_LOOSE_SEQUENCE;
    case OX_MAP:
      return OX_LOOSE_MAP;
    case OX_SPARSE:
      return OX_LOOSE_SPARSE;
    case OX_NONE_VALUE:
      return OX_LOOSE_OPTIONAL;
    default:
      return OX_LOOSE_TENSOR;
  }
}

/* SequenceProto.DataType, OptionalProto.DataType; the field of the content is 2 more. */
static uint32_t elem_of_kind(ox_loose_kind kind) { return (uint32_t)kind + 1; }

static void write_field(ox_wire_out *o, ox_loose_kind kind, const ox_tensor *v) {
  ox_wire_mark m = ox_out_begin(o, elem_of_kind(kind) + 2);
  write_value(o, kind, v, NULL);
  ox_out_end(o, m);
}

static void write_sequence(ox_wire_out *o, const ox_tensor *v) {
  const ox_tensor *const *items = v->data;
  size_t n = v->shape.rank == 1 ? (size_t)v->shape.dim[0] : 0;
  ox_loose_kind kind = n ? kind_of_value(items[0]) : OX_LOOSE_TENSOR;
  for (size_t i = 1; i < n; i++) /* an empty item makes it a sequence of optionals */
    if (kind_of_value(items[i]) != kind) kind = OX_LOOSE_OPTIONAL;
  ox_out_varint(o, 2, elem_of_kind(kind));
  for (size_t i = 0; i < n; i++) write_field(o, kind, items[i]);
}

/* A vector of values is written as a sequence of scalars. */
static void write_scalars(ox_wire_out *o, const ox_tensor *v) {
  size_t n = (size_t)v->shape.dim[0], width = ox_dtype_bits(v->dtype) / 8;
  ox_out_varint(o, 2, elem_of_kind(OX_LOOSE_TENSOR));
  for (size_t i = 0; i < n; i++) {
    ox_tensor item = {.kind = OX_TENSOR, .dtype = v->dtype, .data = (char *)v->data + i * width, .bytes = width};
    write_field(o, OX_LOOSE_TENSOR, &item);
  }
}

static void write_keys(ox_wire_out *o, const ox_tensor *keys) {
  size_t n = (size_t)keys->shape.dim[0], width = ox_dtype_bits(keys->dtype) / 8;
  if (keys->dtype == OX_STRING) {
    const ox_str *s = keys->data;
    for (size_t i = 0; i < n; i++) ox_out_bytes(o, 4, s[i].p, s[i].n);
    return;
  }
  unsigned unused = 64 - 8 * (unsigned)width;
  for (size_t i = 0; i < n; i++) {
    uint64_t v = 0;
    memcpy(&v, (const char *)keys->data + i * width, width);
    if (unused && ox_dtype_is_signed(keys->dtype)) v = (uint64_t)((int64_t)(v << unused) >> unused);
    ox_out_varint(o, 3, v);
  }
}

static void write_map(ox_wire_out *o, const ox_tensor *v) {
  const ox_tensor *pair = v->data;
  ox_out_varint(o, 2, pair[0].dtype);
  write_keys(o, &pair[0]);
  ox_wire_mark m = ox_out_begin(o, 5);
  if (pair[1].kind == OX_SEQUENCE) {
    write_sequence(o, &pair[1]);
  } else {
    write_scalars(o, &pair[1]);
  }
  ox_out_end(o, m);
}

static void write_value(ox_wire_out *o, ox_loose_kind kind, const ox_tensor *v, const char *name) {
  if (kind == OX_LOOSE_TENSOR) {
    ox_out_tensor(o, v, name);
    return;
  }
  if (kind == OX_LOOSE_SPARSE) {
    ox_out_sparse(o, v, name);
    return;
  }
  if (name && *name) ox_out_str(o, 1, name);
  if (kind == OX_LOOSE_SEQUENCE) write_sequence(o, v);
  if (kind == OX_LOOSE_MAP) write_map(o, v);
  if (kind != OX_LOOSE_OPTIONAL) return;
  ox_out_varint(o, 2, v->kind == OX_NONE_VALUE ? 0 : elem_of_kind(kind_of_value(v)));
  if (v->kind != OX_NONE_VALUE) write_field(o, kind_of_value(v), v);
}

ox_status *ox_loose_write(ox_alloc alloc, ox_loose_kind kind, const ox_tensor *value, const char *name, ox_sink sink) {
  if (kind != OX_LOOSE_OPTIONAL && kind_of_value(value) != kind)
    return ox_fail(OX_INVALID_ARGUMENT, "the value is not of the kind to be written");
  ox_wire_out o = ox_wire_out_of(alloc);
  write_value(&o, kind, value, name);
  ox_status *st = ox_wire_out_flush(&o, sink);
  ox_wire_out_deinit(&o);
  return st;
}
