/* SPDX-License-Identifier: Apache-2.0
 * onnx/tensor_write.c - tensors are written as raw_data, strings as string_data. */
#include "graph/shape.h"
#include "onnx/proto_write.h"

void ox_out_tensor(ox_wire_out *o, const ox_tensor *t, const char *name) {
  for (int i = 0; i < t->shape.rank; i++) ox_out_varint(o, 1, (uint64_t)t->shape.dim[i]);
  ox_out_varint(o, 2, t->dtype);
  if (name && *name) ox_out_str(o, 8, name);
  if (t->dtype != OX_STRING) {
    ox_out_bytes(o, 9, t->data, t->bytes);
    return;
  }
  const ox_str *s = t->data;
  for (size_t i = 0; i < t->bytes / sizeof *s; i++) ox_out_bytes(o, 6, s[i].p, s[i].n);
}

void ox_out_sparse(ox_wire_out *o, const ox_tensor *t, const char *name) {
  const ox_tensor *part = t->data;
  for (uint32_t i = 0; i < 2; i++) {
    ox_wire_mark m = ox_out_begin(o, i + 1);
    ox_out_tensor(o, &part[i], i == 0 ? name : NULL);
    ox_out_end(o, m);
  }
  for (int i = 0; i < t->shape.rank; i++) ox_out_varint(o, 3, (uint64_t)t->shape.dim[i]);
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
