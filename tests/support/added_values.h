/* SPDX-License-Identifier: Apache-2.0
 * support/added_values.h - models in text form with initializers that the text would not hold: large ones, and those
 * whose data is in a file that is missing, so that callers give it. */
#ifndef OX_TESTS_ADDED_VALUES_H
#define OX_TESTS_ADDED_VALUES_H

#include "onnx/byte_buf.h"
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/wire.h"
#include "support/text_session.h"

/* Writes an initializer of type |dtype| without data to a graph. */
static inline void add_missing(ox_wire_out *o, const char *name, uint32_t dtype, size_t rank, const int64_t *dims) {
  ox_wire_mark t = ox_out_begin(o, OX_GRAPH_PROTO_INITIALIZER), entry;
  for (size_t i = 0; i < rank; i++) ox_out_varint(o, OX_TENSOR_PROTO_DIMS, (uint64_t)dims[i]);
  ox_out_varint(o, OX_TENSOR_PROTO_DATA_TYPE, dtype);
  ox_out_varint(o, OX_TENSOR_PROTO_DATA_LOCATION, OX_TENSOR_PROTO_DATA_LOCATION_EXTERNAL);
  ox_out_str(o, OX_TENSOR_PROTO_NAME, name);
  entry = ox_out_begin(o, OX_TENSOR_PROTO_EXTERNAL_DATA);
  ox_out_str(o, OX_STRING_STRING_ENTRY_PROTO_KEY, "location");
  ox_out_str(o, OX_STRING_STRING_ENTRY_PROTO_VALUE, "gone.bin");
  ox_out_end(o, entry);
  ox_out_end(o, t);
}

/* The model of |text|; |add| writes further fields at the end of its graph. */
static inline byte_buf bytes_with_values(const char *text, void (*add)(ox_wire_out *o, void *arg), void *arg) {
  byte_buf b = bytes_of_text(text);
  ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
  ox_wire w = ox_wire_of(b.p, b.n);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (ox_wire_type(f.tag) == OX_WIRE_TYPE_VARINT) ox_out_varint(&o, ox_wire_number(f.tag), f.value);
    if (ox_wire_type(f.tag) != OX_WIRE_TYPE_LEN) continue;
    ox_wire_mark field = ox_out_begin(&o, ox_wire_number(f.tag));
    ox_out_raw(&o, f.bytes.p, f.bytes.n);
    if (f.tag == OX_WIRE_LEN(OX_MODEL_PROTO_GRAPH)) add(&o, arg);
    ox_out_end(&o, field);
  }
  byte_buf_free(&b);
  return byte_buf_of(&o);
}

#endif
