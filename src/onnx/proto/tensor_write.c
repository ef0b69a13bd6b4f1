/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/tensor_write.c - tensors are written as raw_data, strings as string_data. */
#include "graph/shape.h"
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/proto_write.h"

void ox_out_tensor(ox_wire_out *o, const ox_tensor *t, const char *name) {
  for (int i = 0; i < t->shape.rank; i++) ox_out_varint(o, OX_TENSOR_PROTO_DIMS, (uint64_t)t->shape.dim[i]);
  ox_out_varint(o, OX_TENSOR_PROTO_DATA_TYPE, t->dtype);
  if (name && *name) ox_out_str(o, OX_TENSOR_PROTO_NAME, name);
  if (t->dtype != OX_STRING) {
    ox_out_bytes(o, OX_TENSOR_PROTO_RAW_DATA, t->data, t->bytes);
    return;
  }
  const ox_str *s = t->data;
  for (size_t i = 0; i < t->bytes / sizeof *s; i++) ox_out_bytes(o, OX_TENSOR_PROTO_STRING_DATA, s[i].p, s[i].n);
}

void ox_out_sparse(ox_wire_out *o, const ox_tensor *t, const char *name) {
  const ox_tensor *part = t->data;
  ox_wire_mark values = ox_out_begin(o, OX_SPARSE_TENSOR_PROTO_VALUES);
  ox_out_tensor(o, &part[0], name);
  ox_out_end(o, values);
  ox_wire_mark indices = ox_out_begin(o, OX_SPARSE_TENSOR_PROTO_INDICES);
  ox_out_tensor(o, &part[1], NULL);
  ox_out_end(o, indices);
  for (int i = 0; i < t->shape.rank; i++) ox_out_varint(o, OX_SPARSE_TENSOR_PROTO_DIMS, (uint64_t)t->shape.dim[i]);
}

void ox_out_tensor_field(ox_wire_out *o, uint32_t number, const ox_tensor *t, const char *name) {
  ox_wire_mark m = ox_out_begin(o, number);
  if (t->kind == OX_SPARSE) {
    ox_out_sparse(o, t, name);
  } else {
    ox_out_tensor(o, t, name);
  }
  ox_out_end(o, m);
}
